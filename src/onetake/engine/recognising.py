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
from onetake.domain.roles import Act
from onetake.domain.wire import WireResult
from onetake.engine.members import is_over_all
from onetake.engine.parts import Parts
from onetake.engine.poller import POLL_TIMEOUT_S
from onetake.engine.submitter import LEASE_MARGIN_S
from onetake.providers.adapter import Adapter
from onetake.store import attempts
from onetake.store.accounts import EMBEDDED_NAME
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
        NotAllowedError: there is no such task, it isn't of this request, or it may be of another one as well, of which
            nobody is sure, or which is another account's.
        ProviderError: the provider couldn't be asked.
    """
    task = await _ask(parts, adapter, attempt, ref)
    rows = await parts.database.read(attempts.list_unknown, provider=attempt.provider, model=step.model)
    found = [
        _Candidate(row=row, reason=contradiction(adapter.contract, task, sent_of(adapter, step.model, row)))
        for row in rows
    ]
    own = next((each for each in found if each.row["id"] == attempt.id), None)
    if own is not None and own.reason is not None:
        raise NotAllowedError(f"{ref} {own.reason}: nothing was attached.")
    possible = [each.row for each in found if each.reason is None]
    if len(possible) > 1:
        sees_all = await parts.database.read(is_over_all, parts.settings.person, Act.ATTACH)
        seen = [row for row in possible if sees_all or (own and row["account_id"] == own.row["account_id"])]
        _check_sure(ref, seen, count=len(possible), is_sure=is_sure)


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


def sent_of(adapter: Adapter, model: str, row: Row) -> Sent:
    """The request of a row of `attempts.list_unknown`; its last POST left within its timeout and a margin."""
    lasts_s = adapter.settings.submit_timeout_s + LEASE_MARGIN_S
    until_us = row["last_sent_at"] + round(lasts_s * 1e6)
    return Sent(model=model, body=parse(row["body"]), from_us=row["created_at"], until_us=until_us)


def _check_sure(ref: str, seen: list[Row], *, count: int, is_sure: bool) -> None:
    """Return if a person is sure which of several requests it is; those of other accounts are counted, not shown (L11).

    Raises:
        NotAllowedError: nobody is sure, or nobody can be who doesn't see them all.
    """
    unclear = (
        f"{ref} may belong to any of {count} unknown requests for this model, and nothing that the provider tells says"
        " to which"
    )
    if len(seen) < count:
        raise NotAllowedError(
            f"{unclear}; {count - len(seen)} of them are other accounts': let somebody attach it who has a role in the"
            f" account {EMBEDDED_NAME}; nothing was attached."
        )
    if not is_sure:
        told = {
            f"/{row['job_id']}/{row['step']}": f"key {shown(row['key'])}, sent {utc(row['created_at'])}"
            for row in seen[:CANDIDATES_TOLD_MAX]
        }
        raise NotAllowedError(
            f"{unclear}: compare times and prompts, then repeat with --yes for the right job; nothing was attached.",
            fields=told,
        )
