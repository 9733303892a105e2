"""The real store SQL on one database in memory, shared by all simulated processes, and what its triggers remember.

The schema is what the migrations make, read once per real process. The database outlives schedules (prepared
statements are what make it quick) and is wiped between them. Triggers write down every change of state, every change
of a row that may only be appended, and every deletion, so the auditor sees what rows went through and not only where
they ended.
"""

import asyncio
import tempfile
from collections.abc import Callable, Coroutine, Mapping
from contextlib import closing
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

from onetake.clock import Clock, ManualClock
from onetake.domain.errors import DatabaseError
from onetake.store.database import Row, Tx
from onetake.store.driver import sqlite
from onetake.store.migrate import migrate
from onetake.store.sqlite import MEMORY, InlineDatabase
from onetake.store.sqlite_site import SqliteSite
from tests.simulation.process import Process

P = ParamSpec("P")
T = TypeVar("T")

MOVING = ("attempts", "steps", "jobs", "expected_outputs", "artifacts", "cases")
"""Tables whose rows have a state."""

APPENDED = (
    "holds",
    "hold_closings",
    "ledger_entries",
    "quote_lines",
    "wires",
    "job_requests",
    "step_requests",
    "manifests",
    "journal",
    "evidence",
    "decisions",
    "recipes",
    "blobs",
)
"""Tables whose rows are only ever added."""

_OURS = "sqlite_master WHERE name NOT LIKE 'sqlite_%'"

_LEFT_OUT = ("_no_delete", "_kept")
"""The product's triggers against what happens here outside of the product: the wiping."""

_CYCLE = ("REFERENCES refs (id)", "REFERENCES refs (id) DEFERRABLE INITIALLY DEFERRED")
"""Attempts and refs name each other, so neither could be wiped first."""

_ACCOUNT = (
    "INSERT INTO accounts (id, name, plan, created_at) VALUES ('acc_default', 'default', 'credits', 0)",
    "INSERT INTO persons (id, name, created_at) VALUES ('per_ada', 'ada', 0)",
    "INSERT INTO memberships (account_id, person_id, role, created_at) VALUES ('acc_default', 'per_ada', 'owner', 0)",
    "INSERT INTO balances (account_id, granted, available) VALUES ('acc_default', 1000, 1000)",
    (
        "INSERT INTO ledger_entries (id, account_id, kind, source, target, amount, reason, actor, created_at)"
        " VALUES ('led_0', 'acc_default', 'grant', 'granted', 'available', 1000, 'begin', 'ada', 0)"
    ),
)
"""Plan `none` holds nothing, and of nothing no half can be lost: here everything is paid for with credits."""

_HISTORY = """CREATE TABLE history (
    seq INTEGER PRIMARY KEY, kind TEXT, place TEXT, id TEXT, old TEXT, new TEXT, holder TEXT, token INTEGER
)"""


def _triggers() -> list[str]:
    def trigger(name: str, when: str, values: str) -> str:
        columns = "kind, place, id, old, new, holder, token"
        return f"CREATE TRIGGER {name} {when} BEGIN INSERT INTO history ({columns}) VALUES ({values}); END"  # noqa: S608 - ours

    made, nothing = list[str](), "NULL, NULL, NULL, NULL, NULL"
    for table in MOVING:
        holder = "OLD.worker_id, OLD.token" if table == "attempts" else "NULL, NULL"
        moved = f"AFTER UPDATE OF state ON {table} WHEN OLD.state <> NEW.state"
        made.append(trigger(f"{table}_moved", moved, f"'moved', '{table}', OLD.id, OLD.state, NEW.state, {holder}"))
    made += [
        trigger(f"{each}_changed", f"AFTER UPDATE ON {each}", f"'changed', '{each}', {nothing}") for each in APPENDED
    ]
    kept = (*MOVING, *APPENDED, "refs", "sends")
    made += [trigger(f"{each}_gone", f"AFTER DELETE ON {each}", f"'gone', '{each}', {nothing}") for each in kept]
    told = "'told', 'journal', NEW.job_id || '/' || NEW.seq, NULL, NEW.event, NEW.actor, NEW.attempt_no"
    changed = "AFTER UPDATE OF attempt_id, provider_account, operation, ref, locator, source, actor ON refs"
    made.append(trigger("refs_changed", changed, "'changed', 'refs', OLD.id, OLD.ref, NEW.ref, NULL, NULL"))
    words = "AFTER INSERT ON journal WHEN NEW.event IN ('attempt.finished', 'attempt.failed', 'attempt.delivered')"
    made.append(trigger("journal_told", words, told))
    return made


@cache
def _schema() -> tuple[str, ...]:
    """The statements that make an empty database."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "empty.db"
        migrate(SqliteSite(path))
        with closing(sqlite.connect(str(path))) as raw:
            found = raw.execute(f"SELECT name, sql FROM {_OURS} AND sql IS NOT NULL")  # noqa: S608 - ours
            kept = [sql.replace(*_CYCLE) for name, sql in found if not name.endswith(_LEFT_OUT)]
        return (*kept, _HISTORY, *_triggers())


class _WorldsClock(ManualClock):
    """The database's clock: the wall clock of whichever world uses the database now."""

    def __init__(self) -> None:
        super().__init__()
        self.read = super().now_us

    def now_us(self) -> int:
        return self.read()


class SharedDatabase:
    """The one database, from outside: made empty, and read by the auditor in plain SQL.

    Attributes:
        commits: how many there were, so that looking again can wait for one.
    """

    def __init__(self, make: Callable[[Path, Clock], InlineDatabase]) -> None:
        self._clock = _WorldsClock()
        self.commits = 0
        self.inner = make(MEMORY, self._clock)
        _at_once(self.inner.write(_execute, _schema()))
        # In this order, because `PRAGMA defer_foreign_keys` would have every statement prepared anew.
        tables = (*_referring_first(self), "history")
        self._wipe = tuple(f"DELETE FROM {table}" for table in tables)  # noqa: S608 - ours

    def begin(self, now_us: Callable[[], int]) -> None:
        """Empty it for a world with this wall clock."""
        self._clock.read = now_us
        _at_once(self.inner.write(_execute, (*self._wipe, *_ACCOUNT)))

    def rows(self, sql: str, params: Mapping[str, object] | None = None) -> list[Row]:
        """What a SELECT gives, now."""
        return _at_once(self.inner.read(lambda tx: tx.all(sql, params)))


def _at_once(call: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that never waits, which is what an in-line database promises."""
    try:
        call.send(None)
    except StopIteration as ended:
        return cast("T", ended.value)
    raise AssertionError("the in-line database waited")


def _execute(tx: Tx, statements: tuple[str, ...]) -> None:
    for statement in statements:
        tx.do(statement)


def _referring_first(database: SharedDatabase) -> list[str]:
    """The tables, each before those that it refers to."""
    tables = database.rows(f"SELECT name FROM {_OURS} AND type = 'table' AND name <> 'history'")  # noqa: S608 - ours
    names = [row["name"] for row in tables]
    needs = {name: {row["table"] for row in database.rows(f"PRAGMA foreign_key_list({name})")} for name in names}
    needs["attempts"].discard("refs")
    return list(reversed(list(TopologicalSorter(needs).static_order())))


class ProcessDatabase:
    """The shared database as one process sees it. Implements `Database`."""

    def __init__(self, process: Process, shared: SharedDatabase) -> None:
        self._process, self._shared, self._inner = process, shared, shared.inner

    async def write(self, op: Callable[Concatenate[Tx, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The operation's result, once committed; its commit may fail, be the last thing, or go unanswered."""
        process = self._process
        what = await process.cross("commit", op.__name__)
        self._shared.commits += 1
        if what == "error" or process.world.is_down("database"):
            raise DatabaseError("The simulated database can't be written. Nothing was lost.")
        result = await self._inner.write(op, *args, **kwargs)
        if what == "crash_after":
            await process.die()
        if what == "freeze_after":
            process.freeze()
            await asyncio.sleep(0)
        if what == "lost":
            raise DatabaseError("The simulated database didn't answer to COMMIT.")
        return result

    async def read(self, op: Callable[Concatenate[Tx, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The operation's result, from one snapshot."""
        what = await self._process.cross("read", op.__name__)
        if what == "error" or self._process.world.is_down("database"):
            raise DatabaseError("The simulated database can't be read.")
        return await self._inner.read(op, *args, **kwargs)

    async def aclose(self) -> None:
        """It belongs to the world."""
