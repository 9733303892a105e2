"""Databases that are the real one with something the matter: no answer for a while, or pauses between statements."""

from collections.abc import Callable, Mapping
from typing import Concatenate, ParamSpec, TypeVar

from onetake.domain.errors import DatabaseError
from onetake.store.database import Database, Row, Tx

P = ParamSpec("P")
T = TypeVar("T")


class FailingDatabase:
    """A database whose writes fail, as on a full disk, as long as `fails` says so; reads go on."""

    def __init__(self, inner: Database, *, fails: Callable[[], bool]) -> None:
        """Wrap a database; `fails` is asked at each write."""
        self._inner, self._fails = inner, fails

    async def write(self, op: Callable[Concatenate[Tx, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The operation's result, committed."""
        if self._fails():
            raise DatabaseError("The disk that holds the database is full: free some space. Nothing was lost.")
        return await self._inner.write(op, *args, **kwargs)

    async def read(self, op: Callable[Concatenate[Tx, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The operation's result, from one snapshot."""
        return await self._inner.read(op, *args, **kwargs)

    async def aclose(self) -> None:
        """Close the real one."""
        await self._inner.aclose()


class _OverheardTx:
    """A transaction that tells each statement before it is run."""

    def __init__(self, inner: Tx, hear: Callable[[str], None]) -> None:
        self._inner, self._hear = inner, hear

    @property
    def now_us(self) -> int:
        return self._inner.now_us

    def locking(self, table: str, *, skip: bool = False) -> str:
        return self._inner.locking(table, skip=skip)

    def put(self, sql: str, params: Mapping[str, object] | None = None) -> None:
        self._hear(sql)
        self._inner.put(sql, params)

    def all(self, sql: str, params: Mapping[str, object] | None = None) -> list[Row]:
        self._hear(sql)
        return self._inner.all(sql, params)

    def one(self, sql: str, params: Mapping[str, object] | None = None) -> Row | None:
        self._hear(sql)
        return self._inner.one(sql, params)

    def do(self, sql: str, params: Mapping[str, object] | None = None) -> int:
        self._hear(sql)
        return self._inner.do(sql, params)


class OverheardDatabase:
    """A database that tells each statement of each operation before it is run, in the thread that runs it."""

    def __init__(self, inner: Database, hear: Callable[[str], None]) -> None:
        """Wrap a database; `hear` is given the statement's text."""
        self._inner, self._hear = inner, hear

    async def write(self, op: Callable[Concatenate[Tx, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The operation's result, committed."""
        return await self._inner.write(lambda tx: op(_OverheardTx(tx, self._hear), *args, **kwargs))

    async def read(self, op: Callable[Concatenate[Tx, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The operation's result, from one snapshot."""
        return await self._inner.read(lambda tx: op(_OverheardTx(tx, self._hear), *args, **kwargs))

    async def aclose(self) -> None:
        """Close the real one."""
        await self._inner.aclose()


class PausingDatabase(OverheardDatabase):
    """A database with a pause before each statement of each operation."""

    def __init__(self, inner: Database, pause: Callable[[], None]) -> None:
        """Wrap a database."""
        super().__init__(inner, lambda _: pause())
