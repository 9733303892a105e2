"""What goes wrong in one run, as a value: a seed for order and delays, how many take part, and a list of faults.

A schedule says everything about a run, so the same one runs the same way every time. It is drawn from a number, can
be made smaller fault by fault, and its repr is the line that goes into `test_regressions.py`.

A fault says where, at which crossing of that place, and what: `Fault("post image", 1, "reset_accepted")`. Places are
crossed by simulated processes and counted over all of them. Most have two names, of which either may be used: the
kind of place alone, and with what is done there ("commit", "commit claim"). `second` is the place of what happens by
the clock; its number is the virtual second.
"""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from tests.simulation.fates import DECODES, DOWNLOADS, EVENTS, GETS, POLLS, POSTS, TASKS

CRASHES = ("crash_before", "crash_after")
STALLS = ("late", "freeze")


class Fault(NamedTuple):
    """One thing that goes wrong."""

    where: str
    nth: int
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """One run.

    Attributes:
        seed: of the order in which tasks run, of delays and of jitter.
        is_shuffled: False runs tasks first come, first served.
        workers: how many worker processes; one that died is started again.
        jobs: how many chains are ordered.
        recipe: a name of `orders.RECIPES`.
    """

    seed: int = 1
    workers: int = 1
    jobs: int = 1
    recipe: str = "chain"
    is_shuffled: bool = True
    faults: tuple[Fault, ...] = ()

    def __repr__(self) -> str:
        """The call that makes this one, without what is as usual."""
        usual = Schedule()
        names = ("seed", "workers", "jobs", "recipe", "is_shuffled")
        given = [f"{name}={getattr(self, name)!r}" for name in names if getattr(self, name) != getattr(usual, name)]
        if self.faults:
            faults = "".join(f"Fault({where!r}, {nth}, {what!r}), " for where, nth, what in self.faults)
            given.append(f"faults=({faults.rstrip()})")
        return f"Schedule({', '.join(given)})"


class _Place(NamedTuple):
    """How often faults are drawn for a place, up to which crossing, and which."""

    weight: int
    nth_max: int
    whats: tuple[str, ...]


PLACES: Mapping[str, _Place] = {
    "post": _Place(26, 3, (*POSTS, *CRASHES, *STALLS, "crash_answered", "freeze_in_air")),
    "task": _Place(6, 3, (*TASKS,)),
    "poll": _Place(12, 8, (*POLLS, *CRASHES, *STALLS)),
    "get models": _Place(2, 1, (*GETS, *CRASHES)),
    "download": _Place(8, 3, (*DOWNLOADS, *CRASHES, *STALLS)),
    "decode": _Place(5, 3, (*DECODES, *CRASHES, *STALLS)),
    "keep": _Place(4, 3, ("full", *CRASHES, *STALLS)),
    "commit": _Place(22, 24, ("error", "lost", *CRASHES, *STALLS, "freeze_after")),
    "read": _Place(3, 40, ("error", "crash_before", "freeze")),
    "second": _Place(12, 180, EVENTS),
}
"""Chosen so that most faults meet something: a clean chain crosses 2 posts, some 6 polls, 2 downloads, 20 commits."""


def drawn(number: int, *, workers_max: int = 3) -> Schedule:
    """The schedule of that number; neighbours have nothing in common."""
    chance = random.Random(number)
    faults = {_fault(chance) for _ in range(_count(chance))}
    return Schedule(
        seed=number,
        workers=min(workers_max, chance.choice((1, 1, 2, 2, 3))),
        jobs=chance.choice((1, 1, 1, 1, 2)),
        recipe=chance.choice(("still", "still", "chain", "chain", "replacing", "pair")),
        faults=tuple(sorted(faults)),
    )


def _count(chance: random.Random) -> int:
    """How many faults: mostly few, so that they don't hide each other, sometimes many."""
    return chance.choice((1, 2, 2, 3, 3, 4, 5, 8))


def _fault(chance: random.Random) -> Fault:
    where = chance.choices(list(PLACES), [place.weight for place in PLACES.values()])[0]
    place = PLACES[where]
    return Fault(where, chance.randint(1, place.nth_max), chance.choice(place.whats))
