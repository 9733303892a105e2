"""Where a SQLite database is: its file, looked at without changing it."""

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from onetake.clock import Clock
from onetake.domain.errors import DatabaseError
from onetake.store.database import Database, Reader
from onetake.store.driver import needs_single_process, sqlite, use_wal
from onetake.store.sqlite import SqliteDatabase, SqliteReader

if TYPE_CHECKING:
    import sqlalchemy


class SqliteSite:
    """A file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def place(self) -> str:
        """The file."""
        return str(self.path)

    def describe(self) -> str:
        """The library's version and who may share the file."""
        shared = "one process at a time" if needs_single_process() else "any number of processes"
        return f"SQLite {sqlite.sqlite_version}, {shared}"

    def revision(self) -> str | None:
        """The revision of its schema; None if there is none yet."""
        path = self.path
        try:
            if not path.exists() or (path.is_file() and path.stat().st_size == 0):
                return None
            with contextlib.closing(sqlite.connect(f"file:{_uri(path)}?mode=ro", uri=True)) as raw:
                names = {row[0] for row in raw.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
                if not names:
                    return None
                if "alembic_version" not in names:
                    raise DatabaseError(
                        f"The database {path} holds other tables: name another in ONETAKE_DATABASE_URL."
                    )
                row = raw.execute("SELECT version_num FROM alembic_version").fetchone()
                return None if row is None else str(row[0])
        except (OSError, sqlite.DatabaseError) as error:
            raise DatabaseError(f"The database {path} can't be read ({error}): check ONETAKE_DATABASE_URL.") from error

    def engine(self) -> "sqlalchemy.Engine":
        """For migrations only: an engine whose transactions begin as writers; the file's folder is made."""
        import sqlalchemy  # noqa: PLC0415 - costs half a second, needed here only

        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.path.touch(mode=0o600)  # prompts and signed addresses are in it; its journals take over the mode
        except OSError as error:
            raise DatabaseError(f"The folder of the database {self.path} can't be made: {error.strerror}.") from error
        engine = sqlalchemy.create_engine("sqlite://", creator=self._connect, module=sqlite)
        # One transaction for everything, begun as a writer: a process that dies in the middle leaves nothing, and a
        # second one that migrates at the same time waits and then finds nothing to do.
        sqlalchemy.event.listen(engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN IMMEDIATE"))
        return engine

    def _connect(self) -> Any:  # noqa: ANN401 - a driver's connection
        raw = sqlite.connect(str(self.path), isolation_level=None)  # the driver begins nothing by itself
        raw.execute("PRAGMA busy_timeout = 60000")
        use_wal(raw)
        return raw

    def open(self, clock: Clock) -> Database:
        """The database, open."""
        return SqliteDatabase(self.path, clock)

    def open_reader(self, clock: Clock) -> Reader:
        """The database, open for looking only."""
        return SqliteReader(self.path, clock)


def _uri(path: Path) -> str:
    return str(path.absolute()).replace("%", "%25").replace("?", "%3f").replace("#", "%23")
