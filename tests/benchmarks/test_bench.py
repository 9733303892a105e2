"""The benchmark's own code runs: small sizes, no figure is judged."""

import contextlib
import json
import subprocess
import sys
import tempfile
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from benchmarks import report
from benchmarks.bench import Bench
from benchmarks.harness.judge import judge, quantiles, wrongs
from benchmarks.harness.peer import Shop, open_shop
from benchmarks.measuring import Result, Target, in_turns, result
from benchmarks.picture import picture
from benchmarks.rig import Place
from benchmarks.rows import start, store, takeover
from benchmarks.unguarded import unfenced
from benchmarks.waiting import wait_with

ROOT = Path(__file__).parents[2]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(folder=tmp_path, server_url=None, rounds=1, is_quick=True)


def test_the_median_of_rounds_is_told_with_its_spread() -> None:
    ours = iter([2.0, 9.0, 3.0])
    rounds = in_turns(3, lambda: next(ours), lambda: 2.0)
    found = result(rounds, row="1", what="a", baseline="b", unit="s", target=Target("<=", 1.5))
    assert (found.low, found.ratio, found.high) == (1.0, 1.5, 4.5)
    assert found.is_met
    assert Result.from_json(json.loads(json.dumps(found.as_json()))) == found
    assert "1.5, wanted &lt;= 1.5" in picture([found])


def test_a_row_that_is_measured_alone_replaces_its_own_results_on_the_same_machine(tmp_path: Path) -> None:
    path, machine = tmp_path / "results.jsonl", dict.fromkeys(report.SAME, "a") | {"load": 1}
    assert report.others(path, machine, ["7"]) == (machine, [])
    found = [result([(1.0, 2.0)], row=row, what="a", baseline="b", unit="s") for row in ("7a", "7b", "9")]
    with path.open("w") as file:
        report.keep(file, machine, found)
    assert report.others(path, machine | {"load": 2}, ["7"]) == (machine, found[2:])
    assert report.others(path, machine | {"cores": "b"}, ["7"])[1] == []


@pytest.mark.e2e
def test_the_store_is_measured_on_sqlite(bench: Bench) -> None:
    found = list(store.measure(bench, "9"))
    assert [(each.row, each.database) for each in found] == [("9a", "SQLite"), ("9b", "SQLite"), ("9c", "SQLite")]
    assert all(each.ratio > 0 for each in found)


@pytest.mark.e2e
def test_a_crowd_is_taken_over(bench: Bench) -> None:
    (found,) = takeover.measure(bench)
    assert (found.row, len(found.rounds)) == ("5", 1)


@pytest.mark.e2e
def test_the_start_is_measured(bench: Bench) -> None:
    (found,) = start.measure(bench)
    assert found.ratio > 1


@pytest.mark.e2e
def test_waiting_steps_are_polled_without_a_write() -> None:
    with tempfile.TemporaryDirectory() as folder:
        waited = wait_with(Place(folder=Path(folder)), 50, interval_s=0.5, seconds=1.0)
    assert waited.polls > 0
    assert (waited.rows_added, waited.rows_written - waited.leases_written) == (0, 0)


@pytest.mark.e2e
def test_the_harness_runs_chains_under_faults_and_judges_them() -> None:
    command = [sys.executable, "-m", "benchmarks.harness", "faults", "onetake", "--chains", "8", "--kills", "1"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert (found["chains"], found["kills"], wrongs(found)) == (8, 1, 0)


@pytest.mark.e2e
@pytest.mark.parametrize("promise", ["honour-idempotency", "lookup"])
def test_nothing_stays_uncertain_at_a_provider_that_helps_with_lost_answers(promise: str) -> None:
    lossy = [word for fault in ("accept_drop", "refuse_drop") for word in ("--fault", f"{fault}=0.2")]
    command = [sys.executable, "-m", "benchmarks.harness", "faults", "onetake", "--chains", "12", "--kills", "1"]
    done = subprocess.run([*command, f"--{promise}", *lossy], cwd=ROOT, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert (found["promises"], wrongs(found), found["uncertain"]) == ([promise], 0, 0)
    assert found["done"] + found["failed_right"] == 12


def answer(shop: Shop, path: str, body: dict[str, Any] | None = None, key: str = "") -> tuple[int, dict[str, Any]]:
    """Status and body of what the provider answers; with a body it is a POST."""
    headers = {"Idempotency-Key": key} if key else {}
    with contextlib.closing(HTTPConnection(shop.origin.removeprefix("http://"), timeout=30)) as connection:
        connection.request("POST" if body else "GET", path, body=json.dumps(body) if body else None, headers=headers)
        response = connection.getresponse()
        return response.status, json.load(response)


IMAGES, VIDEOS, SHOWN = "/api/v1/images/generations", "/api/v1/videos/generations", "/api/v1/tasks?client_key=k"
ORDER = {"prompt": "a red bicycle chain=c-1"}


@pytest.mark.e2e
def test_the_harness_provider_honours_the_key_of_an_accepted_order_when_told_to() -> None:
    with open_shop("--honour-idempotency") as shop:
        assert answer(shop, VIDEOS, ORDER, "k")[0] == 400  # refused: its key is free
        first = answer(shop, IMAGES, ORDER, "k")
        assert (first[0], first[1]["status"]) == (200, "processing")
        assert answer(shop, IMAGES, ORDER, "k") == first
        status, told = answer(shop, VIDEOS, {"prompt": "another"}, "k")  # looked at before the missing first frame
        assert (status, told["error"]["code"]) == (422, "idempotency_mismatch")
        assert answer(shop, IMAGES, ORDER)[1]["id"] != answer(shop, IMAGES, ORDER)[1]["id"]
        counts = shop.ask("/_stats")
        assert (counts["accepted"], counts["replays"]) == (3, 2)
        assert answer(shop, SHOWN)[0] == 404


@pytest.mark.e2e
def test_the_harness_provider_shows_the_jobs_of_a_key_when_told_to() -> None:
    with open_shop("--lookup") as shop:
        assert answer(shop, SHOWN) == (200, {"data": []})
        by_header = answer(shop, IMAGES, ORDER, "k")[1]["id"]
        by_field = answer(shop, IMAGES, {**ORDER, "metadata": {"client_key": "k"}})[1]["id"]
        answer(shop, IMAGES, ORDER, "another")
        assert {task["id"] for task in answer(shop, SHOWN)[1]["data"]} == {by_header, by_field}
        assert answer(shop, IMAGES, ORDER, "k")[1]["id"] != by_header  # not honoured: bought again


def test_a_judge_finds_what_was_paid_twice_and_what_was_lost() -> None:
    job = {"stage": "image", "fault": None, "fails": False, "t": 1.0}
    jobs = [{**job, "key": "a"}, {**job, "key": "a"}, {**job, "key": "b"}]
    truth = {"jobs": jobs, "refused": [], "odd": []}
    told = {"a": {"state": "done"}, "b": {"state": "failed"}, "c": {"state": "pending"}}
    found = judge(truth, told)
    assert (found["duplicates"], found["failed_wrong"], found["never_finished"], found["silent_chains"]) == (1, 1, 1, 2)
    assert wrongs(found) == 5
    assert quantiles([3.0, 1.0, 2.0])["p50"] == 2.0


def test_guards_are_taken_out_of_a_statement() -> None:
    assert unfenced("INSERT INTO journal (job_id) VALUES (:job)") is None
    assert unfenced("UPDATE jobs SET journal_seq = journal_seq + 1") is None
    guarded = "UPDATE attempts SET state = :to WHERE id = :id AND state = :from AND token = :token"
    assert unfenced(guarded) == "UPDATE attempts SET state = :to WHERE id = :id"
