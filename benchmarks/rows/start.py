"""Row 22: how long the program takes to say what it can do, against the interpreter alone."""

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.bench import Bench
from benchmarks.measuring import Result, Target, in_turns, result

TIMES = 5
"""Starts in a row on each side of a round: one alone is mostly noise."""


def measure(bench: Bench, *_: str) -> Iterator[Result]:
    """The row."""
    program = str(Path(sys.executable).with_name("onetake"))
    yield result(
        in_turns(bench.rounds, lambda: _seconds(program, "--help"), lambda: _seconds(sys.executable, "-c", "pass")),
        row="22",
        what="start of `onetake --help`",
        baseline="`python -c pass`",
        unit="seconds",
        target=Target("<=", 12),
    )


def _seconds(*command: str) -> float:
    began = time.monotonic()
    for _ in range(TIMES):
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    return (time.monotonic() - began) / TIMES
