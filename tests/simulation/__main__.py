"""`./dev sim`: many schedules on every core, or the story of one."""

import argparse
import os
import sys
from concurrent.futures import ProcessPoolExecutor

from tests.simulation.running import Tally, report, run
from tests.simulation.schedule import drawn
from tests.simulation.telling import tell

CHUNK = 100
"""Schedules handed to a core at a time: about a second's work, so that a broken one is told soon."""


def main() -> int:
    """1 if a law was broken."""
    parser = argparse.ArgumentParser(
        prog="./dev sim", description="Simulated schedules; see docs/reference/simulation.md."
    )
    parser.add_argument("--schedules", type=int, metavar="N", help="how many to run (1000)")
    parser.add_argument(
        "--seed", type=int, metavar="S", help="the first one's number (0); alone: tell that one's story"
    )
    asked = parser.parse_args()
    if asked.seed is not None and asked.schedules is None:
        return _told(asked.seed)
    first, count = asked.seed or 0, 1000 if asked.schedules is None else asked.schedules
    return _searched(range(first, first + count))


def _told(number: int) -> int:
    lines = list(tell(drawn(number)))
    _say("\n".join(lines))
    return int(lines[-1].startswith("BROKEN"))


def _searched(numbers: range) -> int:
    chunks = [numbers[start : start + CHUNK] for start in range(0, len(numbers), CHUNK)]
    total = Tally()
    with ProcessPoolExecutor(os.cpu_count()) as cores:
        for tally in cores.map(run, chunks):
            total.add(tally)
            for number in tally.broken:
                _say(report(number))
    _say(str(total))
    return int(bool(total.broken))


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
