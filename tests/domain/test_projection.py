"""How a job is shown: the words of the still-to-clip chain in their order, and the worst of several steps first."""

from dataclasses import replace

import pytest

from onetake.domain.projection import StepView, job_words, shown, state_of, status_of, status_of_step
from onetake.domain.states import AttemptState, JobState, JobStatus, StepState, WaitReason
from tests.domain.recipes import shipped

RUNNING = (
    AttemptState.SUBMITTING,
    AttemptState.SUBMIT_UNKNOWN,
    AttemptState.PROCESSING,
    AttemptState.COLLECTING,
)


def step(
    name: str,
    state: StepState,
    attempt: AttemptState | None = None,
    *,
    waiting_for: WaitReason | None = None,
    is_queued: bool = False,
    has_case: bool = False,
) -> StepView:
    return StepView(
        name=name, state=state, waiting_for=waiting_for, attempt=attempt, is_queued=is_queued, has_case=has_case
    )


def waiting(name: str, reason: WaitReason = WaitReason.NEEDS) -> StepView:
    return step(name, StepState.WAITING, waiting_for=reason)


def active(name: str, attempt: AttemptState, *, is_queued: bool = False, has_case: bool = False) -> StepView:
    return step(name, StepState.ACTIVE, attempt, is_queued=is_queued, has_case=has_case)


def life(name: str) -> list[StepView]:
    """The views of one step, from ready to complete."""
    done = step(name, StepState.COMPLETE, AttemptState.DELIVERED)
    return [step(name, StepState.READY), *(active(name, attempt) for attempt in RUNNING), done]


def test_the_chain_reads_exactly_like_this() -> None:
    first, second = (each.name for each in shipped("still-to-clip").steps)
    *still, still_done = life(first)
    *clip, clip_done = life(second)
    read = [state_of(JobState.OPEN, [view, waiting(second)]) for view in [*still, still_done]]
    read += [state_of(JobState.OPEN, [still_done, view]) for view in clip]
    read += [state_of(JobState.COMPLETE, [still_done, clip_done]), state_of(JobState.FAILED, [still_done, clip_done])]
    assert read == [
        "image_ready",
        "image_submitting",
        "image_submit_unknown",
        "image_processing",
        "image_collecting",
        "image_complete",
        "video_ready",
        "video_submitting",
        "video_submit_unknown",
        "video_processing",
        "video_collecting",
        "complete",
        "failed",
    ]


@pytest.mark.parametrize(
    ("job", "state", "status"),
    [
        (JobState.COMPLETE, "complete", JobStatus.COMPLETED),
        (JobState.INCOMPLETE, "incomplete", JobStatus.INCOMPLETE),
        (JobState.FAILED, "failed", JobStatus.FAILED),
        (JobState.CANCELLED, "cancelled", JobStatus.CANCELLED),
    ],
)
def test_a_job_that_is_over_says_so_whatever_its_steps_do(job: JobState, state: str, status: JobStatus) -> None:
    late = [active("a", AttemptState.PROCESSING)]
    assert (state_of(job, late), status_of(job, late)) == (state, status)


STEPS: list[tuple[StepView, str, JobStatus | None]] = [
    (waiting("a"), "waiting", None),
    (waiting("a", WaitReason.REVIEW), "waiting", JobStatus.NEEDS_REVIEW),
    (waiting("a", WaitReason.ADDRESS), "waiting", JobStatus.PREPARING),
    (waiting("a", WaitReason.BUDGET), "waiting", JobStatus.PREPARING),
    (waiting("a", WaitReason.APPROVAL), "waiting", JobStatus.NEEDS_REVIEW),
    (step("a", StepState.READY), "ready", JobStatus.PREPARING),
    (step("a", StepState.READY, AttemptState.NOT_SENT), "ready", JobStatus.PREPARING),
    (active("a", AttemptState.SUBMITTING), "submitting", JobStatus.SUBMITTING),
    (active("a", AttemptState.SUBMIT_UNKNOWN), "submit_unknown", JobStatus.SUBMISSION_UNKNOWN),
    (active("a", AttemptState.SUBMIT_UNKNOWN, has_case=True), "submit_unknown", JobStatus.SUBMISSION_UNKNOWN),
    (active("a", AttemptState.PROCESSING), "processing", JobStatus.IN_PROGRESS),
    (active("a", AttemptState.PROCESSING, is_queued=True), "processing", JobStatus.QUEUED),
    (active("a", AttemptState.PROCESSING, is_queued=True, has_case=True), "processing", JobStatus.NEEDS_REVIEW),
    (active("a", AttemptState.COLLECTING), "collecting", JobStatus.PROCESSING),
    (active("a", AttemptState.COLLECTING, has_case=True), "collecting", JobStatus.NEEDS_REVIEW),
    (step("a", StepState.COMPLETE, AttemptState.DELIVERED), "complete", None),
    (step("a", StepState.FAILED, AttemptState.FAILED), "failed", None),
    (step("a", StepState.CANCELLED), "cancelled", None),
]


@pytest.mark.parametrize(("view", "word", "status"), STEPS)
def test_what_each_step_shows(view: StepView, word: str, status: JobStatus | None) -> None:
    assert (shown(view), status_of_step(view)) == (word, status)
    if status is not None:
        assert (state_of(JobState.OPEN, [view]), status_of(JobState.OPEN, [view])) == (f"a_{word}", status)


WORST_FIRST = [
    active("unknown", AttemptState.SUBMIT_UNKNOWN),
    waiting("held", WaitReason.REVIEW),
    active("sending", AttemptState.SUBMITTING),
    active("collecting", AttemptState.COLLECTING),
    active("running", AttemptState.PROCESSING),
    active("queued", AttemptState.PROCESSING, is_queued=True),
    step("ready", StepState.READY),
]


@pytest.mark.parametrize("place", range(len(WORST_FIRST)))
def test_of_several_active_steps_the_worst_is_shown(place: int) -> None:
    worst, *others = WORST_FIRST[place:]
    for views in ([worst, *others], [*reversed(others), worst], [*others, waiting("later"), worst]):
        assert state_of(JobState.OPEN, views) == f"{worst.name}_{shown(worst)}"
        assert status_of(JobState.OPEN, views) == status_of_step(worst)


def test_of_equals_the_first_in_the_recipe_is_shown() -> None:
    twins = [active("left", AttemptState.PROCESSING), active("right", AttemptState.PROCESSING)]
    assert state_of(JobState.OPEN, twins) == "left_processing"
    assert state_of(JobState.OPEN, twins[::-1]) == "right_processing"


def test_before_anything_moves_a_job_prepares() -> None:
    for views in ([], [waiting("a")], [waiting("a"), step("b", StepState.CANCELLED)]):
        assert (state_of(JobState.OPEN, views), status_of(JobState.OPEN, views)) == ("preparing", JobStatus.PREPARING)


def test_while_the_gate_is_shut_the_last_step_that_is_complete_is_shown() -> None:
    done = step("a", StepState.COMPLETE)
    assert state_of(JobState.OPEN, [done, replace(done, name="b"), waiting("c")]) == "b_complete"
    assert status_of(JobState.OPEN, [done, waiting("c")]) is JobStatus.PREPARING


def test_every_word_that_a_chain_can_show_is_known_beforehand() -> None:
    words = job_words(["image", "video"])
    assert len(words) == len(set(words))
    assert {"preparing", "image_ready", "video_submit_unknown", "video_collecting", "complete", "cancelled"} <= {*words}
    assert not {"open", "image_active", "image_delivered"}.intersection(words)
