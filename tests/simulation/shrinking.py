"""Making a failing schedule smaller: fewer faults, fewer workers and jobs, a plainer order, the same law broken."""

from collections.abc import Iterator
from dataclasses import replace

from tests.simulation.engines import REAL, Engine
from tests.simulation.schedule import Fault, Schedule
from tests.simulation.world import simulate

RUNS_MAX = 600
"""Some ten seconds: enough to halve ten faults over and over, with every simplification in between."""


def law_of(violation: str) -> str:
    """The name of the law that a violation breaks, so that shrinking doesn't slip to another fault."""
    return violation.partition(":")[0]


def shrunk(schedule: Schedule, engine: Engine = REAL) -> Schedule:
    """The smallest schedule found that breaks a law which the given one breaks; it must break one."""
    laws = {law_of(violation) for violation in simulate(schedule, engine).violations}
    if not laws:
        raise ValueError(f"no law is broken by {schedule}")
    runs = 0
    candidates = _smaller(schedule)
    while (candidate := next(candidates, None)) is not None and runs < RUNS_MAX:
        runs += 1
        if laws & {law_of(violation) for violation in simulate(candidate, engine).violations}:
            schedule, candidates = candidate, _smaller(candidate)
    return schedule


def _smaller(schedule: Schedule) -> Iterator[Schedule]:
    """Schedules that are a little smaller, boldest first."""
    faults, size = schedule.faults, len(schedule.faults)
    chunk = size
    while chunk:
        for start in range(0, size, chunk):
            yield replace(schedule, faults=faults[:start] + faults[start + chunk :])
        chunk //= 2
    plain = Schedule()
    simpler = (
        replace(schedule, is_shuffled=False),
        replace(schedule, workers=1),
        replace(schedule, workers=min(2, schedule.workers)),
        replace(schedule, jobs=1),
        replace(schedule, look_s=plain.look_s),
        replace(schedule, recipe=plain.recipe),
        replace(schedule, seed=plain.seed),
    )
    yield from (each for each in simpler if each != schedule)
    for index, fault in enumerate(faults):
        for nth in sorted({1, fault.nth // 2, fault.nth - 1} - {0, fault.nth}):
            earlier = tuple(sorted({*faults[:index], Fault(fault.where, nth, fault.what), *faults[index + 1 :]}))
            if len(earlier) == size and nth < fault.nth:
                yield replace(schedule, faults=earlier)
