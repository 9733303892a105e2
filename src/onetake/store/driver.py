"""Which SQLite library this process uses, for everything, migrations included.

Two SQLite libraries on one file in one process lose updates (each keeps its own idea of the file's locks), so
this is the only module that imports one. The default install brings pysqlite3 with a current SQLite on Linux
x86-64; elsewhere Python's own is used. Before 3.51.3 SQLite can corrupt a WAL database when two connections
write and checkpoint at the same instant (sqlite.org/wal.html, "The WAL-Reset Bug"), so there a second
process that writes is refused: see `needs_single_process`.
"""

from typing import Any

try:
    import pysqlite3.dbapi2 as sqlite
except ImportError:  # no wheel for this platform
    import sqlite3 as sqlite

SAFE_VERSION = (3, 51, 3)


def needs_single_process(version: tuple[int, ...] = tuple(sqlite.sqlite_version_info)) -> bool:
    """Whether this SQLite may only be used by one writing process at a time."""
    return version < SAFE_VERSION


WAL_TRIES = 20
"""Tries to turn the log on: each that fails means that another process was first with something."""


def use_wal(raw: Any) -> None:  # noqa: ANN401 - a driver's connection
    """Turn the write-ahead log on, whoever else opens the file at the same moment.

    SQLite wants the file to itself for that and, unlike elsewhere, doesn't wait for it ("busy timeout" doesn't apply).
    A transaction that begins as a writer does wait, so it is begun for the wait alone.

    Raises:
        sqlite.OperationalError: the file can't be written, or is never free.
    """
    for tries_left in reversed(range(WAL_TRIES)):
        try:
            raw.execute("PRAGMA journal_mode = WAL")
        except sqlite.OperationalError as error:
            if "locked" not in str(error) or not tries_left:
                raise
            raw.execute("BEGIN IMMEDIATE")
            raw.execute("ROLLBACK")
        else:
            return


__all__ = ["SAFE_VERSION", "needs_single_process", "sqlite", "use_wal"]
