"""What the outcome of a POST does to its attempt, its step and its job, in one transaction.

The same functions serve the owner's own answer, the sweep that finds a dead owner, and a person who attaches
an id: evidence is evidence whoever brings it, and each changes nothing if it was known already.
"""

import json
from collections.abc import Mapping
from typing import assert_never

from onetake.domain.answers import Accepted, NotSent, Outcome, Refused, Unknown
from onetake.domain.events import AttemptEvent, CaseEvent, StepEvent
from onetake.domain.pacing import REPEAT_BACKOFF_S_MAX, backoff_s
from onetake.domain.recovering import can_recover
from onetake.domain.states import AlarmKind, AttemptState, CaseKind, ErrorCategory, StepState, WaitReason
from onetake.domain.wire import SendReceipt, WireResult
from onetake.engine.routes import record_answer
from onetake.engine.settling import Fault, cancel_step, close_cases, fail_step, open_case
from onetake.engine.stopping import stop_provider
from onetake.engine.turn import Turn
from onetake.providers.adapter import Adapter
from onetake.store import alarms, attempts, doubts, jobs, leases, steps
from onetake.store.attempts import Attempt
from onetake.store.leases import Watched
from onetake.store.steps import Step

REPEAT_BASE_S = 1.0
"""First pause after a send that never left or came too early; doubled each time."""

REPEATS_ALARM_AFTER = 3
"""Sends in a row that came to nothing before a person is told: one or two are weather, and three take some seconds."""


def record_outcome(
    turn: Turn, adapter: Adapter, attempt_id: str, outcome: Outcome, result: WireResult
) -> Watched | None:
    """Record what the attempt's first POST came to, with its receipt; what the actor has to watch now, if any."""
    attempt = attempts.get(turn.tx, attempt_id)
    record_receipt(turn, attempt, 1, outcome, result)
    match outcome:
        case Accepted():
            bind(turn, adapter, attempt, outcome, source="answer", is_watched=True)
        case Unknown():
            if outcome.is_landed:
                doubts.mark_landed(turn.tx, attempt_id)
            doubt(turn, adapter, attempt, outcome.reason, {"phase": result.receipt.phase.name.lower()})
        case NotSent():
            _never_left(turn, attempt, outcome)
        case Refused():
            refuse(turn, attempt, outcome)
        case _:  # pragma: no cover
            assert_never(outcome)
    return next(iter(leases.list_held(turn.tx, turn.actor, [attempt_id])), None)


def record_receipt(turn: Turn, attempt: Attempt, n: int, outcome: Outcome, result: WireResult) -> None:
    """Keep how far the attempt's `n`-th POST got and what it came to; the route's breaker counts it."""
    answer = result.answer
    is_new = attempts.record_send(
        turn.tx,
        attempt.id,
        n,
        outcome=word_of(outcome),
        receipt=_receipt_json(result.receipt),
        status=answer.status if answer else None,
        raw=answer.body or None if answer and not isinstance(outcome, Accepted) else None,
    )
    if is_new:
        record_answer(turn, attempt, word_of(outcome))


def word_of(outcome: Outcome) -> str:
    """The outcome's stable name, as stored with the send."""
    if isinstance(outcome, Refused):
        return "later" if outcome.is_later else "rejected"
    return {Accepted: "accepted", Unknown: "unknown", NotSent: "not_sent"}[type(outcome)]


def _receipt_json(receipt: SendReceipt) -> str:
    return json.dumps(
        {
            "phase": receipt.phase.name.lower(),
            "at_us": receipt.at_us,
            "status": receipt.status,
            "fault": receipt.fault,
            "detail": receipt.detail,
        }
    )


def bind(
    turn: Turn, adapter: Adapter, attempt: Attempt, accepted: Accepted, *, source: str, is_watched: bool = False
) -> bool:
    """Give the attempt its provider ref, by compare-and-set on "no ref yet"; whether it has this one now.

    The same ref again is a repeat. Another one, or one that belongs to another attempt, is a conflict: nothing
    is bound, a case is opened. An attempt that has ended takes no ref: its end was the provider's or a person's word.

    With `is_watched` the actor polls it from now on; else whichever worker leases it first.
    """
    step = steps.get(turn.tx, attempt.step_id)
    owner = attempts.find_ref_owner(
        turn.tx, provider_account=adapter.name, operation=attempt.operation, ref=accepted.ref
    )
    if attempt.ref == accepted.ref:
        return True
    if attempt.ref is not None or owner is not None:
        facts: dict[str, object] = {"ref": accepted.ref, "bound": attempt.ref, "belongs_to": owner}
        open_case(turn, CaseKind.REF_CONFLICT, attempt, step.name, facts)
        if attempt.state is AttemptState.SUBMITTING:
            doubt(turn, adapter, attempt, "the provider's id belongs to another attempt", facts)
        return False
    if attempt.state not in (AttemptState.SUBMITTING, AttemptState.SUBMIT_UNKNOWN):
        open_case(turn, CaseKind.REF_CONFLICT, attempt, step.name, {"ref": accepted.ref, "state": attempt.state})
        return False
    _take_ref(turn, adapter, attempt, accepted, source=source, worker_id=turn.actor if is_watched else None)
    turn.tell("attempt.accepted", attempt, step.name, {"ref": accepted.ref, "source": source})
    decision = CaseEvent.ATTACHED if source == "attach" else CaseEvent.SETTLED
    close_cases(turn, CaseKind.UNKNOWN, decision, attempt, f"the provider's id is known by {source}")
    if step.repeats and alarms.clear(turn.tx, step.id, AlarmKind.REPEATS):
        turn.tell("alarm.cleared", step)
    if step.state in (StepState.WAITING, StepState.READY):
        steps.advance(turn.tx, step, StepEvent.ADOPTED, {"current_attempt_id": attempt.id})
    return True


def _take_ref(
    turn: Turn, adapter: Adapter, attempt: Attempt, accepted: Accepted, *, source: str, worker_id: str | None
) -> None:
    ref_id = attempts.bind_ref(
        turn.tx,
        turn.clock,
        attempt,
        provider_account=adapter.name,
        ref=accepted.ref,
        locator=adapter.locator(accepted),
        source=source,
        actor=turn.actor,
    )
    changes = {
        "ref_id": ref_id,
        "accepted_at": turn.tx.now_us,
        "not_before": None,
        "worker_id": worker_id,
        "error_category": "",
        "error_code": "",
        "error_message": "",
    }
    if attempts.advance(turn.tx, attempt, AttemptEvent.ACCEPTED, changes) is None:
        raise AssertionError(f"{attempt.id} in {attempt.state} took a ref and stayed")


def doubt(turn: Turn, adapter: Adapter, attempt: Attempt, reason: str, facts: Mapping[str, object]) -> bool:
    """Whether the attempt's outcome is now unknown: the money stays held, and nothing is sent outside the contract.

    Where the contract says how a lost answer can be asked for, that is tried first; else a case is opened for a person.
    """
    is_askable = can_recover(adapter.contract)
    changes = {
        "worker_id": None,
        "not_before": turn.tx.now_us if is_askable else None,
        "error_category": ErrorCategory.PROVIDER,
        "error_code": "submit_unknown",
        "error_message": reason,
    }
    if attempts.advance(turn.tx, attempt, AttemptEvent.DOUBTED, changes) is None:
        return False
    step = steps.get(turn.tx, attempt.step_id)
    data = {"reason": reason, **facts}
    turn.tell("attempt.unknown", attempt, step.name, {**data, "asked": is_askable})
    if not is_askable:
        open_case(turn, CaseKind.UNKNOWN, attempt, step.name, data)
    return True


def _never_left(turn: Turn, attempt: Attempt, outcome: NotSent) -> None:
    nothing_bought(turn, attempt, str(outcome.fault), "the send receipt proves that nothing left")


def nothing_bought(turn: Turn, attempt: Attempt, fault: str, proof: str) -> None:
    """It is proven that the provider has nothing of the attempt: the step is ready again after a pause."""
    changes = {"charged": "no", "error_category": ErrorCategory.PROVIDER, "error_code": f"not_sent_{fault}"}
    if attempts.advance(turn.tx, attempt, AttemptEvent.NEVER_LEFT, changes) is None:
        return
    close_cases(turn, CaseKind.UNKNOWN, CaseEvent.SETTLED, attempt, proof)
    _come_back(turn, attempt, "attempt.not_sent", {"fault": fault}, None)


def refuse(turn: Turn, attempt: Attempt, outcome: Refused) -> None:
    """The provider's definite no ends the attempt; the step is ready again, waits, or has failed."""
    changes = {
        "charged": outcome.charged,
        "error_category": outcome.category,
        "error_code": outcome.code,
        "error_message": turn.quiet(attempt.job_id, outcome.message),
    }
    if attempts.advance(turn.tx, attempt, AttemptEvent.REFUSED, changes) is None:
        return
    close_cases(turn, CaseKind.UNKNOWN, CaseEvent.SETTLED, attempt, "the provider refused it")
    data = {"category": outcome.category, "code": outcome.code, "charged": outcome.charged}
    if outcome.is_later:
        _come_back(turn, attempt, "attempt.later", data, outcome.retry_after_s)
        return
    if outcome.is_account:
        stop_provider(turn, attempt.provider, f"{attempt.provider} says that our account can't buy ({outcome.code})")
    elif outcome.category is ErrorCategory.AUTH:  # it speaks of our key, not of this order
        _come_back(turn, attempt, "attempt.refused", data, None)
        return
    step = steps.get(turn.tx, attempt.step_id)
    turn.tell("attempt.refused", attempt, step.name, data)
    if step.current_attempt_id == attempt.id:  # else superseded: a later attempt carries the step
        fail_step(turn, step, attempt, Fault(category=outcome.category, code=outcome.code, charged=outcome.charged))


def _come_back(
    turn: Turn, attempt: Attempt, event: str, data: Mapping[str, object], retry_after_s: float | None
) -> None:
    """Nothing was accepted: the step is ready again after a pause; past the recipe's caps a person is asked."""
    step = steps.get(turn.tx, attempt.step_id)
    now_us, repeats = turn.tx.now_us, step.repeats + 1
    since = step.repeats_since or now_us
    caps = turn.recipe_of(step.job_id).step(step.name).repeats
    chance = turn.clock.uniform(0, 1)
    pause_s = backoff_s(
        repeats, base_s=REPEAT_BASE_S, cap_s=REPEAT_BACKOFF_S_MAX, chance=chance, retry_after_s=retry_after_s
    )
    is_unwanted = jobs.is_cancel_requested(turn.tx, step.job_id)
    is_over = repeats >= caps.count_max or now_us - since + pause_s * 1e6 > caps.elapsed_s_max * 1e6
    told = {**data, "again": not (is_over or is_unwanted), "pause_s": round(pause_s, 1)}
    turn.tell(event, attempt, step.name, told)
    counted = {"repeats": repeats, "repeats_since": since}
    if step.current_attempt_id != attempt.id:
        return  # superseded: a later attempt carries the step
    if is_unwanted:
        cancel_step(turn, step)
    elif is_over:
        _park(turn, step, counted)
    else:
        steps.advance(turn.tx, step, StepEvent.CAME_BACK, {**counted, "not_before": now_us + round(pause_s * 1e6)})
        if repeats >= REPEATS_ALARM_AFTER:
            detail = f"{repeats} sends in a row were not accepted; it is sent again by itself"
            if _alarm(turn, step, detail):
                turn.tell("alarm.raised", step, data={"kind": AlarmKind.REPEATS, "detail": detail})


def _park(turn: Turn, step: Step, counted: Mapping[str, object]) -> None:
    steps.advance(turn.tx, step, StepEvent.PARKED, {**counted, "waiting_for": WaitReason.REVIEW})
    count = counted["repeats"]
    told = "one send was" if count == 1 else f"{count} sends in a row were"
    detail = f"{told} not accepted; `onetake jobs resume` sends again"
    _alarm(turn, step, detail)
    turn.tell("step.parked", step, data={"waiting_for": WaitReason.REVIEW, "why": detail})


def _alarm(turn: Turn, step: Step, detail: str) -> bool:
    """Whether the alarm is new; one that stands is put in these words."""
    is_new = alarms.raise_(turn.tx, turn.clock, AlarmKind.REPEATS, step.id, job_id=step.job_id, detail=detail)
    alarms.restate(turn.tx, AlarmKind.REPEATS, step.id, detail)
    return is_new
