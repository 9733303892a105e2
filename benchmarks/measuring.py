"""A figure here is a ratio: ours to a baseline, measured in turns on one machine, the median of several rounds.

Machines differ and are noisy, so an absolute number says little. Each round measures the baseline and then ours, right
after each other; the ratio is taken within the round, and the spread of the rounds is always told.
"""

import statistics
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Literal

Sense = Literal[">=", "<="]


@dataclass(frozen=True, slots=True)
class Target:
    """What the ratio should be."""

    sense: Sense
    value: float

    def is_met(self, ratio: float) -> bool:
        """Whether the ratio is on the right side."""
        return ratio >= self.value if self.sense == ">=" else ratio <= self.value

    def __str__(self) -> str:
        return f"{self.sense} {self.value:g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One line of the report.

    Attributes:
        row: the number of the measure, with a letter where it has parts.
        what, baseline: the two sides of the ratio, in words.
        database: "SQLite", "PostgreSQL" or "" where none is involved.
        target: what the ratio should be; None for a remark without a target.
        ratio, low, high: median, smallest and largest of the rounds.
        rounds: for each round ours and the baseline's, in `unit`.
        remark: what else a reader should know.
    """

    row: str
    what: str
    baseline: str
    unit: str
    ratio: float
    low: float
    high: float
    rounds: list[tuple[float, float]]
    target: Target | None = None
    database: str = ""
    remark: str = ""

    @property
    def is_met(self) -> bool:
        """Whether the target is reached; a remark has none to miss."""
        return self.target is None or self.target.is_met(self.ratio)

    def as_json(self) -> dict[str, Any]:
        """The result as it is kept."""
        return {**asdict(self), "is_met": self.is_met}

    @classmethod
    def from_json(cls, kept: dict[str, Any]) -> "Result":
        """A kept result."""
        fields = {name: value for name, value in kept.items() if name != "is_met"}
        target = None if kept["target"] is None else Target(**kept["target"])
        return cls(**{**fields, "target": target, "rounds": [tuple(pair) for pair in kept["rounds"]]})


def result(rounds: list[tuple[float, float]], **told: Any) -> Result:  # noqa: ANN401 - the fields of a result
    """The result of rounds of (ours, baseline)."""
    ratios = [round(ours / base, 4) for ours, base in rounds]
    kept = [(round(ours, 4), round(base, 4)) for ours, base in rounds]
    return Result(ratio=statistics.median(ratios), low=min(ratios), high=max(ratios), rounds=kept, **told)


def count(found: float, target: Target, **told: Any) -> Result:  # noqa: ANN401 - the fields of a result
    """The result of a count, which has no baseline and no spread."""
    return Result(ratio=found, low=found, high=found, rounds=[(found, 1.0)], target=target, baseline="", **told)


def in_turns(rounds: int, ours: Callable[[], float], baseline: Callable[[], float]) -> list[tuple[float, float]]:
    """So many rounds of the baseline and then ours."""
    found = []
    for _ in range(rounds):
        base = baseline()
        found.append((ours(), base))
    return found
