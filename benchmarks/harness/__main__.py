"""`python -m benchmarks.harness MODE PEER...`: one JSON line for each run."""

import argparse
import json
import tempfile
from pathlib import Path

from benchmarks import peers_environment
from benchmarks.harness import runs
from benchmarks.harness.peer import COMMANDS, Surroundings
from benchmarks.servers import postgres

MODES = {"faults": runs.under_faults, "speed": runs.speed, "in-flight": runs.in_flight}
CHAINS = {"faults": 300, "speed": 1000, "in-flight": 5000}

PROMISES = {
    "honour-idempotency": "the provider bills one Idempotency-Key once",
    "lookup": "the provider shows the jobs of a key",
}


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.harness")
    parser.add_argument("mode", choices=MODES)
    parser.add_argument("peers", nargs="+", choices=COMMANDS)
    parser.add_argument("--database", choices=["sqlite", "postgres"], default="sqlite")
    parser.add_argument("--chains", type=int, help=", ".join(f"{mode} {count}" for mode, count in CHAINS.items()))
    parser.add_argument("--concurrency", type=int, help="chains at once (faults 40, else 100)")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--poll-s", type=float, default=5.0)
    parser.add_argument("--fault", action="append", default=[], metavar="NAME=RATE")
    for name, what in PROMISES.items():
        parser.add_argument(f"--{name}", dest="promises", action="append_const", const=name, help=f"faults: {what}")
    chosen = parser.parse_args()
    if {"byhand", "dbos"}.intersection(chosen.peers):
        peers_environment.install()
    plan = runs.Plan(
        chains=chosen.chains or CHAINS[chosen.mode],
        seed=chosen.seed,
        concurrency=chosen.concurrency or (40 if chosen.mode == "faults" else 100),
        workers=chosen.workers,
        kills=chosen.kills,
        poll_s=chosen.poll_s,
        rates={name: float(rate) for name, _, rate in (each.partition("=") for each in chosen.fault)},
        promises=tuple(chosen.promises or ()),
    )
    with tempfile.TemporaryDirectory(prefix="onetake-bench-") as folder, postgres(chosen.database) as server_url:
        for name in chosen.peers:
            found = MODES[chosen.mode](name, Surroundings(folder=Path(folder), postgres_url=server_url), plan)
            print(json.dumps({"database": chosen.database, **found}), flush=True)


main()
