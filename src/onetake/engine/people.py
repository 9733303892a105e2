"""What people may do with a job: attach an id they found, resume, cancel. None of it buys anything by itself."""

from dataclasses import dataclass

from onetake.domain.answers import Accepted, as_ref
from onetake.domain.errors import BadValueError, NotAllowedError
from onetake.domain.events import StepEvent
from onetake.domain.jsonvalue import shown
from onetake.domain.roles import Act
from onetake.domain.states import AlarmKind, AttemptState, JobState, StepState, WaitReason
from onetake.engine.finding import find_in
from onetake.engine.members import Who, require, who_of
from onetake.engine.outcomes import bind
from onetake.engine.parts import Parts
from onetake.engine.recognising import look_at
from onetake.engine.reconciling import adopt
from onetake.engine.settling import cancel_waiting, close_job
from onetake.engine.turn import Turn
from onetake.providers.adapter import Adapter
from onetake.store import alarms, artifacts, attempts, jobs, models, steps
from onetake.store.attempts import Attempt
from onetake.store.database import Tx
from onetake.store.steps import Step


@dataclass(frozen=True, slots=True)
class Resumed:
    """How much was set going again.

    Attributes:
        polls: saved refs that are asked about now.
        files: files that are fetched now, from fresh addresses.
        steps: steps that a person had to release.
    """

    polls: int
    files: int
    steps: int


async def attach(
    parts: Parts, job_name: str, ref: str, *, step_name: str | None = None, is_sure: bool = False
) -> Attempt:
    """The attempt that the provider's id now belongs to, after a live look at it.

    Args:
        parts: the engine.
        job_name: the job's id or key.
        ref: the provider's id, as a person found it.
        step_name: which step, where more than one is unknown.
        is_sure: a person says so, where the task may be another unknown request's as well.

    Raises:
        BadValueError: what was given can't be an id.
        NotFoundError: there is no such job.
        RoleError: the person may not.
        NotAllowedError: no step is unknown, the id is another attempt's, it isn't a task of this order, or may be one
            of another order as well and nobody is sure.
        ProviderError: the provider couldn't be asked; nothing was changed.
    """
    if as_ref(ref) is None:
        raise BadValueError(f"{shown(ref)!r} can't be a provider's id: nothing was attached.")
    attempt, step = await parts.database.read(_find_unknown, who_of(parts.settings), job_name, step_name)
    adapter = parts.adapters[attempt.provider]
    owner = await parts.database.read(
        attempts.find_ref_owner, provider_account=adapter.name, operation=attempt.operation, ref=ref
    )
    if owner is not None:
        raise NotAllowedError(f"{ref} belongs to another attempt: nothing was attached.")  # whose is nobody's business
    await look_at(parts, adapter, attempt, step, ref, is_sure=is_sure)
    bound = await parts.act(parts.settings.person, _attach, adapter, attempt.id, ref)
    if not bound:
        raise NotAllowedError(f"{ref} can't be attached: the attempt or the id was taken meanwhile; look at it again.")
    return attempt


def _find_unknown(tx: Tx, who: Who, job_name: str, step_name: str | None) -> tuple[Attempt, Step]:
    job = find_in(tx, require(tx, who.account, who.person, Act.ATTACH).account_id, job_name)
    found = [
        (attempt, step)
        for step in steps.list_of_job(tx, job["id"])
        if step_name in (None, step.name)
        for attempt in attempts.list_of_step(tx, step.id)
        if attempt.state is AttemptState.SUBMIT_UNKNOWN
    ]
    if not found:
        what = f"step {step_name!r} of this job" if step_name else "this job"
        raise NotAllowedError(f"Nothing of {what} is unknown, so there is nothing to attach an id to.")
    if len(found) > 1:
        names = ", ".join(step.name for _, step in found)
        raise NotAllowedError(f"Several steps are unknown ({names}): name one with --step.")
    return found[0]


def _attach(turn: Turn, adapter: Adapter, attempt_id: str, ref: str) -> bool:
    attempt = attempts.get(turn.tx, attempt_id)
    is_bound = bind(turn, adapter, attempt, Accepted(ref=ref, locator=""), source="attach")
    if is_bound:
        adopt(turn, attempts.get(turn.tx, attempt_id), ref)
    return is_bound


def resume(turn: Turn, job_name: str) -> Resumed:
    """Poll the saved refs now, fetch what is finished from fresh addresses, release what waits for a person. Free.

    A step that is released may be sent again only because its last sends provably were not accepted.

    Raises:
        NotFoundError: there is no such job.
        RoleError: the person may not.
        NotAllowedError: the job has ended.
    """
    job = jobs.get(turn.tx, find_in(turn.tx, turn.member(Act.STEER).account_id, job_name)["id"])
    if job["state"] != JobState.OPEN:
        raise NotAllowedError(f"Job {job['id']} is {job['state']}: there is nothing to resume.")
    polls, files = attempts.make_due(turn.tx, job["id"]), artifacts.ask_anew(turn.tx, job["id"])
    released = 0
    for step in steps.list_of_job(turn.tx, job["id"]):
        if step.state is StepState.WAITING and step.waiting_for is WaitReason.REVIEW:
            steps.advance(turn.tx, step, StepEvent.OPENED, {"repeats": 0, "repeats_since": None})
            models.forget(turn.tx, step.provider)  # it may have waited for a model that is offered by now
            alarms.clear(turn.tx, step.id, AlarmKind.REPEATS, AlarmKind.MODEL_REFUSED)
            released += 1
    turn.tell("job.resumed", job["id"], data={"polls": polls, "files": files, "steps": released})
    return Resumed(polls=polls, files=files, steps=released)


def cancel(turn: Turn, job_name: str) -> JobState:
    """The job's state after a request to cancel.

    Steps that were not sent are cancelled and their money is released. What was sent goes on: only the provider's
    final word ends it, its money stays held, and a finished file is kept.

    Raises:
        NotFoundError: there is no such job.
        RoleError: the person may not.
        NotAllowedError: the job has ended.
    """
    job = jobs.get(turn.tx, find_in(turn.tx, turn.member(Act.STEER).account_id, job_name)["id"])
    if job["state"] != JobState.OPEN:
        raise NotAllowedError(f"Job {job['id']} is {job['state']}: there is nothing to cancel.")
    if jobs.request_cancel(turn.tx, job["id"]):
        turn.tell("job.cancel_requested", job["id"])
    recipe = turn.recipe_of(job["id"])
    cancel_waiting(turn, job["id"])
    return close_job(turn, recipe, job["id"]) or JobState.OPEN
