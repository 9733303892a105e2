"""SQLite behind one writer thread with group commit, and one reader.

Theory of operation. All writes of a process go through one connection in one lane (`lanes.py`). Their shared
transaction is `BEGIN IMMEDIATE` .. `COMMIT`: one that writes starts as a writer, so it waits for its turn instead of
failing on a snapshot upgrade. Several processes may have the file open; each waits up to `BUSY_MS` for the other.
Durability is WAL with synchronous=FULL: what `write` returned survives a power cut.

`InlineDatabase` runs the same connection without threads, for tests and simulation.
"""

import asyncio
import contextlib
import fcntl
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from onetake.clock import Clock
from onetake.domain.errors import DatabaseError
from onetake.store.database import ConstraintError, Row, Tx
from onetake.store.driver import needs_single_process, sqlite, use_wal
from onetake.store.lanes import Lanes

P = ParamSpec("P")
T = TypeVar("T")

STATEMENTS_MAX = 512
"""Prepared statements kept per connection: the store has some 150 texts; preparing one costs ten times its run."""

MEMORY = Path(":memory:")
"""Not a file: a database that lives as long as its connection, for tests and simulation."""

BUSY_MS = 60_000
"""How long to wait for another process's write transaction. They take milliseconds; a minute means trouble."""


class SqliteConnection:
    """One connection with our settings. Implements `Tx`; not for use by two threads at once."""

    def __init__(self, path: Path, clock: Clock, *, is_reader: bool = False, busy_ms: int = BUSY_MS) -> None:
        """Open the file.

        Raises:
            DatabaseError: it can't be opened.
        """
        self.path, self._busy_ms, self._clock, self._now_us = path, busy_ms, clock, 0
        with self._telling(), contextlib.ExitStack() as undo:
            mode = "memory" if path == MEMORY else "ro" if is_reader else "rwc"
            where = f"{path.absolute().as_uri()}?mode={mode}"
            self._raw = sqlite.connect(
                where, uri=True, isolation_level=None, check_same_thread=False, cached_statements=STATEMENTS_MAX
            )
            undo.callback(self._raw.close)
            self._raw.create_function("onetake_now", 0, clock.now_us)
            self._raw.execute(f"PRAGMA busy_timeout = {busy_ms}")
            self._raw.execute("PRAGMA foreign_keys = ON")
            if is_reader:
                self._raw.execute("PRAGMA query_only = ON")
            else:
                use_wal(self._raw)
                self._raw.execute("PRAGMA synchronous = FULL")
            undo.pop_all()

    @property
    def now_us(self) -> int:
        """The database's clock (what `onetake_now()` asks, without a statement), read once per transaction."""
        if not self._now_us:
            self._now_us = self._clock.now_us()
        return self._now_us

    def locking(self, table: str, *, skip: bool = False) -> str:  # noqa: ARG002 - `Tx`
        """Nothing: a writer has the whole file to itself."""
        return ""

    def put(self, sql: str, params: Mapping[str, object] | None = None) -> None:
        """Run a statement whose answer nobody needs."""
        self._run(sql, params)

    def all(self, sql: str, params: Mapping[str, object] | None = None) -> list[Row]:
        """Every row that the statement gives."""
        cursor = self._run(sql, params)
        rows = cursor.fetchall()
        if not rows:
            return []
        names = [column[0] for column in cursor.description]
        return [dict(zip(names, row, strict=False)) for row in rows]

    def one(self, sql: str, params: Mapping[str, object] | None = None) -> Row | None:
        """The first row, or None."""
        rows = self.all(sql, params)
        return rows[0] if rows else None

    def do(self, sql: str, params: Mapping[str, object] | None = None) -> int:
        """How many rows the statement changed."""
        return int(self._run(sql, params).rowcount)

    def _run(self, sql: str, params: Mapping[str, object] | None) -> Any:  # noqa: ANN401 - a driver's cursor
        try:
            return self._raw.execute(sql, params or {})
        except sqlite.IntegrityError as error:
            raise ConstraintError(str(error)) from error

    @contextlib.contextmanager
    def transaction(self, begin: str) -> Iterator[Tx]:
        """A transaction that commits at the end, or leaves nothing."""
        self._now_us = 0
        try:
            self._raw.execute(begin)
            try:
                yield self
                self._raw.execute("COMMIT")
            except BaseException:
                if self._raw.in_transaction:
                    self._raw.execute("ROLLBACK")
                raise
        except sqlite.DatabaseError as error:
            raise self._told(error) from error

    @contextlib.contextmanager
    def read_only(self) -> Iterator[None]:
        """Refuse what was written within; `PRAGMA query_only` would do, but setting it expires every statement."""
        before = self._raw.total_changes
        yield
        if self._raw.total_changes != before:
            raise sqlite.OperationalError("attempt to write a readonly database")

    @contextlib.contextmanager
    def _telling(self) -> Iterator[None]:
        try:
            yield
        except sqlite.DatabaseError as error:
            raise self._told(error) from error

    def _told(self, error: Exception) -> DatabaseError:
        """The driver's error as one sentence: what, where, how to fix."""
        return DatabaseError(f"{_sentence(str(error), self.path, self._busy_ms)} Nothing was lost.")

    def close(self) -> None:
        """Let go of the file."""
        self._raw.close()


def _sentence(reason: str, path: Path, busy_ms: int) -> str:
    told = {
        "unable to open": f"The database {path} can't be opened: check that its folder exists and may be written.",
        "readonly": f"The database {path} can't be written: check the permissions of the file and of its folder.",
        "disk is full": f"The disk that holds the database {path} is full: free some space.",
        "disk I/O": f"The disk that holds the database {path} reports an error or is full: check it.",
        "locked": f"The database {path} is locked by another program (waited {busy_ms / 1000:g} s): close it.",
        "not a database": f"The file {path} isn't a SQLite database: name another in ONETAKE_DATABASE_URL.",
        "malformed": f"The database {path} is damaged: restore it from a backup.",
        "decode to UTF-8": f"The database {path} is damaged: restore it from a backup.",  # its words quote the row
        "no such table": f"The database {path} has no tables yet: run `onetake migrate`.",
    }
    return next((text for word, text in told.items() if word in reason), f"The database {path} says: {reason}.")


class SqliteDatabase:
    """An open SQLite file, for any number of tasks; other processes may have it open too."""

    def __init__(
        self, path: Path, clock: Clock, *, is_alone: bool = needs_single_process(), busy_ms: int = BUSY_MS
    ) -> None:
        """Open the file, making it if need be.

        Args:
            path: the file.
            clock: answers `onetake_now()`.
            is_alone: refuse to share the file with another process, because this SQLite is too old for that.
            busy_ms: how long to wait for another process's write transaction.

        Raises:
            DatabaseError: it can't be opened, or it may not be shared and another process has it.
        """
        with contextlib.ExitStack() as opened:
            if is_alone:
                opened.callback(os.close, _lock_alone(path))
            writer = SqliteConnection(path, clock, busy_ms=busy_ms)
            opened.callback(writer.close)
            reader = SqliteConnection(path, clock, is_reader=True, busy_ms=busy_ms)
            opened.callback(reader.close)
            self._opened = opened.pop_all()
        self._writer = _lane(writer, "BEGIN IMMEDIATE", "onetake-writer")
        self._reader = _lane(reader, "BEGIN", "onetake-reader")

    async def write(self, op: Callable[Concatenate[Tx, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The operation's result, committed."""
        return await self._writer.call(lambda tx: op(tx, *args, **kwargs))

    async def read(self, op: Callable[Concatenate[Tx, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The operation's result, from one snapshot."""
        return await self._reader.call(lambda tx: op(tx, *args, **kwargs))

    async def aclose(self) -> None:
        """Finish what was handed in, then close."""
        await self._reader.aclose()
        await self._writer.aclose()
        await asyncio.to_thread(self._opened.close)


class SqliteReader:
    """A SQLite file for looking only. It never writes nor checkpoints, so it may stand beside any other process."""

    def __init__(self, path: Path, clock: Clock) -> None:
        """Open the file.

        Raises:
            DatabaseError: it isn't there or can't be opened.
        """
        self._connection = SqliteConnection(path, clock, is_reader=True)
        self._lane = _lane(self._connection, "BEGIN", "onetake-reader")

    async def read(self, op: Callable[Concatenate[Tx, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The operation's result, from one snapshot."""
        return await self._lane.call(lambda tx: op(tx, *args, **kwargs))

    async def aclose(self) -> None:
        """Finish what was handed in, then close."""
        await self._lane.aclose()
        await asyncio.to_thread(self._connection.close)


class InlineDatabase:
    """The same file without threads: every operation runs where it is called, in a transaction of its own."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self._connection = SqliteConnection(path, clock)

    async def write(self, op: Callable[Concatenate[Tx, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The operation's result, committed."""
        with self._connection.transaction("BEGIN IMMEDIATE") as tx:
            return op(tx, *args, **kwargs)

    async def read(self, op: Callable[Concatenate[Tx, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The operation's result, from one snapshot."""
        with self._connection.transaction("BEGIN") as tx, self._connection.read_only():
            return op(tx, *args, **kwargs)

    async def aclose(self) -> None:
        """Close the file."""
        self._connection.close()


def _lane(connection: SqliteConnection, begin: str, name: str) -> Lanes:
    """One lane on the connection; who shares a transaction makes no difference to SQLite, where writers take turns."""
    return Lanes([lambda _: connection.transaction(begin)], name=name, where=f"The database {connection.path}")


def _lock_alone(path: Path) -> int:
    """Hold the file `PATH.lock`; the handle, to be closed when the database is, or when the process dies.

    Raises:
        DatabaseError: another process holds it, or it can't be made.
    """
    try:
        handle = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise DatabaseError(f"{_sentence('unable to open', path, 0)} ({error.strerror})") from None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        raise DatabaseError(
            f"Another process has {path} open, and SQLite {sqlite.sqlite_version} can't share it safely:"
            " stop that process, or install a SQLite of at least 3.51.3 (`pip install pysqlite3`)."
        ) from None
    return handle
