"""Rows 10 to 12, 14 and 21: whole chains, in real processes, beside what people use instead."""

from collections.abc import Callable, Iterator
from typing import Any

from benchmarks import peers_environment
from benchmarks.bench import Bench
from benchmarks.harness import runs
from benchmarks.harness.judge import wrongs
from benchmarks.harness.peer import Surroundings
from benchmarks.measuring import Result, Target, count, result
from benchmarks.rig import Place

Run = dict[str, Any]

BYHAND = "a careful script by hand"
FASTER_THAN_DBOS = {"PostgreSQL": 3.0, "SQLite": 3.5}


def measure(bench: Bench, *names: str) -> Iterator[Result]:
    """The rows that are named."""
    for place in bench.places():
        around = Surroundings(folder=place.folder, postgres_url=place.server_url)
        if {"10", "11", "12"}.intersection(names):
            yield from _beside_peers(bench, place, around, names)
        if "21" in names:
            yield _guards(bench, place, around)
        if "14" in names:
            yield from _faults(bench, place, around)


def _speed(bench: Bench, around: Surroundings, name: str) -> Run:
    found = runs.speed(name, around, runs.Plan(chains=bench.size(1000, 60), concurrency=bench.size(100, 40)))
    if not found["ok"]:
        raise SystemExit(f"{name} did not finish its chains: {found}")
    return found


def _beside_peers(bench: Bench, place: Place, around: Surroundings, names: tuple[str, ...]) -> Iterator[Result]:
    peers_environment.install()
    peers = ["byhand", *(["dbos"] if "10" in names else []), "onetake"]
    found = [{peer: _speed(bench, around, peer) for peer in peers} for _ in range(bench.rounds)]
    if "10" in names:
        yield result(
            _pairs(found, "dbos", lambda run: run["chains_per_s"]),
            row="10",
            what="chains a second",
            baseline=f"the same on DBOS {peers_environment.version_of('dbos')}",
            unit="chains/s",
            target=Target(">=", FASTER_THAN_DBOS[place.database]),
            database=place.database,
        )
    if "11" in names:
        yield result(
            _pairs(found, "byhand", lambda run: run["chains_per_s"]),
            row="11",
            what="chains a second, all guards and decoding on",
            baseline=BYHAND,
            unit="chains/s",
            target=Target(">=", 0.6),
            database=place.database,
        )
    if "12" in names:
        yield from _cost(place, found)


def _cost(place: Place, found: list[dict[str, Run]]) -> Iterator[Result]:
    sides = {
        "a": ("processor time, without decoding", 1.8, "CPU s/1,000 chains", _own_cpu),
        "b": ("processor time, the decoding child included", 2.2, "CPU s/1,000 chains", _all_cpu),
        "c": ("lateness of results, median", 2.0, "seconds", lambda run: run["late_s"]["p50"]),
        "d": ("lateness of results, 99th percentile", 2.0, "seconds", lambda run: run["late_s"]["p99"]),
    }
    for letter, (what, limit, unit, read) in sides.items():
        yield result(
            _pairs(found, "byhand", read),
            row=f"12{letter}",
            what=what,
            baseline=BYHAND,
            unit=unit,
            target=Target("<=", limit),
            database=place.database,
        )


def _own_cpu(run: Run) -> float:
    return float(run["cpu_s_per_1000"] - run["children_cpu_s_per_1000"])


def _all_cpu(run: Run) -> float:
    return float(run["cpu_s_per_1000"])


def _pairs(found: list[dict[str, Run]], peer: str, read: Callable[[Run], float]) -> list[tuple[float, float]]:
    return [(read(each["onetake"]), read(each[peer])) for each in found]


def _guards(bench: Bench, place: Place, around: Surroundings) -> Result:
    rounds = []
    for _ in range(bench.rounds):
        bare = _speed(bench, around, "unguarded")
        rounds.append((_speed(bench, around, "onetake")["chains_per_s"], bare["chains_per_s"]))
    return result(
        rounds,
        row="21",
        what="chains a second with all guards on",
        baseline="the same without ledger, journal and fences",
        unit="chains/s",
        target=Target(">=", 0.6),
        database=place.database,
    )


def _faults(bench: Bench, place: Place, around: Surroundings) -> Iterator[Result]:
    for seed in (7, 11)[: bench.size(2, 1)]:
        plan = runs.Plan(chains=bench.size(300, 30), seed=seed, concurrency=40, kills=bench.size(5, 2))
        run = runs.under_faults("onetake", around, plan)
        told = ("done", "failed_right", "uncertain", "uncertain_no_cause", "kills")
        yield count(
            float(wrongs(run)),
            Target("<=", 0),
            row="14",
            what=f"duplicates, losses, wrong failures and silent doubts in {run['chains']} chains under faults",
            unit="chains",
            database=place.database,
            remark=f"seed {seed}: " + ", ".join(f"{run[name]} {name.replace('_', ' ')}" for name in told),
        )
