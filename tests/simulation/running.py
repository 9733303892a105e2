"""Many schedules one after the other, and what to say about one that breaks a law."""

import gc
import time
from collections.abc import Iterable
from dataclasses import dataclass, field

from tests.simulation.engines import Engine
from tests.simulation.schedule import Schedule, drawn
from tests.simulation.shrinking import shrunk
from tests.simulation.world import simulate


@dataclass(slots=True, kw_only=True)
class Tally:
    """What came of some schedules; tallies add up.

    Attributes:
        schedules: how many there were.
        virtual_s: how much time went by in them.
        cpu_s: what they took.
        broken: the numbers of those that broke a law.
    """

    schedules: int = 0
    virtual_s: float = 0.0
    cpu_s: float = 0.0
    broken: list[int] = field(default_factory=list)

    def add(self, other: "Tally") -> None:
        """Count the other one's in."""
        self.schedules += other.schedules
        self.virtual_s += other.virtual_s
        self.cpu_s += other.cpu_s
        self.broken += other.broken

    def __str__(self) -> str:
        """One sentence with all of it."""
        per_s, speed = self.schedules / self.cpu_s, self.virtual_s / self.cpu_s
        return (
            f"{self.schedules:,} schedules, {len(self.broken)} broke a law; {self.virtual_s / 86_400:,.1f} days went by"
            f" in {self.cpu_s:,.1f} CPU seconds: {per_s:,.0f} schedules a second, time {speed:,.0f} times as fast"
        )


def run(numbers: Iterable[int]) -> Tally:
    """The tally of the schedules of these numbers."""
    gc.freeze()  # what was imported stays; looking through it again and again would cost a tenth
    tally, started_s = Tally(), time.process_time()
    for number in numbers:
        result = simulate(drawn(number))
        tally.schedules += 1
        tally.virtual_s += result.virtual_s
        if result.violations:
            tally.broken.append(number)
    tally.cpu_s = time.process_time() - started_s
    return tally


def first_broken(schedules: Iterable[Schedule], engine: Engine) -> Schedule | None:
    """The first of the schedules in which this engine breaks a law."""
    gc.freeze()
    return next((schedule for schedule in schedules if simulate(schedule, engine).violations), None)


def report(number: int) -> str:
    """What the schedule of that number breaks, and its smallest form, ready for `test_regressions`."""
    schedule = drawn(number)
    smallest = shrunk(schedule)
    lines = [
        f"Schedule {number} ({len(schedule.faults)} faults) breaks:",
        *(f"    {violation}" for violation in simulate(schedule).violations),
        f"Made smaller ({len(smallest.faults)} faults), it still breaks:",
        *(f"    {violation}" for violation in simulate(smallest).violations),
        "To see it happen: ./dev sim --seed " + str(number),
        "To keep it, add to REGRESSIONS in tests/simulation/test_regressions.py:",
        f"    {smallest!r},",
    ]
    return "\n".join(lines)
