"""Bring a database to this program's schema, or say in one sentence why that can't be done.

Opening compares one row (`alembic_version`) with `HEAD`; Alembic itself is imported only when there is
something to do, because that costs more than a second.
"""

import contextlib
from importlib.resources import files
from pathlib import Path
from typing import Any

from onetake.domain.errors import DatabaseError
from onetake.store.driver import sqlite

HEAD = "0001"
"""The newest revision that this program knows; a test holds it against the migrations folder."""

_HISTORY = ("0001",)


def revision_of(path: Path) -> str | None:
    """The revision of the SQLite file at `path`; None if there is none yet.

    Raises:
        DatabaseError: the file can't be read, or isn't ours.
    """
    try:
        if not path.exists() or (path.is_file() and path.stat().st_size == 0):
            return None
        with contextlib.closing(sqlite.connect(f"file:{_uri(path)}?mode=ro", uri=True)) as raw:
            names = {row[0] for row in raw.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            if not names:
                return None
            if "alembic_version" not in names:
                raise DatabaseError(f"The database {path} holds other tables: name another in ONETAKE_DATABASE_URL.")
            row = raw.execute("SELECT version_num FROM alembic_version").fetchone()
            return None if row is None else str(row[0])
    except (OSError, sqlite.DatabaseError) as error:
        raise DatabaseError(f"The database {path} can't be read ({error}): check ONETAKE_DATABASE_URL.") from error


def check(path: Path) -> bool:
    """Whether the database is at this program's schema; False: it is new or older and can be migrated.

    Raises:
        DatabaseError: it is newer than this program.
    """
    found = revision_of(path)
    if found is not None and found not in _HISTORY:
        raise DatabaseError(
            f"The database {path} is newer than this program (revision {found}, this program knows {HEAD}):"
            " install the newer onetake; nothing was changed."
        )
    return found == HEAD


def migrate(path: Path) -> bool:
    """Bring the SQLite file at `path` to `HEAD`, whole or not at all; whether there was anything to do.

    Raises:
        DatabaseError: it can't be written, or it is newer than this program.
    """
    if check(path):
        return False
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DatabaseError(f"The folder of the database {path} can't be made: {error.strerror}.") from error
    _upgrade(path)
    return True


def _upgrade(path: Path) -> None:
    import sqlalchemy  # noqa: PLC0415 - costs half a second, needed here only
    from alembic import command  # noqa: PLC0415 - likewise
    from alembic.config import Config  # noqa: PLC0415 - likewise

    config = Config()
    config.set_main_option("script_location", str(files("onetake.store") / "migrations").replace("%", "%%"))
    engine = sqlalchemy.create_engine("sqlite://", creator=lambda: _connect(path), module=sqlite)
    # One transaction for everything, begun as a writer: a process that dies in the middle leaves nothing, and a
    # second one that migrates at the same time waits and then finds nothing to do.
    sqlalchemy.event.listen(engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN IMMEDIATE"))
    try:
        with engine.connect() as connection:
            config.attributes["connection"] = connection
            command.upgrade(config, "head")
            connection.commit()
    except sqlalchemy.exc.DBAPIError as error:
        raise DatabaseError(
            f"The database {path} can't be migrated ({error.orig}): check its disk and permissions."
        ) from error
    finally:
        engine.dispose()


def _connect(path: Path) -> Any:  # noqa: ANN401 - a driver's connection
    raw = sqlite.connect(str(path), isolation_level=None)  # the driver begins nothing by itself
    raw.execute("PRAGMA busy_timeout = 60000")
    raw.execute("PRAGMA journal_mode = WAL")
    return raw


def _uri(path: Path) -> str:
    return str(path.absolute()).replace("%", "%25").replace("?", "%3f").replace("#", "%23")
