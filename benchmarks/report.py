"""Results on the terminal and in a file: first a line about the machine, then a line for each result.

Rows that are measured alone take the place of their old results; the others stay, on the same machine.
"""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

from benchmarks.measuring import Result

RESULTS = Path(__file__).parent / "results"
FULL = RESULTS / "benchmark.jsonl"
QUICK = RESULTS.parents[1] / "bench-out" / "quick.jsonl"

BUSY_LOAD = 0.6
"""Load for each core at the start above which the reader is told: something else was running."""


SAME = ("processor", "cores", "memory_gb", "system")
"""What two machines have in common if results of the one may stand beside results of the other."""


def others(path: Path, machine: Mapping[str, Any], rows: Sequence[str]) -> tuple[Mapping[str, Any], list[Result]]:
    """What a file keeps when these rows alone are measured again: where, and the results of all other rows.

    Nothing, on another machine: its results can't stand beside these.
    """
    if not path.exists():
        return machine, []
    kept, results = read(path)
    if any(kept[name] != machine[name] for name in SAME):
        return machine, []
    left = [result for result in results if result.row.rstrip("abcd") not in rows]
    return (kept, left) if left else (machine, [])


def keep(file: TextIO, machine: Mapping[str, Any], results: Sequence[Result]) -> None:
    """Write down where and what was measured."""
    lines = [{"machine": dict(machine)}, *(result.as_json() for result in results)]
    file.writelines(json.dumps(line) + "\n" for line in lines)
    file.flush()


def begin(machine: Mapping[str, Any]) -> None:
    """Say what is measured on."""
    for name, fact in machine.items():
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
