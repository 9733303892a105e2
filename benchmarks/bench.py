"""What every measure is told."""

from dataclasses import dataclass
from pathlib import Path

from benchmarks.rig import Place


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """Where and how long to measure.

    Attributes:
        folder: for files; gone afterwards.
        server_url: the PostgreSQL server; None measures on SQLite alone.
        rounds: of every ratio.
        is_quick: a look instead of a measurement: smaller, shorter, fewer rounds.
    """

    folder: Path
    server_url: str | None
    rounds: int
    is_quick: bool

    def size(self, full: int, quick: int) -> int:
        """The one that fits."""
        return quick if self.is_quick else full

    @property
    def seconds(self) -> float:
        """How long one side of one round of a throughput lasts."""
        return 0.5 if self.is_quick else 3.0

    def places(self) -> list[Place]:
        """The databases to measure on."""
        sqlite = Place(folder=self.folder)
        return [sqlite, Place(folder=self.folder, server_url=self.server_url)] if self.server_url else [sqlite]
