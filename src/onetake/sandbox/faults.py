"""Everything that can go wrong, by name: what each fault does, and when it strikes.

A fault strikes because a script asks for it (a test's or a demonstration's, consumed first) or because the seed says
so. The seeded draw depends on the seed, the fault, the prompt, the route and the number of the attempt, and on nothing
else, so that timing changes nothing.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Self

from onetake.sandbox.chance import draw


class Stage(StrEnum):
    """When a fault strikes."""

    SUBMIT = "submit"
    ID = "id"
    TASK = "task"
    POLL = "poll"
    DOWNLOAD = "download"


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that goes wrong."""

    name: str
    stage: Stage
    doc: str

    @property
    def is_accepted(self) -> bool:
        """Whether a submit that meets it is accepted, and billed, all the same."""
        return self.name.startswith("accept_")


_DOCS = {
    Stage.SUBMIT: {
        "accept_then_drop": "accepted and billed, then the connection is cut without an answer",
        "accept_then_5xx": "accepted and billed, then 502 in the provider's JSON",
        "accept_then_silence": "accepted and billed, then nothing until the client leaves",
        "accept_then_redirect": "accepted and billed, then 307 to the same route: whoever follows buys twice",
        "accept_no_id": "accepted and billed, 200 without an id",
        "accept_unreadable": "accepted and billed, 200 with a body that isn't JSON",
        "accept_truncated": "accepted and billed, 200 whose body breaks off before the promised length",
        "accept_gateway_html": "accepted and billed, 502 or 504 with a gateway's HTML page",
        "accept_slow": "accepted and billed, answered late",
        "refuse_drop": "not accepted, the connection is cut without an answer",
        "refuse_5xx": "not accepted, 503 in the provider's JSON",
        "refuse_4xx": "not accepted, 400 with code invalid_request",
        "refuse_moderation": "not accepted, 422 with code content_policy_violation",
        "refuse_429": "not accepted, 429 with Retry-After in seconds",
        "refuse_429_date": "not accepted, 429 with Retry-After as an HTTP date",
        "refuse_429_html": "not accepted, 429 with a gateway's HTML page and no Retry-After",
        "refuse_401": "not accepted, 401 with code invalid_api_key",
        "refuse_402": "not accepted, 402 with code insufficient_credits",
        "refuse_403": "not accepted, 403 with code model_not_allowed",
        "refuse_account_locked": "not accepted, 403 with code account_locked",
    },
    Stage.TASK: {
        "task_fails": "the task fails, and its price is refunded",
        "task_no_addresses": "the task completes, but never names an address",
        "task_never_finishes": "the task stays in work for ever",
    },
    Stage.ID: {"task_odd_id": "the task's id holds slashes, spaces, dots, question marks or 500 characters"},
    Stage.POLL: {
        "poll_5xx": "this poll is answered with 503",
        "poll_429": "this poll is answered with 429 and Retry-After in seconds",
        "poll_429_date": "this poll is answered with 429 and Retry-After as an HTTP date",
        "poll_slow": "this poll is answered late",
        "poll_drop": "this poll's connection is cut without an answer",
        "poll_404": "this poll is answered as if the task didn't exist",
        "poll_401": "this poll is answered as if the key were wrong",
        "poll_unreadable": "this poll is answered with a body that isn't JSON",
        "poll_gateway_html": "this poll is answered with 200 and a gateway's HTML page",
        "poll_no_addresses": "this poll shows a completed task without its addresses",
        "poll_unlisted_status": "this poll shows a status that no list has",
    },
    Stage.DOWNLOAD: {
        "file_truncated": "this download breaks off half way",
        "file_lying": "this download is a whole file, but of another size or kind than its label says",
        "file_html": "this download is a page of HTML, with 200",
        "file_5xx": "this download is answered with 503",
        "file_expired": "this download is answered with 403, and its address is dead; the next poll names a new one",
        "file_slow": "this download starts late",
        "file_drop": "this download's connection is cut without an answer",
    },
}
FAULTS: Mapping[str, Fault] = {
    name: Fault(name, stage, doc) for stage, docs in _DOCS.items() for name, doc in docs.items()
}
ROUTES = ("any", "image", "video", "poll", "download")


@dataclass(slots=True, kw_only=True)
class Script:
    """A fault that strikes the next so many occasions that match.

    Attributes:
        fault: its name.
        route: `image` or `video` (the task's kind), `poll` or `download` (the stage), or `any`.
        times: how often it still strikes.
        prompt_contains: strikes only tasks whose prompt contains this.
    """

    fault: str
    route: str = "any"
    times: int = 1
    prompt_contains: str = ""

    @classmethod
    def parse(cls, body: object) -> Self:
        """A script from a request's JSON.

        Raises:
            ValueError: it isn't one; the sentence says why.
        """
        if not isinstance(body, dict) or set(body) - {"fault", "route", "times", "prompt_contains"}:
            raise ValueError("a script is an object with fault and, if wanted, route, times and prompt_contains")
        fault, route, times = body.get("fault"), body.get("route", "any"), body.get("times", 1)
        wanted = body.get("prompt_contains", "")
        if not isinstance(fault, str) or fault not in FAULTS:
            raise ValueError(f"fault must be one of {', '.join(FAULTS)}")
        if route not in ROUTES:
            raise ValueError(f"route must be one of {', '.join(ROUTES)}")
        if type(times) is not int or times < 1 or not isinstance(wanted, str):
            raise ValueError("times must be a whole number from 1, prompt_contains a text")
        return cls(fault=fault, route=route, times=times, prompt_contains=wanted)

    def matches(self, fault: Fault, occasion: "Occasion") -> bool:
        """Whether it strikes here with this fault."""
        is_route = self.route in {"any", occasion.kind, fault.stage}
        return self.fault == fault.name and is_route and self.times > 0 and self.prompt_contains in occasion.prompt


@dataclass(frozen=True, slots=True, kw_only=True)
class Occasion:
    """One moment at which a fault may strike.

    Attributes:
        prompt: of the task or submit.
        kind: `image` or `video`.
        attempt: the number of the submit among those with the same prompt and kind, from 1.
        number: the number of the poll or download of that task, from 1; 0 for a submit.
    """

    prompt: str
    kind: str
    attempt: int
    number: int = 0


@dataclass(slots=True, kw_only=True)
class FaultPlan:
    """Which fault strikes when."""

    seed: str
    rates: Mapping[str, float]
    scripts: list[Script] = field(default_factory=list)

    def strike(self, stage: Stage, occasion: Occasion, *, leaving_out: Iterable[str] = ()) -> Fault | None:
        """The fault that strikes here, its script consumed; at most one."""
        possible = [fault for fault in FAULTS.values() if fault.stage == stage and fault.name not in leaving_out]
        return self._scripted(possible, occasion) or self._drawn(possible, occasion)

    def _scripted(self, possible: list[Fault], occasion: Occasion) -> Fault | None:
        for script in self.scripts:
            for fault in possible:
                if script.matches(fault, occasion):
                    script.times -= 1
                    self.scripts = [kept for kept in self.scripts if kept.times]
                    return fault
        return None

    def _drawn(self, possible: list[Fault], occasion: Occasion) -> Fault | None:
        where = (occasion.prompt, occasion.kind, occasion.attempt, occasion.number)
        rated = ((fault, self.rates[fault.name]) for fault in possible if fault.name in self.rates)
        return next((fault for fault, rate in rated if draw(self.seed, fault.name, *where) < rate), None)
