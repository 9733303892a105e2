"""PostgreSQL: a few lanes with group commit, row locks instead of turns.

Theory of operation. Transactions are READ COMMITTED: after waiting for a row, the next statement sees what the one
before us left. Every operation that writes about a job has the job's row to itself first (`FOR NO KEY UPDATE`, through
the drawers' `tx.locking`), so what follows from it never mixes with another operation on the same job. Batches
(claims, re-leases) leave out what others have (`SKIP LOCKED`) and never wait. An operation that shares its transaction
doesn't wait either: it loses with NOWAIT, the group is undone, and the operation waits alone. So nobody who holds a
row waits for another's, and no two of ours wait in a ring.

A connection that breaks before COMMIT leaves nothing behind, and the operation is done again on a new one. When it
breaks during COMMIT, nobody knows: `CommitUnknownError`, and the caller looks before it acts.

Nothing outlives a transaction, so a transaction-mode pooler may stand in front of the server. Time is the server's.
"""

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Concatenate, ParamSpec, TypeVar

import psycopg

from onetake.clock import Clock
from onetake.domain.errors import CommitUnknownError, DatabaseError
from onetake.store.database import ConflictError, ConstraintError, Row, Tx
from onetake.store.lanes import Lanes
from onetake.store.placeholders import numbered
from onetake.store.postgres_site import LOST, Connection, PostgresSite

P = ParamSpec("P")
T = TypeVar("T")

_WRITE = (
    "BEGIN ISOLATION LEVEL READ COMMITTED;"
    # Transactions take milliseconds. Somebody else's lock is waited for this long, and a worker that is stopped or cut
    # off in the middle of one loses its locks after this long.
    " SET LOCAL lock_timeout = '10s'; SET LOCAL idle_in_transaction_session_timeout = '30s';"
    " SELECT onetake_now()"
)
_READ = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SELECT onetake_now()"

_AGAIN = frozenset({"40001", "40P01"})
"""Serialisation failure and deadlock: the server undid this transaction in favour of another."""

RECONNECT_S_MAX = 2.0
"""Longest pause between tries to connect: callers that come in between are told at once that there is no connection."""


class PostgresConnection:
    """One connection, made anew when it breaks. Implements `Tx`; not for use by two threads at once."""

    def __init__(self, site: PostgresSite, clock: Clock, *, is_reader: bool) -> None:
        self._site, self._clock, self._is_reader = site, clock, is_reader
        self._raw: Connection | None = None
        self._cursor: psycopg.RawCursor[tuple[Any, ...]]
        self._names: dict[str, tuple[str, ...]] = {}
        self._put: list[tuple[str, list[object]]] = []
        self._now_us, self._is_shared = 0, False
        self._pause_s, self._again_s = 0.0, 0.0
        self._unreachable = ""

    @property
    def now_us(self) -> int:
        """The server's clock, read when the transaction began."""
        return self._now_us

    def locking(self, table: str, *, skip: bool = False) -> str:
        """The row lock that ends a SELECT of a writer."""
        if self._is_reader:
            return ""
        return f" FOR NO KEY UPDATE OF {table}{' SKIP LOCKED' if skip else ' NOWAIT' if self._is_shared else ''}"

    def all(self, sql: str, params: Mapping[str, object] | None = None) -> list[Row]:
        """Every row that the statement gives."""
        cursor = self._run(sql, params)
        names = self._names.get(sql)
        if names is None:  # the driver makes an object of each column to tell its name
            names = self._names[sql] = tuple(column.name for column in cursor.description or ())
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]

    def one(self, sql: str, params: Mapping[str, object] | None = None) -> Row | None:
        """The first row, or None."""
        rows = self.all(sql, params)
        return rows[0] if rows else None

    def do(self, sql: str, params: Mapping[str, object] | None = None) -> int:
        """How many rows the statement changed."""
        return self._run(sql, params).rowcount

    def put(self, sql: str, params: Mapping[str, object] | None = None) -> None:
        """Send the statement with the next one that is answered."""
        self._put.append(_numbered(sql, params))

    def _run(self, sql: str, params: Mapping[str, object] | None) -> "psycopg.RawCursor[tuple[Any, ...]]":
        try:
            self._send(*_numbered(sql, params))
        except psycopg.IntegrityError as error:
            raise _refused(error) from error
        return self._cursor

    def _send(self, text: str, values: list[object] | None, *, prepare: bool | None = None) -> None:
        """Have the statement answered, after those that were put before it, in one round trip."""
        if not self._put or self._raw is None:
            self._cursor.execute(text, values, prepare=prepare)
            return
        put, self._put = self._put, []
        with self._raw.pipeline():
            for earlier, its_values in put:
                self._cursor.execute(earlier, its_values)
            self._cursor.execute(text, values, prepare=prepare)

    @contextlib.contextmanager
    def transaction(self, is_shared: bool) -> Iterator[Tx]:  # noqa: FBT001 - `lanes.Begin`
        """A transaction that commits at the end, or leaves nothing."""
        self._begin()
        self._is_shared = is_shared
        try:
            yield self
        except psycopg.Error as error:
            self._undo(error)
            raise self._translated(error) from error
        except BaseException as error:
            self._undo(error)
            raise
        self._commit()

    def _begin(self) -> None:
        """Begin on the connection at hand or, where that has broken meanwhile, on a new one."""
        if self._raw is not None:
            try:
                self._say_begin()
            except psycopg.Error as error:
                self._undo(error)
                if self._raw is not None:
                    raise self._translated(error) from error
            else:
                return
        self._connect()
        try:
            self._say_begin()
        except psycopg.Error as error:
            self._undo(error)
            raise self._site.error(error) from error

    def _say_begin(self) -> None:
        cursor = self._cursor
        cursor.execute(_READ if self._is_reader else _WRITE, prepare=False)
        while cursor.nextset():
            pass
        ((self._now_us,),) = cursor.fetchall()

    def _connect(self) -> None:
        if self._clock.monotonic_s() < self._again_s:
            raise DatabaseError(self._unreachable)
        try:
            self._raw = self._site.connect()
        except DatabaseError as error:
            self._unreachable = error.sentence
            self._pause_s = min(RECONNECT_S_MAX, self._pause_s * 2 or 0.1)
            self._again_s = self._clock.monotonic_s() + self._pause_s
            raise
        self._cursor = psycopg.RawCursor(self._raw)
        self._pause_s, self._again_s = 0.0, 0.0

    def _commit(self) -> None:
        try:
            self._send("COMMIT", None, prepare=False)
        except psycopg.IntegrityError as error:
            self._undo(error)
            raise _refused(error) from error
        except psycopg.Error as error:
            is_lost = self._is_lost(error)
            self._undo(error)
            if is_lost and not self._is_reader:
                raise CommitUnknownError(
                    f"The database {self._site.place} didn't answer to a commit:"
                    " the change stands whole, or not at all; look before you act."
                ) from error
            raise self._translated(error) from error
        if self._cursor.statusmessage != "COMMIT":  # the server had undone it, and an operation didn't say so
            raise DatabaseError(f"The database {self._site.place} undid a transaction. Nothing was lost.")

    def _is_lost(self, error: BaseException) -> bool:
        """Whether the connection is of no more use."""
        state = error.sqlstate if isinstance(error, psycopg.Error) else None
        return self._raw is None or self._raw.closed or state in LOST or (state or "").startswith("08")

    def _undo(self, error: BaseException) -> None:
        """Leave nothing of the transaction: roll it back, or drop the connection, which does the same."""
        self._put.clear()
        if self._raw is not None and not self._is_lost(error):
            try:
                # The driver's own: it also forgets what was to be prepared behind the statement that failed.
                self._raw.rollback()
            except psycopg.Error:  # then the connection goes, and the transaction with it
                self.close()
        else:
            self.close()

    def _translated(self, error: psycopg.Error) -> DatabaseError:
        told = self._site.error(error)
        if self._raw is None or error.sqlstate in _AGAIN:
            return ConflictError(told.sentence)
        return told

    def close(self) -> None:
        """Let go of the connection."""
        if self._raw is not None:
            self._raw.close()
            self._raw = None


def _numbered(sql: str, params: Mapping[str, object] | None) -> tuple[str, list[object]]:
    text, names = numbered(sql)
    given = params or {}
    return text, [given[name] for name in names]


def _refused(error: psycopg.IntegrityError) -> ConstraintError:
    return ConstraintError(error.diag.message_primary or "a constraint")


class PostgresDatabase:
    """A database on a server, for any number of tasks; any number of other processes may use it too."""

    def __init__(self, site: PostgresSite, clock: Clock, *, lanes: int = 1) -> None:
        """Start the lanes; each connects when it is first needed.

        Args:
            site: where it is.
            clock: paces new tries to connect. Durable times are the server's own.
            lanes: connections that write. One keeps the order in which operations were handed in.
        """
        writers = [PostgresConnection(site, clock, is_reader=False) for _ in range(lanes)]
        reader = PostgresConnection(site, clock, is_reader=True)
        self._connections = [*writers, reader]
        where = f"The database {site.place}"
        self._writers = Lanes([each.transaction for each in writers], name="onetake-writer", where=where, looks=2)
        self._reader = Lanes([reader.transaction], name="onetake-reader", where=where)

    async def write(self, op: Callable[Concatenate[Tx, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The operation's result, committed."""
        return await self._writers.call(lambda tx: op(tx, *args, **kwargs))

    async def read(self, op: Callable[Concatenate[Tx, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The operation's result, from one snapshot."""
        return await self._reader.call(lambda tx: op(tx, *args, **kwargs))

    async def aclose(self) -> None:
        """Finish what was handed in, then close."""
        await self._reader.aclose()
        await self._writers.aclose()
        for connection in self._connections:
            connection.close()
