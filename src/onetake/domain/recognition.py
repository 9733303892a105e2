"""Whether a task that a provider shows can be the one that a lost request made: by its model, its time, its echoes.

Nothing here proves that it is; it finds what proves that it isn't.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from onetake.domain.answers import echoed, echoed_model
from onetake.domain.contract import Contract
from onetake.domain.jsonvalue import Json, shown
from onetake.domain.moments import moment_of, utc
from onetake.domain.wire import WireResult

CLOCKS_APART_US = 300_000_000
"""How far the provider's clock and ours may disagree: five minutes, beyond what a machine without a time service drifts
in months, and Kerberos' own tolerance (RFC 4120, section 1.6)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """A request whose outcome is unknown.

    Attributes:
        body: what was sent.
        from_us, until_us: it left between these moments, if it left at all; by our clock.
    """

    model: str
    body: Json
    from_us: int
    until_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What a provider tells of a task, apart from how it goes.

    Attributes:
        model, created_us: None where it doesn't tell.
        echoes: what it repeats of its request, by the request's fields; None where it doesn't.
    """

    model: str | None
    created_us: int | None
    echoes: Mapping[str, object]


def contradiction(contract: Contract, polled: WireResult, sent: Sent) -> str | None:
    """Why the task isn't what the request made, as the two facts that don't fit; None if nothing speaks against it.

    Args:
        contract: says where a task tells its model, its time, and what it echoes of its request.
        polled: the answer of a poll.
        sent: the request.
    """
    poll = contract.poll
    shown_task = Shown(
        model=echoed_model(contract, polled),
        created_us=moment_of(echoed(polled, poll.created_path)),
        echoes={field: echoed(polled, path) for field, path in poll.echoes.items()},
    )
    return what_differs(shown_task, sent)


def what_differs(task: Shown, sent: Sent) -> str | None:
    """Why the task isn't what the request made, as the two facts that don't fit; None if nothing speaks against it."""
    if task.model is not None and task.model != sent.model:
        return f"runs the model {task.model}, this step ordered {sent.model}"
    earliest_us, latest_us = sent.from_us - CLOCKS_APART_US, sent.until_us + CLOCKS_APART_US
    if task.created_us is not None and not earliest_us <= task.created_us <= latest_us:
        sent_between = f"between {utc(sent.from_us)} and {utc(sent.until_us)}"
        return f"was made at {utc(task.created_us)}, this request was sent {sent_between}"
    return _other_input(task, sent)


def is_alike(task: Shown, sent: Sent) -> bool:
    """Whether the task repeats the request: all that it echoes of it agrees, and a text of ours is among that."""
    body = sent.body if isinstance(sent.body, dict) else {}
    ours = {field: body[field] for field in task.echoes if field in body}
    agrees = all(
        type(task.echoes[field]) is type(value) and task.echoes[field] == value for field, value in ours.items()
    )
    return agrees and any(isinstance(value, str) for value in ours.values())


def _other_input(task: Shown, sent: Sent) -> str | None:
    """The first input that the task tells and that the request had otherwise; a text may be a prompt and isn't told."""
    body = sent.body if isinstance(sent.body, dict) else {}
    for field, told in task.echoes.items():
        ours = body.get(field)
        if isinstance(told, str) and isinstance(ours, str) and told != ours:
            return f"has {len(told)} characters as its `{shown(field)}`, this request other {len(ours)}"
        if isinstance(told, int) and type(told) is type(ours) and told != ours:
            return f"has {told} as its `{shown(field)}`, this request {ours}"
    return None
