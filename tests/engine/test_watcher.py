"""Who visits what: a lease that was taken anew ends the visits of the one before, and never the other way round."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

from onetake.config import WorkerSettings
from onetake.engine import people, recovery
from onetake.engine.waiting import Bell
from onetake.engine.watcher import LONG_WAIT_S, Watcher
from onetake.store import leases, workers
from onetake.store.leases import Watched
from tests.engine.front import Front, fronted
from tests.engine.recipes import still
from tests.engine.rig import Rig, rigged

PROMPT = "A lighthouse in fog"
ONE_AT_A_TIME = WorkerSettings(polls=1, downloads=1)
SOON_S = 2.5
"""Longer than a resumed attempt's first wait in these tests; several together end no poll that is held."""

LOOKS = 100
"""Minutes before a test gives up; the tenth failure in a row is followed by a long wait."""


async def test_a_visit_under_an_older_lease_leaves_the_newer_watch_alone(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig, fronted(rig) as front:
        job, task = await _processing(rig)
        front.held[task] = asyncio.Event()
        front.polled.clear()
        async with _watching(rig) as watcher:
            watcher.add(await _leased(rig, job), is_resumed=True)
            await _asked(rig, front, task, 1)
            watcher.add(await _leased(rig, job), is_resumed=True)
            rig.let_finish()
            await rig.sandbox.settled()
            front.held.pop(task).set()  # the older visit ends: its word counts for nothing
            await rig.until(job, "complete")
            assert (front.polled[task], len(watcher)) == (2, 0)


async def test_a_visit_that_waits_in_the_row_is_dropped_when_its_lease_is_old(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig, fronted(rig) as front:
        await rig.restart(rig.settings.model_copy(update={"worker": ONE_AT_A_TIME}))
        busy, first = await _processing(rig)
        job, second = await _processing(rig, "Another lighthouse")
        front.held[first] = asyncio.Event()
        front.polled.clear()
        async with _watching(rig) as watcher:
            watcher.add(await _leased(rig, busy), is_resumed=True)
            await _asked(rig, front, first, 1)  # the only question that may be in the air
            for _ in range(2):
                watcher.add(await _leased(rig, job), is_resumed=True)
                rig.clock.leap(SOON_S)  # due, and in the row
                await rig.meanwhile(_turn())
            front.held.pop(first).set()
            await rig.clock.sleep(0.5)
            assert front.polled[second] == 1  # by the newer watch alone


async def test_a_long_wait_that_is_not_ours_to_keep_ends_the_watch(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig, fronted(rig) as front:
        job, task = await _processing(rig)
        front.broken.add(task)
        front.polled.clear()
        async with _watching(rig) as watcher:
            watcher.add(await _leased(rig, job), is_resumed=True)
            await _asked(rig, front, task, 1)
            await rig.act(people.resume, job)
            with rig.unchanged():
                for _ in range(LOOKS):
                    if not len(watcher):
                        break
                    await rig.clock.sleep(LONG_WAIT_S)
                assert len(watcher) == 0
        assert front.polled[task] > 3  # it went on until it wanted to write


async def test_a_lease_is_known_by_its_token(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        job, _ = await _processing(rig)
        async with _watching(rig) as watcher:
            held = await _leased(rig, job)
            watcher.add(held, is_resumed=True)
            assert watcher.knows(held.attempt_id, held.token)
            assert not watcher.knows(held.attempt_id, held.token + 1)
            assert not watcher.knows("att_other", held.token)


@contextlib.asynccontextmanager
async def _watching(rig: Rig) -> AsyncIterator[Watcher]:
    stop = Bell()
    async with asyncio.TaskGroup() as tasks:
        watcher = Watcher(rig.parts, tasks)
        running = tasks.create_task(watcher.run(stop))
        try:
            yield watcher
        finally:
            stop.set()
            await asyncio.wait([running])
            await watcher.leave()


async def _processing(rig: Rig, prompt: str = PROMPT) -> tuple[str, str]:
    """A job whose task never ends until it is let, and the task's id."""
    rig.sandbox.script("task_never_finishes")
    job = await rig.order(still(), prompt=prompt)
    async with rig.crashing():
        await rig.until(job, "draw_processing")
    return job, (await rig.view(job))["refs"]["draw"]


async def _leased(rig: Rig, job: str) -> Watched:
    """The job's attempt under a lease that is taken now, by a worker of its own."""
    await rig.act(people.resume, job)  # takes it from whoever held it
    worker = f"wrk_{len(rig.look()['workers'])}"
    await rig.parts.database.write(workers.insert, worker, "test", lease_us=3_600_000_000)
    await rig.parts.act(worker, recovery.sweep, rig.parts.adapters)
    (attempt,) = [row["id"] for row in rig.look()["attempts"] if row["job_id"] == job]
    return await rig.parts.database.read(leases.watched, attempt)


async def _asked(rig: Rig, front: Front, task: str, times: int) -> None:
    """Come back when the provider was asked so often, though answers are held in the air."""

    async def is_asked() -> bool:
        rig.clock.leap(0.1)
        return front.polled[task] >= times

    await rig.meanwhile(is_asked)


def _turn() -> Callable[[], Awaitable[bool]]:
    """A check that holds at its third time: by then whatever was ready to run has run."""
    times = iter(range(3))

    async def check() -> bool:
        return next(times) == 2

    return check
