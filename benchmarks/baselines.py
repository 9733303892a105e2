"""What the databases give at best, on the same disk: plain updates of single rows by primary key."""

import concurrent.futures
import contextlib
import itertools
import sqlite3
import subprocess
import time
from pathlib import Path

import psycopg

from benchmarks.harness.peer import fresh_database
from benchmarks.servers import pgbench

ROWS = 10_000
_TABLE = "CREATE TABLE jobs (id integer PRIMARY KEY, state text, updated_at double precision)"
_SCRIPT = """\\set id random(1, 10000)
UPDATE jobs SET state = 'submitting', updated_at = 1.5 WHERE id = :id;
"""
CLIENTS = 4


class PlainPostgres:
    """B1: prepared UPDATEs of one row, 4 clients, each its own transaction, fsync on; by pgbench where it is."""

    def __init__(self, server_url: str, folder: Path) -> None:
        """Make the table."""
        self._url, self._script = fresh_database(server_url, "onetake_bench_plain"), folder / "update.sql"
        self._script.write_text(_SCRIPT)
        self._pgbench = pgbench()
        with psycopg.connect(self._url, autocommit=True) as connection:
            connection.execute(_TABLE)
            connection.execute(f"INSERT INTO jobs SELECT n, 'ready', 0 FROM generate_series(1, {ROWS}) AS n")
            connection.execute("VACUUM ANALYZE jobs")

    @property
    def words(self) -> str:
        """What it is, for a reader."""
        by = "pgbench" if self._pgbench else "psycopg, as there is no pgbench here,"
        return f"B1: {by} prepared UPDATE of one row, {CLIENTS} clients"

    def per_second(self, seconds: float) -> float:
        """Updates a second."""
        return self._by_pgbench(seconds) if self._pgbench else self._by_hand(seconds)

    def _by_pgbench(self, seconds: float) -> float:
        done = subprocess.run(
            [
                *(str(self._pgbench), "--no-vacuum", "--protocol=prepared", f"--client={CLIENTS}", "--jobs=2"),
                *(f"--time={max(1, round(seconds))}", f"--file={self._script}", self._url),
            ],
            capture_output=True,
            text=True,
            check=True,
        )
        line = next(line for line in done.stdout.splitlines() if line.startswith("tps"))
        return float(line.split()[2])

    def _by_hand(self, seconds: float) -> float:
        with concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
            return sum(pool.map(self._client, [seconds] * CLIENTS)) / seconds

    def _client(self, seconds: float) -> int:
        with psycopg.connect(self._url, autocommit=True) as connection:
            end = time.monotonic() + seconds
            for number in itertools.count():
                if time.monotonic() > end:
                    return number
                sql = "UPDATE jobs SET state = 'submitting', updated_at = 1.5 WHERE id = %s"
                connection.execute(sql, (1 + number * 7919 % ROWS,), prepare=True)
        return 0


class PlainSqlite:
    """B2: Python's sqlite3, autocommit UPDATEs of one row, WAL, synchronous=FULL."""

    words = "B2: sqlite3 autocommit UPDATE of one row, WAL, synchronous=FULL"

    def __init__(self, folder: Path) -> None:
        """Make the table."""
        self._path = folder / "plain.db"
        with contextlib.closing(self._open()) as connection:
            connection.execute(_TABLE)
            connection.execute("BEGIN")
            connection.executemany("INSERT INTO jobs VALUES (?, 'ready', 0)", ((n + 1,) for n in range(ROWS)))
            connection.execute("COMMIT")

    def _open(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._path, isolation_level=None)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        return connection

    def per_second(self, seconds: float) -> float:
        """Updates a second."""
        with contextlib.closing(self._open()) as connection:
            began = time.monotonic()
            for number in itertools.count(1):
                values = (float(number), 1 + number * 7919 % ROWS)
                connection.execute("UPDATE jobs SET state = 'submitting', updated_at = ? WHERE id = ?", values)
                spent = time.monotonic() - began
                if spent > seconds:
                    return number / spent
        return 0.0
