"""Ten thousand schedules, the first half: no law is broken, whatever happens in whatever order.

In halves, because test files are what is handed out to cores.
"""

import pytest

from tests.simulation.running import report, run

COUNT = 10_000
"""Each of the planted faults shows within the first thousand."""

CHUNK = 250
"""Schedules in one test: a few seconds."""


def chunks(first: int, last: int) -> list[range]:
    """The numbers from one to before the other, in pieces."""
    return [range(start, min(start + CHUNK, last)) for start in range(first, last, CHUNK)]


def must_hold(numbers: range) -> None:
    """Fail with the smallest schedule that breaks a law, if one does."""
    broken = run(numbers).broken
    assert not broken, "\n" + report(broken[0])


@pytest.mark.parametrize("numbers", chunks(0, COUNT // 2), ids=str)
def test_no_law_is_broken(numbers: range) -> None:
    must_hold(numbers)
