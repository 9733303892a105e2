"""Where the engine's tests keep their rows: a SQLite file, or PostgreSQL with `ONETAKE_TEST_DATABASE=postgres`."""

import contextlib
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from onetake.store.driver import sqlite  # two SQLite libraries on one file in one process lose writes
from onetake.store.migrate import migrate
from onetake.store.sqlite_site import SqliteSite
from tests.servers.postgres import clockwork, new_database, tables_of

Row = dict[str, Any]
Tables = dict[str, list[Row]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A database at this program's schema.

    Attributes:
        url: its address.
        tables: reads every row, in plain SQL.
        tell: sets its clock, in microseconds since 1970. SQLite asks the clock that opened the file.
    """

    url: str
    tables: Callable[[], Tables]
    tell: Callable[[int], None]


@contextlib.contextmanager
def kept(folder: Path, now_us: int, *, kind: str = "", url: str = "", keeps_time: bool = False) -> Iterator[Kept]:
    """An empty database, or the one that an earlier call made in the folder.

    Args:
        folder: of the file.
        now_us: what a server's clock is set to.
        kind: `sqlite` or `postgres`.
        url: of a PostgreSQL database that the test has made itself.
        keeps_time: a server goes by its own clock, because real processes use it.
    """
    if url:
        yield Kept(url=url, tables=lambda: tables_of(url), tell=_untold)
        return
    if (kind or os.environ.get("ONETAKE_TEST_DATABASE")) == "postgres":
        with new_database() as made, contextlib.ExitStack() as opened:
            tell = _untold if keeps_time else opened.enter_context(clockwork(made, now_us))
            yield Kept(url=made, tables=lambda: tables_of(made), tell=tell)
        return
    path = folder / "onetake.db"
    if not path.exists():
        path.write_bytes(_migrated())
    yield Kept(url=f"sqlite:///{path}", tables=lambda: _tables(path), tell=_untold)


def _untold(_: int) -> None:
    """It knows the time by itself."""


@cache
def _migrated() -> bytes:
    """An empty file at this program's schema, made once: Alembic takes a second."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "empty.db"
        migrate(SqliteSite(path))
        return path.read_bytes()


def _tables(path: Path) -> Tables:
    with closing(sqlite.connect(f"file:{path}?mode=ro", uri=True)) as raw:
        raw.execute("BEGIN")
        names = [row[0] for row in raw.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {name: _rows(raw, name) for name in names}


def _rows(raw: Any, table: str) -> list[Row]:  # noqa: ANN401 - a driver's connection
    cursor = raw.execute(f"SELECT * FROM {table}")  # noqa: S608 - a table's own name
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in cursor]
