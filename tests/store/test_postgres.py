"""What PostgreSQL adds: row locks among several writers, connections that break, a server that goes and comes."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator

import pytest

from onetake.clock import ManualClock, SystemClock
from onetake.domain.errors import CommitUnknownError, DatabaseError
from onetake.store import budgets, jobs, journal
from onetake.store.database import ConstraintError, Tx
from onetake.store.postgres import PostgresDatabase
from onetake.store.postgres_site import PostgresSite
from tests.servers.cutting import Relay
from tests.servers.postgres import SERVERS_OWN_CLOCK, PostgresServer, execute, new_database
from tests.store.elsewhere import make_account
from tests.store.gate import Gate, held
from tests.store.shop import Shop

TRANSACTION = "SELECT CAST(pg_current_xact_id() AS text) AS id"


@pytest.fixture
def url() -> Iterator[str]:
    with new_database() as url:
        yield url


@pytest.fixture
async def database(url: str) -> AsyncIterator[PostgresDatabase]:
    opened = PostgresDatabase(PostgresSite(url), SystemClock())
    yield opened
    await opened.aclose()


@pytest.fixture
async def other(url: str) -> AsyncIterator[PostgresDatabase]:
    """Another process's database, as far as the server can tell."""
    opened = PostgresDatabase(PostgresSite(url), SystemClock())
    yield opened
    await opened.aclose()


def transaction(tx: Tx) -> str:
    (row,) = tx.all(TRANSACTION)
    return str(row["id"])


def names(tx: Tx) -> list[str]:
    return [row["name"] for row in tx.all("SELECT name FROM accounts ORDER BY name")]


async def two_jobs(database: PostgresDatabase) -> tuple[str, str]:
    shop = Shop(database, ManualClock())
    return (await shop.order("one")).job, (await shop.order("two")).job


def write_about(tx: Tx, job: str, event: str = "e") -> None:
    jobs.get(tx, job)
    journal.record(tx, job, event, actor="x")


# --- groups and locks


async def test_what_waits_together_is_one_transaction(database: PostgresDatabase) -> None:
    gate, first = await held(database)
    writes = [asyncio.create_task(database.write(transaction)) for _ in range(10)]
    await asyncio.sleep(0)
    gate.open()
    await first
    assert len(set(await asyncio.gather(*writes))) == 1


async def test_who_shares_a_transaction_never_waits_for_a_row(
    database: PostgresDatabase, other: PostgresDatabase
) -> None:
    one, two = await two_jobs(database)
    holder = Gate()

    def hold_one(tx: Tx) -> None:
        write_about(tx, one, "held")
        holder.op(tx)

    holding = asyncio.create_task(other.write(hold_one))
    await holder.entered()
    gate, _ = await held(database)
    on_two = asyncio.create_task(database.write(write_about, two, "free"))
    on_one = asyncio.create_task(database.write(write_about, one, "waits"))
    await asyncio.sleep(0)
    gate.open()
    await on_two  # committed, though its neighbour has to wait
    assert not on_one.done()
    holder.open()
    await asyncio.gather(holding, on_one)
    lines = await database.read(journal.list_lines, one, after=1)
    assert [line["event"] for line in lines] == ["held", "waits"]


async def test_who_shares_a_transaction_never_waits_for_all_budget_lines(
    database: PostgresDatabase, other: PostgresDatabase
) -> None:
    job, _ = await two_jobs(database)
    holder = Gate()

    def hold_lines(tx: Tx) -> None:
        budgets.list_open(tx)
        holder.op(tx)

    holding = asyncio.create_task(other.write(hold_lines))
    await holder.entered()
    gate, _ = await held(database)
    on_job = asyncio.create_task(database.write(write_about, job, "free"))
    on_lines = asyncio.create_task(database.write(budgets.lock_all))
    await asyncio.sleep(0)
    gate.open()
    await on_job  # committed, though its neighbour has to wait
    assert not on_lines.done()
    holder.open()
    await asyncio.gather(holding, on_lines)


async def test_groups_on_the_same_jobs_the_other_way_round_never_deadlock(
    url: str, database: PostgresDatabase, other: PostgresDatabase
) -> None:
    one, two = await two_jobs(database)
    pairs = [(database, one), (database, two), (other, two), (other, one)]
    await asyncio.gather(*(each.write(write_about, job) for _ in range(50) for each, job in pairs))
    for job in (one, two):
        lines = await database.read(journal.list_lines, job)
        assert [line["seq"] for line in lines] == list(range(1, 102))
    assert execute(url, "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()") == [(0,)]


async def test_a_statement_that_was_to_be_prepared_behind_one_that_failed_is_prepared_later(
    database: PostgresDatabase,
) -> None:
    def look(tx: Tx, marker: str) -> list[str]:
        return [row["name"] for row in tx.all("SELECT name FROM accounts WHERE zone = :marker", {"marker": marker})]

    def fail(tx: Tx) -> None:
        tx.put("INSERT INTO accounts (id, name, created_at) VALUES ('a', 'again', 1)")
        look(tx, "x")

    await database.write(make_account, "a")
    for _ in range(20):  # the driver prepares what it has seen a few times
        with pytest.raises(ConstraintError):
            await database.write(fail)
        assert await database.write(look, "x") == []


async def test_a_deadlock_is_done_again(database: PostgresDatabase, other: PostgresDatabase) -> None:
    for name in ("a", "b"):
        await database.write(make_account, name)
    both_hold_one, runs = threading.Barrier(2), []

    def rename(tx: Tx, *ids: str) -> None:
        runs.append(ids)
        tx.do("UPDATE accounts SET zone = 'x' WHERE id = :id", {"id": ids[0]})
        if len(runs) <= 2:
            both_hold_one.wait(10)
        tx.do("UPDATE accounts SET zone = 'y' WHERE id = :id", {"id": ids[1]})

    await asyncio.gather(database.write(rename, "a", "b"), other.write(rename, "b", "a"))
    assert len(runs) >= 3  # the one that lost may lose again before the other has woken up
    zones = await database.read(lambda tx: tx.all("SELECT zone FROM accounts ORDER BY id"))
    assert {row["zone"] for row in zones} <= {"x", "y"}


async def test_a_row_that_came_between_look_and_write_is_seen_at_a_second_look(
    database: PostgresDatabase, other: PostgresDatabase
) -> None:
    gate, looks = Gate(), []

    def look_then_make(tx: Tx) -> str:
        looks.append(names(tx))
        if looks[-1] == ["ada"]:
            return "stood before"
        gate.op(tx)
        make_account(tx, "ada")
        return "made"

    looking = asyncio.create_task(database.write(look_then_make))
    await gate.entered()
    await other.write(make_account, "ada")
    gate.open()
    assert await looking == "stood before"
    assert looks == [[], ["ada"]]


async def test_lanes_work_beside_each_other(url: str) -> None:
    database = PostgresDatabase(PostgresSite(url), SystemClock(), lanes=2)
    gate, first = await held(database)
    await database.write(make_account, "ada")  # on the other lane
    assert not first.done()
    gate.open()
    await first
    await database.aclose()


async def test_the_isolation_is_ours_whatever_the_server_says(url: str) -> None:
    execute(url, "ALTER ROLE CURRENT_USER SET default_transaction_isolation = 'serializable'")
    try:
        database = PostgresDatabase(PostgresSite(url), SystemClock())
        ask = "SELECT current_setting('transaction_isolation') AS is, current_setting('transaction_read_only') AS ro"
        assert await database.write(lambda tx: tx.one(ask)) == {"is": "read committed", "ro": "off"}
        assert await database.read(lambda tx: tx.one(ask)) == {"is": "repeatable read", "ro": "on"}
        await database.aclose()
    finally:
        execute(url, "ALTER ROLE CURRENT_USER RESET default_transaction_isolation")


async def test_time_is_the_servers(url: str) -> None:
    database = PostgresDatabase(PostgresSite(url), ManualClock(start_us=1))
    assert abs(await database.write(lambda tx: tx.now_us) - SystemClock().now_us()) < 60_000_000
    await database.aclose()


# --- connections that break


def cut_all(url: str) -> int:
    """End every connection to the database but this one, as an administrator or a failover does."""
    cut = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = current_database()"
    ((count,),) = execute(url, f"{cut} AND backend_type = 'client backend' AND pid <> pg_backend_pid()")
    return int(count)


async def test_a_connection_that_broke_while_idle_is_made_anew(url: str, database: PostgresDatabase) -> None:
    await database.write(make_account, "ada")
    assert await database.read(names) == ["ada"]
    assert cut_all(url) >= 2  # one that made the database may still be leaving
    await database.write(make_account, "bob")
    assert await database.read(names) == ["ada", "bob"]


async def test_an_operation_whose_connection_breaks_is_done_again(url: str, database: PostgresDatabase) -> None:
    gate, runs = Gate(), []

    def op(tx: Tx) -> int:
        runs.append(make_account(tx, "ada"))
        gate.op(tx)
        return make_account(tx, "bob")

    writing = asyncio.create_task(database.write(op))
    await gate.entered()
    assert cut_all(url) == 1
    gate.open()
    assert await writing == 1
    assert runs == [1, 1]
    assert await database.read(names) == ["ada", "bob"]


async def test_a_commit_that_never_arrived_is_unknown_and_left_nothing(url: str) -> None:
    async with Relay(url).running() as relay:
        database = PostgresDatabase(PostgresSite(relay.url), SystemClock())
        relay.cut_before()
        with pytest.raises(CommitUnknownError, match="didn't answer to a commit"):
            await database.write(make_account, "ada")
        assert await database.read(names) == []
        await database.write(make_account, "ada")
        await database.aclose()
    assert relay.cuts == 1


async def test_a_commit_whose_answer_is_lost_is_unknown_and_stands(url: str) -> None:
    async with Relay(url).running() as relay:
        database = PostgresDatabase(PostgresSite(relay.url), SystemClock())
        gate, first = await held(database)
        names_wanted = ["ada", "bob", "cyd"]
        writes = [asyncio.create_task(database.write(make_account, name)) for name in names_wanted]
        await asyncio.sleep(0)
        gate.open()
        await first
        relay.cut_after()  # the commit of the three
        results = await asyncio.gather(*writes, return_exceptions=True)
        assert [type(result) for result in results] == [CommitUnknownError] * 3
        assert await database.read(names) == names_wanted  # each once: nothing was done again
        await database.aclose()


async def test_a_read_whose_connection_breaks_is_done_again(url: str) -> None:
    async with Relay(url).running() as relay:
        database = PostgresDatabase(PostgresSite(relay.url), SystemClock())
        relay.cut_after()
        assert await database.read(names) == []
        await database.aclose()


async def test_a_server_that_goes_is_said_and_one_that_comes_back_is_found() -> None:
    server = PostgresServer()
    execute(server.url(), SERVERS_OWN_CLOCK)
    clock = ManualClock()
    database = PostgresDatabase(PostgresSite(server.url()), clock)
    assert await database.read(lambda tx: tx.one("SELECT 1 AS n")) == {"n": 1}
    server.stop()
    for _ in range(3):
        with pytest.raises(DatabaseError, match=r"can't be reached: check that it runs, .* Nothing was lost\."):
            await database.read(transaction)
    server.start()
    with pytest.raises(DatabaseError, match="can't be reached"):
        await database.read(transaction)  # it isn't asked again before a pause is over
    clock.advance(2)
    assert await database.read(lambda tx: tx.one("SELECT 2 AS n")) == {"n": 2}
    server.stop("immediate")
    server.start()
    assert await database.read(lambda tx: tx.one("SELECT 3 AS n")) == {"n": 3}
    await database.aclose()
    server.close()
