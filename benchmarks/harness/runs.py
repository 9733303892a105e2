"""The three runs: under faults and kills, as fast as it goes, and with many jobs in flight."""

import os
import random
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import psycopg

from benchmarks.harness import faults
from benchmarks.harness.judge import Row, judge, lateness_s, quantiles
from benchmarks.harness.peer import DATABASE_NAME, Peer, Shop, Surroundings, kill, open_shop
from benchmarks.harness.sampler import Sampler, calibrate_ms, cpu_of

LOOK_S = 0.02
SYNCS = "(SELECT coalesce(sum(fsyncs), 0)::bigint FROM pg_stat_io WHERE object = 'wal')"
SYNCS_MOVED = 180000  # the version from which they are counted there (PostgreSQL 18's release notes)
PUBLISH_S = 1.5
"""PostgreSQL's backends publish their counters at their end, or about once a second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to run.

    Attributes:
        chains: image-to-video chains; images alone in flight.
        concurrency: chains at once.
        workers, kills: under faults: processes at once, and how many are killed.
        deadline_s: a run is stopped there.
        poll_s: in flight: between polls of one job.
        rates: faults beside those of the storm, or instead of their rates.
        promises: under faults: the options of the provider that help with a lost answer, without their dashes.
    """

    chains: int
    seed: int = 7
    concurrency: int = 100
    workers: int = 1
    kills: int = 5
    deadline_s: float = 300.0
    poll_s: float = 5.0
    rates: dict[str, float] | None = None
    promises: tuple[str, ...] = ()

    def settings(self, shop: Shop, **own: object) -> dict[str, str]:
        """The environment of a peer, but for its database."""
        common = {"BASE_URL": shop.origin, "N": self.chains, "CONCURRENCY": self.concurrency, "STAGES": "image,video"}
        return {name: str(value) for name, value in {**common, **own}.items()}


@dataclass(frozen=True, slots=True)
class Drained:
    """How a worker spent its life."""

    is_ok: bool
    wall_s: float
    cpu_s: float
    children_cpu_s: float
    peak_tree_mb: int
    peak_one_mb: int


def drain(peer: Peer, deadline_s: float, watch: Callable[[], None] = lambda: None) -> Drained:
    """Start a worker and wait for its end, or end it at the deadline.

    Raises:
        SystemExit: it failed; its last words are told.
    """
    began, worker = time.time(), peer.start()
    sampler = Sampler(worker.pid)
    while True:
        pid, status, usage = os.wait4(worker.pid, os.WNOHANG)
        if pid and status:
            raise SystemExit(f"a worker of {peer.name} failed:\n{peer.last_words()}")
        if pid:
            break
        watch()
        if time.time() - began > deadline_s:
            os.killpg(worker.pid, 9)
            _, status, usage = os.wait4(worker.pid, 0)
            break
        time.sleep(LOOK_S)
    worker.returncode = status
    sampler.finish()
    # Usage misses children that nobody waited for; samples miss what ran after the last one.
    cpu_s = max(usage.ru_utime + usage.ru_stime, sum(sampler.cpu_s.values()))
    return Drained(
        is_ok=status == 0,
        wall_s=time.time() - began,
        cpu_s=cpu_s,
        children_cpu_s=sampler.children_cpu_s(),
        peak_tree_mb=round(sampler.peak_tree_bytes / 2**20),
        peak_one_mb=round(sampler.peak_one_bytes / 2**20),
    )


def commits(around: Surroundings) -> tuple[int, ...] | None:
    """PostgreSQL's counters so far: commits and writing transactions of the peer's database, WAL syncs and bytes."""
    if around.postgres_url is None:
        return None
    time.sleep(PUBLISH_S)
    with psycopg.connect(around.postgres_url) as connection:
        syncs = "wal_sync" if connection.info.server_version < SYNCS_MOVED else SYNCS
        sql = (
            f"SELECT xact_commit, pg_snapshot_xmax(pg_current_snapshot())::text::bigint, wal_bytes::bigint, {syncs}"
            " FROM pg_stat_database, pg_stat_wal WHERE datname = %s"
        )
        return connection.execute(sql, (DATABASE_NAME,)).fetchone()


def per_chain(before: tuple[int, ...] | None, after: tuple[int, ...] | None, chains: int) -> dict[str, float]:
    """What the counters moved by, for each chain."""
    if before is None or after is None:
        return {}
    names = ("commits", "write_transactions", "wal_bytes", "wal_syncs")
    return {name: round((new - old) / chains, 2) for name, old, new in zip(names, before, after, strict=True)}


def speed(name: str, around: Surroundings, plan: Plan) -> dict[str, Any]:
    """Chains a second, lateness, processor time and memory; the provider answers at once, without faults."""
    with open_shop("--seed", str(plan.seed)) as shop:
        noise = {"load": round(os.getloadavg()[0], 1), "calibration_ms": calibrate_ms()}
        peer = Peer(name, around, plan.settings(shop, POLL_S=0.2, FIRST_POLL_S=0, HTTP_TIMEOUT_S=30))
        peer.call("init")
        peer.call("enqueue")
        before = commits(around)
        drained = drain(peer, plan.deadline_s)
        counted = per_chain(before, commits(around), plan.chains)
        provider_cpu_s = cpu_of(shop.process.pid)
        truth = shop.ask("/_truth")
        report = peer.report(truth)
    done = [row["t_done"] for row in report.values() if row["state"] == "done"]
    span_s = max(done) - min(job["t"] for job in truth["jobs"]) if done else float("inf")
    return {
        "run": "speed",
        "peer": name,
        "chains": plan.chains,
        **noise,
        "ok": drained.is_ok and len(done) == plan.chains,
        "chains_per_s": round(len(done) / span_s, 1),
        "late_s": quantiles(lateness_s(truth, report)),
        "cpu_s_per_1000": round(drained.cpu_s * 1000 / plan.chains, 2),
        "children_cpu_s_per_1000": round(drained.children_cpu_s * 1000 / plan.chains, 2),
        "provider_cpu_s_per_1000": round(provider_cpu_s * 1000 / plan.chains, 2),
        "peak_tree_mb": drained.peak_tree_mb,
        "peak_one_mb": drained.peak_one_mb,
        **counted,
        **judge(truth, report),
    }


def in_flight(name: str, around: Surroundings, plan: Plan) -> dict[str, Any]:
    """How late results are, and at what cost, when all jobs wait at once and are polled."""
    marks: list[tuple[float, Row]] = []
    with open_shop("--seed", str(plan.seed), "--latency", "0:30", "--gate", str(plan.chains)) as shop:
        settings = plan.settings(shop, POLL_S=plan.poll_s, FIRST_POLL_S=plan.poll_s, HTTP_TIMEOUT_S=30, STAGES="image")
        peer = Peer(name, around, {**settings, "CONCURRENCY": str(plan.chains)})
        peer.call("init")
        peer.call("enqueue")

        def watch() -> None:
            if not marks or time.time() - marks[-1][0] > 0.5:
                marks.append((time.time(), shop.ask("/_stats")))

        drained = drain(peer, plan.deadline_s, watch)
        truth = shop.ask("/_truth")
        report = peer.report(truth)
    gate = marks[-1][1]["gate_at"] or marks[-1][0]
    held = [mark for mark in marks if gate <= mark[0] <= gate + 30] or marks[-1:]
    polls = held[-1][1]["polls"] - held[0][1]["polls"]
    return {
        "run": "in-flight",
        "peer": name,
        "jobs": plan.chains,
        "ok": drained.is_ok,
        "polls_per_s": round(polls / max(held[-1][0] - held[0][0], 1e-3)),
        "late_s": quantiles(lateness_s(truth, report)),
        "cpu_s": round(drained.cpu_s, 1),
        "peak_tree_mb": drained.peak_tree_mb,
        "peak_one_mb": drained.peak_one_mb,
        **judge(truth, report),
    }


def under_faults(name: str, around: Surroundings, plan: Plan) -> dict[str, Any]:
    """What becomes of the money when answers are lost and workers are killed."""
    rates = {**faults.STORM, **(plan.rates or {})}
    storm = [word for fault, rate in rates.items() for word in ("--fault", f"{fault}={rate}")]
    kept = [f"--{promise}" for promise in plan.promises]
    with open_shop("--seed", str(plan.seed), "--latency", "1:3", "--slow-s", "4", *storm, *kept) as shop:
        settings = plan.settings(shop, POLL_S=0.5, FIRST_POLL_S=0.5, HTTP_TIMEOUT_S=2)
        peer = Peer(name, around, {**settings, "PROMISES": ",".join(plan.promises)})
        peer.call("init")
        peer.call("enqueue")
        began = time.time()
        kills, is_over = _work_and_kill(peer, shop, plan)
        truth = shop.ask("/_truth")
        report = peer.report(truth)
    return {
        "run": "faults",
        "peer": name,
        "chains": plan.chains,
        "seed": plan.seed,
        "workers": plan.workers,
        "promises": plan.promises,
        "wall_s": round(time.time() - began, 1),
        "kills": kills,
        "ran_out_of_time": is_over,
        **judge(truth, report),
    }


def _work_and_kill(peer: Peer, shop: Shop, plan: Plan) -> tuple[int, bool]:
    """How many were killed, and whether the deadline came. Kills go by the count of submits, the same for all peers."""
    chance = random.Random(plan.seed)
    submits = range(int(0.16 * plan.chains), int(1.7 * plan.chains))
    thresholds = sorted(chance.sample(submits, min(plan.kills, len(submits))))
    workers = [peer.start() for _ in range(plan.workers)]
    killed, began = 0, time.time()
    try:
        while time.time() - began < plan.deadline_s:
            ended = [worker.poll() for worker in workers]
            if any(ended):
                raise SystemExit(f"a worker of {peer.name} failed:\n{peer.last_words()}")
            if None not in ended:
                return killed, False
            if killed < len(thresholds) and shop.ask("/_stats")["submits"] >= thresholds[killed]:
                _replace_one(peer, workers, chance)
                killed += 1
            time.sleep(LOOK_S)
        return killed, True
    finally:
        for worker in workers:
            kill(worker)


def _replace_one(peer: Peer, workers: list[subprocess.Popen[bytes]], chance: random.Random) -> None:
    time.sleep(chance.random() * 0.3)
    number = chance.randrange(len(workers))
    kill(workers[number])
    time.sleep(0.5)
    workers[number] = peer.start()
