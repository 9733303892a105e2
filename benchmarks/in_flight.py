"""`python -m benchmarks in-flight --steps 100000 --minutes 10 --interval 60`: one worker, many waiting steps.

The figures go to results/in-flight.json: memory, processor time, how late polls were, what was written, and how busy
the answering side was, which must not be the limit.
"""

import argparse
import json
import tempfile
from pathlib import Path

from benchmarks import report
from benchmarks.rig import Place
from benchmarks.servers import postgres
from benchmarks.waiting import wait_with

RESULT = report.RESULTS / "in-flight.json"


def main(arguments: list[str]) -> None:
    """Run it as the command line asks."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks in-flight")
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--interval", type=float, default=60.0, help="seconds between two polls of a step")
    parser.add_argument("--database", choices=["sqlite", "postgres"], default="sqlite")
    chosen = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="onetake-bench-") as folder, postgres(chosen.database) as server_url:
        place = Place(folder=Path(folder), server_url=server_url)
        found = wait_with(place, chosen.steps, interval_s=chosen.interval, seconds=chosen.minutes * 60).as_json()
    kept = json.loads(RESULT.read_text()) if RESULT.exists() else {}
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_text(json.dumps({**kept, found["database"]: found}, indent=2) + "\n")
    print(json.dumps(found, indent=2))
