"""Is this task the one that an attempt bought? What the provider says of it, against every request that is unknown."""

from dataclasses import dataclass

from onetake.domain.answers import (
    Died,
    Finished,
    KeyRefused,
    Missing,
    NoAddresses,
    NoAnswer,
    Reading,
    Unlisted,
    Working,
    poll_path,
    reading_of,
)
from onetake.domain.canonical import parse
from onetake.domain.errors import NotAllowedError, ProviderError
from onetake.domain.jsonvalue import shown
from onetake.domain.moments import utc
from onetake.domain.recognition import Sent, contradiction
from onetake.domain.wire import WireResult
from onetake.engine.parts import Parts
from onetake.engine.poller import POLL_TIMEOUT_S
from onetake.engine.submitter import LEASE_MARGIN_S
from onetake.providers.adapter import Adapter
from onetake.store import attempts
from onetake.store.attempts import Attempt
from onetake.store.database import Row
from onetake.store.steps import Step

CANDIDATES_TOLD_MAX = 20
"""How many requests that may be meant are told: a screen of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Candidate:
    """An unknown request, and why the task can't be its; None where it can."""

    row: Row
    reason: str | None


async def look_at(parts: Parts, adapter: Adapter, attempt: Attempt, step: Step, ref: str, *, is_sure: bool) -> None:
    """Ask the provider about the id with our own key; return if it may be the attempt's task.

    Args:
        parts: the engine.
        adapter: the provider's account.
        attempt: unknown.
        step: the attempt's.
        ref: the id that a person found.
        is_sure: a person says that it is this attempt's, where it may be another unknown request's as well.

    Raises:
        NotAllowedError: there is no such task, it isn't of this request, or it may be of another one as well.
        ProviderError: the provider couldn't be asked.
    """
    task = await _ask(parts, adapter, attempt, ref)
    rows = await parts.database.read(attempts.list_unknown, provider=attempt.provider, model=step.model)
    found = [
        _Candidate(row=row, reason=contradiction(adapter.contract, task, _sent(adapter, step.model, row)))
        for row in rows
    ]
    own = next((each for each in found if each.row["id"] == attempt.id), None)
    if own is not None and own.reason is not None:
        raise NotAllowedError(f"{ref} {own.reason}: nothing was attached.")
    possible = [each.row for each in found if each.reason is None]
    if len(possible) > 1 and not is_sure:
        raise _ambiguous(ref, possible)


async def _ask(parts: Parts, adapter: Adapter, attempt: Attempt, ref: str) -> WireResult:
    request = adapter.poll_request(adapter.origin + poll_path(adapter.contract, ref))
    result = await parts.transport.get(request, credential=adapter.credential(), timeout_s=POLL_TIMEOUT_S)
    operation = adapter.contract.operation(attempt.operation)
    reading = reading_of(adapter.contract, operation, ref, result, now_s=parts.clock.now_us() / 1e6)
    if isinstance(reading, KeyRefused | NoAnswer | Unlisted):
        raise ProviderError(
            f"{adapter.name} gave no clear answer about {ref} ({_said(reading)}): nothing was attached."
        )
    if isinstance(reading, Missing):
        raise NotAllowedError(f"{adapter.name} knows no task {ref}: nothing was attached.")
    return result


def _said(reading: Reading) -> str:
    match reading:
        case KeyRefused():
            return f"it refuses our key, HTTP {reading.status}"
        case NoAnswer():
            return reading.reason
        case Unlisted():  # it may be an answer about nothing at all
            return f"its contract doesn't list the status {shown(reading.word)!r}"
        case Working() | Finished() | Died() | NoAddresses() | Missing():
            return type(reading).__name__.lower()


def _sent(adapter: Adapter, model: str, row: Row) -> Sent:
    """The request of a row. It left within its lease, which is the POST's longest time and a margin."""
    lasts_s = adapter.settings.submit_timeout_s + LEASE_MARGIN_S
    from_us = row["created_at"]
    return Sent(model=model, body=parse(row["body"]), from_us=from_us, until_us=from_us + round(lasts_s * 1e6))


def _ambiguous(ref: str, possible: list[Row]) -> NotAllowedError:
    told = {
        f"/{row['job_id']}/{row['step']}": f"key {shown(row['key'])}, sent {utc(row['created_at'])}"
        for row in possible[:CANDIDATES_TOLD_MAX]
    }
    return NotAllowedError(
        f"{ref} may belong to any of {len(possible)} unknown requests for this model, and nothing that the provider"
        " tells says to which: compare times and prompts, then repeat with --yes for the right job; nothing was"
        " attached.",
        fields=told,
    )
