"""Asking about a saved ref: free, bounded per call, and silent while nothing changes.

An answered, unchanged poll comes back after the interval, spread by a tenth, and writes nothing. What isn't
answered backs off. Errors, refused keys, missing tasks and passed deadlines raise alarms; none fails a job,
none frees money: only the provider's terminal word moves the attempt.
"""

from dataclasses import dataclass, replace
from typing import assert_never

from onetake.domain.amounts import told_micros
from onetake.domain.answers import (
    Cost,
    Died,
    Finished,
    KeyRefused,
    Missing,
    NoAddresses,
    NoAnswer,
    Reading,
    Unlisted,
    Working,
    reading_of,
)
from onetake.domain.billing import doubts
from onetake.domain.contract import Charged
from onetake.domain.events import AttemptEvent, CaseEvent, StepEvent
from onetake.domain.pacing import POLL_BACKOFF_S_MAX, backoff_s, poll_delay_s
from onetake.domain.recipe import Replacement
from onetake.domain.states import FINAL_ATTEMPT, AlarmKind, AttemptState, CaseKind, ErrorCategory
from onetake.engine.parts import Parts
from onetake.engine.schedule import Watch
from onetake.engine.settling import Fault, close_cases, fail_step, open_case
from onetake.engine.turn import Turn
from onetake.store import alarms, allowances, artifacts, attempts, jobs, steps
from onetake.store.attempts import Attempt
from onetake.store.leases import Watched
from onetake.store.steps import Step

POLL_TIMEOUT_S = 30.0
"""Longest one poll may take: a status answer is small; what takes longer is asked again."""

EMPTY_MAX = 5
"""Answers in a row that say finished without any output before a person is asked; polling goes on."""

FAILURES_MAX = 5
"""Polls in a row that said nothing before an alarm: one or two are weather, and five take some minutes."""

MISSING_MAX = 5
"""Spaced answers in a row that say that there is no such task before a person is asked; polling goes on."""


_UNHEARD = frozenset({AlarmKind.KEY_REFUSED, AlarmKind.NO_ANSWER})
"""Alarms that any answer about the task clears."""


@dataclass(frozen=True, slots=True)
class Again:
    """Visit this watch again after so many seconds. A long wait is kept in the database, a restart honours it."""

    after_s: float
    is_backoff: bool = False


@dataclass(frozen=True, slots=True)
class Over:
    """Nothing more to do here: the attempt ended, or the lease is gone."""


Visit = Again | Over


async def poll(parts: Parts, watch: Watch) -> Visit:
    """Ask once and record what changed."""
    held, adapter = watch.held, parts.adapters[watch.held.provider]
    result = await parts.transport.get(
        adapter.poll_request(held.locator or adapter.usual_locator(held.ref)),
        credential=adapter.credential(),
        timeout_s=POLL_TIMEOUT_S,
    )
    operation = adapter.contract.operation(held.operation)
    now_s = parts.clock.now_us() / 1e6
    reading = reading_of(adapter.contract, operation, held.ref, result, now_s=now_s)
    visit = await _follow(parts, watch, reading)
    watch.must_renew = False  # with no fresh addresses the old ones get another try: storage may be back before the API
    return visit


async def _follow(parts: Parts, watch: Watch, reading: Reading) -> Visit:
    interval_s = parts.adapters[watch.held.provider].settings.poll_interval_s
    _count(watch, reading)
    match reading:
        case Working() | Unlisted():
            await _still_working(parts, watch, reading)
            return Again(poll_delay_s(interval_s, chance=parts.clock.uniform(0, 1)))
        case Finished():
            return await _finished(parts, watch, reading)
        case Died():
            return await _died(parts, watch, reading)
        case NoAddresses():
            watch.empty += 1
            await _no_addresses(parts, watch)
            return _backed_off(parts, watch, None)
        case Missing():
            watch.missing += 1
            await _missing(parts, watch)
            return _backed_off(parts, watch, None)
        case KeyRefused():
            detail = f"{watch.held.provider} refuses our key (HTTP {reading.status})"
            await _alarm(parts, watch, AlarmKind.KEY_REFUSED, detail)
            return _backed_off(parts, watch, None)
        case NoAnswer():
            await _check_deadline(parts, watch)
            visit = _backed_off(parts, watch, reading.retry_after_s)
            if watch.failures >= FAILURES_MAX:
                detail = f"{watch.failures} polls in a row got no answer ({reading.reason}); it is polled on"
                await _alarm(parts, watch, AlarmKind.NO_ANSWER, detail)
            return visit
        case _:  # pragma: no cover
            assert_never(reading)


def _count(watch: Watch, reading: Reading) -> None:
    """Begin anew what is counted in a row and was interrupted by this answer."""
    if watch.empty and not isinstance(reading, NoAddresses):
        watch.empty = 0
        watch.asked -= {CaseKind.NO_OUTPUT}
    if watch.missing and not isinstance(reading, Missing):
        watch.missing = 0
        watch.asked -= {CaseKind.MISSING_TASK}
    is_good = isinstance(reading, Working | Unlisted) or (isinstance(reading, Finished) and not watch.must_renew)
    if is_good:  # a renewed address is not: only a file that came ends the collector's failures
        watch.failures = 0


def _backed_off(parts: Parts, watch: Watch, retry_after_s: float | None) -> Again:
    watch.failures += 1
    interval_s = parts.adapters[watch.held.provider].settings.poll_interval_s
    pause_s = backoff_s(
        watch.failures,
        base_s=interval_s,
        cap_s=POLL_BACKOFF_S_MAX,
        chance=parts.clock.uniform(0, 1),
        retry_after_s=retry_after_s,
    )
    return Again(pause_s, is_backoff=True)


async def _still_working(parts: Parts, watch: Watch, reading: Working | Unlisted) -> None:
    """Write only what changed: queued or not, an alarm to raise or to clear."""
    held = watch.held
    if isinstance(reading, Unlisted):
        word = (
            f"the contract doesn't list the status {reading.word!r}" if reading.word else "the answer names no status"
        )
        await _alarm(parts, watch, AlarmKind.UNLISTED_STATUS, f"{word}; it is polled on")
        return
    if reading.is_queued != held.is_queued:
        await parts.database.write(attempts.note_queued, held.attempt_id, held.token, is_queued=reading.is_queued)
        watch.held = replace(held, is_queued=reading.is_queued)
    is_late = await _check_deadline(parts, watch)
    if watch.held.has_alarms:
        await parts.act(held.worker_id, clear_alarms, held, is_late=is_late)
        watch.held = replace(watch.held, has_alarms=False)
        watch.raised &= {AlarmKind.DEADLINE}


async def _check_deadline(parts: Parts, watch: Watch) -> bool:
    """Whether the recipe's deadline has passed. It raises an alarm and does nothing else (L3)."""
    deadline_at = watch.held.deadline_at
    if deadline_at is None or parts.clock.now_us() < deadline_at:
        return False
    await _alarm(parts, watch, AlarmKind.DEADLINE, "not finished by the recipe's deadline; it is polled on")
    return True


async def _alarm(parts: Parts, watch: Watch, kind: AlarmKind, detail: str) -> None:
    if kind in watch.raised:
        return
    await parts.act(watch.held.worker_id, record_alarm, watch.held, kind, detail)
    watch.raised |= {kind}
    watch.held = replace(watch.held, has_alarms=True)


async def _no_addresses(parts: Parts, watch: Watch) -> None:
    if watch.empty > 1:
        await _alarm(parts, watch, AlarmKind.NO_ADDRESSES, "the provider says finished and names no output")
    if watch.empty >= EMPTY_MAX:
        await ask_person(parts, watch, CaseKind.NO_OUTPUT, {"answers": watch.empty})


async def _missing(parts: Parts, watch: Watch) -> None:
    await _alarm(parts, watch, AlarmKind.MISSING_TASK, "the provider says that there is no such task")
    if watch.missing >= MISSING_MAX:
        await ask_person(parts, watch, CaseKind.MISSING_TASK, {"answers": watch.missing})


async def ask_person(parts: Parts, watch: Watch, kind: CaseKind, facts: dict[str, object]) -> None:
    """Open a case, once; where that fails, the next visit tries again."""
    if kind not in watch.asked:
        await parts.act(watch.held.worker_id, record_case, watch.held, kind, facts)
        watch.asked |= {kind}


async def _died(parts: Parts, watch: Watch, reading: Died) -> Visit:
    """End the attempt; one whose outputs were named already stays, and a person hears of the contradiction."""
    if await parts.act(watch.held.worker_id, record_death, watch.held, reading):
        return Over()
    detail = f"the provider said finished, and now says failed ({reading.code}); its files are asked for on"
    await _alarm(parts, watch, AlarmKind.DOWNLOAD, detail)
    return _backed_off(parts, watch, None)


async def _finished(parts: Parts, watch: Watch, reading: Finished) -> Visit:
    """Save the addresses before anything is fetched; fresh ones replace dead ones."""
    is_renewed = await parts.act(watch.held.worker_id, record_finished, watch.held, reading.addresses, reading.cost)
    if is_renewed is None:
        return Over()
    had_alarms = watch.held.has_alarms and watch.held.state == AttemptState.COLLECTING  # else they were cleared
    watch.held = replace(
        watch.held, state=AttemptState.COLLECTING, not_before=None, is_queued=False, has_alarms=had_alarms
    )
    watch.raised -= _UNHEARD
    watch.renewals += watch.must_renew
    if watch.must_renew and not is_renewed:  # the same dead address again
        return _backed_off(parts, watch, None)
    return Again(0.0)


def record_finished(turn: Turn, held: Watched, addresses: tuple[str, ...], cost: Cost | None = None) -> bool | None:
    """Save the provider's terminal answer; whether an address is new. None if the lease is gone."""
    attempt = attempts.get(turn.tx, held.attempt_id)
    if attempt.token != held.token:
        return None
    changed = artifacts.found(turn.tx, turn.clock, job_id=attempt.job_id, attempt_id=attempt.id, addresses=addresses)
    told = {} if _is_recorded(turn, attempt) else _told(cost)
    if attempts.advance(turn.tx, attempt, AttemptEvent.FINISHED, {"not_before": None, "is_queued": 0, **told}):
        step = steps.get(turn.tx, attempt.step_id)
        turn.tell("attempt.finished", attempt, step.name, {"outputs": len(addresses)})
        if told and cost is not None:
            _ask_about_cost(turn, attempt, step, cost)
        if attempt.has_alarms:
            alarms.clear(turn.tx, attempt.id)
        for kind in (CaseKind.NO_OUTPUT, CaseKind.MISSING_TASK):
            close_cases(turn, kind, CaseEvent.SETTLED, attempt, "the provider named its outputs")
    elif held.has_alarms:
        alarms.clear(turn.tx, held.attempt_id, *sorted(_UNHEARD))
    return changed > 0


def _told(cost: Cost | None) -> dict[str, object]:
    """What the provider said about the cost, to be kept with the attempt."""
    return {} if cost is None else {"cost_micros": cost.micros, "cost_currency": cost.currency}


def _is_recorded(turn: Turn, attempt: Attempt) -> bool:
    """Whether the provider's own record of the charge came before its last word; then it stands above that."""
    return attempts.billed(turn.tx, attempt.id)[0] == "yes"


def _ask_about_cost(turn: Turn, attempt: Attempt, step: Step, cost: Cost) -> None:
    """Open a case where the provider says that it charges more than its highest price."""
    ordered = allowances.price_of(turn.tx, step.id)
    if reason := doubts([cost], ordered, currency=cost.currency, charged="yes"):
        facts: dict[str, object] = {"reason": reason, "charges": [told_micros(cost.micros, cost.currency)]}
        open_case(turn, CaseKind.CHARGE, attempt, step.name, facts)


def record_death(turn: Turn, held: Watched, died: Died) -> bool:
    """The provider's final word is failed: the attempt ends; the step by the recipe's replacement rule.

    False if the attempt goes on all the same, because the provider had named its outputs before.
    """
    attempt = attempts.get(turn.tx, held.attempt_id)
    if attempt.token != held.token:
        return True
    is_recorded = _is_recorded(turn, attempt)
    charged: Charged = "yes" if is_recorded else died.charged
    told = {} if is_recorded else _told(died.cost)
    changes = {
        "charged": charged,
        **told,
        "error_category": ErrorCategory.PROVIDER,
        "error_code": died.code,
        "error_message": turn.quiet(attempt.job_id, died.message),
    }
    if attempts.advance(turn.tx, attempt, AttemptEvent.DIED, changes) is None:
        return attempt.state in FINAL_ATTEMPT
    step = steps.get(turn.tx, attempt.step_id)
    if attempt.has_alarms:
        alarms.clear(turn.tx, attempt.id)
    turn.tell("attempt.failed", attempt, step.name, {"code": died.code, "charged": charged})
    if is_recorded and died.charged == "no":
        open_case(turn, CaseKind.CHARGE, attempt, step.name, {"reason": "charged all the same", "known_as": "no"})
    elif told and charged == "yes" and died.cost is not None:
        _ask_about_cost(turn, attempt, step, died.cost)
    for kind in (CaseKind.NO_OUTPUT, CaseKind.MISSING_TASK):
        close_cases(turn, kind, CaseEvent.SETTLED, attempt, "the provider says that it failed")
    if step.current_attempt_id == attempt.id:  # else superseded: a later attempt carries the step
        _end_step(turn, step, attempt, died, charged)
    return True


def _end_step(turn: Turn, step: Step, attempt: Attempt, died: Died, charged: Charged) -> None:
    rule = turn.recipe_of(step.job_id).step(step.name).replacement
    is_wanted = not died.is_moderation and not jobs.is_cancel_requested(turn.tx, step.job_id)
    if rule is not None and is_wanted and _permits(rule, step):
        counted = {"replacements": step.replacements + 1, "repeats": 0, "repeats_since": None}
        steps.advance(turn.tx, step, StepEvent.CAME_BACK, counted)
        data = {"reason": "provider_failed", "n": step.replacements + 1, "of": rule.count_max}
        turn.tell("step.replaced", attempt, step.name, data)
        return
    fail_step(turn, step, attempt, Fault(category=ErrorCategory.PROVIDER, code=died.code, charged=charged))


def _permits(rule: Replacement, step: Step) -> bool:
    """Whether the recipe lets a failed generation be bought again, and not too often already."""
    return "provider_failed" in rule.reasons and step.replacements < rule.count_max


def clear_alarms(turn: Turn, held: Watched, *, is_late: bool) -> None:
    """It does well again; that it is late stays said."""
    attempt = attempts.get(turn.tx, held.attempt_id)
    if attempt.token != held.token:
        return
    kinds = [kind for kind in AlarmKind if not (is_late and kind is AlarmKind.DEADLINE)]
    if alarms.clear(turn.tx, held.attempt_id, *kinds):
        turn.tell("alarm.cleared", attempt.job_id, steps.get(turn.tx, attempt.step_id).name)
    for kind in (CaseKind.NO_OUTPUT, CaseKind.MISSING_TASK):
        close_cases(turn, kind, CaseEvent.SETTLED, attempt, "the provider works on it")


def record_alarm(turn: Turn, held: Watched, kind: AlarmKind, detail: str) -> None:
    """Raise the alarm, once, if the lease still stands."""
    attempt = attempts.get(turn.tx, held.attempt_id)
    if attempt.token != held.token:
        return
    if alarms.raise_(turn.tx, turn.clock, kind, attempt.id, job_id=attempt.job_id, detail=detail):
        step = steps.get(turn.tx, attempt.step_id)
        turn.tell("alarm.raised", attempt.job_id, step.name, {"kind": kind, "detail": detail})


def record_case(turn: Turn, held: Watched, kind: CaseKind, facts: dict[str, object]) -> None:
    """Ask a person, if the lease still stands; polling goes on."""
    attempt = attempts.get(turn.tx, held.attempt_id)
    if attempt.token != held.token:
        return
    open_case(turn, kind, attempt, steps.get(turn.tx, attempt.step_id).name, facts)
