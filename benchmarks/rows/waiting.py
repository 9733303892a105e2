"""Rows 4 and 6: what an unchanged poll writes, and what a job in flight takes of a worker's memory."""

from collections.abc import Iterator

from benchmarks.bench import Bench
from benchmarks.measuring import Result, Target, count
from benchmarks.waiting import Waited, wait_with

FEW = 1_000
"""Jobs in flight whose memory is the fixed base."""


def measure(bench: Bench, *names: str) -> Iterator[Result]:
    """The rows that are named."""
    for place in bench.places():
        interval_s = float(bench.size(20, 4))
        few = wait_with(place, FEW, interval_s=interval_s, seconds=interval_s)
        many = few
        if "6" in names:
            many = wait_with(place, bench.size(20_000, 4_000), interval_s=interval_s, seconds=interval_s)
            yield _memory(few, many)
        if "4" in names:
            yield from _writes(many)


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
