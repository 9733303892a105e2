"""Rows 4 and 6: what an unchanged poll writes, and what a job in flight takes of a worker's memory."""

from collections.abc import Iterator

from benchmarks.bench import Bench
from benchmarks.measuring import Result, Target, count
from benchmarks.waiting import Waited, wait_with

SIZES = ((10_000, 60_000), (2_000, 8_000))
"""Jobs in flight: few, with which pools, connections and caches are as large as they get (the fixed base), and many."""


def measure(bench: Bench, *names: str) -> Iterator[Result]:
    """The rows that are named."""
    for place in bench.places():
        few, many = SIZES[bench.size(0, 1)]
        interval_s = float(bench.size(60, 8))
        waited = wait_with(place, few, interval_s=interval_s, seconds=interval_s / 2)
        if "4" in names:
            yield from _writes(waited)
        if "6" in names:
            yield _memory(waited, wait_with(place, many, interval_s=interval_s, seconds=interval_s / 2))


def _memory(few: Waited, many: Waited) -> Result:
    share_kb = (many.memory_mb - few.memory_mb) * 1024 / (many.steps - few.steps)
    return count(
        round(share_kb, 3),
        Target("<=", 0.5),
        row="6",
        what="memory for each job in flight beyond a fixed base",
        unit="KB",
        database=many.database,
        remark=f"{few.memory_mb:.0f} MB with {few.steps:,} jobs, {many.memory_mb:.0f} MB with {many.steps:,}",
    )


def _writes(waited: Waited) -> Iterator[Result]:
    leases = f"{waited.leases_written} renewals of the worker's lease aside"
    for letter, what, rows in (
        ("a", "rows added", waited.rows_added),
        ("b", "rows written", waited.rows_written - waited.leases_written),
    ):
        yield count(
            round(rows / waited.polls, 4),
            Target("<=", 0),
            row=f"4{letter}",
            what=f"{what} for each unchanged poll",
            unit="rows",
            database=waited.database,
            remark=f"{rows} in {waited.polls:,} polls; {leases}",
        )
