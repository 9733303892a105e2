"""What may befall a request, a task, a file: tables of names, each row one thing that providers and machines do.

The tables follow DESIGN's outcomes of one POST. Every row says both what is observed and what is true; only the bill
knows the truth, and the auditor holds the engine's rows against it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from onetake.domain.outputs import Measures
from onetake.domain.wire import SendFault, SendPhase
from onetake.media.fetch import FetchFault
from onetake.media.findings import DecodeFault

REFUSAL = b'{"error": {"code": "%s", "message": "no"}}'
PAGE = b"<html><h1>Bad gateway</h1></html>"
NEVER_S = 1e9

LISTED_REFUSALS = frozenset({400, 401, 402, 403, 404, 413, 422, 429})
"""Statuses that prove that nothing was accepted, in the provider's own JSON. Whatever else is said proves nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PostFate:
    """One POST.

    Attributes:
        phase, fault: how far it got and what ended it; a phase before HEADERS_SENT means that no byte left.
        is_accepted: the truth: a task was made and is billed.
        status: None: no answer arrives.
        body: what the answer says; None: what the provider says when all is well.
        is_whole: False: the answer's body ends early.
        delay_s: from the last byte of the request to the answer, or to the fault.
    """

    phase: SendPhase = SendPhase.BODY_READ
    fault: SendFault | None = None
    is_accepted: bool = False
    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = b""
    is_whole: bool = True
    delay_s: float = 0.2

    @property
    def leaves(self) -> bool:
        """Whether a byte of the request leaves."""
        return self.phase >= SendPhase.HEADERS_SENT

    @property
    def is_refusal(self) -> bool:
        """Whether the answer is the provider's own no, listed in its contract."""
        return self.status in LISTED_REFUSALS and (self.body or b"").startswith(b'{"error"')


def _never(phase: SendPhase, fault: SendFault, delay_s: float = 0.1) -> PostFate:
    return PostFate(phase=phase, fault=fault, delay_s=delay_s)


def _lost(fault: SendFault, *, accepted: bool, delay_s: float = 0.2) -> PostFate:
    return PostFate(phase=SendPhase.BODY_SENT, fault=fault, is_accepted=accepted, delay_s=delay_s)


def _says(status: int, body: bytes, headers: Mapping[str, str] | None = None, *, accepted: bool = False) -> PostFate:
    return PostFate(status=status, body=body, headers=headers or {}, is_accepted=accepted)


def _refuses(status: int, code: bytes, headers: Mapping[str, str] | None = None) -> PostFate:
    return _says(status, REFUSAL % code, headers)


WELL = PostFate(status=200, body=None, is_accepted=True)

POSTS: Mapping[str, PostFate] = {
    # Never left: proved by the receipt.
    "dns": _never(SendPhase.NOTHING, SendFault.DNS),
    "connect_refused": _never(SendPhase.RESOLVED, SendFault.CONNECT_REFUSED),
    "connect_timeout": _never(SendPhase.RESOLVED, SendFault.CONNECT_TIMEOUT, 10.0),
    "tls": _never(SendPhase.RESOLVED, SendFault.TLS),
    "address_refused": _never(SendPhase.RESOLVED, SendFault.ADDRESS_REFUSED),
    "bad_url": _never(SendPhase.NOTHING, SendFault.BAD_URL),
    "no_connection": _never(SendPhase.NOTHING, SendFault.NO_CONNECTION, 10.0),
    # Left, and nobody knows: with the same observation it was accepted, or it wasn't.
    "reset": PostFate(phase=SendPhase.HEADERS_SENT, fault=SendFault.RESET),
    "reset_accepted": PostFate(phase=SendPhase.HEADERS_SENT, fault=SendFault.RESET, is_accepted=True),
    "disconnected": _lost(SendFault.DISCONNECTED, accepted=False),
    "disconnected_accepted": _lost(SendFault.DISCONNECTED, accepted=True),
    "silence": _lost(SendFault.DEADLINE, accepted=False, delay_s=NEVER_S),
    "silence_accepted": _lost(SendFault.DEADLINE, accepted=True, delay_s=NEVER_S),
    "garbage_accepted": _lost(SendFault.GARBAGE, accepted=True),
    "other_accepted": _lost(SendFault.OTHER, accepted=True),
    "no_id_accepted": _says(200, b'{"status": "queued"}', accepted=True),
    "two_ids_accepted": _says(200, b'{"id": "task_a", "task_id": "task_b"}', accepted=True),
    "unreadable_accepted": _says(200, b'{"id": "ta', accepted=True),
    "truncated_accepted": PostFate(
        status=200, body=None, is_accepted=True, is_whole=False, fault=SendFault.TRUNCATED, phase=SendPhase.STATUS
    ),
    "page_200": _says(200, PAGE),
    "page_502": _says(502, PAGE),
    "page_502_accepted": _says(502, PAGE, accepted=True),
    "page_400": _says(400, PAGE),
    "error_500": _refuses(500, b"internal"),
    "error_500_accepted": _says(500, REFUSAL % b"internal", accepted=True),
    "error_503_accepted": _says(503, REFUSAL % b"busy", accepted=True),
    "status_408": _refuses(408, b"timeout"),
    "status_409_accepted": _says(409, REFUSAL % b"conflict", accepted=True),
    "status_425": _refuses(425, b"too_early"),
    "status_499_accepted": _says(499, REFUSAL % b"closed", accepted=True),
    "redirect_307": _says(307, b"", {"location": "https://elsewhere.sim/"}),
    # Refused: the provider's own word, listed in the contract.
    "refused_400": _refuses(400, b"invalid_parameter"),
    "refused_401": _refuses(401, b"invalid_key"),
    "refused_402": _refuses(402, b"no_credit"),
    "refused_422": _refuses(422, b"moderation_blocked"),
    "later": _refuses(429, b"rate_limited"),
    "later_45_s": _refuses(429, b"rate_limited", {"retry-after": "45"}),
    "later_by_date": _refuses(429, b"rate_limited", {"retry-after": "Thu, 01 Jan 2026 00:03:00 GMT"}),
    "page_429": _says(429, PAGE),
    # Accepted, in its own time.
    "slow": PostFate(status=200, body=None, is_accepted=True, delay_s=45.0),
    "just_too_slow": PostFate(status=200, body=None, is_accepted=True, delay_s=61.0),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class GetFate:
    """One GET: a fault of the wire, or an answer; `body` None stands for the true one."""

    fault: SendFault | None = None
    status: int | None = None
    body: bytes | None = b""
    is_whole: bool = True
    delay_s: float = 0.05
    headers: Mapping[str, str] = field(default_factory=dict)


GETS: Mapping[str, GetFate] = {
    "get_401": GetFate(status=401, body=REFUSAL % b"invalid_key"),
    "get_429": GetFate(status=429, body=REFUSAL % b"rate_limited", headers={"retry-after": "45"}),
    "get_500": GetFate(status=500, body=REFUSAL % b"internal"),
    "get_page_503": GetFate(status=503, body=PAGE),
    "get_drop": GetFate(fault=SendFault.DISCONNECTED),
    "get_refused": GetFate(fault=SendFault.CONNECT_REFUSED),
    "get_silence": GetFate(fault=SendFault.DEADLINE, delay_s=NEVER_S),
    "get_garbage": GetFate(status=200, body=b"\x00\xff"),
    "get_truncated": GetFate(status=200, body=b'{"id": ', is_whole=False, fault=SendFault.TRUNCATED),
}

MODEL_LISTS: Mapping[str, GetFate] = {
    **GETS,
    "get_fewer_models": GetFate(status=200, body=b'{"data": [{"id": "other"}]}'),
}

POLLS: Mapping[str, GetFate] = {
    **GETS,
    "poll_404": GetFate(status=404, body=REFUSAL % b"not_found"),
    "poll_page_404": GetFate(status=404, body=PAGE),
    "poll_other_task": GetFate(status=200, body=b'{"id": "task_of_somebody_else", "status": "failed"}'),
    "poll_unlisted": GetFate(status=200, body=b'{"status": "reticulating"}'),
    "poll_no_addresses": GetFate(status=200, body=b'{"status": "completed", "output": {}}'),
    "poll_slow": GetFate(status=200, body=None, delay_s=25.0),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskFate:
    """What becomes of an accepted task.

    Attributes:
        queued_s, working_s: how long it takes.
        ending: finished, failed, or empty: finished for ever without an output.
        code: why it failed.
        outputs: how many files more (or fewer) than asked for.
        kind: of the files: good, or a name of `FILES`.
        good: how many of them, the first ones, are good all the same.
        forgotten_s: for how long after it was accepted the provider knows nothing of it.
        lifetime_s: how long an address serves.
    """

    queued_s: float = 10.0
    working_s: float = 30.0
    ending: str = "finished"
    code: str = "internal"
    outputs: int = 0
    kind: str = "good"
    good: int = 0
    forgotten_s: float = 0.0
    lifetime_s: float = 86_400.0


TASKS: Mapping[str, TaskFate] = {
    "fails": TaskFate(ending="failed"),
    "is_moderated": TaskFate(ending="failed", code="content_policy_violation"),
    "is_quick": TaskFate(queued_s=0.0, working_s=2.0),
    "is_slow": TaskFate(working_s=200.0),
    "is_empty": TaskFate(ending="empty"),
    "has_more": TaskFate(outputs=1),
    "has_fewer": TaskFate(outputs=-1),
    "lies": TaskFate(kind="small"),
    "lies_in_part": TaskFate(kind="small", good=1),
    "is_forgotten": TaskFate(forgotten_s=900.0),
    "is_a_page": TaskFate(kind="page"),
    "expires": TaskFate(lifetime_s=20.0),
}

GOOD: Mapping[str, Measures] = {
    "image": Measures(kind="image", media_type="image/png", size_bytes=4000, width_px=64, height_px=36, frames=1),
    "video": Measures(
        kind="video",
        media_type="video/mp4",
        size_bytes=9000,
        width_px=64,
        height_px=36,
        duration_ms=1000,
        frames=24,
        fps=24.0,
        video_codec="h264",
    ),
}

FILES: Mapping[str, Measures | DecodeFault] = {
    "small": Measures(kind="image", media_type="image/png", size_bytes=300, width_px=8, height_px=8, frames=1),
    "page": DecodeFault.NOT_MEDIA,
    "cut": DecodeFault.BROKEN,
}
"""Files that are not what was ordered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DownloadFate:
    """One download: a fault, or a file of another kind than the address stands for."""

    fault: FetchFault | None = None
    kind: str = ""
    delay_s: float = 0.5


DOWNLOADS: Mapping[str, DownloadFate] = {
    **{f"download_{fault}": DownloadFate(fault=fault) for fault in FetchFault},
    "download_page": DownloadFate(kind="page"),
    "download_cut": DownloadFate(kind="cut"),
    "download_small": DownloadFate(kind="small"),
    "download_slow": DownloadFate(delay_s=50.0),
}

DECODES: Mapping[str, str] = {
    "decode_timeout": DecodeFault.TIMEOUT,
    "decode_crash": DecodeFault.CRASH,
    "no_decoder": "MediaError",
    "unreadable": "StorageError",
}

EVENTS: tuple[str, ...] = (
    "database_down",
    "provider_down",
    "provider_down",
    "key_refused",
    "storage_full",
    "clock_forward_200",
    "clock_forward_4000",
    "clock_back_200",
    "clock_back_1000",
    "kill_1",
    "kill_2",
    "stop_1",
    "stop_2",
    "freeze_1",
    "freeze_2",
    "attach",
    "attach",
    "attach_wrong",
    "resume",
    "cancel",
    "order_again",
)
"""What happens by the clock, to everybody or to one process, or is done by a person; people act most."""
