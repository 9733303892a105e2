"""Schedules that once broke a law, in their smallest form, as `./dev sim` printed them."""

import pytest

from tests.simulation.schedule import Fault, Schedule
from tests.simulation.world import simulate

REGRESSIONS = {
    "a sweep wrote under a worker's new id while the row of that worker was still on its way": Schedule(
        workers=2, faults=(Fault("commit", 10, "late"), Fault("second", 1, "clock_forward_200"))
    ),
    "the end of a visit under an old lease ended the watch under the new one, so nobody polled any more": Schedule(
        workers=2, faults=(Fault("commit record_finished", 1, "freeze"), Fault("poll", 3, "freeze"))
    ),
    "what a sweep leased whose commit went unanswered was never watched": Schedule(
        is_shuffled=False, faults=(Fault("commit record_delivered", 1, "freeze"), Fault("commit sweep", 1, "lost"))
    ),
    "one read that failed after a POST ended the worker, and with it every POST in the air": Schedule(
        seed=706, workers=2, jobs=2, faults=(Fault("read", 27, "error"),)
    ),
    "a claim whose commit went unanswered was left to become an unknown, though its owner knew that it never sent it": (
        Schedule(is_shuffled=False, faults=(Fault("commit claim", 1, "lost"),))
    ),
    "a status that the contract doesn't list passed for a sign that the task exists, and its id was attached": Schedule(
        seed=46394,
        faults=(Fault("poll", 1, "poll_unlisted"), Fault("post", 1, "error_500"), Fault("second", 1, "attach_wrong")),
    ),
    "a case that couldn't be written the first time was never opened": Schedule(
        is_shuffled=False, faults=(Fault("commit record_case", 1, "error"), Fault("task", 1, "is_empty"))
    ),
}


@pytest.mark.parametrize("schedule", REGRESSIONS.values(), ids=REGRESSIONS)
def test_it_stays_mended(schedule: Schedule) -> None:
    assert simulate(schedule).violations == []


def test_a_claim_without_an_answer_is_bought_without_a_person() -> None:
    result = simulate(Schedule(is_shuffled=False, faults=(Fault("commit claim", 1, "lost"),)))
    assert result.ending == "complete"
    assert result.posts == {"image": 1, "video": 1}
