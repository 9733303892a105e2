"""SQLite behind its threads: groups, snapshots, other processes, and every trouble as one sentence."""

import ast
import asyncio
import contextlib
import os
import signal
import threading
from collections import Counter
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from onetake.clock import ManualClock
from onetake.domain.errors import DatabaseError
from onetake.store import journal
from onetake.store.database import ConstraintError, Tx
from onetake.store.driver import needs_single_process, sqlite, use_wal
from onetake.store.lanes import GROUP_MAX
from onetake.store.sqlite import InlineDatabase, SqliteConnection, SqliteDatabase, SqliteReader
from tests.repo.tree import sources, tree_of
from tests.store import elsewhere
from tests.store.elsewhere import LINES, make_account
from tests.store.gate import Gate, held
from tests.store.shop import Shop


class TickingClock(ManualClock):
    """Each look at it is a microsecond later, so a transaction can be told by its time."""

    def now_us(self) -> int:
        self.advance(0.000001)
        return super().now_us()


@pytest.fixture
async def database(file: Path) -> AsyncIterator[SqliteDatabase]:
    opened = SqliteDatabase(file, TickingClock())
    yield opened
    await opened.aclose()


def names(tx: Tx) -> list[str]:
    return [row["name"] for row in tx.all("SELECT name FROM accounts ORDER BY name")]


# --- groups


async def test_what_waits_together_is_committed_together(database: SqliteDatabase) -> None:
    gate, first = await held(database)
    writes = [asyncio.create_task(database.write(lambda tx: tx.now_us)) for _ in range(GROUP_MAX + 6)]
    await asyncio.sleep(0)  # each hands its operation in
    gate.open()
    times = Counter(await asyncio.gather(*writes))
    assert sorted(times.values()) == [6, GROUP_MAX]
    assert await first not in times


async def test_in_a_group_an_operation_that_is_refused_loses_itself_only(database: SqliteDatabase) -> None:
    await database.write(make_account, "n3")
    gate, _ = await held(database)
    runs: Counter[str] = Counter()

    def op(tx: Tx, name: str) -> int:
        runs[name] += 1
        make_account(tx, name)
        return tx.now_us

    writes = [asyncio.create_task(database.write(op, f"n{n}")) for n in range(6)]
    await asyncio.sleep(0)
    gate.open()
    results = await asyncio.gather(*writes, return_exceptions=True)
    assert [isinstance(result, ConstraintError) for result in results] == [n == 3 for n in range(6)]
    assert len({result for result in results if isinstance(result, int)}) == 5  # redone one by one
    assert (runs["n0"], runs["n3"], runs["n4"]) == (2, 2, 1)
    assert await database.read(names) == [f"n{n}" for n in range(6)]


async def test_nobody_is_answered_before_the_whole_group_is_committed(database: SqliteDatabase) -> None:
    first, _ = await held(database)
    early = asyncio.create_task(database.write(make_account, "early"))
    inside = Gate()
    late = asyncio.create_task(database.write(inside.op))
    await asyncio.sleep(0)
    first.open()
    await inside.entered()  # the same transaction, after the row was written
    assert not early.done()
    assert await database.read(names) == []
    inside.open()
    await asyncio.gather(early, late)
    assert await database.read(names) == ["early"]


async def test_a_caller_that_went_away_changes_nothing_for_others(database: SqliteDatabase) -> None:
    gate, _ = await held(database)
    gone = asyncio.create_task(database.write(make_account, "gone"))
    stays = asyncio.create_task(database.write(make_account, "stays"))
    await asyncio.sleep(0)
    gone.cancel()
    gate.open()
    await stays
    assert await database.read(names) == ["gone", "stays"]


# --- threads and loops


async def test_several_event_loops_may_use_it_at_once(database: SqliteDatabase) -> None:
    def use(number: int) -> None:
        async def main() -> None:
            await asyncio.gather(*(database.write(make_account, f"{number}-{n}") for n in range(25)))

        asyncio.run(main())

    await asyncio.gather(*(asyncio.to_thread(use, number) for number in range(4)))
    assert len(await database.read(names)) == 100


async def test_a_loop_that_ended_stops_nobody(database: SqliteDatabase) -> None:
    gate = Gate()

    async def leave() -> None:
        task = asyncio.create_task(database.write(gate.op))
        await gate.entered()
        task.cancel()

    await asyncio.to_thread(asyncio.run, leave())
    after = asyncio.create_task(database.write(make_account, "after"))
    await asyncio.sleep(0)
    gate.open()
    assert await after == 1


async def test_a_reader_sees_one_moment(database: SqliteDatabase) -> None:
    looked, written = threading.Event(), threading.Event()

    def look_twice(tx: Tx) -> tuple[list[str], list[str]]:
        before = names(tx)
        looked.set()
        written.wait()
        return before, names(tx)

    reading = asyncio.create_task(database.read(look_twice))
    await asyncio.to_thread(looked.wait)
    await database.write(make_account, "meanwhile")
    written.set()
    assert await reading == ([], [])
    assert await database.read(names) == ["meanwhile"]


async def test_closing_finishes_what_was_handed_in(file: Path) -> None:
    database = SqliteDatabase(file, ManualClock())
    gate, _ = await held(database)
    writes = [asyncio.create_task(database.write(make_account, f"n{n}")) for n in range(3)]
    await asyncio.sleep(0)
    closing = asyncio.create_task(database._writer.aclose())
    await asyncio.sleep(0)
    gate.open()
    await closing
    await database.aclose()
    assert await asyncio.gather(*writes) == [1, 1, 1]
    for call in (database.write, database.read):
        with pytest.raises(DatabaseError, match="was closed; nothing of this was written"):
            await call(names)
    await database.aclose()  # again changes nothing


# --- looking only


async def test_one_who_only_looks_stands_beside_any_other(file: Path) -> None:
    holder, reader = SqliteDatabase(file, ManualClock(), is_alone=True), SqliteReader(file, ManualClock())
    gate, holding = await held(holder)
    assert await reader.read(names) == []  # whoever writes meanwhile
    gate.open()
    await holding
    await holder.write(make_account, "ada")
    assert await reader.read(names) == ["ada"]
    with pytest.raises(DatabaseError, match=r"can't be written: check the permissions"):
        await reader.read(make_account, "bob")
    await reader.aclose()
    with pytest.raises(DatabaseError, match="was closed"):
        await reader.read(names)
    await holder.aclose()


def test_looking_makes_no_file(tmp_path: Path) -> None:
    path = tmp_path / "nowhere.db"
    with pytest.raises(DatabaseError, match=r"can't be opened: check that its folder exists"):
        SqliteReader(path, ManualClock())
    assert not path.exists()


# --- settings


def settings(tx: Tx) -> dict[str, object]:
    rows = [tx.one(f"PRAGMA {name}") for name in ("journal_mode", "synchronous", "foreign_keys")]
    return {name: value for row in rows if row for name, value in row.items()}


async def test_a_commit_survives_a_power_cut_and_keys_are_checked(file: Path) -> None:
    for database in (SqliteDatabase(file, ManualClock()), InlineDatabase(file, ManualClock())):
        full = 2  # https://sqlite.org/pragma.html#pragma_synchronous
        wanted = {"journal_mode": "wal", "synchronous": full, "foreign_keys": 1}
        assert await database.write(settings) == wanted
        await database.aclose()


async def test_sql_asks_the_clock_that_opened_it(file: Path) -> None:
    clock = ManualClock(start_us=77)
    database = InlineDatabase(file, clock)
    assert await database.read(lambda tx: tx.one("SELECT onetake_now() AS now")) == {"now": 77}
    await database.aclose()


def test_an_old_sqlite_is_known() -> None:
    assert [needs_single_process(each) for each in ((3, 40, 1), (3, 51, 2), (3, 51, 3), (4, 0, 0))] == [
        True,
        True,
        False,
        False,
    ]


def test_one_module_chooses_the_library() -> None:
    """Two SQLite libraries on one file in one process lose updates."""
    importers = set()
    for path in sources("src/onetake"):
        for node in ast.walk(tree_of(path)):
            found = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            found += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            if any(name.split(".")[0] in ("sqlite3", "pysqlite3") for name in found):
                importers.add(path.name)
    assert importers == {"driver.py"}


# --- other processes


async def test_processes_that_write_at_once_lose_nothing(file: Path) -> None:  # C065
    shop = Shop(SqliteDatabase(file, ManualClock()), ManualClock())
    order = await shop.order()
    others = [elsewhere.start("append", file, order.job) for _ in range(3)]
    await asyncio.gather(*(shop.do(journal.record, order.job, f"e.{n}", actor="me") for n in range(LINES)))
    for other in others:
        assert (await asyncio.to_thread(other.communicate))[0] == "done\n"
    lines = await shop.see(journal.list_lines, order.job)
    assert [line["seq"] for line in lines] == list(range(1, 4 * LINES + 2))
    assert Counter(line["event"] for line in lines[1:]) == {f"e.{n}": 4 for n in range(LINES)}
    await shop.database.aclose()


async def test_a_process_killed_inside_a_transaction_leaves_nothing_of_it(file: Path) -> None:
    database = SqliteDatabase(file, ManualClock())
    other = elsewhere.start("hang", file, "half")
    assert other.stdout is not None
    assert await asyncio.to_thread(other.stdout.readline) == "inside\n"
    waiting = asyncio.create_task(database.write(make_account, "whole"))
    await asyncio.sleep(0)
    assert await database.read(names) == []
    os.kill(other.pid, signal.SIGKILL)
    assert (await asyncio.to_thread(other.communicate))[0] == ""
    assert await waiting == 1
    assert await database.read(names) == ["whole"]
    await database.aclose()


async def test_a_lock_that_is_not_given_back_is_a_sentence_to_everybody_who_waits(file: Path) -> None:
    holder, database = SqliteDatabase(file, ManualClock()), SqliteDatabase(file, ManualClock(), busy_ms=20)
    gate, holding = await held(holder)
    writes = [asyncio.create_task(database.write(make_account, f"n{n}")) for n in range(5)]
    results = await asyncio.gather(*writes, return_exceptions=True)
    told = f"The database {file} is locked by another program (waited 0.02 s): close it. Nothing was lost."
    assert {str(result) for result in results} == {told}
    assert await database.read(names) == []  # reading goes on
    gate.open()
    await holding
    assert await database.write(make_account, "n1") == 1
    for opened in (holder, database):
        await opened.aclose()


async def test_an_old_sqlite_is_not_shared_between_processes(file: Path) -> None:
    other = elsewhere.start("keep", file)
    assert other.stdout is not None
    assert await asyncio.to_thread(other.stdout.readline) == "open\n"
    with pytest.raises(DatabaseError, match=r"Another process has .* open, and SQLite .* can't share it safely"):
        SqliteDatabase(file, ManualClock(), is_alone=True)
    os.kill(other.pid, signal.SIGKILL)
    await asyncio.to_thread(other.communicate)
    database = SqliteDatabase(file, ManualClock(), is_alone=True)
    refused = elsewhere.start("keep", file)
    told, _ = await asyncio.to_thread(refused.communicate)
    assert "can't share it safely" in told
    await database.aclose()
    again = SqliteDatabase(file, ManualClock(), is_alone=True)
    await again.aclose()


# --- troubles


async def test_a_full_disk_is_a_sentence_and_what_was_promised_stands(file: Path) -> None:
    other = elsewhere.start("fill", file, str(300_000))
    told, _ = await asyncio.to_thread(other.communicate)
    promised, sentence = told.splitlines()
    assert f"The disk that holds the database {file}" in sentence
    assert "full" in sentence
    assert sentence.endswith("Nothing was lost.")
    database = SqliteDatabase(file, ManualClock())
    found = await database.read(names)
    assert [name[:8] for name in found] == [f"{n:08}" for n in range(int(promised))] + ["warm"]
    assert int(promised) > 5
    assert await database.write(make_account, "room again") == 1
    await database.aclose()


def not_a_database(folder: Path) -> Path:
    path = folder / "notes.txt"
    path.write_text("no database " * 100)
    return path


def a_folder(folder: Path) -> Path:
    return folder


def below_a_file(folder: Path) -> Path:
    (folder / "file").write_text("")
    return folder / "file" / "onetake.db"


def in_no_folder(folder: Path) -> Path:
    return folder / "nowhere" / "onetake.db"


UNUSABLE = [
    (not_a_database, "The file {} isn't a SQLite database: name another in ONETAKE_DATABASE_URL."),
    (a_folder, "The database {} can't be opened: check that its folder exists and may be written."),
    (below_a_file, "The database {} can't be opened: check that its folder exists and may be written."),
    (in_no_folder, "The database {} can't be opened: check that its folder exists and may be written."),
]


@pytest.mark.parametrize("is_alone", [False, True])
@pytest.mark.parametrize(("make", "told"), UNUSABLE)
def test_a_file_that_cannot_be_used_is_a_sentence(
    make: Callable[[Path], Path], told: str, tmp_path: Path, *, is_alone: bool
) -> None:
    path = make(tmp_path)
    for _ in range(2):  # a failure keeps no lock
        with pytest.raises(DatabaseError) as refused:
            SqliteDatabase(path, ManualClock(), is_alone=is_alone)
        assert refused.value.sentence.startswith(told.format(path))
        assert "\n" not in refused.value.sentence


async def test_a_file_without_tables_says_how_to_make_them(tmp_path: Path) -> None:
    database = SqliteDatabase(tmp_path / "empty.db", ManualClock())
    with pytest.raises(DatabaseError, match=r"has no tables yet: run `onetake migrate`\. Nothing was lost\."):
        await database.read(names)
    await database.aclose()


def break_pages(file: Path) -> None:
    content = file.read_bytes()
    file.write_bytes(content[:4096].ljust(len(content), b"\xff"))  # the first page tells where the tables are


def break_text(file: Path) -> None:
    file.write_bytes(file.read_bytes().replace(b"xxxx", b"\xff\xff\xff\xff"))


@pytest.mark.parametrize("damage", [break_pages, break_text])
async def test_a_damaged_file_is_a_sentence(file: Path, damage: Callable[[Path], None]) -> None:
    database = SqliteDatabase(file, ManualClock())
    await database.write(make_account, "x" * 400)
    await database.aclose()
    damage(file)

    async def look() -> None:
        damaged = SqliteDatabase(file, ManualClock())
        try:
            await damaged.read(names)
        finally:
            await damaged.aclose()

    with pytest.raises(DatabaseError, match=r"is damaged: restore it from a backup\. Nothing was lost\.$"):
        await look()


async def test_a_trouble_without_a_sentence_of_its_own_is_told_in_its_words(file: Path) -> None:
    database = InlineDatabase(file, ManualClock())
    with pytest.raises(DatabaseError, match=r"The database .* says: no such column: nowhere\. Nothing was lost\."):
        await database.read(lambda tx: tx.one("SELECT nowhere"))
    await database.aclose()


def test_a_transaction_that_the_database_ended_itself_is_not_ended_twice(file: Path) -> None:
    connection = SqliteConnection(file, ManualClock())

    def end(tx: Tx) -> None:
        tx.do("ROLLBACK")
        raise LookupError("afterwards")

    with pytest.raises(LookupError, match="afterwards"), connection.transaction("BEGIN") as tx:
        end(tx)
    connection.close()


def test_the_library_is_recent_enough_here() -> None:
    """The lock file brings it on Linux; elsewhere `doctor` tells."""
    assert sqlite.sqlite_version_info >= (3, 35, 0)  # RETURNING


def test_a_new_file_may_be_opened_by_several_at_the_same_instant(tmp_path: Path) -> None:
    """SQLite doesn't wait for its log to be turned on: of four that try at once, one in ten was told "locked"."""
    for number in range(25):
        path, together = tmp_path / f"{number}.db", threading.Barrier(4)
        failed: list[object] = []

        def open_it(path: Path = path, together: threading.Barrier = together, failed: list[object] = failed) -> None:
            with contextlib.closing(sqlite.connect(str(path), isolation_level=None)) as raw:
                raw.execute("PRAGMA busy_timeout = 60000")
                together.wait(60)
                try:
                    use_wal(raw)
                except sqlite.OperationalError as error:
                    failed.append(error)

        threads = [threading.Thread(target=open_it) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failed == []
