"""`python -m benchmarks kill-cycles --cycles 500 --database sqlite`: real workers, killed again and again.

Batches of chains run against the fake provider; every worker is killed (SIGKILL, its children too) after a random time
and started anew, until the batch is settled. Then the provider's books are held against what onetake says. The sums
stand in results/kill-cycles.json and grow with every batch, so the run can be taken up again in pieces.
"""

import argparse
import json
import random
import secrets
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks import report
from benchmarks.harness.judge import judge, wrongs
from benchmarks.harness.peer import Peer, Surroundings, kill, open_shop
from benchmarks.harness.runs import Plan
from benchmarks.servers import postgres

RESULT = report.RESULTS / "kill-cycles.json"
CHAINS = 40
"""In a batch: enough that a kill finds some in every state."""
LIFE_S = (0.7, 3.5)
"""A worker's life, drawn between these: it loads for about a second, and sends everything in the next."""
LONGEST_S = 240.0
"""After so long without an end a batch counts as never finished."""


def main(arguments: list[str]) -> None:
    """Run as many cycles as are missing, or as fit into the time."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks kill-cycles")
    parser.add_argument("--cycles", type=int, default=500, help="kills in all, earlier calls included")
    parser.add_argument("--database", choices=["sqlite", "postgres"], default="sqlite")
    parser.add_argument("--minutes", type=float, default=8.0, help="begin no new batch after so long")
    parser.add_argument("--workers", type=int, default=1, help="at once; each is killed by its own clock")
    chosen = parser.parse_args(arguments)
    end_s = time.monotonic() + chosen.minutes * 60
    name = f"{chosen.database}, {chosen.workers} worker{'s' if chosen.workers > 1 else ''}"
    with tempfile.TemporaryDirectory(prefix="onetake-bench-") as folder, postgres(chosen.database) as server_url:
        while _sums()[name]["kills"] < chosen.cycles and time.monotonic() < end_s:
            found = _batch(Surroundings(folder=Path(folder), postgres_url=server_url), chosen.workers)
            print(json.dumps(found), flush=True)
            _add(name, found)
    print(json.dumps({name: _sums()[name]}, indent=2))


class _Sums(dict[str, dict[str, int]]):
    """The sums of each database, from nothing."""

    def __missing__(self, name: str) -> dict[str, int]:
        return {"kills": 0}


def _sums() -> _Sums:
    return _Sums(json.loads(RESULT.read_text()) if RESULT.exists() else {})


def _add(name: str, found: dict[str, int]) -> None:
    sums = _sums()
    sums[name] = {key: sums[name].get(key, 0) + value for key, value in found.items()}
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_text(json.dumps(sums, indent=2) + "\n")


def _batch(around: Surroundings, workers: int) -> dict[str, int]:
    """What became of one batch."""
    chance = random.Random(secrets.randbits(64))
    plan = Plan(chains=CHAINS, concurrency=16)
    with open_shop("--seed", str(chance.random()), "--latency", "0.2:1.5") as shop:
        settings = plan.settings(shop, POLL_S=0.3, FIRST_POLL_S=0.1, HTTP_TIMEOUT_S=2)
        peer = Peer("onetake", around, settings)
        peer.call("init")
        peer.call("enqueue")
        kills = _work_and_die(peer, workers, chance)
        truth = shop.ask("/_truth")
        report_ = peer.report(truth)
    counts = judge(truth, report_)
    lost = sum(counts[name] for name in ("failed_wrong", "never_finished", "wrong_file"))
    if wrongs(counts):
        print(f"kept for a look: {json.dumps({'truth': truth, 'report': report_})[:2000]}", flush=True)
    told: dict[str, Any] = {"batches": 1, "kills": kills, "chains": CHAINS, "lost": lost, **counts}
    return told


def _work_and_die(peer: Peer, workers: int, chance: random.Random) -> int:
    """How many workers were killed before the batch was settled."""
    running = {peer.start(): time.monotonic() + chance.uniform(*LIFE_S) for _ in range(workers)}
    kills, end_s = 0, time.monotonic() + LONGEST_S
    try:
        while running and time.monotonic() < end_s:
            for worker, dies_at_s in list(running.items()):
                status = worker.poll()
                if status == 0:
                    del running[worker]
                elif status is not None:
                    raise SystemExit(f"a worker failed by itself:\n{peer.last_words()}")
                elif time.monotonic() > dies_at_s:
                    kill(worker)
                    del running[worker]
                    kills += 1
                    running[peer.start()] = time.monotonic() + chance.uniform(*LIFE_S)
            time.sleep(0.02)
        return kills
    finally:
        for worker in running:
            kill(worker)
