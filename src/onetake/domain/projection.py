"""How a job is shown: `state`, the evidence word, and `status`, the coarser word for people.

Both are projections of the same rows. While one step is active the state is its name and what it shows, so a
recipe's states read `STEP_ready, STEP_submitting, STEP_submit_unknown, STEP_processing, STEP_collecting,
STEP_complete`. Of several active steps the worst is shown first. No percentages that the provider didn't give.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from onetake.domain.states import FINAL_ATTEMPT, AttemptState, JobState, JobStatus, StepState, WaitReason


@dataclass(frozen=True, slots=True, kw_only=True)
class StepView:
    """What the projection needs of a step, in the recipe's order.

    Attributes:
        attempt: its current attempt's state; None before the first.
        is_queued: the provider says so.
        has_case: a case is open on its current attempt.
    """

    name: str
    state: StepState
    waiting_for: WaitReason | None
    attempt: AttemptState | None
    is_queued: bool = False
    has_case: bool = False


_FINAL = {
    JobState.COMPLETE: JobStatus.COMPLETED,
    JobState.INCOMPLETE: JobStatus.INCOMPLETE,
    JobState.FAILED: JobStatus.FAILED,
    JobState.CANCELLED: JobStatus.CANCELLED,
}

# Worst first: what needs a person, then what may be costing money, then what merely goes on.
_WORST = (
    JobStatus.SUBMISSION_UNKNOWN,
    JobStatus.NEEDS_REVIEW,
    JobStatus.SUBMITTING,
    JobStatus.PROCESSING,
    JobStatus.IN_PROGRESS,
    JobStatus.QUEUED,
    JobStatus.PREPARING,
)


def step_words() -> list[str]:
    """What a step may show while its job is open."""
    own = [state for state in StepState if state not in (StepState.ACTIVE, StepState.FAILED, StepState.CANCELLED)]
    return [*map(str, own), *(str(state) for state in AttemptState if state not in FINAL_ATTEMPT)]


def job_words(steps: Iterable[str]) -> list[str]:
    """Every evidence word of jobs with these steps."""
    ended = [str(state) for state in JobState if state is not JobState.OPEN]
    return ["preparing", *(f"{step}_{word}" for step in steps for word in step_words()), *ended]


def shown(step: StepView) -> str:
    """The word that a step shows: its own state, or its current attempt's while it is active."""
    return str(step.attempt if step.state is StepState.ACTIVE and step.attempt is not None else step.state)


def status_of_step(step: StepView) -> JobStatus | None:
    """The step's word for people; None for a step that is over or waits for another."""
    if step.state is StepState.READY:
        return JobStatus.PREPARING
    if step.state is StepState.WAITING:
        return _waiting(step.waiting_for)
    if step.state is not StepState.ACTIVE:
        return None
    if step.attempt is AttemptState.SUBMIT_UNKNOWN:
        return JobStatus.SUBMISSION_UNKNOWN
    if step.attempt is AttemptState.SUBMITTING:
        return JobStatus.SUBMITTING
    if step.has_case:
        return JobStatus.NEEDS_REVIEW
    if step.attempt is AttemptState.COLLECTING:
        return JobStatus.PROCESSING
    return JobStatus.QUEUED if step.is_queued else JobStatus.IN_PROGRESS


def _waiting(reason: WaitReason | None) -> JobStatus | None:
    """Waiting for another step shows nothing; a fresh address is asked for, and room in a budget comes, by itself."""
    if reason is WaitReason.NEEDS:
        return None
    return JobStatus.PREPARING if reason in (WaitReason.ADDRESS, WaitReason.BUDGET) else JobStatus.NEEDS_REVIEW


def state_of(job: JobState, steps: Sequence[StepView]) -> str:
    """The job's evidence word."""
    if job is not JobState.OPEN:
        return str(job)
    moving = [step for step in steps if status_of_step(step) is not None]
    if moving:
        worst = min(moving, key=_rank)
        return f"{worst.name}_{shown(worst)}"
    done = [step for step in steps if step.state is StepState.COMPLETE]
    return f"{done[-1].name}_complete" if done else "preparing"


def status_of(job: JobState, steps: Sequence[StepView]) -> JobStatus:
    """The job's word for people."""
    if job is not JobState.OPEN:
        return _FINAL[job]
    words = [word for word in map(status_of_step, steps) if word is not None]
    return min(words, key=_WORST.index) if words else JobStatus.PREPARING


def _rank(step: StepView) -> int:
    word = status_of_step(step)
    return _WORST.index(word) if word is not None else len(_WORST)
