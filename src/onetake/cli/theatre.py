"""The demo's stage: a sandbox, workers that are killed, and a transcript of commands, journal and bill."""

import asyncio
import json
import os
import shlex
import signal
import sys
import urllib.request
from asyncio.subprocess import PIPE, Process
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from onetake.app import open_store
from onetake.cli.printing import emit, iso, say
from onetake.clock import SystemClock
from onetake.config import Settings
from onetake.domain.errors import SurroundingsError
from onetake.domain.story import sentence
from onetake.media.blobs import FolderBlobs
from onetake.store import jobs, views
from onetake.store.accounts import EMBEDDED
from onetake.store.database import Database

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

_WAIT_S = 90.0
"""Longest the demo waits for anything: a slow machine draws both clips in a third of it."""

_LOOK_S = 0.1


class Theatre:
    """One performance, in a folder of its own."""

    def __init__(self, folder: Path, *, is_json: bool) -> None:
        self._is_json = is_json
        self._folder = _next_folder(folder.resolve())
        self._seen: dict[str, int] = {}
        self._clock = SystemClock()
        self._running: list[Process] = []
        self._env: dict[str, str] = {}
        self._origin = ""

    async def play(self, *, stay: bool) -> None:
        """Everything; what was started is stopped at the end.

        Raises:
            SurroundingsError: a process of the demo failed or nothing moved for too long.
        """
        try:
            await self._open()
            async with open_store(self._settings()) as database:
                await self._act(database)
                clip = await self._keep_files(database)
            if stay:
                await self._stay()
            self._tell("file", str(clip))
        finally:
            for process in self._running:
                await _end(process)

    async def _open(self) -> None:
        """Start the provider, and point this run's settings at it."""
        provider = await self._start(
            "sandbox", "--port", "0", "--seed", "demo", "--state", str(self._folder / "provider"), "--render-s", "1.5:2"
        )
        line = await asyncio.wait_for(_first_line(provider), _WAIT_S)
        self._origin = line.removeprefix("ready ").strip()
        self._env = {
            "ONETAKE_DATABASE_URL": f"sqlite:///{self._folder / 'onetake.db'}",
            "ONETAKE_STORAGE_URL": f"file://{self._folder / 'files'}",
            "ONETAKE_PROVIDERS__REAPI__BASE_URL": self._origin,
            "ONETAKE_PROVIDERS__REAPI__API_KEY": "demo",
            "ONETAKE_PROVIDERS__REAPI__SUBMIT_TIMEOUT_S": "5",
            "ONETAKE_PROVIDERS__REAPI__POLL_FIRST_S": "0.3",
            "ONETAKE_PROVIDERS__REAPI__POLL_INTERVAL_S": "0.5",
            "ONETAKE_WORKER__LEASE_S": "2",
        }

    def _settings(self) -> Settings:
        os.environ.update(self._env)
        return Settings.load()

    async def _act(self, database: Database) -> None:
        for key, inputs in _ORDERS.items():
            given = [part for name, value in inputs.items() for part in ("--input", f"{name}={value}")]
            await self._run("jobs", "create", "--recipe", "still-to-clip", "--key", key, *given)
        await self._script(
            {"fault": "accept_then_drop", "route": "image", "times": 1, "prompt_contains": "night train"}
        )
        first = await self._start("worker")
        await self._until(database, KILLED, "video_processing")
        await self._until(database, LOST, "image_submit_unknown")
        self._tell("command", f"kill -9 {first.pid}")
        first.send_signal(signal.SIGKILL)
        await first.wait()
        await self._tell_bill()
        lost = await self._accepted(LOST)
        await self._run("attach", LOST, lost[0])
        await self._start("worker")
        await self._until(database, KILLED, "complete")
        await self._until(database, LOST, "complete")
        await self._tell_bill()

    async def _stay(self) -> None:
        """Leave everything up until Ctrl-C, with the settings that other shells need."""
        for name, value in self._env.items():
            self._tell("command", f"export {name}={shlex.quote(value)}")
        from onetake.cli.running import stop_on_signals

        await stop_on_signals().wait()

    async def _until(self, database: Database, key: str, state: str) -> None:
        """Tell the journal as it grows, until the job is in that state."""
        deadline = self._clock.monotonic_s() + _WAIT_S
        while await self._tell_journals(database, key) != state:
            if self._clock.monotonic_s() > deadline:
                raise SurroundingsError(f"The demo's job {key} didn't get to {state} in {_WAIT_S:.0f} s.")
            await self._clock.sleep(_LOOK_S)

    async def _tell_journals(self, database: Database, wanted: str) -> str:
        """The wanted job's state, after telling what is new in every journal."""
        state = ""
        for key in _ORDERS:
            job = await database.read(jobs.find_by_key, EMBEDDED, key)
            if job is None:
                continue
            for line in await database.read(views.list_journal, job["id"], after=self._seen.get(key, 0)):
                self._seen[key] = line["seq"]
                self._tell("journal", f"{key}: {sentence(line)}", at=iso(line["at"]), by=line["actor"])
            if key == wanted:
                found = job
                state = (await database.read(lambda tx: views.get_job(tx, found)))["state"]
        return state

    async def _tell_bill(self) -> None:
        """How often the provider was paid for each job's route."""
        for key in _ORDERS:
            for task in await self._bill(key):
                told = f"{key}: {task['route']} {task['id']} billed once, {task['price_micros'] / 1e6:.2f} USD"
                self._tell("bill", told)

    async def _accepted(self, key: str) -> list[str]:
        return [task["id"] for task in await self._bill(key)]

    async def _bill(self, key: str) -> list[dict[str, Any]]:
        bill = await asyncio.to_thread(_get, f"{self._origin}/_bill")
        return [task for task in bill["tasks"] if task["prompt"] in _ORDERS[key].values()]

    async def _script(self, fault: Mapping[str, object]) -> None:
        self._tell("command", f"curl {self._origin}/_faults -d {shlex.quote(json.dumps(fault))}")
        await asyncio.to_thread(_post, f"{self._origin}/_faults", fault)

    async def _start(self, *arguments: str) -> Process:
        """Start one of our own commands and leave it running."""
        self._tell("command", shlex.join(["onetake", *arguments]))
        command = (sys.executable, "-m", "onetake", *arguments)
        process = await asyncio.create_subprocess_exec(
            *command, stdout=PIPE, stderr=(self._folder / "errors.log").open("ab"), env={**os.environ, **self._env}
        )
        self._running.append(process)
        return process

    async def _run(self, *arguments: str) -> None:
        """Run one of our own commands to its end."""
        process = await self._start(*arguments)
        await process.communicate()
        if process.returncode:
            told = (self._folder / "errors.log").read_text()[-500:]
            raise SurroundingsError(f"`onetake {shlex.join(arguments)}` ended with {process.returncode}: {told}")

    async def _keep_files(self, database: Database) -> Path:
        """Copies of the first job's files under names that a person can open; the clip's path."""
        job = await database.read(jobs.find_by_key, EMBEDDED, KILLED)
        if job is None:
            raise SurroundingsError("The demo's job is gone.")
        blobs = FolderBlobs(self._folder / "files")
        kept = self._folder
        for output in (await database.read(lambda tx: views.get_job(tx, job)))["outputs"]:
            kept = self._folder / f"{output['output']}.{output['media_type'].partition('/')[2]}"
            kept.write_bytes((await blobs.local(output["digest"])).read_bytes())
        return kept

    def _tell(self, kind: str, text: str, **more: str | None) -> None:
        if self._is_json:
            emit({"kind": kind, "text": text, **more})
        else:
            say({"command": f"\n$ {text}", "file": f"\n{text}"}.get(kind, f"  {kind:<7} | {text}"))


def _next_folder(root: Path) -> Path:
    """A new folder `001`, `002`, … below the demo's folder."""
    root.mkdir(parents=True, exist_ok=True)
    for number in range(1, 100_000):
        folder = root / f"{number:03}"
        try:
            folder.mkdir()
        except FileExistsError:
            continue
        return folder
    raise SurroundingsError(f"{root} is full of demos: remove some.")


async def _first_line(process: Process) -> str:
    if process.stdout is None:
        return ""
    line = (await process.stdout.readline()).decode()
    if not line:
        raise SurroundingsError("The sandbox ended at once.")
    return line


async def _end(process: Process) -> None:
    """Stop a process that we started: politely, then for good."""
    if process.returncode is not None:
        return
    process.terminate()
    try:
        await asyncio.wait_for(process.communicate(), 10)
    except TimeoutError:
        process.kill()
        await process.wait()


def _get(url: str) -> dict[str, Any]:
    with urllib.request.urlopen(url, timeout=10) as answer:  # noqa: S310 - our own sandbox
        found: dict[str, Any] = json.load(answer)
        return found


def _post(url: str, body: Mapping[str, object]) -> None:
    request = urllib.request.Request(  # noqa: S310 - our own sandbox
        url, data=json.dumps(body).encode(), headers={"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310 - likewise
        answer.read()
