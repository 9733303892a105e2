"""Behind a pooler in transaction mode nothing may outlive a transaction: no lock, no setting, no prepared statement."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from onetake.clock import ManualClock, SystemClock
from onetake.store import journal, views
from onetake.store.database import Database, Tx
from onetake.store.postgres import PostgresDatabase
from onetake.store.postgres_site import PostgresSite
from tests.e2e.site import site
from tests.engine.recipes import still
from tests.servers.pgbouncer import pooled
from tests.servers.postgres import execute, new_database
from tests.store.shop import Shop

JOBS = 24
SETTINGS = (
    "SELECT current_setting('lock_timeout') AS waits, current_setting('idle_in_transaction_session_timeout') AS idles"
)


@pytest.fixture
def url() -> Iterator[str]:
    with new_database() as url, pooled(url) as through:
        yield through


def test_it_is_noticed_and_nothing_is_prepared(url: str) -> None:
    assert PostgresSite(url).describe().endswith("no prepared statements")


async def test_several_processes_share_few_connections(url: str) -> None:
    databases = [PostgresDatabase(PostgresSite(url), SystemClock()) for _ in range(8)]
    order = await Shop(databases[0], ManualClock()).order()
    writes = [
        database.write(journal.record, order.job, f"e.{n}", actor="x") for n in range(40) for database in databases
    ]
    await asyncio.gather(*writes)
    lines = await databases[0].read(journal.list_lines, order.job)
    assert [line["seq"] for line in lines] == list(range(1, 322))
    for database in databases:
        await database.aclose()


async def test_what_a_transaction_sets_ends_with_it(url: str) -> None:
    database = PostgresDatabase(PostgresSite(url), SystemClock())

    def ask(tx: Tx) -> object:
        return tx.one(SETTINGS)

    assert await database.write(ask) == {"waits": "10s", "idles": "30s"}
    await database.aclose()
    assert {row for _ in range(6) for row in execute(url, SETTINGS)} == {("0", "0")}
    assert execute(url, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'") == [(0,)]
    assert execute(url, "SELECT count(*) FROM pg_prepared_statements") == [(0,)]


async def test_two_workers_finish_a_batch_through_it(tmp_path: Path) -> None:
    async with site(tmp_path, kind="postgres") as here:
        with pooled(here.rig.settings.database_url) as through:
            workers = [await here.start("worker", DATABASE_URL=through) for _ in range(2)]
            for number in range(JOBS):
                await here.rig.order(still(), prompt=f"Through the needle's eye, number {number}")
            await here.rig.meanwhile(lambda: _are_complete(here.rig.parts.database))
            await here.end(workers)
        assert "error" not in here.errors.read_text().lower()
        tables = here.rig.look()
        assert here.rig.bill["totals"]["posts"] == len(tables["refs"]) == len(tables["hold_closings"]) == JOBS


async def _are_complete(database: Database) -> bool:
    return (await database.read(views.count_by_status)) == {"completed": JOBS}
