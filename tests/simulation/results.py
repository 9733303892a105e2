"""What a run leaves: what was crossed, who died, what was bought, which laws were broken."""

from dataclasses import dataclass
from typing import NamedTuple


class Death(NamedTuple):
    """A process that died before its time: when, and what it left behind.

    Attributes:
        standing: where the first job stood.
        lines: how many lines its journal had.
    """

    at_s: float
    name: str
    standing: str
    lines: int


class Crossing(NamedTuple):
    """A place that some process crossed, and what befell it there; empty: nothing."""

    at_s: float
    place: str
    name: str
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What came of a run.

    Attributes:
        violations: the laws that were broken, in words; none if all held.
        virtual_s: how much time went by in it.
        crossings: places in the order in which they were crossed, with what befell there.
        deaths: of processes, the first one first.
        posts: how many POSTs arrived at the provider, by operation.
        ending: where the first job stands at last.
    """

    violations: list[str]
    virtual_s: float
    crossings: list[Crossing]
    deaths: list[Death]
    posts: dict[str, int]
    ending: str
