"""The send receipt in the making, and the hooks by which the HTTP client fills it in."""

from collections.abc import Awaitable, Callable
from types import SimpleNamespace

import aiohttp

from onetake.clock import Clock
from onetake.domain.wire import Answer, SendFault, SendPhase, SendReceipt, WireResult
from onetake.providers.faults import LeaseTooShortError


class Progress:
    """How far one request got and what came back so far."""

    def __init__(self, clock: Clock, may_send: Callable[[], bool]) -> None:
        self.is_queued = False
        self.body = bytearray()
        self._may_send = may_send
        self._clock = clock
        self._started_s = clock.monotonic_s()
        self._phase = SendPhase.NOTHING
        self._at_us: dict[str, int] = {}
        self._status: int | None = None
        self._headers: dict[str, str] = {}

    @property
    def may_have_left(self) -> bool:
        """Whether the flag is set."""
        return self._phase >= SendPhase.HEADERS_SENT

    def queue(self) -> None:
        """Wait for another request to give its connection back."""
        self.is_queued = True

    def leave_queue(self) -> None:
        """Have the right to a connection."""
        self.is_queued = False

    def reach(self, phase: SendPhase) -> None:
        """Note a phase; an answer that overtook its request's body stays the further one."""
        self._phase = max(self._phase, phase)
        self._at_us[phase.name.lower()] = round((self._clock.monotonic_s() - self._started_s) * 1e6)

    def leave(self) -> None:
        """Set the flag: from here on a byte may have left.

        Raises:
            LeaseTooShortError: the owner may not send any more; the flag stays unset and no byte leaves.
        """
        if not self._may_send():
            raise LeaseTooShortError
        self.reach(SendPhase.HEADERS_SENT)

    def see(self, response: aiohttp.ClientResponse) -> None:
        """Note status and headers; a header that came several times is joined (RFC 9110, section 5.3)."""
        self._status = response.status
        self._headers = {name.lower(): ", ".join(response.headers.getall(name)) for name in response.headers}
        self.reach(SendPhase.STATUS)

    def result(self, fault: SendFault | None, detail: str = "") -> WireResult:
        """All that is known of the request; a look-up that ends later changes nothing in it."""
        receipt = SendReceipt(
            phase=self._phase, at_us=dict(self._at_us), status=self._status, fault=fault, detail=detail
        )
        if self._status is None:
            return WireResult(receipt=receipt, answer=None)
        answer = Answer(status=self._status, headers=self._headers, body=bytes(self.body), is_whole=fault is None)
        return WireResult(receipt=receipt, answer=answer)


def tracing() -> aiohttp.TraceConfig:
    """The hooks that write each request's progress down."""
    trace = aiohttp.TraceConfig()
    trace.on_connection_queued_start.append(_hook(Progress.queue))
    trace.on_connection_queued_end.append(_hook(Progress.leave_queue))
    trace.on_dns_resolvehost_end.append(_hook(lambda progress: progress.reach(SendPhase.RESOLVED)))
    trace.on_connection_create_end.append(_hook(lambda progress: progress.reach(SendPhase.CONNECTED)))
    trace.on_connection_reuseconn.append(_hook(lambda progress: progress.reach(SendPhase.CONNECTED)))
    trace.on_request_headers_sent.append(_hook(Progress.leave))
    return trace


def _hook(
    note: Callable[[Progress], None],
) -> Callable[[aiohttp.ClientSession, SimpleNamespace, object], Awaitable[None]]:
    """One of aiohttp's hooks, which hands over the request's own progress."""

    async def hook(_session: aiohttp.ClientSession, context: SimpleNamespace, _params: object) -> None:
        note(context.trace_request_ctx)

    return hook
