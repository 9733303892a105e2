"""A death at every commit and every boundary of the network, one by one; then a stall at each, with others around."""

from dataclasses import replace

from tests.simulation.kill_points import CHAIN, STALLS, faults_at_every_place, kill_points
from tests.simulation.world import simulate


def test_no_death_buys_twice_or_loses_anything() -> None:
    points = list(kill_points())
    assert len(points) > 40
    for point in points:
        assert not point.violations, point
        assert max(point.posts) <= 1, point
        is_whole = point.posts == (1, 1) and point.ending == "complete"
        # Announced, never sent, and nobody can know that: it waits for a person and keeps its money.
        is_held = point.ending.endswith("_submit_unknown") and point.standing.endswith("_submitting")
        assert is_whole or is_held, point


def test_no_stall_buys_twice_or_needs_more_than_a_person_who_looks() -> None:
    crowd = replace(CHAIN, workers=2)
    faults = [fault for _, fault in faults_at_every_place(crowd, STALLS)]
    assert len(faults) > 100
    for fault in faults:
        result = simulate(replace(crowd, faults=(fault,)))
        assert not result.violations, fault
        assert result.posts == {"image": 1, "video": 1}, fault
        assert result.ending == "complete", fault
