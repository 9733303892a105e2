"""Whether a task that a provider shows can be the one that a lost request made: by its model, its time, its echoes.

Nothing here proves that it is; it finds what proves that it isn't.
"""

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


def contradiction(contract: Contract, shown_task: WireResult, sent: Sent) -> str | None:
    """Why the task isn't what the request made, as the two facts that don't fit; None if nothing speaks against it.

    Args:
        contract: says where a task tells its model, its time, and what it echoes of its request.
        shown_task: the answer of a poll.
        sent: the request.
    """
    model = echoed_model(contract, shown_task)
    if model is not None and model != sent.model:
        return f"runs the model {model}, this step ordered {sent.model}"
    created_us = moment_of(echoed(shown_task, contract.poll.created_path))
    earliest_us, latest_us = sent.from_us - CLOCKS_APART_US, sent.until_us + CLOCKS_APART_US
    if created_us is not None and not earliest_us <= created_us <= latest_us:
        sent_between = f"between {utc(sent.from_us)} and {utc(sent.until_us)}"
        return f"was made at {utc(created_us)}, this request was sent {sent_between}"
    return _other_input(contract, shown_task, sent)


def _other_input(contract: Contract, shown_task: WireResult, sent: Sent) -> str | None:
    """The first input that the task tells and that the request had otherwise; a text may be a prompt and isn't told."""
    body = sent.body if isinstance(sent.body, dict) else {}
    for field, path in contract.poll.echoes.items():
        told, ours = echoed(shown_task, path), body.get(field)
        if isinstance(told, str) and isinstance(ours, str) and told != ours:
            return f"has {len(told)} characters as its `{shown(field)}`, this request other {len(ours)}"
        if isinstance(told, int) and type(told) is type(ours) and told != ours:
            return f"has {told} as its `{shown(field)}`, this request {ours}"
    return None
