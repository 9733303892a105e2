"""Results on the terminal and in a file: first a line about the machine, then a line for each result."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TextIO

from benchmarks.measuring import Result

RESULTS = Path(__file__).parent / "results"
FULL = RESULTS / "benchmark.jsonl"
QUICK = RESULTS.parents[1] / "bench-out" / "quick.jsonl"

BUSY_LOAD = 0.6
"""Load for each core at the start above which the reader is told: something else was running."""


def begin(file: TextIO, machine: Mapping[str, Any], *, is_quick: bool, rounds: int) -> None:
    """Say what is measured on."""
    head = {**machine, "is_quick": is_quick, "rounds": rounds}
    file.write(json.dumps({"machine": head}) + "\n")
    for name, fact in head.items():
        print(f"{name:<24}{fact}")
    if machine["load"] > BUSY_LOAD * (os.cpu_count() or 1):
        print(f"\nThe machine is busy (load {machine['load']}): read the spreads before the ratios.")
    print(f"\n{'row':<5}{'database':<12}{'ratio':>9}  {'spread':<18}{'target':<10}{'':<8}what")


def add(file: TextIO, found: Result) -> None:
    """Keep a result and show it."""
    file.write(json.dumps(found.as_json()) + "\n")
    file.flush()
    spread = f"{found.low:.3g} to {found.high:.3g}" if found.low != found.high else ""
    word = "" if found.target is None else "met" if found.is_met else "MISSED"
    against = f" / {found.baseline}" if found.baseline else ""
    print(
        f"{found.row:<5}{found.database:<12}{found.ratio:>9.3g}  {spread:<18}{found.target or ''!s:<10}{word:<8}"
        f"{found.what}{against}{'; ' if found.remark else ''}{found.remark}",
        flush=True,
    )


def read(path: Path) -> tuple[dict[str, Any], list[Result]]:
    """The machine and the results in a file."""
    head, *lines = (json.loads(line) for line in path.read_text().splitlines())
    return head["machine"], [Result.from_json(line) for line in lines]
