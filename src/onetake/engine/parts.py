"""What the engine is made of, handed to each of its functions; `app` is the only one that makes it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from onetake.clock import Clock
from onetake.config import Settings
from onetake.domain.outputs import Measures
from onetake.engine.turn import RecipeBook, Told, Turn
from onetake.engine.waiting import Bell
from onetake.media.blobs import Blobs
from onetake.media.fetch import Fetched, FetchFailed
from onetake.media.findings import Pixels, Undecodable
from onetake.providers.adapter import Adapter
from onetake.providers.transport import Transport
from onetake.store.database import Database, Tx

P = ParamSpec("P")
T = TypeVar("T")


class Fetching(Protocol):
    """What is asked of a `media.fetch.Fetcher`."""

    async def fetch(self, address: str, *, into: Path, size_bytes_max: int, timeout_s: float) -> Fetched | FetchFailed:
        """The file behind an address, or why there is none; see there."""
        ...


class Measuring(Protocol):
    """What is asked of a `media.decoder.Decoder`."""

    async def measure(self, path: Path, *, timeout_s: float) -> Measures | Undecodable:
        """What decoding every byte of the file found; see there."""
        ...

    async def pixels(self, path: Path, *, timeout_s: float) -> Pixels | Undecodable:
        """What a still picture shows, as a digest of its pixels; see there."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """Everything that acts or is asked.

    Attributes:
        wake: set when a step may have become ready.
        on_told: told what was appended to journals, once it is committed.
    """

    settings: Settings
    clock: Clock
    database: Database
    adapters: Mapping[str, Adapter]
    transport: Transport
    fetcher: Fetching
    decoder: Measuring
    blobs: Blobs
    book: RecipeBook = field(default_factory=RecipeBook)
    wake: Bell = field(default_factory=Bell)
    on_told: Callable[[Sequence[Told]], None] = lambda _: None

    async def act(self, actor: str, op: Callable[Concatenate[Turn, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The operation's result, committed; acts that it permits start after this returned.

        Raises:
            DatabaseError: the database can't be written now; nothing of the operation stands.
        """
        last: list[Turn] = []

        def turn(tx: Tx) -> T:
            last[:] = [
                Turn(tx, self.clock, self.book, actor, self.settings.account.name)
            ]  # it may run more than once; the last one stands
            return op(last[0], *args, **kwargs)

        turn.__name__ = op.__name__  # so that a database can tell what it runs
        result = await self.database.write(turn)
        self.on_told(last[0].told)
        return result
