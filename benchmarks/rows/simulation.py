"""Row 15: how much the simulator gets through, by its own count."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.bench import Bench
from benchmarks.measuring import Result, Target, count

ROOT = Path(__file__).parents[2]
_FIGURES = re.compile(r"([\d,]+) schedules a second, time ([\d,]+) times")


def measure(bench: Bench, *_: str) -> Iterator[Result]:
    """The row."""
    schedules = bench.size(2000, 100)
    command = [sys.executable, "-m", "tests.simulation", "--schedules", str(schedules)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    found = _FIGURES.search(done.stdout)
    if found is None:
        raise SystemExit(f"the simulator said nothing of its speed:\n{done.stdout}")
    per_second, times = (float(figure.replace(",", "")) for figure in found.groups())
    told = f"{schedules:,} schedules"
    yield count(
        per_second,
        Target(">=", 200),
        row="15a",
        what="simulated schedules for each second of processor time",
        unit="schedules/s",
        remark=told,
    )
    yield count(
        times,
        Target(">=", 10_000),
        row="15b",
        what="simulated time for each second that went by",
        unit="times",
        remark=told,
    )
