"""An output's address that got old before the next step was sent: renewed for free, or waited for visibly."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from onetake.config import ProviderSettings
from onetake.engine import addresses, people
from onetake.sandbox import SandboxOptions
from onetake.store import steps
from onetake.store.database import Tx
from onetake.store.steps import Step
from tests.engine.front import fronted
from tests.engine.recipes import clip_beside, still
from tests.engine.rig import HOUR_S, Rig, rigged

PROMPT = "A glass of water on a window sill"

LATER = SandboxOptions(tiny=True, retry_after_s=2 * 3600)


async def test_an_old_address_is_renewed_before_it_is_handed_over(tmp_path: Path) -> None:
    async with rigged(tmp_path, LATER) as rig:
        job = await _clip_that_waited_two_hours(rig)
        await rig.work()
        assert await rig.state(job) == "complete"
        assert "step.renewed" in await rig.events(job)
        assert len(rig.bought("video")) == 1
        assert rig.bill["odd"] == []  # the old address, dead by now, was never sent


async def test_an_address_that_can_not_be_renewed_is_waited_for(tmp_path: Path) -> None:
    async with rigged(tmp_path, LATER) as rig:
        job = await _clip_that_waited_two_hours(rig)
        rig.sandbox.script("poll_5xx", times=3)
        async with rig.working():
            await rig.until_told(job, "step.parked", 2, every_s=2)
            view = await rig.view(job)
            assert (view["state"], view["status"]) == ("video_waiting", "preparing")
            assert view["steps"][1]["waiting_for"] == "address"
            await rig.until(job, "complete", every_s=5)
        assert len(rig.bought("video")) == 1


async def test_a_provider_that_is_slow_to_name_one_delays_neither_other_steps_nor_the_sweep(tmp_path: Path) -> None:
    async with rigged(tmp_path, LATER) as rig, fronted(rig) as front:
        slow, quick = await _clips_that_waited_two_hours(rig, PROMPT, "A second glass")
        rig.sandbox.script("task_never_finishes")
        orphan = await rig.order(still(), prompt="A glass that somebody let go")
        async with rig.crashing():
            await rig.until(orphan, "draw_processing")
        front.held[(await rig.view(slow))["refs"]["image"]] = asyncio.Event()
        async with rig.working():
            await rig.meanwhile(_in_time(rig, lambda: rig.state(quick), "complete"))
            assert await rig.state(slow) == "video_waiting"
            await rig.act(people.resume, orphan)  # nobody holds it now
            await rig.meanwhile(_in_time(rig, lambda: _holder(rig, orphan), "test"))
            for event in front.held.values():
                event.set()
            front.held.clear()
            await rig.until(slow, "complete", every_s=2)
        assert len(rig.bought("video")) == 2


async def test_a_source_that_can_not_name_one_holds_up_only_who_is_handed_its_file(tmp_path: Path) -> None:
    async with rigged(tmp_path, LATER) as rig, fronted(rig) as front:
        rig.sandbox.script("refuse_429", route="video")
        job = await rig.order(clip_beside(), day="A glass at noon", night="A glass at midnight")
        await rig.work()
        night = (await rig.view(job))["refs"]["night"]
        front.unknown, polled = {night}, front.polled[night]
        await _two_hours_later(rig, job)
        async with rig.working():
            await rig.until(job, "complete", every_s=2)
        assert "step.renewed" in await rig.events(job)
        assert front.polled[night] == polled  # it wasn't asked again


async def test_an_answer_without_the_address_that_is_wanted_renews_nothing(tmp_path: Path) -> None:
    async with rigged(tmp_path, LATER) as rig:
        job = await _clip_that_waited_two_hours(rig)
        rig.sandbox.script("poll_no_addresses", times=2)
        async with rig.working():
            await rig.until_told(job, "step.parked", 2, every_s=2)
            assert await rig.state(job) == "video_waiting"
            await rig.until(job, "complete", every_s=5)
        assert rig.bill["odd"] == []


async def test_a_missing_key_puts_the_next_try_off(tmp_path: Path) -> None:
    async with rigged(tmp_path, LATER) as rig:
        job = await _clip_that_waited_two_hours(rig)
        step = next(step for step in await rig.parts.database.read(_steps_of(job)) if step.name == "video")
        assert await rig.act(addresses.park_if_old, step)
        keyless = ProviderSettings(base_url=rig.sandbox.base_url)
        await rig.restart(rig.settings.model_copy(update={"providers": {"reapi": keyless}}))
        async with rig.working():
            await rig.clock.sleep(5)
        (row,) = [row for row in rig.look()["steps"] if row["name"] == "video"]
        assert (row["state"], row["waiting_for"]) == ("waiting", "address")
        assert row["not_before"] > rig.clock.now_us()


def _steps_of(job: str) -> Callable[[Tx], list[Step]]:
    return lambda tx: steps.list_of_job(tx, job)


async def _holder(rig: Rig, job: str) -> str | None:
    """The name of the worker that holds the job's attempt."""
    tables = rig.look()
    names = {row["id"]: row["name"] for row in tables["workers"]}
    return next((names.get(row["worker_id"]) for row in tables["attempts"] if row["job_id"] == job), None)


def _in_time(rig: Rig, look: Callable[[], Awaitable[object]], wanted: object) -> Callable[[], Awaitable[bool]]:
    """A check that lets time pass though an answer is held in the air."""

    async def check() -> bool:
        rig.clock.leap(0.5)
        return await look() == wanted

    return check


async def _clip_that_waited_two_hours(rig: Rig) -> str:
    """A chain whose clip was throttled for two hours, at the end of which the still's address is dead."""
    (job,) = await _clips_that_waited_two_hours(rig, PROMPT)
    return job


async def _clips_that_waited_two_hours(rig: Rig, *prompts: str) -> list[str]:
    rig.sandbox.script("refuse_429", route="video", times=len(prompts))
    jobs = [await rig.order(prompt=prompt) for prompt in prompts]
    await rig.work()
    await _two_hours_later(rig, *jobs)
    return jobs


async def _two_hours_later(rig: Rig, *jobs: str) -> None:
    rig.clock.leap(2 * HOUR_S)
    for task in rig.sandbox._provider.bill.tasks.values():
        task.addresses_dead = task.addresses
    for job in jobs:
        await rig.act(people.resume, job)  # past the recipe's hour of repeats a person is asked
