"""What goes over the wire and how far it got: requests, answers and the send receipt.

Pure values. `providers.transport` fills them in, `domain.outcome` reads them.
"""

import enum
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True, kw_only=True)
class WireRequest:
    """One request as bytes, without credentials (the transport adds those last).

    Attributes:
        method: "POST" for paid submits, "GET" for everything that is free to repeat.
        url: absolute and already percent-encoded; sent as it stands.
        headers: name and value pairs, in order.
        body: the exact bytes; empty for GET.
    """

    method: str
    url: str
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""


class SendPhase(enum.IntEnum):
    """How far one request got, in order. From `HEADERS_SENT` on a byte may have left the machine."""

    NOTHING = 0
    RESOLVED = 1
    CONNECTED = 2
    HEADERS_SENT = 3
    BODY_SENT = 4
    STATUS = 5
    BODY_READ = 6


class SendFault(enum.StrEnum):
    """Why a request has no whole answer, as the transport saw it."""

    DNS = "dns"
    CONNECT_REFUSED = "connect_refused"
    CONNECT_TIMEOUT = "connect_timeout"
    TLS = "tls"
    ADDRESS_REFUSED = "address_refused"
    NO_CONNECTION = "no_connection"
    LEASE_TOO_SHORT = "lease_too_short"
    BAD_URL = "bad_url"
    RESET = "reset"
    DISCONNECTED = "disconnected"
    DEADLINE = "deadline"
    TRUNCATED = "truncated"
    GARBAGE = "garbage"
    GIVEN_UP = "given_up"
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class SendReceipt:
    """The evidence of one send.

    Attributes:
        phase: the last phase reached.
        at_us: microseconds since `started` at which each phase was reached, by phase name in lower case.
        status: the HTTP status, once read.
        fault: why there is no whole answer; None with a whole one.
        detail: the client's own words for the fault, without address or credentials, at most 300 characters.
    """

    phase: SendPhase
    at_us: dict[str, int]
    status: int | None = None
    fault: SendFault | None = None
    detail: str = ""

    @property
    def may_have_left(self) -> bool:
        """Whether a byte of the request may have left this machine."""
        return self.phase >= SendPhase.HEADERS_SENT


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One HTTP answer.

    Attributes:
        status: the HTTP status.
        headers: names in lower case.
        body: the bytes, at most the transport's cap.
        is_whole: False when the body ended early, was cut by the cap or could not be read.
    """

    status: int
    headers: dict[str, str]
    body: bytes
    is_whole: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class WireResult:
    """The receipt of one send and, if a status line was read, the answer."""

    receipt: SendReceipt
    answer: Answer | None

    def bare(self) -> "WireResult":
        """The same without a word of anybody's: how far it got, and the status."""
        answer = replace(self.answer, headers={}, body=b"") if self.answer else None
        return WireResult(receipt=replace(self.receipt, detail=""), answer=answer)
