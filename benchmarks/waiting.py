"""One real worker with many jobs in flight: what it costs to wait."""

import asyncio
import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

import psutil

from benchmarks import writes
from benchmarks.crowd import OWNER, make_crowd
from benchmarks.harness.judge import quantiles
from benchmarks.harness.sampler import calibrate_ms
from benchmarks.poll_farm import Farm, open_farm
from benchmarks.rig import Place
from onetake.app import open_parts
from onetake.config import Settings
from onetake.engine.parts import Parts
from onetake.store.database import Tx

LOOK_S = 0.5
TAKEN_TIMEOUT_S = 600.0
PUBLISHED_S = 12.0
"""An idle backend of PostgreSQL publishes what it counted within ten seconds."""
SPREAD = 1.1
"""The poller spreads an interval by a tenth either way; what comes later than that is late."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Waited:
    """What waiting cost, measured over `seconds` after everything was leased and had been polled once.

    Attributes:
        taken_s: from the worker's start until all was leased to it.
        rows_written: by the worker, inserted, updated and deleted ones together; `rows_added` the inserted ones.
        leases_written: of these, renewals of the worker's own lease.
        overdue_s: by how much polls came later than the interval and its spread allow: p50, p99, max, mean.
        wait_s: from one poll of a job to the next.
        farm_share: how busy the answering processes were, as a share of a core each: near 1 they would be the limit.
        cpu_share: the worker's processor time as a share of a core.
    """

    database: str
    steps: int
    interval_s: float
    seconds: float
    taken_s: float
    memory_mb: float
    cpu_share: float
    polls: int
    polls_per_s: float
    wait_s: dict[str, float]
    overdue_s: dict[str, float]
    rows_added: int
    rows_written: int
    leases_written: int
    farm_share: float
    load: float
    calibration_ms: int

    def as_json(self) -> dict[str, Any]:
        """As it is kept."""
        return asdict(self)


def wait_with(place: Place, steps: int, *, interval_s: float, seconds: float) -> Waited:
    """What one worker with so many steps in flight does for so long."""
    with open_farm(steps) as farm:
        return asyncio.run(_measure(replace(place, origin=farm.origin, poll_s=interval_s), farm, steps, seconds))


async def _measure(place: Place, farm: Farm, steps: int, seconds: float) -> Waited:
    settings = place.fresh_settings()
    async with open_parts(settings) as parts:
        await make_crowd(parts, steps)
        await parts.database.write(writes.start)
        with _worker(settings) as process:
            taken_s = await _until_taken(parts, process, steps)
            await asyncio.sleep(max(place.poll_s * SPREAD, PUBLISHED_S if place.server_url else 0))
            written, cpu_s, load = await parts.database.read(writes.count), _cpu_s(process), farm.load()
            await asyncio.sleep(seconds)
            written = await parts.database.read(writes.count) - written
            cpu_s, memory, then = _cpu_s(process) - cpu_s, process.memory_info().rss, farm.load()
    waits_s, spent_s = farm.close(load.at_s), then.at_s - load.at_s
    return Waited(
        database=place.database,
        steps=steps,
        interval_s=place.poll_s,
        seconds=round(spent_s, 1),
        taken_s=round(taken_s, 2),
        memory_mb=round(memory / 2**20, 1),
        cpu_share=round(cpu_s / spent_s, 3),
        polls=then.polls - load.polls,
        polls_per_s=round((then.polls - load.polls) / spent_s, 1),
        wait_s=quantiles(waits_s),
        overdue_s=quantiles(max(0.0, wait_s - place.poll_s * SPREAD) for wait_s in waits_s),
        rows_added=written.added,
        rows_written=written.all,
        leases_written=written.leases,
        farm_share=round((then.cpu_s - load.cpu_s) / spent_s / len(farm.pids), 3),
        load=round(os.getloadavg()[0], 1),
        calibration_ms=calibrate_ms(),
    )


@contextlib.contextmanager
def _worker(settings: Settings) -> Iterator[psutil.Process]:
    """A worker in a process of its own, until the end of the block."""
    account = settings.providers["reapi"]
    environment = {
        **os.environ,
        "ONETAKE_DATABASE_URL": settings.database_url,
        "ONETAKE_STORAGE_URL": settings.storage_url,
        "ONETAKE_PROVIDERS__REAPI__BASE_URL": account.base_url,
        "ONETAKE_PROVIDERS__REAPI__API_KEY": account.api_key.get_secret_value(),
        "ONETAKE_PROVIDERS__REAPI__POLL_FIRST_S": str(account.poll_first_s),
        "ONETAKE_PROVIDERS__REAPI__POLL_INTERVAL_S": str(account.poll_interval_s),
    }
    with subprocess.Popen([sys.executable, "-m", "onetake", "worker"], env=environment) as process:
        try:
            yield psutil.Process(process.pid)
        finally:
            process.terminate()
            process.wait()


async def _until_taken(parts: Parts, process: psutil.Process, steps: int) -> float:
    """Seconds until the worker held everything.

    Raises:
        SystemExit: it ended, or needs too long.
    """
    began = time.monotonic()
    while time.monotonic() - began < TAKEN_TIMEOUT_S and process.is_running():
        if await parts.database.read(_held) == steps:
            return time.monotonic() - began
        await asyncio.sleep(LOOK_S)
    raise SystemExit("the worker did not take over the steps")


def _held(tx: Tx) -> int:
    row = tx.one("SELECT count(*) AS held FROM attempts WHERE worker_id <> :owner", {"owner": OWNER})
    return int(row["held"]) if row else 0


def _cpu_s(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)
