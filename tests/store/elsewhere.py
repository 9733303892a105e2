"""What another process does with a database file: `python -m tests.store.elsewhere WHAT PATH [ARGUMENT]`.

It says on standard output how far it is, and where it has to wait it waits for a line on standard input.
"""

import asyncio
import resource
import subprocess
import sys
from pathlib import Path

from onetake.clock import SystemClock
from onetake.domain.errors import DatabaseError
from onetake.store import journal
from onetake.store.database import Tx
from onetake.store.migrate import migrate
from onetake.store.sqlite import SqliteDatabase
from onetake.store.sqlite_site import SqliteSite

ROOT = Path(__file__).parents[2]
LINES = 100
ROW_BYTES = 4000


def start(what: str, path: Path, argument: str = "") -> subprocess.Popen[str]:
    """Another process that does it."""
    command = [sys.executable, "-m", "tests.store.elsewhere", what, str(path), argument]
    return subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def say(word: object) -> None:
    """Tell the other side."""
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()


async def append(database: SqliteDatabase, job_id: str) -> None:
    """Write many lines to one journal, all at once."""
    await asyncio.gather(*(database.write(journal.record, job_id, f"e.{n}", actor="x") for n in range(LINES)))
    say("done")


def make_account(tx: Tx, name: str) -> int:
    """Write a row."""
    return tx.do("INSERT INTO accounts (id, name, created_at) VALUES (:name, :name, 1)", {"name": name})


async def hang(database: SqliteDatabase, name: str) -> None:
    """Write a row and stay inside the transaction."""

    def op(tx: Tx) -> None:
        make_account(tx, name)
        say("inside")
        sys.stdin.readline()

    await database.write(op)
    say("done")


async def fill(database: SqliteDatabase, room: str) -> None:
    """Write until no file may grow any more, then say what was told and how many rows were promised."""
    await database.write(make_account, "warm")
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(room), resource.RLIM_INFINITY))
    promised = 0
    try:
        while True:
            await database.write(make_account, f"{promised:08}" + "x" * ROW_BYTES)
            promised += 1
    except DatabaseError as error:
        say(promised)
        say(error.sentence)


async def keep(_: SqliteDatabase, __: str) -> None:
    """Keep the file open."""
    say("open")
    await asyncio.to_thread(sys.stdin.readline)


async def _run(what: str, path: Path, argument: str) -> None:
    try:
        database = SqliteDatabase(path, SystemClock(), is_alone=what == "keep")
    except DatabaseError as error:
        say(error.sentence)
        return
    await {"append": append, "hang": hang, "fill": fill, "keep": keep}[what](database, argument)
    if what != "fill":  # there is no room for a last checkpoint
        await database.aclose()


def _main(what: str, path: Path, argument: str) -> None:
    if what == "migrate":
        say(migrate(SqliteSite(path)))
    else:
        asyncio.run(_run(what, path, argument))


if __name__ == "__main__":
    _main(sys.argv[1], Path(sys.argv[2]), sys.argv[3])
