"""What the engine is made of, handed to each of its functions; `app` is the only one that makes it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Concatenate, ParamSpec, TypeVar

from onetake.clock import Clock
from onetake.config import Settings
from onetake.engine.turn import RecipeBook, Turn
from onetake.engine.waiting import Bell
from onetake.media.blobs import Blobs
from onetake.media.decoder import Decoder
from onetake.media.fetch import Fetcher
from onetake.providers.adapter import Adapter
from onetake.providers.transport import Transport
from onetake.store.database import Database, Tx

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """Everything that acts or is asked. `wake` is set when a step may have become ready."""

    settings: Settings
    clock: Clock
    database: Database
    adapters: Mapping[str, Adapter]
    transport: Transport
    fetcher: Fetcher
    decoder: Decoder
    blobs: Blobs
    book: RecipeBook = field(default_factory=RecipeBook)
    wake: Bell = field(default_factory=Bell)

    async def act(self, actor: str, op: Callable[Concatenate[Turn, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The operation's result, committed; acts that it permits start after this returned.

        Raises:
            DatabaseError: the database can't be written now; nothing of the operation stands.
        """

        def turn(tx: Tx) -> T:
            return op(Turn(tx, self.clock, self.book, actor), *args, **kwargs)

        turn.__name__ = op.__name__  # so that a database can tell what it runs
        return await self.database.write(turn)
