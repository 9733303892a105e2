"""The simulator's own test: each engine that is broken on purpose is caught, every time."""

import sys

import pytest

from tests.simulation.engines import REAL
from tests.simulation.planted import Plant, planted
from tests.simulation.plants import PLANTS
from tests.simulation.running import first_broken
from tests.simulation.schedule import THEMES, Fault, Schedule, drawn
from tests.simulation.shrinking import shrunk

WITHIN = 1000
"""Schedules within which a fault must show; the shyest one shows after some seven hundred of its theme."""


@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant.name)
def test_a_planted_fault_is_caught(plant: Plant) -> None:
    themes = (plant.theme,) if plant.theme else tuple(THEMES)
    schedules = (drawn(number, themes=themes) for number in range(WITHIN))
    assert first_broken(schedules, planted(plant)) is not None


def test_the_real_engine_stays_as_it_is() -> None:
    before = {name: module for name, module in sys.modules.items() if name.startswith("onetake.")}
    engine = planted(PLANTS[0])
    assert engine.Worker is not REAL.Worker
    assert {name: module for name, module in sys.modules.items() if name.startswith("onetake.")} == before


def test_a_plant_that_no_longer_fits_says_so() -> None:
    plant = Plant("rotten", "engine/worker.py\n-no such line\n")
    with pytest.raises(AssertionError, match="has 0 times"):
        planted(plant)


def test_a_failing_schedule_is_made_as_small_as_can_be() -> None:
    plant = next(plant for plant in PLANTS if plant.name == "a reset is taken for never sent")
    noise = (Fault("commit", 5, "error"), Fault("poll", 2, "get_500"), Fault("second", 9, "resume"))
    schedule = Schedule(seed=3, workers=3, jobs=2, recipe="pair", faults=(*noise, Fault("post", 2, "reset_accepted")))
    smallest = shrunk(schedule, planted(plant))
    assert smallest == Schedule(is_shuffled=False, faults=(Fault("post", 1, "reset_accepted"),))
    assert repr(smallest) == "Schedule(is_shuffled=False, faults=(Fault('post', 1, 'reset_accepted'),))"
