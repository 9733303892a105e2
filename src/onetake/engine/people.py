"""What people may do with a job: attach an id they found, resume, cancel. None of it buys anything by itself."""

from dataclasses import dataclass

from onetake.domain.answers import (
    Accepted,
    Died,
    Finished,
    KeyRefused,
    Missing,
    NoAddresses,
    NoAnswer,
    Reading,
    Unlisted,
    Working,
    as_ref,
    echoed_model,
    poll_path,
    reading_of,
)
from onetake.domain.errors import BadValueError, NotAllowedError, ProviderError
from onetake.domain.events import StepEvent
from onetake.domain.jsonvalue import shown
from onetake.domain.states import AlarmKind, AttemptState, JobState, StepState, WaitReason
from onetake.engine.finding import find_job
from onetake.engine.outcomes import bind
from onetake.engine.parts import Parts
from onetake.engine.poller import POLL_TIMEOUT_S
from onetake.engine.settling import cancel_waiting, close_job
from onetake.engine.turn import Turn
from onetake.providers.adapter import Adapter
from onetake.store import alarms, attempts, jobs, models, steps
from onetake.store.attempts import Attempt
from onetake.store.database import Tx
from onetake.store.steps import Step


@dataclass(frozen=True, slots=True)
class Resumed:
    """How much was set going again: refs to poll now, and steps that a person had to release."""

    polls: int
    steps: int


async def attach(parts: Parts, job_name: str, ref: str, *, step_name: str | None = None) -> Attempt:
    """The attempt that the provider's id now belongs to, after a live look at it.

    Args:
        parts: the engine.
        job_name: the job's id or key.
        ref: the provider's id, as a person found it.
        step_name: which step, where more than one is unknown.

    Raises:
        BadValueError: what was given can't be an id.
        NotFoundError: there is no such job.
        NotAllowedError: no step is unknown, the id is another attempt's, or it isn't a task of this order.
        ProviderError: the provider couldn't be asked; nothing was changed.
    """
    if as_ref(ref) is None:
        raise BadValueError(f"{shown(ref)!r} can't be a provider's id: nothing was attached.")
    attempt, step = await parts.database.read(_find_unknown, job_name, step_name)
    adapter = parts.adapters[attempt.provider]
    owner = await parts.database.read(
        attempts.find_ref_owner, provider_account=adapter.name, operation=attempt.operation, ref=ref
    )
    if owner is not None:
        raise NotAllowedError(f"{ref} belongs to another attempt ({owner}): nothing was attached.")
    await _look_at(parts, adapter, attempt, step, ref)
    bound = await parts.act(parts.settings.person, _attach, adapter, attempt.id, ref)
    if not bound:
        raise NotAllowedError(f"{ref} can't be attached: the attempt or the id was taken meanwhile; look at it again.")
    return attempt


def _find_unknown(tx: Tx, job_name: str, step_name: str | None) -> tuple[Attempt, Step]:
    job = find_job(tx, job_name)
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


async def _look_at(parts: Parts, adapter: Adapter, attempt: Attempt, step: Step, ref: str) -> None:
    """Ask the provider about the id with our own key, and refuse one that is not a task of this order."""
    request = adapter.poll_request(adapter.origin + poll_path(adapter.contract, ref))
    result = await parts.transport.get(request, credential=adapter.credential(), timeout_s=POLL_TIMEOUT_S)
    operation = adapter.contract.operation(attempt.operation)
    reading = reading_of(adapter.contract, operation, ref, result, now_s=parts.clock.now_us() / 1e6)
    if isinstance(reading, KeyRefused | NoAnswer):
        raise ProviderError(f"{adapter.name} could not be asked about {ref} ({_said(reading)}): nothing was attached.")
    if isinstance(reading, Missing):
        raise NotAllowedError(f"{adapter.name} knows no task {ref}: nothing was attached.")
    model = echoed_model(adapter.contract, result)
    if model is not None and model != step.model:
        raise NotAllowedError(f"{ref} runs the model {model}, this step ordered {step.model}: nothing was attached.")


def _said(reading: Reading) -> str:
    match reading:
        case KeyRefused():
            return f"it refuses our key, HTTP {reading.status}"
        case NoAnswer():
            return reading.reason
        case Working() | Unlisted() | Finished() | Died() | NoAddresses() | Missing():
            return type(reading).__name__.lower()


def _attach(turn: Turn, adapter: Adapter, attempt_id: str, ref: str) -> bool:
    attempt = attempts.get(turn.tx, attempt_id)
    return bind(turn, adapter, attempt, Accepted(ref=ref, locator=""), source="attach")


def resume(turn: Turn, job_name: str) -> Resumed:
    """Poll the saved refs now, fetch again what is finished, and release steps that wait for a person. Free.

    A step that is released may be sent again only because its last sends provably were not accepted.

    Raises:
        NotFoundError: there is no such job.
        NotAllowedError: the job has ended.
    """
    job = jobs.get(turn.tx, find_job(turn.tx, job_name)["id"])
    if job["state"] != JobState.OPEN:
        raise NotAllowedError(f"Job {job['id']} is {job['state']}: there is nothing to resume.")
    polls = attempts.make_due(turn.tx, job["id"])
    released = 0
    for step in steps.list_of_job(turn.tx, job["id"]):
        if step.state is StepState.WAITING and step.waiting_for is WaitReason.REVIEW:
            steps.advance(turn.tx, step, StepEvent.OPENED, {"repeats": 0, "repeats_since": None})
            models.forget(turn.tx, step.provider)  # it may have waited for a model that is offered by now
            alarms.clear(turn.tx, step.id, AlarmKind.REPEATS, AlarmKind.MODEL_REFUSED)
            released += 1
    turn.tell("job.resumed", job["id"], data={"polls": polls, "steps": released})
    return Resumed(polls=polls, steps=released)


def cancel(turn: Turn, job_name: str) -> JobState:
    """The job's state after a request to cancel.

    Steps that were not sent are cancelled and their money is released. What was sent goes on: only the provider's
    final word ends it, its money stays held, and a finished file is kept.

    Raises:
        NotFoundError: there is no such job.
        NotAllowedError: the job has ended.
    """
    job = jobs.get(turn.tx, find_job(turn.tx, job_name)["id"])
    if job["state"] != JobState.OPEN:
        raise NotAllowedError(f"Job {job['id']} is {job['state']}: there is nothing to cancel.")
    if jobs.request_cancel(turn.tx, job["id"]):
        turn.tell("job.cancel_requested", job["id"])
    recipe = turn.recipe_of(job["id"])
    cancel_waiting(turn, job["id"])
    return close_job(turn, recipe, job["id"]) or JobState.OPEN
