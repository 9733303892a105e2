"""`python -m benchmarks [ROW...] [--quick]`: measure and report; `./dev bench` calls it.

`in-flight` and `kill-cycles` in the place of rows are the long runs: many waiting steps on one worker, and many killed
workers.
"""

import argparse
import contextlib
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks import in_flight, kill_cycles, report
from benchmarks.bench import Bench
from benchmarks.machine import describe
from benchmarks.measuring import Result
from benchmarks.rows import chains, simulation, start, store, takeover, waiting
from benchmarks.servers import postgres

LONG = {"in-flight": in_flight.main, "kill-cycles": kill_cycles.main}

MEASURES: dict[Callable[..., Iterator[Result]], tuple[str, ...]] = {
    store.measure: ("1", "2", "3", "7", "9"),
    waiting.measure: ("4", "6"),
    takeover.measure: ("5",),
    chains.measure: ("10", "11", "12", "14", "21"),
    simulation.measure: ("15",),
    start.measure: ("22",),
}
ROWS = sorted((row for rows in MEASURES.values() for row in rows), key=int)


def main() -> None:
    """Measure what the command line asks for."""
    if len(sys.argv) > 1 and sys.argv[1] in LONG:
        LONG[sys.argv[1]](sys.argv[2:])
        return
    parser = argparse.ArgumentParser(prog="./dev bench", description="Ratios to baselines, measured in turns.")
    parser.add_argument("rows", nargs="*", metavar="ROW", help=f"{', '.join(ROWS)}; all by default")
    parser.add_argument("--quick", action="store_true", help="a look: smaller, three rounds, bench-out/quick.jsonl")
    parser.add_argument("--database", choices=["sqlite", "postgres", "both"], default="both")
    chosen = parser.parse_args()
    if unknown := sorted(set(chosen.rows) - set(ROWS)):
        parser.error(f"no such row: {', '.join(unknown)}")
    measure(chosen.rows or ROWS, chosen.database, is_quick=chosen.quick)


def measure(rows: list[str], database: str, *, is_quick: bool) -> None:
    """Measure these rows; each result is shown and kept as soon as it is there."""
    path, rounds = (report.QUICK, 3) if is_quick else (report.FULL, 5)
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="onetake-bench-")))
        server_url = stack.enter_context(postgres("sqlite" if database == "sqlite" else "postgres"))
        bench = Bench(folder=folder, server_url=server_url, rounds=rounds, is_quick=is_quick)
        path.parent.mkdir(exist_ok=True)
        machine = {**describe(server_url), "is_quick": is_quick, "rounds": rounds}
        report.begin(machine)
        kept = report.others(path, machine, rows)
        file = stack.enter_context(path.open("w"))
        report.keep(file, *kept)
        for take, known in MEASURES.items():
            if wanted := [row for row in known if row in rows]:
                for found in take(bench, *wanted):
                    report.add(file, found)


if __name__ == "__main__":
    main()
