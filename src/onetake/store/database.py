"""The seam to a database: operations in, committed results out.

An operation is a plain function `op(tx, ...)` made of a few guarded statements. `write` runs it inside a
transaction that it may share with others (group commit): each operation guards itself, so zero rows loses that
operation only, and a group in which one raises is done again one by one. What `write` returned is committed;
acts (a POST, a download) start after that. Operations do no I/O of their own and may run more than once.
"""

from collections.abc import Callable, Mapping
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from onetake.domain.errors import DatabaseError

P = ParamSpec("P")
T = TypeVar("T")

Row = dict[str, Any]


class ConstraintError(Exception):
    """A row was refused by a constraint; the text names it."""


class ConflictError(DatabaseError):
    """Another transaction was in the way, or the connection broke before the commit: nothing of this one stands."""


class Tx(Protocol):
    """One transaction, as the drawers see it. Statements use `:name` parameters."""

    @property
    def now_us(self) -> int:
        """The database's clock (`onetake_now()`), read once per transaction; it decides leases."""
        ...

    def locking(self, table: str, *, skip: bool = False) -> str:
        """What ends a SELECT whose rows of `table` (its name or alias) are the caller's until the transaction ends.

        Empty where writers take turns anyway, and in a read.

        Args:
            table: whose rows.
            skip: leave out rows that another transaction has; else wait for it, or lose to it if others share this
                transaction, so that nobody who holds a row waits for one.
        """
        ...

    def put(self, sql: str, params: Mapping[str, object] | None = None) -> None:
        """Run a statement whose answer nobody needs: now, or with the next one that is answered, to save a round trip.

        Raises:
            ConstraintError: a constraint refused a row; here, at a later statement, or at the end of the transaction.
        """
        ...

    def all(self, sql: str, params: Mapping[str, object] | None = None) -> list[Row]:
        """Every row that the statement gives."""
        ...

    def one(self, sql: str, params: Mapping[str, object] | None = None) -> Row | None:
        """The first row, or None."""
        ...

    def do(self, sql: str, params: Mapping[str, object] | None = None) -> int:
        """How many rows the statement changed.

        Raises:
            ConstraintError: a constraint refused the row.
        """
        ...


class Reader(Protocol):
    """A database open for looking."""

    async def read(self, op: Callable[Concatenate[Tx, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The operation's result, from one consistent snapshot."""
        ...

    async def aclose(self) -> None:
        """Finish what was handed in, then close."""
        ...


class Database(Reader, Protocol):
    """An open database."""

    async def write(self, op: Callable[Concatenate[Tx, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The operation's result, once its transaction is committed.

        Raises:
            ConstraintError: a constraint refused a row; nothing of this operation stands.
            CommitUnknownError: the answer to the commit was lost; look before acting.
            DatabaseError: the database can't be written now; nothing of this operation stands.
        """
        ...
