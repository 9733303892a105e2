"""The programs held against the provider, each in a fresh folder and on a fresh database.

The environment of every call: `BASE_URL` (the provider), `DB_URL` (`postgresql://...` or `sqlite:///FILE`),
`BENCH_DIR` (a fresh folder, also the working directory), `N`, `RUN` (keys are `$RUN-00000`, ...), `CONCURRENCY`
(chains at once), `STAGES` (`image,video` or `image`), `FIRST_POLL_S`, `POLL_S`, `HTTP_TIMEOUT_S`; under faults
`PROMISES`, what the provider does about lost answers (`honour-idempotency`, `lookup`, both with a comma, or empty).

A report's line has `key`, `state` (`done`, `failed`, `uncertain`, `pending`) and for done chains `t_done` (seconds
since 1970 at the local commit), `url` and `sha256` of the stored file; a peer may keep files in `out/` by their digest
instead.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import urllib.parse
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg

from benchmarks.harness.judge import Row, job_of

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PEERS_PYTHON = ROOT / "benchmarks" / ".peers-venv" / "bin" / "python"
DATABASE_NAME = "onetake_bench_peer"
CALL_TIMEOUT_S = 600
"""For making the schema or recording all chains: thousands of orders on a slow machine take minutes at most."""

COMMANDS = {
    "onetake": (sys.executable, str(ROOT / "benchmarks" / "harness_adapter.py")),
    "unguarded": (sys.executable, str(ROOT / "benchmarks" / "harness_adapter.py"), "--unguarded"),
    "byhand": (str(PEERS_PYTHON), str(HERE / "peers" / "byhand.py")),
    "dbos": (str(PEERS_PYTHON), str(HERE / "peers" / "dbos_peer.py")),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """Where a run takes place.

    Attributes:
        folder: fresh state goes below it, each run's into a new folder: deleting the last one's files first would slow
            the making of new ones on ext4 for a minute.
        postgres_url: a server that databases may be made on; None runs on SQLite.
    """

    folder: Path
    postgres_url: str | None = None


@dataclass(slots=True)
class Peer:
    """One program, attached by its command."""

    name: str
    around: Surroundings
    settings: dict[str, str]
    folder: Path = field(init=False)
    environment: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        """Make the folder and the empty database."""
        self.folder = Path(tempfile.mkdtemp(prefix=f"{self.name}-", dir=self.around.folder))
        url = f"sqlite:///{self.folder / 'peer.db'}"
        if self.around.postgres_url:
            url = fresh_database(self.around.postgres_url, DATABASE_NAME)
        self.environment = {**os.environ, "BENCH_DIR": str(self.folder), "DB_URL": url, "RUN": "c", **self.settings}

    def call(self, word: str) -> str:
        """What the program printed."""
        done = subprocess.run(
            [*COMMANDS[self.name], word],
            env=self.environment,
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=CALL_TIMEOUT_S,
            check=False,
        )
        if done.returncode:
            raise SystemExit(f"{self.name} {word} ended with {done.returncode}:\n{done.stderr[-3000:]}")
        return done.stdout

    def start(self) -> subprocess.Popen[bytes]:
        """A worker, in a process group of its own, so that a kill hits its children too."""
        with (self.folder / "worker.log").open("ab") as log:
            return subprocess.Popen(
                [*COMMANDS[self.name], "worker"],
                env=self.environment,
                cwd=self.folder,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def last_words(self) -> str:
        """The end of what its workers logged."""
        return (self.folder / "worker.log").read_text(errors="replace")[-3000:]

    def report(self, truth: Row) -> dict[str, Row]:
        """What the program says of each chain, with `file` added to done ones: is it the one that was paid for?"""
        found = {row["key"]: row for row in map(json.loads, self.call("report").splitlines())}
        paid = {job["id"]: job["sha256"] for job in truth["jobs"]}
        kept = {path.name for path in self.folder.glob("out/*")}
        for row in found.values():
            if row["state"] == "done":
                wanted = paid.get(job_of(row["url"]))
                row["file"] = "right" if wanted and wanted in kept | {row.get("sha256")} else "wrong"
        return found


def fresh_database(server_url: str, name: str) -> str:
    """The address of a new, empty database on the server; one that had the name is gone."""
    with psycopg.connect(server_url, autocommit=True) as connection:
        connection.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
        connection.execute(f'CREATE DATABASE "{name}"')
    return urllib.parse.urlsplit(server_url)._replace(path=f"/{name}").geturl()


def kill(worker: subprocess.Popen[bytes]) -> None:
    """End a worker and its children at once, if it still runs."""
    if worker.poll() is None:
        os.killpg(worker.pid, signal.SIGKILL)
        worker.wait()


@dataclass(frozen=True, slots=True)
class Shop:
    """A running fake provider."""

    process: subprocess.Popen[str]
    origin: str

    def ask(self, path: str) -> Any:  # noqa: ANN401 - JSON
        """What it answers on one of its own routes."""
        with urllib.request.urlopen(self.origin + path, timeout=30) as response:
            return json.load(response)


@contextlib.contextmanager
def open_shop(*arguments: str) -> Iterator[Shop]:
    """A fake provider on a free port, until the end of the block."""
    command = [sys.executable, "-m", "benchmarks.harness.fake_provider", *arguments]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            line = process.stdout.readline() if process.stdout else ""
            if not line:
                raise SystemExit("the fake provider did not start")
            yield Shop(process, json.loads(line)["ready"])
        finally:
            process.kill()
