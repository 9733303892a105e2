"""Faults that only a database with several writers on a network has: nothing is lost and nothing bought twice."""

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from onetake.domain.errors import CommitUnknownError
from onetake.store import migrate as migrations
from onetake.store.database import Database
from onetake.store.postgres_site import PostgresSite
from tests.e2e.site import site
from tests.engine.recipes import still
from tests.engine.rig import Rig, rigged
from tests.fakes.databases import OverheardDatabase
from tests.servers.cutting import Relay
from tests.servers.postgres import PostgresServer, execute

PROMPT = "A lighthouse in the fog"
JOBS = 20
SETTLED = "SELECT count(*) FROM jobs WHERE state <> 'open'"
MOVING = (
    "SELECT count(*) FROM jobs j WHERE j.state = 'open' AND NOT EXISTS"
    " (SELECT 1 FROM attempts a WHERE a.job_id = j.id AND a.state = 'submit_unknown')"
)
"""Jobs in which something will still happen by itself."""

CUT = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
    " WHERE datname = current_database() AND pid <> pg_backend_pid()"
)
QUICK = {"WORKER__LEASE_S": "2", "PROVIDERS__REAPI__SUBMIT_TIMEOUT_S": "2", "WORKER__CONCURRENCY": "4"}

SABOTAGE = (
    "CREATE FUNCTION sabotage() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF nextval('sabotaged') <= 3 THEN"
    " RAISE EXCEPTION 'could not serialize access' USING ERRCODE = 'serialization_failure';"
    " END IF; RETURN NEW; END $$"
)


# --- transactions that are done again


@pytest.mark.parametrize("table", ["attempts", "refs", "hold_closings"])
async def test_c067_a_transaction_that_is_done_again_buys_nothing_again(table: str, tmp_path: Path) -> None:
    """The claim, the saving of the id and the settling fail to serialise three times each."""
    async with rigged(tmp_path, kind="postgres") as rig:
        with _sabotaged(rig.settings.database_url, table):
            job = await rig.order(still(), prompt=PROMPT)
            tables = await rig.work()
            assert execute(rig.settings.database_url, "SELECT last_value FROM sabotaged") == [(4,)]
        assert await rig.state(job) == "complete"
        assert rig.bill["totals"]["posts"] == 1
        assert len(tables["attempts"]) == len(tables["refs"]) == len(tables["hold_closings"]) == 1
        assert Counter(await rig.events(job)) == Counter(
            {"job.created", "step.ready", "attempt.submitting", "attempt.accepted", "attempt.finished"}
            | {"attempt.delivered", "step.complete", "job.complete"}
        )


@contextlib.contextmanager
def _sabotaged(url: str, table: str) -> Iterator[None]:
    """The first three rows for the table fail with 40001, in a database whose default is serializable."""
    name = url.rpartition("/")[2]
    execute(
        url,
        "CREATE SEQUENCE sabotaged",
        SABOTAGE,
        f"CREATE TRIGGER sabotage BEFORE INSERT ON {table} FOR EACH ROW EXECUTE FUNCTION sabotage()",
        f"ALTER DATABASE {name} SET default_transaction_isolation = 'serializable'",
    )
    try:
        yield
    finally:
        execute(
            url,
            f"ALTER DATABASE {name} RESET ALL",
            f"DROP TRIGGER sabotage ON {table}",
            "DROP FUNCTION sabotage",
            "DROP SEQUENCE sabotaged",
        )


# --- commits whose answer is lost


@contextlib.asynccontextmanager
async def _losing(folder: Path, statement: str, *, stands: bool) -> AsyncIterator[tuple[Rig, Relay]]:
    """An engine whose connection breaks at the first commit after such a statement, before or after it took effect."""
    armed: list[Callable[[], None]] = []

    def hear(sql: str) -> None:
        if armed and sql.startswith(statement):
            armed.pop()()

    def around(database: Database) -> Database:
        return OverheardDatabase(database, hear)

    async with (
        rigged(folder, kind="postgres", around=around) as rig,
        Relay(rig.settings.database_url).running() as relay,
    ):
        armed.append(relay.cut_after if stands else relay.cut_before)
        await rig.restart(rig.settings.model_copy(update={"database_url": relay.url}))
        yield rig, relay
        assert relay.cuts == 1


@pytest.mark.parametrize("stands", [True, False])
@pytest.mark.parametrize(
    "statement",
    ["INSERT INTO refs", "INSERT INTO artifacts", "INSERT INTO hold_closings", "INSERT INTO workers"],
)
async def test_a_lost_answer_to_a_commit_changes_nothing_in_the_end(
    statement: str, *, stands: bool, tmp_path: Path
) -> None:
    async with _losing(tmp_path, statement, stands=stands) as (rig, _):
        job = await rig.order(still(), prompt=PROMPT)
        if statement == "INSERT INTO workers":
            with pytest.raises(CommitUnknownError):
                await rig.work()
        tables = await rig.work()
        assert await rig.state(job) == "complete"
        assert rig.bill["totals"]["posts"] == 1
        assert len(tables["attempts"]) == len(tables["refs"]) == len(tables["hold_closings"]) == 1


@pytest.mark.parametrize(("stands", "states"), [(True, ["not_sent", "delivered"]), (False, ["delivered"])])
async def test_a_claim_whose_answer_is_lost_is_never_sent(*, stands: bool, states: list[str], tmp_path: Path) -> None:
    async with _losing(tmp_path, "INSERT INTO attempts", stands=stands) as (rig, _):
        job = await rig.order(still(), prompt=PROMPT)
        tables = await rig.work()
        assert await rig.state(job) == "complete"
        assert [row["state"] for row in sorted(tables["attempts"], key=lambda row: row["no"])] == states
        assert rig.bill["totals"]["posts"] == 1


@pytest.mark.parametrize("stands", [True, False])
async def test_an_order_whose_answer_is_lost_is_given_again(tmp_path: Path, *, stands: bool) -> None:
    async with _losing(tmp_path, "INSERT INTO jobs", stands=stands) as (rig, _):
        with pytest.raises(CommitUnknownError):
            await rig.order(still(), prompt=PROMPT)
        taken = await rig.take(still(), prompt=PROMPT)
        assert taken.is_new is not stands
        assert len(rig.look()["jobs"]) == 1


# --- a server that is restarted under two workers


async def test_a_batch_survives_restarts_and_cut_connections(tmp_path: Path) -> None:
    with _own_server() as server:
        async with site(tmp_path, url=server.url()) as here:
            for number in range(JOBS):
                await here.rig.order(still(), prompt=f"{PROMPT}, number {number}")
            workers = [await here.start("worker", **QUICK) for _ in range(2)]
            for number, fault in enumerate(_faults(server), start=1):
                await here.rig.meanwhile(partial(_is_settled, server, 3 * number))
                await asyncio.to_thread(fault)
            await here.rig.meanwhile(partial(_is_still, server))
            await here.end(workers)
            _check(here.rig)


@contextlib.contextmanager
def _own_server() -> Iterator[PostgresServer]:
    server = PostgresServer()
    try:
        migrations.migrate(PostgresSite(server.url()))
        yield server
    finally:
        server.close()


def _faults(server: PostgresServer) -> list[Callable[[], object]]:
    def restart(how: str) -> None:
        server.stop(how)
        server.start()

    cut = partial(execute, server.url(), CUT)
    return [cut, partial(restart, "immediate"), cut, partial(restart, "fast")]


async def _is_settled(server: PostgresServer, at_least: int) -> bool:
    return _count(server, SETTLED) >= at_least


async def _is_still(server: PostgresServer) -> bool:
    return _count(server, MOVING) == 0


def _count(server: PostgresServer, sql: str) -> int:
    ((count,),) = execute(server.url(), sql)
    return int(count)


def _check(rig: Rig) -> None:
    """What was ordered is complete, or in a doubt that is named; what was bought was bought once."""
    tables = rig.look()
    states = Counter(row["state"] for row in tables["jobs"])
    doubts = [row for row in tables["attempts"] if row["state"] == "submit_unknown"]
    assert states == Counter(complete=JOBS - len(doubts), open=len(doubts)), states
    assert Counter(row["state"] for row in tables["cases"])["open"] == len(doubts)
    bought = Counter(task["prompt"] for task in rig.bought())
    assert max(bought.values()) == 1
    assert rig.bill["totals"]["posts"] == bought.total()
    assert bought.total() >= states["complete"]
