"""PgBouncer in front of a server, in transaction mode: each transaction may run on another of few connections."""

import contextlib
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import psycopg

from tests.servers.postgres import free_port

_SETTINGS = """\
[databases]
* = host={host} port={port} user={user}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {listen}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = {connections}
max_client_conn = 200
"""

_STARTS_MAX = 200


@contextlib.contextmanager
def pooled(url: str, *, connections: int = 3) -> Iterator[str]:
    """The address of the same database through a pooler with so many connections to it."""
    program = shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin")
    assert program, "There is no pgbouncer to test with: install it (Debian: apt install pgbouncer)."
    behind, listen = urlsplit(url), free_port()
    with tempfile.TemporaryDirectory(prefix="onetake-pooler-") as folder:
        settings = Path(folder) / "pgbouncer.ini"
        settings.write_text(
            _SETTINGS.format(
                host=behind.hostname,
                port=behind.port,
                user=behind.username,
                listen=listen,
                connections=connections,
            )
        )
        uid = pwd.getpwnam("nobody").pw_uid if os.geteuid() == 0 else None  # it refuses to run as root
        Path(folder).chmod(0o755)
        running = subprocess.Popen([program, "-q", str(settings)], user=uid, stderr=subprocess.DEVNULL)
        try:
            through = behind._replace(netloc=f"{behind.username}@{behind.hostname}:{listen}").geturl()
            _await(through, running)
            yield through
        finally:
            running.terminate()
            running.wait()


def _await(url: str, running: "subprocess.Popen[bytes]") -> None:
    """Come back when it answers."""
    for _ in range(_STARTS_MAX):
        assert running.poll() is None, "pgbouncer ended at once"
        with contextlib.suppress(psycopg.OperationalError), psycopg.connect(url, connect_timeout=1):
            return
        with contextlib.suppress(subprocess.TimeoutExpired):
            running.wait(0.02)
    raise AssertionError("pgbouncer doesn't answer")
