"""A worker with its guards off, to see what they cost: `python -m benchmarks.unguarded`. For measuring only.

The engine is the real one. Between it and the database stands a transaction that leaves out the journal and the closing
of holds, and takes the fences (version, state that was read, token) out of each guarded UPDATE.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import Concatenate, ParamSpec, TypeVar

from onetake.app import open_parts
from onetake.cli.running import stop_on_signals
from onetake.engine.worker import Worker
from onetake.opening import load_settings
from onetake.store.database import Database, Row, Tx

P = ParamSpec("P")
T = TypeVar("T")

_LEFT_OUT = re.compile(r"INSERT INTO (journal|hold_closings)\b|UPDATE jobs SET journal_seq\b")
_FENCE = re.compile(r" AND (version = :version|state = :from|token = :token)")


@cache
def unfenced(sql: str) -> str | None:
    """The statement without fences; None if it is left out."""
    return None if _LEFT_OUT.match(sql) else _FENCE.sub("", sql)


class _UnguardedTx:
    """A transaction that keeps neither journal nor ledger, and lets every writer win."""

    def __init__(self, inner: Tx) -> None:
        self._inner = inner

    @property
    def now_us(self) -> int:
        """The database's clock."""
        return self._inner.now_us

    def locking(self, table: str, *, skip: bool = False) -> str:
        """The row lock that ends a SELECT of a writer."""
        return self._inner.locking(table, skip=skip)

    def all(self, sql: str, params: Mapping[str, object] | None = None) -> list[Row]:
        """Every row that the statement gives."""
        return self._inner.all(sql, params)

    def put(self, sql: str, params: Mapping[str, object] | None = None) -> None:
        """Run a statement whose answer nobody needs."""
        if (text := unfenced(sql)) is not None:
            self._inner.put(text, params)

    def one(self, sql: str, params: Mapping[str, object] | None = None) -> Row | None:
        """The first row, or None."""
        return self._inner.one(sql, params)

    def do(self, sql: str, params: Mapping[str, object] | None = None) -> int:
        """How many rows the statement changed."""
        text = unfenced(sql)
        return 1 if text is None else self._inner.do(text, params)


class UnguardedDatabase:
    """The real database behind unguarded transactions."""

    def __init__(self, inner: Database) -> None:
        """Wrap an open database, which stays the caller's to close."""
        self._inner = inner

    async def write(self, op: Callable[Concatenate[Tx, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The operation's result, committed."""
        return await self._inner.write(lambda tx: op(_UnguardedTx(tx), *args, **kwargs))

    async def read(self, op: Callable[Concatenate[Tx, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The operation's result."""
        return await self._inner.read(op, *args, **kwargs)

    async def aclose(self) -> None:
        """Leave the real one to its owner."""


async def work() -> None:
    """Drain the database of the settings."""
    async with open_parts(load_settings()) as parts:
        unguarded = replace(parts, database=UnguardedDatabase(parts.database))
        await Worker(unguarded, name="unguarded").run(stop_on_signals(), until_idle=True)


if __name__ == "__main__":
    from onetake.cli.printing import run

    run(work())
