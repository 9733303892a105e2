"""The demo's play: two orders, a worker that is killed, a paid answer that is lost and found again."""

import asyncio
import json
import shlex
import shutil
import urllib.request
from asyncio.subprocess import Process
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from onetake.cli.stage import WAIT_S, Stage
from onetake.clock import SystemClock
from onetake.domain.errors import SurroundingsError
from onetake.domain.story import sentence
from onetake.engine.finding import find_job
from onetake.engine.members import Who
from onetake.opening import file_path, load_settings, open_store
from onetake.store import views
from onetake.store.database import Reader, Row, Tx

KILLED = "the-lighthouse"
LOST = "the-night-train"

_ORDERS = {
    KILLED: {
        "prompt": "A lighthouse on a cliff at dawn, long shadows, gulls over a calm sea",
        "motion": "Slow push-in towards the lighthouse as its light turns",
    },
    LOST: {
        "prompt": "A night train crossing a snowy valley, warm windows, stars above",
        "motion": "The camera drifts along with the train",
    },
}

_LOSE_ONE_ANSWER = {"fault": "accept_then_drop", "route": "image", "times": 1, "prompt_contains": "night train"}

_LOOK_S = 0.1
"""How often the journals are read: a scene is over within a tenth of a second of its last line."""


class Theatre:
    """One performance."""

    def __init__(self, stage: Stage) -> None:
        self._stage, self._clock = stage, SystemClock()
        self._seen: dict[str, int] = {}
        self._heard: set[tuple[str, str, str]] = set()
        self._origin = ""

    async def play(self) -> Path:
        """The clip, once everything was played.

        Raises:
            SurroundingsError: a process of the demo failed, or nothing moved for too long.
        """
        stage = self._stage
        state = str(stage.folder / "provider")
        ready = await stage.serve(
            "sandbox", "--port", "0", "--seed", "demo", "--state", state, "--render-s", "1.5:2", note="a provider"
        )
        self._origin = ready.removeprefix("ready ")
        stage.set_up(self._origin)
        await self._make_the_provider_lose_an_answer()
        for key, inputs in _ORDERS.items():
            given = [part for name, value in inputs.items() for part in ("--input", f"{name}={value}")]
            await stage.run(
                "jobs", "create", "--recipe", "still-to-clip", "--key", key, *given, note="sends nothing yet"
            )
        async with open_store(load_settings()) as database:
            await self._lose_an_answer_and_a_worker(database)
            await self._find_both_again(database)
            return await self._keep_files(database)

    async def _make_the_provider_lose_an_answer(self) -> None:
        address, body = f"{self._origin}/_faults", json.dumps(_LOSE_ONE_ANSWER)
        note = "the provider is to take one order for the train's still, bill it, and hang up without an answer"
        self._stage.show("command", f"curl {address} -d {shlex.quote(body)}", note=note)
        await asyncio.to_thread(_ask, address, body.encode())

    async def _lose_an_answer_and_a_worker(self, database: Reader) -> None:
        worker = await self._stage.start("worker", note="the first worker")
        await self._follow(database, worker, (LOST, "image", "case.opened"), (KILLED, "video", "attempt.accepted"))
        note = "the first worker dies here, while the provider works on the lighthouse's clip"
        await self._stage.kill(worker, note=note)
        await self._tell_bill()

    async def _find_both_again(self, database: Reader) -> None:
        """A person finds the lost id, here on the bill; a new worker goes on from what is saved."""
        [lost] = await self._bought(LOST)
        await self._stage.run("attach", LOST, lost["id"], note="the id was found on the provider's bill, by a person")
        worker = await self._stage.start("worker", note="a second worker, which has the database and nothing else")
        await self._follow(database, worker, *((key, "", "job.complete") for key in _ORDERS))
        await self._tell_bill()

    async def _follow(self, database: Reader, worker: Process, *wanted: tuple[str, str, str]) -> None:
        """Tell the journals as they grow, until each wanted event (job, step, name) was told.

        Raises:
            SurroundingsError: the worker ended, or nothing came for too long.
        """
        deadline_s = self._clock.monotonic_s() + WAIT_S
        while not self._heard.issuperset(wanted):
            if worker.returncode is not None:
                raise SurroundingsError(f"The demo's worker ended: {self._stage.last_words()}")
            if self._clock.monotonic_s() > deadline_s:
                raise SurroundingsError(f"The demo waited {WAIT_S:.0f} s in vain: {self._stage.last_words()}")
            await self._clock.sleep(_LOOK_S)
            for key in _ORDERS:
                for line in await database.read(_new_lines, key, self._seen.get(key, 0)):
                    self._seen[key] = line["seq"]
                    self._heard.add((key, line["step"], line["event"]))
                    self._stage.show("journal", f"{key}: {sentence(line)}", job=key, at=line["at"])

    async def _tell_bill(self) -> None:
        """How often the provider was paid for each step of each job."""
        self._stage.show("command", f"curl {self._origin}/_bill", note="what the provider was paid for so far")
        for key in _ORDERS:
            routes: dict[str, list[dict[str, Any]]] = {}
            for task in await self._bought(key):
                routes.setdefault(task["route"], []).append(task)
            for route, tasks in routes.items():
                price = sum(task["price_micros"] for task in tasks) / 1e6
                times = "once" if len(tasks) == 1 else f"{len(tasks)} times"
                told = f"{key}: {route} bought {times}, {price:.2f} USD ({', '.join(task['id'] for task in tasks)})"
                self._stage.show("bill", told, job=key, route=route, bought=len(tasks))

    async def _bought(self, key: str) -> list[dict[str, Any]]:
        bill = json.loads(await asyncio.to_thread(_ask, f"{self._origin}/_bill"))
        return [task for task in bill["tasks"] if task["prompt"] in _ORDERS[key].values()]

    async def _keep_files(self, database: Reader) -> Path:
        """Copies of the first job's files under names that a person can open; the last one's path."""
        job = await database.read(lambda tx: views.get_job(tx, find_job(tx, KILLED, Who())))
        kept = self._stage.folder
        for output in job["outputs"]:
            kept = self._stage.folder / f"{output['output']}.{output['media_type'].partition('/')[2]}"
            shutil.copyfile(file_path(load_settings(), output["digest"]), kept)
        return kept


def _new_lines(tx: Tx, key: str, after: int) -> list[Row]:
    return views.list_journal(tx, find_job(tx, key, Who())["id"], after=after)


def _ask(address: str, body: bytes | None = None) -> bytes:
    """What our own sandbox answers; asked past any proxy."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    headers: Mapping[str, str] = {"Content-Type": "application/json"} if body else {}
    with opener.open(urllib.request.Request(address, body, dict(headers)), timeout=10) as answer:  # noqa: S310 - likewise
        found: bytes = answer.read()
        return found
