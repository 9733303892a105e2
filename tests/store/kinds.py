"""The kinds of database that every test of the conformance suite runs on. Another one joins by an entry in `KINDS`."""

import contextlib
import itertools
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from onetake.clock import Clock, ManualClock
from onetake.store.database import Database
from onetake.store.migrate import migrate
from onetake.store.postgres import PostgresDatabase
from onetake.store.postgres_site import PostgresSite
from onetake.store.sqlite import InlineDatabase, SqliteDatabase
from onetake.store.sqlite_site import SqliteSite
from tests.servers.postgres import ServersClock, new_database

START_US = ManualClock().now_us()


class Kind(Protocol):
    """How one kind of database is made for a test and opened."""

    def made(self, folder: Path, template: str | None = None) -> AbstractContextManager[str]:
        """The address of a database that is a copy of the template, or empty at this program's schema."""
        ...

    def clock(self, address: str, *, start_us: int = START_US, seed: int = 1) -> AbstractContextManager[ManualClock]:
        """A clock that the database tells too."""
        ...

    def open(self, address: str, clock: Clock) -> Database:
        """The database, open."""
        ...


class OnFile:
    """SQLite, by one of its classes."""

    def __init__(self, make: Callable[[Path, Clock], Database]) -> None:
        self._make = make
        self._numbers = itertools.count()
        self._empty = b""

    @contextlib.contextmanager
    def made(self, folder: Path, template: str | None = None) -> Iterator[str]:
        """A file in the folder; Alembic takes a second, so an empty one is made once and copied."""
        path = folder / f"onetake-{next(self._numbers)}.db"
        if template is not None:
            shutil.copyfile(template, path)
        elif self._empty:
            path.write_bytes(self._empty)
        else:
            migrate(SqliteSite(path))
            self._empty = path.read_bytes()
        yield str(path)

    @contextlib.contextmanager
    def clock(self, address: str, *, start_us: int = START_US, seed: int = 1) -> Iterator[ManualClock]:  # noqa: ARG002
        """The clock that opens a file is the one that it asks."""
        yield ManualClock(start_us=start_us, seed=seed)

    def open(self, address: str, clock: Clock) -> Database:
        """The file, open."""
        return self._make(Path(address), clock)


class OnServer:
    """PostgreSQL, on the server that the tests start."""

    def __init__(self, *, lanes: int = 1) -> None:
        self._lanes = lanes

    def made(self, folder: Path, template: str | None = None) -> AbstractContextManager[str]:  # noqa: ARG002
        """A database on the server."""
        return new_database(template=template)

    def clock(self, address: str, *, start_us: int = START_US, seed: int = 1) -> AbstractContextManager[ManualClock]:
        """A clock that the server's `onetake_now()` tells."""
        return contextlib.closing(ServersClock(address, start_us=start_us, seed=seed))

    def open(self, address: str, clock: Clock) -> Database:
        """The database, open."""
        return PostgresDatabase(PostgresSite(address), clock, lanes=self._lanes)


KINDS: dict[str, Kind] = {
    "sqlite": OnFile(SqliteDatabase),
    "inline": OnFile(InlineDatabase),
    "postgres": OnServer(),
}
