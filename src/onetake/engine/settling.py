"""What follows from the end of an attempt: outputs filled, holds closed, gates opened, the job closed.

All of it happens inside the transaction of the evidence that caused it, so no reader ever sees an output that is
filled with a gate that should be open, or a complete job whose money is still held.
"""

from dataclasses import dataclass

from onetake.domain import recipe as recipes
from onetake.domain.billing import billing
from onetake.domain.canonical import digest_of, encode
from onetake.domain.errors import NotEnoughCreditsError
from onetake.domain.events import AttemptEvent, CaseEvent, HoldEvent, JobEvent, StepEvent
from onetake.domain.outputs import Measures
from onetake.domain.recipe import Recipe
from onetake.domain.request import FrozenRequest, OutputHandoff, freeze_request
from onetake.domain.states import (
    FINAL_ATTEMPT,
    FINAL_STEP,
    ArtifactUse,
    CaseKind,
    ErrorCategory,
    JobState,
    StepState,
    WaitReason,
)
from onetake.engine.spending import settle
from onetake.engine.turn import Turn
from onetake.store import alarms, artifacts, attempts, cases, jobs, ledger, steps
from onetake.store.artifacts import Expected
from onetake.store.attempts import Attempt
from onetake.store.database import Row
from onetake.store.steps import Step

_SHORT = {
    "error_category": ErrorCategory.NO_OUTPUT,
    "error_code": "outputs_missing",
    "error_message": "the provider finished with fewer outputs than were ordered",
}
_MANIFEST = ("step", "output", "ordinal", "digest", "media_type", "size_bytes", "measures")


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """A file that stands in our storage and measured as ordered; `ordinal` is its place in the provider's list."""

    ordinal: int
    digest: str
    size_bytes: int
    measures: Measures


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """Why a step ends without its outputs; `charged` says whether the provider bills: yes, no or unknown."""

    category: ErrorCategory
    code: str
    charged: str


def open_gates(turn: Turn, recipe: Recipe, job_id: str) -> bool:
    """Freeze and open each step that waits and whose needs are all complete (L5); whether there was one."""
    is_any = False
    standing = {step.name: step for step in steps.list_of_job(turn.tx, job_id)}
    for wanted in recipe.steps:
        step = standing[wanted.name]
        if step.state is not StepState.WAITING or step.waiting_for is not WaitReason.NEEDS:
            continue
        if any(standing[name].state is not StepState.COMPLETE for name in wanted.needs):
            continue
        request = request_of(turn, wanted, job_id)
        steps.freeze(turn.tx, step.id, meaning=request.canonical, request_hash=request.hash)
        if steps.advance(turn.tx, step, StepEvent.OPENED):
            turn.tell("step.ready", step, data={"hash": request.hash[:16]})
            is_any = True
    return is_any


def request_of(turn: Turn, wanted: recipes.Step, job_id: str) -> FrozenRequest:
    """The step's request with the addresses that stand now; its hash is the same whenever it is asked for."""
    handed_over = {
        (row["step"], row["output"]): OutputHandoff(digest=row["digest"], address=row["address"])
        for row in (artifacts.list_files(turn.tx, job_id) if wanted.handoffs else ())
        if row["digest"]
    }
    return freeze_request(wanted, jobs.get_inputs(turn.tx, job_id), handed_over)


def deliver(turn: Turn, attempt: Attempt, files: list[Checked]) -> StepState | None:
    """The step's new state, now that the attempt's files stand: filled, captured, gates opened, the job closed.

    None if another writer was first, or the step had ended without this attempt.
    """
    outputs = artifacts.list_expected(turn.tx, step_id=attempt.step_id)
    missing = _missing(outputs, files)
    changes = {"charged": "yes", **(_SHORT if missing else {})}
    if attempts.advance(turn.tx, attempt, AttemptEvent.DELIVERED, changes) is None:
        return None
    if attempt.has_alarms:
        alarms.clear(turn.tx, attempt.id)
    step = steps.get(turn.tx, attempt.step_id)
    for kind in (CaseKind.NO_OUTPUT, CaseKind.MISSING_TASK):
        close_cases(turn, kind, CaseEvent.SETTLED, attempt, "its files came")
    filled = _filled_before(turn, attempt, outputs) + fill(turn, attempt, outputs, files)
    told = [{"digest": file.digest, "size_bytes": file.size_bytes} for file in files]
    turn.tell("attempt.delivered", attempt, step.name, {"files": told, "filled": filled})
    if step.state in FINAL_STEP:
        settle(turn, step.id)  # a late buy costs as well
        return None
    if step.state is not StepState.ACTIVE:
        steps.advance(turn.tx, step, StepEvent.ADOPTED, {"current_attempt_id": attempt.id})
        step = steps.get(turn.tx, attempt.step_id)
    state = steps.advance(turn.tx, step, StepEvent.DELIVERED, {"current_attempt_id": attempt.id})
    turn.tell("step.complete", step)
    recipe = turn.recipe_of(attempt.job_id)
    if missing:
        close_missing(turn, step, HoldEvent.RELEASED, "missing from what was delivered")
        cancel_waiting(turn, attempt.job_id, _doomed(recipe, _heirs(recipe, step.name, missing)))
    settle(turn, step.id)
    if not open_gates(turn, recipe, attempt.job_id):
        close_job(turn, recipe, attempt.job_id, category=ErrorCategory.NO_OUTPUT if missing else "")
    return state


def _missing(outputs: list[Expected], files: list[Checked]) -> set[str]:
    """The outputs of a step that stay missing once these files fill theirs."""
    found = {file.ordinal for file in files}
    return {output.name for output in outputs if output.artifact_id is None and output.ordinal not in found}


def _filled_before(turn: Turn, attempt: Attempt, outputs: list[Expected]) -> int:
    """How many of the outputs are filled by files of this attempt that came before its last one."""
    filled = {output.artifact_id for output in outputs if output.artifact_id is not None}
    own = artifacts.list_of_attempt(turn.tx, attempt.id) if filled else []
    return sum(artifact.id in filled for artifact in own)


def fill(turn: Turn, attempt: Attempt, outputs: list[Expected], files: list[Checked]) -> int:
    """How many of the step's outputs the files fill; the first verified file of each wins and captures its hold."""
    found = {artifact.ordinal: artifact for artifact in artifacts.list_of_attempt(turn.tx, attempt.id)}
    filled = 0
    for file in files:
        artifact, measures = found[file.ordinal], file.measures
        artifacts.store(
            turn.tx, artifact, digest=file.digest, size_bytes=file.size_bytes, media_type=measures.media_type
        )
        output = next((output for output in outputs if output.ordinal == file.ordinal), None)
        if output is None:
            artifacts.verify(turn.tx, artifact, measures, ArtifactUse.EXTRA)
        elif artifacts.fill(turn.tx, output, artifact.id):
            artifacts.verify(turn.tx, artifact, measures, ArtifactUse.FILLS)
            jobs.count_filled(turn.tx, attempt.job_id)
            if not _close(turn, output, HoldEvent.CAPTURED, "delivered"):
                _correct(turn, attempt, output)
            filled += 1
        else:
            artifacts.verify(turn.tx, artifact, measures, ArtifactUse.LATE)
    return filled


def close_missing(turn: Turn, step: Step, event: HoldEvent, reason: str) -> None:
    """Close what is held for the step's outputs that are still missing."""
    for output in artifacts.list_expected(turn.tx, step_id=step.id):
        if output.artifact_id is None:
            _close(turn, output, event, reason)


def _close(turn: Turn, output: Expected, event: HoldEvent, reason: str) -> bool:
    return ledger.close(turn.tx, turn.clock, output.hold_id, event, reason=reason, actor=turn.actor)


def _correct(turn: Turn, attempt: Attempt, output: Expected) -> None:
    """A file came after its hold was closed: if that was released, it is spent after all, by an entry of its own.

    Where the account hasn't got the credits any more, nothing moves: it had been told that they were its own again.
    """
    account_id = str(jobs.get(turn.tx, attempt.job_id)["account_id"])
    step = steps.get(turn.tx, attempt.step_id).name
    hold = ledger.get_hold(turn.tx, output.hold_id)
    data: dict[str, object] = {"output": output.name, "credits": hold["amount"]}
    try:
        moved = ledger.correct(
            turn.tx,
            turn.clock,
            output.hold_id,
            account_id=account_id,
            job_id=attempt.job_id,
            spent=hold["amount"],
            reason="delivered after the release",
            actor=turn.actor,
        )
    except NotEnoughCreditsError:
        turn.tell("ledger.not_corrected", attempt, step, data)
        return
    if moved:
        turn.tell("ledger.corrected", attempt, step, {**data, "moved": moved})


def fail_step(turn: Turn, step: Step, attempt: Attempt, fault: Fault) -> None:
    """End a step for good: its money by what was charged, the steps behind it cancelled, the job closed."""
    if steps.advance(turn.tx, step, StepEvent.FAILED) is None:
        return
    alarms.clear(turn.tx, step.id)
    recipe = turn.recipe_of(step.job_id)
    event = billing(recipe.billing, fault.charged, was_accepted=attempt.ref is not None)
    data = {"category": fault.category, "code": fault.code, "charged": fault.charged, "holds": event or "held"}
    turn.tell("step.failed", attempt, step.name, data)
    if event is None:
        open_case(turn, CaseKind.CHARGE, attempt, step.name, {"charged": fault.charged})
    else:
        close_missing(turn, step, event, f"{fault.category}: {fault.code}")
    settle(turn, step.id)
    cancel_waiting(turn, step.job_id, _doomed(recipe, _behind(recipe, {step.name})))
    close_job(turn, recipe, step.job_id, category=fault.category)


def cancel_waiting(turn: Turn, job_id: str, doomed: set[str] | None = None) -> None:
    """Cancel steps that have not been sent: all of them, or those that are doomed."""
    for step in steps.list_of_job(turn.tx, job_id):
        if step.state not in (StepState.WAITING, StepState.READY) or (doomed is not None and step.name not in doomed):
            continue
        if any(attempt.state not in FINAL_ATTEMPT for attempt in attempts.list_of_step(turn.tx, step.id)):
            continue  # an earlier buy of this step is still in doubt or running
        _cancel(turn, step)


def cancel_step(turn: Turn, step: Step) -> None:
    """Cancel a step whose send came to nothing after its job was asked to cancel; the job closed if that was all."""
    _cancel(turn, step)
    close_job(turn, turn.recipe_of(step.job_id), step.job_id)


def _cancel(turn: Turn, step: Step) -> None:
    if steps.advance(turn.tx, step, StepEvent.CANCELLED):
        alarms.clear(turn.tx, step.id)
        close_missing(turn, step, HoldEvent.RELEASED, "cancelled before it was sent")
        settle(turn, step.id)
        turn.tell("step.cancelled", step)


def _doomed(recipe: Recipe, lost: set[str]) -> set[str] | None:
    """The steps not to be bought any more when these can't be; None for all: the job will be called failed."""
    return lost if recipe.partial == "incomplete" else None


def _heirs(recipe: Recipe, name: str, missing: set[str]) -> set[str]:
    """The steps that were to be handed a missing output of a step, and all behind them."""
    heirs = {
        step.name
        for step in recipe.steps
        if any(handoff.step == name and handoff.output in missing for handoff in step.handoffs)
    }
    return heirs | _behind(recipe, heirs)


def _behind(recipe: Recipe, names: set[str]) -> set[str]:
    """The steps that need one of these, directly or through others."""
    found = set(names)
    for step in recipe.steps * len(recipe.steps):
        if found.intersection(step.needs):
            found.add(step.name)
    return found - names


def close_job(turn: Turn, recipe: Recipe, job_id: str, *, category: str = "") -> JobState | None:
    """The state in which the job ends, once no step can move any more; None while one can."""
    standing = steps.list_of_job(turn.tx, job_id)
    if any(step.state not in FINAL_STEP for step in standing):
        return None
    job = jobs.get(turn.tx, job_id)
    state = jobs.advance(turn.tx, job, _ending(job, standing, recipe), category=category)
    if state is None:
        return None
    if state is JobState.COMPLETE:
        _seal(turn, job)
    turn.tell(f"job.{state}", job_id, data={"filled": job["filled"], "expected": job["expected"]})
    return state


def _ending(job: Row, standing: list[Step], recipe: Recipe) -> JobEvent:
    if job["filled"] == job["expected"]:
        return JobEvent.COMPLETED
    if job["filled"] and recipe.partial == "incomplete":
        return JobEvent.FELL_SHORT
    is_asked = job["cancel_requested_at"] is not None  # else steps were cancelled because another fell short
    is_failed = any(step.state is StepState.FAILED for step in standing)
    return JobEvent.CANCELLED if is_asked and not is_failed else JobEvent.FAILED


def _seal(turn: Turn, job: Row) -> None:
    """The manifest: what was ordered and what stands, by hash."""
    content = {
        "job": job["id"],
        "key": job["key"],
        "recipe": {"name": job["recipe_name"], "version": job["recipe_version"], "hash": job["recipe_hash"]},
        "request_hash": job["request_hash"],
        "outputs": [{name: row[name] for name in _MANIFEST} for row in artifacts.list_files(turn.tx, job["id"])],
    }
    canonical = encode(content)
    jobs.seal(turn.tx, job["id"], content=canonical.decode(), digest=digest_of(canonical))


def open_case(turn: Turn, kind: CaseKind, attempt: Attempt, step: str, facts: dict[str, object]) -> None:
    """Open a case on the attempt, with what is known; one that is open already gets the facts as evidence."""
    case_id = cases.open_(
        turn.tx, turn.clock, kind, job_id=attempt.job_id, step_id=attempt.step_id, attempt_id=attempt.id
    )
    if case_id is not None:
        why = {"why": facts["reason"]} if kind is CaseKind.OUTPUT_REJECTED else {}
        if kind is CaseKind.REF_CONFLICT:
            why = {"ref": facts["ref"]}
        turn.tell("case.opened", attempt, step, {"case": case_id, "kind": kind, **why})
    for row in cases.find_open(turn.tx, attempt.id, kind):
        cases.add_evidence(turn.tx, turn.clock, row["id"], "observation", facts, actor=turn.actor)


def close_cases(turn: Turn, kind: CaseKind, event: CaseEvent, attempt: Attempt, reason: str) -> None:
    """Decide the open cases of a kind on an attempt, and say so in the journal."""
    if not attempt.has_cases:
        return
    for row in cases.find_open(turn.tx, attempt.id, kind):
        if cases.close(turn.tx, turn.clock, row["id"], event, actor=turn.actor, reason=reason):
            step = steps.get(turn.tx, attempt.step_id)
            data = {"case": row["id"], "kind": kind, "decision": event, "reason": reason}
            turn.tell("case.closed", attempt, step.name, data)
