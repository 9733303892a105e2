"""What goes wrong in one run, as a value: a seed for order and delays, how many take part, and a list of faults.

A schedule says everything about a run, so the same one runs the same way every time. It is drawn from a number, can
be made smaller fault by fault, and its repr is the line that goes into `test_regressions.py`.

A fault says where, at which crossing of that place, and what: `Fault("post image", 1, "reset_accepted")`. Places are
crossed by simulated processes and counted over all of them. Most have two names, of which either may be used: the
kind of place alone, and with what is done there ("commit", "commit claim"). `second` is the place of what happens by
the clock; its number is the virtual second.
"""

import itertools
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tests.simulation.fates import DECODES, DOWNLOADS, EVENTS, MODEL_LISTS, POLLS, POSTS, TASKS

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
        look_s: how often workers look around: usually once in a lease.
    """

    seed: int = 1
    workers: int = 1
    jobs: int = 1
    recipe: str = "chain"
    look_s: int = 60
    is_shuffled: bool = True
    faults: tuple[Fault, ...] = ()

    def __repr__(self) -> str:
        """The call that makes this one, without what is as usual."""
        usual = Schedule()
        names = ("seed", "workers", "jobs", "recipe", "look_s", "is_shuffled")
        given = [f"{name}={getattr(self, name)!r}" for name in names if getattr(self, name) != getattr(usual, name)]
        if self.faults:
            faults = "".join(f"Fault({where!r}, {nth}, {what!r}), " for where, nth, what in self.faults)
            given.append(f"faults=({faults.rstrip()})")
        return f"Schedule({', '.join(given)})"


class _Place(NamedTuple):
    """How often faults are drawn for a place, up to which crossing, and which."""

    weight: float
    nth_max: int
    whats: tuple[str, ...]


_COMMIT = ("error", "lost", *CRASHES, *STALLS, "freeze_after")

PLACES: Mapping[str, _Place] = {
    "post": _Place(24, 3, (*POSTS, *CRASHES, *STALLS, "crash_answered", "freeze_in_air")),
    "post image": _Place(9, 2, ("slow", *STALLS)),
    "task": _Place(8, 2, (*TASKS,)),
    "poll": _Place(12, 8, (*POLLS, *CRASHES, *STALLS)),
    "poll image": _Place(5, 3, STALLS),
    "get models": _Place(2, 1, (*MODEL_LISTS, *CRASHES)),
    "download": _Place(8, 3, (*DOWNLOADS, *CRASHES, *STALLS)),
    "decode": _Place(5, 3, (*DECODES, *CRASHES, *STALLS)),
    "keep": _Place(4, 3, ("full", *CRASHES, *STALLS)),
    "commit": _Place(8, 24, _COMMIT),
    "commit claim": _Place(6, 3, _COMMIT),
    "commit sweep": _Place(4, 2, _COMMIT),
    "commit record_outcome": _Place(4, 2, _COMMIT),
    "commit record_finished": _Place(4, 2, _COMMIT),
    "commit record_delivered": _Place(4, 2, _COMMIT),
    "read": _Place(2, 40, ("error", "crash_before", "freeze")),
    "read find_held": _Place(1, 2, ("error", "crash_before")),
    "second": _Place(12, 180, EVENTS),
}
"""Chosen so that most faults meet something: a clean chain crosses 2 posts, some 6 polls, 2 downloads, 20 commits."""


@dataclass(frozen=True, slots=True)
class Theme:
    """Faults that belong together, and how many workers and jobs bring them out.

    Attributes:
        faults: matches `PLACE WHAT`.
        workers, jobs, recipes, look_s: drawn from these.
    """

    faults: re.Pattern[str]
    workers: tuple[int, ...] = (1, 1, 1, 2, 2, 3)
    jobs: tuple[int, ...] = (1, 1, 1, 1, 2)
    recipes: tuple[str, ...] = ("still", "still", "still", "replacing", "chain", "chain", "chain", "pair")
    look_s: tuple[int, ...] = (60, 60, 60, 5)


THEMES: Mapping[str, Theme] = {
    "everything": Theme(re.compile("")),
    "wire": Theme(re.compile("^(post|task|poll|get models) |down$|refused$")),
    "deaths": Theme(re.compile("crash_|kill|stop")),
    "stalls": Theme(re.compile("late$|slow$|freeze|clock|lost$"), workers=(2, 2, 2, 3)),
    "database": Theme(
        re.compile("^commit ((claim|sweep) )?(error|lost)$|^read .*error$|database|slow$|kill"),
        jobs=(1, 2, 2),
        look_s=(5,),
    ),
    "files": Theme(
        re.compile("^(task|download|decode|keep) |storage"),
        workers=(1, 1, 1, 2),
        recipes=("still", "replacing", "chain", "pair", "pair"),
    ),
    "people": Theme(re.compile("^post .*(accepted|answered)$|silence|attach|resume|cancel|again|kill")),
}
"""Each schedule draws its faults from one theme (swarm testing): faults of a kind meet each other more often."""


def _faults_of(theme: Theme) -> tuple[list[tuple[str, int, str]], list[float]]:
    rows = [
        ((where, place.nth_max, what), place.weight / len(place.whats))
        for where, place in PLACES.items()
        for what in place.whats
        if theme.faults.search(f"{where} {what}")
    ]
    return [row for row, _ in rows], list(itertools.accumulate(weight for _, weight in rows))


_DRAWN_FROM = {name: _faults_of(theme) for name, theme in THEMES.items()}


def drawn(number: int, *, themes: Sequence[str] = tuple(THEMES)) -> Schedule:
    """The schedule of that number, by one of the themes; neighbours have nothing in common."""
    chance = random.Random(number)
    name = chance.choice(themes)
    theme, (rows, weights) = THEMES[name], _DRAWN_FROM[name]
    picked = chance.choices(rows, cum_weights=weights, k=chance.choice((1, 2, 2, 3, 3, 4, 6)))
    return Schedule(
        seed=number,
        workers=chance.choice(theme.workers),
        jobs=chance.choice(theme.jobs),
        recipe=chance.choice(theme.recipes),
        look_s=chance.choice(theme.look_s),
        faults=tuple(sorted({Fault(where, _early(chance, nth_max), what) for where, nth_max, what in picked})),
    )


def _early(chance: random.Random, nth_max: int) -> int:
    """A crossing; early ones more often, because later ones may never come."""
    return chance.randint(1, chance.randint(1, nth_max))
