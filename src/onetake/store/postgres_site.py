"""Where a PostgreSQL database is: its address, its connections, and what its errors mean for a person.

Nothing here outlives a transaction (no session settings, no session locks, no LISTEN), so the address may be that of a
pooler that hands a connection on after each transaction. No message holds the password.
"""

from contextlib import closing
from typing import TYPE_CHECKING, Any, Literal

import psycopg
from psycopg.conninfo import conninfo_to_dict

from onetake.clock import Clock
from onetake.domain.errors import DatabaseError
from onetake.store.database import Database, Reader

if TYPE_CHECKING:
    import sqlalchemy

Connection = psycopg.Connection[tuple[Any, ...]]
Prepare = Literal["auto", "always", "never"]

_DEFAULTS: dict[str, str | int] = {
    "application_name": "onetake",
    "client_encoding": "UTF8",
    "connect_timeout": 10,  # seconds: a server that is up answers in milliseconds
    # A server that vanished without a word (its machine lost power) is noticed within half a minute, not two hours.
    "keepalives_idle": 15,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}

PREPARE_AFTER = 2
"""Times that a statement runs before it is prepared: all of ours that matter run thousands of times."""

PREPARED_MAX = 500
"""Prepared statements kept by a connection: more than there are statements in the drawers."""

LOST = frozenset({"57P01", "57P02", "57P03", "25P03", "57P05"})
"""The server ends this connection: shutdown, crash, start, a transaction or a session that was idle for too long."""

_BY_STATE = {
    "53100": "{name} has no disk space left; free some there",
    "53200": "{name} is out of memory: give it more",
    "53300": "{name} has no connection left: raise its max_connections, or put a pooler in front of it",
    "25006": "{name} can't be written: it is a standby or set to read-only; name the primary in ONETAKE_DATABASE_URL",
    "42501": "{name} forbids it: grant this user the right to make tables there, or migrate as their owner",
    "42P01": "{name} has no tables yet: run `onetake migrate`",
    "42883": "{name} has no tables yet: run `onetake migrate`",
    "22P05": "{name} isn't in UTF-8: make one WITH ENCODING 'UTF8'",
    "55P03": "{name} has a row that is locked by somebody else's transaction (waited 10 s): end it",
    "57014": "{name} broke the statement off: it took longer than the server allows",
}

_BY_WORD = {
    "authentication failed": "{name} refuses the user or the password: check ONETAKE_DATABASE_URL",
    "no password supplied": "{name} wants a password: put one into ONETAKE_DATABASE_URL, or into a .pgpass file",
    "no pg_hba.conf entry": "{name} doesn't let this user in from here: see the server's pg_hba.conf",
    "does not exist": "{name} isn't there: make the database or the user, or name another in ONETAKE_DATABASE_URL",
    "too many clients": _BY_STATE["53300"],
    "no more connections allowed": _BY_STATE["53300"],
    "remaining connection slots": _BY_STATE["53300"],
    "starting up": "{name} is starting: wait a moment",
    "shutting down": "{name} is shutting down: start it again",
    "server does not support SSL": "{name} has no TLS: take sslmode out of ONETAKE_DATABASE_URL, or set the server up",
    "certificate": "{name} shows a certificate that this machine doesn't trust: see sslrootcert",
}


class PostgresSite:
    """A database on a server, by its address (`postgresql://user:password@host:port/database`)."""

    def __init__(self, url: str, *, prepare: Prepare = "auto", lanes: int = 1) -> None:
        """Read the address.

        Args:
            url: as libpq takes it.
            prepare: whether statements are prepared on the server. `auto` does where the connection is direct.
            lanes: connections that write.

        Raises:
            DatabaseError: the address can't be read.
        """
        try:
            given = {key: value for key, value in conninfo_to_dict(url).items() if value is not None}
        except psycopg.ProgrammingError:  # its text may quote the password
            raise DatabaseError(
                "ONETAKE_DATABASE_URL can't be read: write postgresql://USER:PASSWORD@HOST:PORT/DATABASE,"
                " with @, : and / of a password as %40, %3A and %2F."
            ) from None
        self._given: dict[str, Any] = {**_DEFAULTS, **given}
        self._prepare, self._lanes = prepare, lanes

    @property
    def place(self) -> str:
        """The address without the password."""
        user, host, port, name = (self._given.get(key) for key in ("user", "host", "port", "dbname"))
        at = f"{user}@" if user else ""
        return f"postgresql://{at}{host or ''}{f':{port}' if port else ''}/{name or ''}"

    def connect(self) -> Connection:
        """A new connection, without any transaction.

        Raises:
            DatabaseError: there is none to be had.
        """
        try:
            raw = psycopg.connect(**self._given, autocommit=True, prepare_threshold=None)
        except psycopg.Error as error:
            raise self.error(error) from None  # the cause names the whole address
        if self._prepare == "always" or (self._prepare == "auto" and _is_direct(raw)):
            raw.prepare_threshold, raw.prepared_max = PREPARE_AFTER, PREPARED_MAX
        return raw

    def describe(self) -> str:
        """The server's version and how statements go there."""
        with closing(self.connect()) as raw:
            version = raw.info.parameter_status("server_version") or "?"
            how = "prepared statements" if raw.prepare_threshold is not None else "no prepared statements"
            return f"PostgreSQL {version}, any number of processes, {how}"

    def revision(self) -> str | None:
        """The revision of its schema; None if there is none yet."""
        with closing(self.connect()) as raw:
            try:
                if raw.info.parameter_status("server_encoding") != "UTF8":
                    raise DatabaseError(f"{_BY_STATE['22P05'].format(name=self._name)}.")
                tables = {
                    row[0] for row in raw.execute("SELECT tablename FROM pg_tables WHERE schemaname = current_schema()")
                }
                if not tables:
                    return None
                if "alembic_version" not in tables:
                    raise DatabaseError(f"{self._name} holds other tables: name another in ONETAKE_DATABASE_URL.")
                row = raw.execute("SELECT version_num FROM alembic_version").fetchone()
            except psycopg.Error as error:
                raise self.error(error) from error
            return None if row is None else str(row[0])

    def engine(self) -> "sqlalchemy.Engine":
        """For migrations only."""
        import sqlalchemy  # noqa: PLC0415 - costs half a second, needed here only

        def connect() -> Connection:
            raw = self.connect()
            raw.autocommit, raw.prepare_threshold = False, None
            return raw

        return sqlalchemy.create_engine("postgresql+psycopg://", creator=connect)

    def open(self, clock: Clock) -> Database:
        """The database, open."""
        from onetake.store.postgres import PostgresDatabase  # noqa: PLC0415 - it needs this module

        return PostgresDatabase(self, clock, lanes=self._lanes)

    def open_reader(self, clock: Clock) -> Reader:
        """The database; its reads are read-only transactions on a connection of their own."""
        return self.open(clock)

    def error(self, error: psycopg.Error) -> DatabaseError:
        """The driver's error as one sentence: what, where, how to mend it."""
        told = error.diag.message_primary or next(iter(str(error).strip().splitlines()), "?")
        known = _BY_STATE.get(error.sqlstate or "")
        if error.sqlstate is None and isinstance(error, psycopg.OperationalError):  # there is no connection
            unreachable = "{name} can't be reached: check that it runs, the network, and ONETAKE_DATABASE_URL"
            known = next((told for word, told in _BY_WORD.items() if word in str(error)), unreachable)
        if known is None:
            return DatabaseError(f"{self._name} says: {told.rstrip('.')}. Nothing was lost.")
        return DatabaseError(f"{known.format(name=self._name)}. Nothing was lost.")

    @property
    def _name(self) -> str:
        return f"The database {self.place}"


def _is_direct(raw: Connection) -> bool:
    """Whether the process that answers is the one that introduced itself, so that no pooler stands between.

    A pooler in transaction mode may run our next transaction elsewhere, where a prepared statement of the same name is
    missing, or is somebody else's.
    """
    row = raw.execute("SELECT pg_backend_pid()").fetchone()
    return row is not None and row[0] == raw.info.backend_pid
