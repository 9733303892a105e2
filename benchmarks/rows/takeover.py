"""Row 5: how long a worker needs to take over what a dead one left, against a plain UPDATE of the same rows."""

import asyncio
import time
from collections.abc import Iterator

from benchmarks.bench import Bench
from benchmarks.crowd import disown, make_crowd
from benchmarks.measuring import Result, Target, result
from benchmarks.rig import Place, opened
from onetake.clock import new_id
from onetake.engine import recovery
from onetake.engine.parts import Parts
from onetake.store import workers

LEASE_US = 3_600_000_000


def measure(bench: Bench, *_: str) -> Iterator[Result]:
    """The row on each database."""
    for place in bench.places():
        yield asyncio.run(_ratio(bench, place, bench.size(100_000, 5_000)))


async def _ratio(bench: Bench, place: Place, steps: int) -> Result:
    async with opened(place) as parts:
        await make_crowd(parts, steps)
        rounds = []
        for _ in range(bench.rounds):
            began = time.monotonic()
            await parts.database.write(disown)
            plain_s = time.monotonic() - began
            rounds.append((await _take_over(parts, steps), plain_s))
    return result(
        rounds,
        row="5",
        what=f"{steps:,} orphaned steps leased to a new worker",
        baseline="one UPDATE of the same rows",
        unit="seconds",
        target=Target("<=", 1.5),
        database=place.database,
        remark="leased in batches, each a commit, and read into the worker's memory",
    )


async def _take_over(parts: Parts, steps: int) -> float:
    """Seconds until everything was leased to a new worker."""
    worker_id, taken = new_id("wrk", parts.clock), 0
    await parts.database.write(workers.insert, worker_id, "taker", lease_us=LEASE_US)
    began = time.monotonic()
    while taken < steps:
        taken += len(await parts.act(worker_id, recovery.sweep, parts.adapters))
    return time.monotonic() - began
