"""Ten thousand schedules, the second half: see `test_schedules`."""

import pytest

from tests.simulation.test_schedules import COUNT, chunks, must_hold


@pytest.mark.parametrize("numbers", chunks(COUNT // 2, COUNT), ids=str)
def test_no_law_is_broken(numbers: range) -> None:
    must_hold(numbers)
