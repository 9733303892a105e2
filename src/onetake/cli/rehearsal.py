"""A regression fixture, played: the frozen order against a simulated provider, with a worker killed after each id.

Everything is real but the provider: the engine, SQLite, files, HTTP, worker processes and SIGKILL, in a folder that is
gone afterwards. The simulated provider hands out the approved still instead of drawing one, so it is that very picture
that goes through the chain. It holds each task in its queue until the worker that ordered it is dead.
"""

import asyncio
import datetime
import hashlib
import json
import os
import sys
from asyncio.subprocess import DEVNULL, Process
from pathlib import Path
from typing import Any

from onetake.app import open_parts
from onetake.domain.canonical import digest, parse
from onetake.domain.fixture import Fixture, Part
from onetake.domain.recipe import Recipe
from onetake.domain.rehearsal import Crash, Evidence, Kept, Ordered, Sold
from onetake.engine.finding import find_job
from onetake.engine.intake import accept
from onetake.engine.members import Who
from onetake.engine.ordering import check_orderable
from onetake.engine.orders import prepare
from onetake.engine.parts import Parts
from onetake.opening import file_path, load_settings
from onetake.sandbox import Sandbox, SandboxOptions
from onetake.store import jobs, views

WAIT_S = 60.0
"""Longest that is waited for an id, and for the end: ten times what a slow machine needs. Then the evidence decides."""

ACTOR = "owner"
_LOOK_S = 0.05


async def rehearse(fixture: Fixture, folder: Path) -> Evidence:
    """What is known after the frozen chain was run through two crashes, in an empty folder.

    From here on this process has the rehearsal's settings, and so have the workers that it starts.

    Raises:
        SurroundingsError: database, storage or decoders can't be used here.
    """
    models = tuple(sorted({step.model for step in fixture.recipe.steps if step.kind == "generate"}))
    options = SandboxOptions(still=fixture.still, image_models=models, video_models=models, folder=folder / "provider")
    async with Sandbox(options) as sandbox:
        _set_up(folder, sandbox.base_url, fixture.recipe)
        async with open_parts(load_settings()) as parts:
            return await _Rehearsal(fixture, sandbox, parts).run()


def _set_up(folder: Path, origin: str, recipe: Recipe) -> None:
    """Put the rehearsal's settings in the place of the caller's."""
    for name in [name for name in os.environ if name.upper().startswith("ONETAKE_")]:
        del os.environ[name]
    os.environ["ONETAKE_DATABASE_URL"] = f"sqlite:///{folder / 'onetake.db'}"
    os.environ["ONETAKE_STORAGE_URL"] = f"file://{folder / 'files'}"
    os.environ["ONETAKE_WORKER__LEASE_S"] = "2"  # a killed worker's work is taken over soon
    os.environ["ONETAKE_PERSON"] = ACTOR
    for provider in {step.provider for step in recipe.steps if step.provider}:
        account = {"BASE_URL": origin, "API_KEY": "none", "POLL_FIRST_S": "0.3", "POLL_INTERVAL_S": "0.3"}
        os.environ.update({f"ONETAKE_PROVIDERS__{provider.upper()}__{name}": text for name, text in account.items()})


class _Rehearsal:
    """One play. Workers are processes of their own, since they are to die."""

    def __init__(self, fixture: Fixture, sandbox: Sandbox, parts: Parts) -> None:
        self._fixture, self._sandbox, self._parts = fixture, sandbox, parts
        self._job_id = ""
        self._worker: Process | None = None

    async def run(self) -> Evidence:
        """Order, crash twice, let it end, look."""
        fixture = self._fixture
        order = prepare(fixture.recipe, fixture.source, inputs=fixture.inputs)
        await check_orderable(self._parts, fixture.recipe)
        self._sandbox.hold()
        self._job_id = (await self._parts.act(ACTOR, accept, order)).job_id
        try:
            crashes = [await self._crash_after(part.step) for part in (fixture.chain.still, fixture.chain.clip)]
            await self._end()
        finally:
            await self._kill()
        return await self._evidence(tuple(crashes))

    async def _crash_after(self, step: str) -> Crash:
        """Kill a worker as soon as the step's id stands in the database; what stands once it is dead."""
        worker = await self._start("worker")
        clock, view = self._parts.clock, await self._view()
        deadline_s = clock.monotonic_s() + WAIT_S
        while step not in view["refs"] and view["completed_at"] is None and clock.monotonic_s() < deadline_s:
            await clock.sleep(_LOOK_S)
            view = await self._view()
        await self._kill()
        view = await self._view()
        attempts = next(each for each in view["steps"] if each["name"] == step)["attempts"]
        sold = tuple(_sold(task) for task in self._sandbox.bill()["tasks"])
        self._sandbox.let_go()
        return Crash(
            step=step,
            ref=view["refs"].get(step),
            state=attempts[-1]["state"] if attempts else "without an attempt",
            exit_code=worker.returncode,
            sold=sold,
        )

    async def _end(self) -> None:
        """Let a third worker finish what it can."""
        worker = await self._start("worker", "--until-idle")
        try:
            await asyncio.wait_for(worker.wait(), WAIT_S)
        except TimeoutError:
            await self._kill()

    async def _start(self, *arguments: str) -> Process:
        command = (sys.executable, "-m", "onetake", *arguments)
        self._worker = await asyncio.create_subprocess_exec(*command, stdout=DEVNULL, stderr=DEVNULL)
        return self._worker

    async def _kill(self) -> None:
        if self._worker is not None and self._worker.returncode is None:
            self._worker.kill()
            await self._worker.wait()

    async def _view(self) -> dict[str, Any]:
        return await self._parts.database.read(lambda tx: views.get_job(tx, find_job(tx, self._job_id, Who())))

    async def _evidence(self, crashes: tuple[Crash, ...]) -> Evidence:
        read, view, bill = self._parts.database.read, await self._view(), self._sandbox.bill()
        steps = {step["name"]: step["attempts"] for step in view["steps"]}
        return Evidence(
            still=self._ordered(self._fixture.chain.still),
            clip=self._ordered(self._fixture.chain.clip),
            approved=self._fixture.still_digest,
            crashes=crashes,
            bill=tuple(_sold(task) for task in bill["tasks"]),
            refused=len(bill["refused"]),
            refs=view["refs"],
            posts={name: sum(each["sends"] or 0 for each in attempts) for name, attempts in steps.items()},
            journal=tuple(await read(views.list_journal, self._job_id)),
            state=view["state"],
            kept=tuple(self._kept(output) for output in view["outputs"]),
            manifest=_clips_of(await read(jobs.find_manifest, self._job_id), self._fixture.chain.clip),
        )

    def _ordered(self, part: Part) -> Ordered:
        model = self._fixture.recipe.step(part.step).model
        return Ordered(part=part, model=model, prompt=self._fixture.prompt_of(part))

    def _kept(self, output: dict[str, Any]) -> Kept:
        step, name, recorded = output["step"], output["output"], output["digest"]
        kinds = {each.name: str(each.spec["kind"]) for each in self._fixture.recipe.step(step).outputs}
        path = recorded and file_path(self._parts.settings, recorded)
        stored = hashlib.sha256(path.read_bytes()).hexdigest() if path and path.exists() else None
        return Kept(step=step, output=name, kind=kinds[name], digest=recorded, stored=stored)


def _sold(task: dict[str, Any]) -> Sold:
    accepted = datetime.datetime.fromisoformat(task["accepted_at"])
    return Sold(
        id=task["id"],
        model=task["model"],
        prompt=task["prompt"],
        accepted_us=round(accepted.timestamp() * 1000) * 1000,
        first_frame=task["first_frame_sha256"],
    )


def _clips_of(manifest: dict[str, Any] | None, clip: Part) -> tuple[str, ...] | None:
    """The digests that a manifest names for the clip's step; None without one, or if its hash isn't its own."""
    if manifest is None or digest(parse(manifest["content"])) != manifest["hash"]:
        return None
    outputs = json.loads(manifest["content"])["outputs"]
    return tuple(output["digest"] for output in outputs if output["step"] == clip.step)
