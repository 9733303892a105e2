"""Every point of a chain at which its process can die, one by one: what is found there, and what comes of it.

The points are not listed by hand: one run without faults crosses them all, and each is then run again with a death
in that place.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tests.simulation.schedule import Fault, Schedule
from tests.simulation.world import journal, simulate

CHAIN = Schedule(is_shuffled=False)
"""One chain, one worker, first come, first served."""

DEATHS = {
    "commit": ("crash_before", "crash_after"),
    "post": ("crash_before", "crash_after", "crash_answered"),
    "get": ("crash_before", "crash_after"),
    "poll": ("crash_before", "crash_after"),
    "download": ("crash_before", "crash_after"),
    "decode": ("crash_before", "crash_after"),
    "keep": ("crash_before", "crash_after"),
}
"""Before: nothing of it happened. After: all of it happened, and its answer died with the process."""

STALLS = {
    "commit": ("error", "lost", "late", "freeze", "freeze_after"),
    "post": ("late", "freeze", "freeze_in_air"),
    "get": ("late", "freeze"),
    "poll": ("late", "freeze"),
    "download": ("late", "freeze"),
    "decode": ("late", "freeze"),
    "keep": ("late", "freeze"),
}
"""Commits that fail or go unanswered; a task or a whole process that goes on when its lease has long run out."""

UNTOLD = ("commit renew",)
"""What moves nothing of a job."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KillPoint:
    """A death and its sequel.

    Attributes:
        step: which of the chain; empty before its first.
        where: a place with its name, as in `Fault`.
        what: a name of `DEATHS`.
        standing: where the job stood when its process was dead; empty: there was none.
        sequel: the journal's lines from there on, as events.
        posts: how many POSTs arrived for each step, in the end.
        ending: where the job stands at last.
        violations: the laws that were broken.
    """

    step: str
    where: str
    what: str
    standing: str
    sequel: tuple[str, ...]
    posts: tuple[int, int]
    ending: str
    violations: tuple[str, ...]


def kill_points() -> Iterator[KillPoint]:
    """All of them in the order of the chain; of several that are alike in everything, such as polls, the first."""
    seen = set[KillPoint]()
    for claims, fault in faults_at_every_place(CHAIN, DEATHS):
        point = _died(("", "image", "video")[claims], fault)
        if point not in seen:
            seen.add(point)
            yield point


def faults_at_every_place(schedule: Schedule, whats: Mapping[str, Sequence[str]]) -> Iterator[tuple[int, Fault]]:
    """A fault of each of these kinds at each place that a schedule without faults crosses, and the claims so far."""
    crossed: Counter[str] = Counter()
    for crossing in simulate(schedule).crossings:
        where = f"{crossing.place} {crossing.name}".strip()
        crossed[where] += 1
        claims = crossed["commit claim"]
        if where not in UNTOLD:
            yield from ((claims, Fault(where, crossed[where], what)) for what in whats.get(crossing.place, ()))


def _died(step: str, fault: Fault) -> KillPoint:
    result = simulate(replace(CHAIN, faults=(fault,)))
    death = result.deaths[0]
    return KillPoint(
        step=step,
        where=fault.where,
        what=fault.what,
        standing=death.standing,
        sequel=tuple(line["event"] for line in journal()[death.lines :]),
        posts=(result.posts.get("image", 0), result.posts.get("video", 0)),
        ending=result.ending,
        violations=tuple(result.violations),
    )
