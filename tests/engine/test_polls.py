"""Asking about a saved ref: free and bounded, whatever the answer; the provider's last word alone ends it."""

from pathlib import Path

import pytest
from pydantic import SecretStr

from onetake.engine import people
from onetake.sandbox import Sandbox, SandboxOptions
from tests.engine.recipes import still
from tests.engine.rig import HOUR_S, rigged

PROMPT = "A paper boat on a rainy street"


@pytest.mark.parametrize(
    ("fault", "alarm"),
    [("poll_unlisted_status", "unlisted_status"), ("poll_401", "key_refused"), ("poll_404", "missing_task")],
)
async def test_an_alarming_answer_is_said_and_polled_on(tmp_path: Path, fault: str, alarm: str) -> None:
    async with rigged(tmp_path) as rig:
        rig.sandbox.script(fault, times=3)
        job = await rig.order(still(), prompt=PROMPT)
        tables = await rig.work()
        assert await rig.state(job) == "complete"
        assert [(row["kind"], row["cleared_at"] is None) for row in tables["alarms"]] == [(alarm, False)]
        assert tables["cases"] == []
        assert rig.bill["totals"]["posts"] == 1


@pytest.mark.parametrize(
    "fault",
    ["poll_5xx", "poll_429", "poll_429_date", "poll_slow", "poll_drop", "poll_unreadable", "poll_gateway_html"],
)
async def test_an_answer_that_says_nothing_changes_nothing(tmp_path: Path, fault: str) -> None:
    async with rigged(tmp_path, SandboxOptions(tiny=True, slow_s=0.05)) as rig:
        rig.sandbox.script(fault, times=4)
        job = await rig.order(still(), prompt=PROMPT)
        tables = await rig.work()
        assert await rig.state(job) == "complete"
        assert (tables["alarms"], tables["cases"]) == ([], [])
        assert len(await rig.events(job)) == 8  # as if nothing had happened


async def test_alarms_clear_when_it_does_well_again_though_it_is_late(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        rig.sandbox.script("task_never_finishes")
        job = await rig.order(still(deadline_s=60), prompt=PROMPT)
        async with rig.working():
            await rig.until_told(job, "alarm.raised", every_s=2)
            rig.sandbox.script("poll_401")
            await rig.until_told(job, "alarm.raised", 2, every_s=2)
            await rig.until_told(job, "alarm.cleared")
            assert [alarm["kind"] for alarm in (await rig.view(job))["alarms"]] == ["deadline"]
            rig.let_finish()
            await rig.until(job, "complete", every_s=2)
        assert (await rig.view(job))["alarms"] == []


async def test_a_missing_task_becomes_a_case_only_after_several_answers(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        rig.sandbox.script("poll_404", times=8)
        job = await rig.order(still(), prompt=PROMPT)
        await rig.work()
        view = await rig.view(job)
        assert (view["state"], view["status"]) == ("draw_processing", "needs_review")
        assert [(case["kind"], case["state"]) for case in view["cases"]] == [("missing_task", "open")]
        assert rig.bought()[0]["polls"] == 5
        async with rig.working():
            await rig.until(job, "complete", every_s=2)
        assert [case["state"] for case in (await rig.view(job))["cases"]] == ["settled"]


async def test_an_outage_of_hours_is_polled_seldom_and_ends_well(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        rig.sandbox.script("poll_5xx", times=12)
        job = await rig.order(still(), prompt=PROMPT)
        await rig.work()
        assert await rig.state(job) == "draw_processing"  # its next poll is over a minute away, and that is kept
        waits_until = rig.look()["attempts"][0]["not_before"]
        assert waits_until is not None
        assert waits_until > rig.clock.now_us()
        await rig.restart()
        before = rig.bought()[0]["polls"]
        await rig.work()
        assert rig.bought()[0]["polls"] == before  # a restart honours it
        started_us = rig.clock.now_us()
        async with rig.working():
            await rig.until(job, "complete", every_s=2)
        assert (rig.clock.now_us() - started_us) / 1e6 > 120


async def test_resume_polls_now(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        rig.sandbox.script("poll_5xx", times=40)
        job = await rig.order(still(), prompt=PROMPT)
        await rig.work()
        polls = rig.bought()[0]["polls"]
        resumed = await rig.act(people.resume, job)
        assert (resumed.polls, resumed.steps) == (1, 0)
        await rig.work()
        assert rig.bought()[0]["polls"] > polls
        assert await rig.state(job) == "draw_processing"
        assert rig.bill["totals"]["posts"] == 1


async def test_unchanged_polls_write_nothing(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        rig.sandbox.script("task_never_finishes")
        job = await rig.order(still(deadline_s=86_400), prompt=PROMPT)
        async with rig.working():
            await rig.until(job, "draw_processing")
            with rig.unchanged():
                while rig.bought()[0]["polls"] < 100:
                    await rig.clock.sleep(5)
        assert await rig.state(job) == "draw_processing"


async def test_what_the_provider_says_of_its_queue_is_shown(tmp_path: Path) -> None:
    async with rigged(tmp_path, SandboxOptions(tiny=True, says_queued=True)) as rig:
        rig.sandbox.script("poll_5xx")
        rig.sandbox.script("task_never_finishes")
        job = await rig.order(still(), prompt=PROMPT)
        async with rig.working():
            await rig.until(job, "draw_processing")
            assert (await rig.view(job))["status"] == "in_progress"
            rig.sandbox._provider.studio._lives.clear()
            task = next(iter(rig.sandbox._provider.bill.tasks.values()))
            task.phase = type(task.phase).QUEUED
            while (await rig.view(job))["status"] != "queued":
                await rig.clock.sleep(1)


async def test_c123_ids_with_slashes_colons_and_spaces_are_polled_as_they_are(tmp_path: Path) -> None:
    all_shapes = SandboxOptions(tiny=True, seed="155", rates={"task_odd_id": 1.0})  # draws each once in nine
    async with rigged(tmp_path, all_shapes) as rig:
        jobs = [await rig.order(still(), prompt=f"{PROMPT} {number}") for number in range(9)]
        await rig.work()
        assert {await rig.state(job) for job in jobs} == {"complete"}
        refs = {(await rig.view(job))["refs"]["draw"] for job in jobs}
        assert refs == {task["id"] for task in rig.bought()}
        for shape in ("/", "..", " ", "?", "#", "%2e", "+", "é", "-rf"):
            assert any(shape in ref for ref in refs), shape
        assert any(len(ref) == 500 for ref in refs)


async def test_a_lost_lease_is_taken_up_again_by_the_same_worker(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        rig.sandbox.script("task_never_finishes")
        job = await rig.order(still(), prompt=PROMPT)
        async with rig.working():
            await rig.until(job, "draw_processing")
            rig.clock.leap(HOUR_S)  # the machine slept
            await rig.clock.sleep(10)
            rig.let_finish()
            await rig.until(job, "complete", every_s=2)
        assert len(rig.look()["workers"]) == 2  # a lease that ran out is not revived
        assert rig.bill["totals"]["posts"] == 1


async def test_a_task_that_was_ordered_at_another_address_is_not_asked_about_with_todays_key(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig, Sandbox(SandboxOptions(tiny=True)) as other:
        rig.sandbox.script("task_never_finishes")
        job = await rig.order(still(), prompt="A door")
        async with rig.crashing():
            await rig.until(job, "draw_processing")
        polled = rig.sandbox._provider.polls
        provider = rig.settings.providers["reapi"]
        moved = provider.model_copy(update={"base_url": other.base_url, "api_key": SecretStr("rk_of_today")})
        home = rig.settings
        await rig.restart(home.model_copy(update={"providers": {"reapi": moved}}))
        async with rig.crashing():
            await rig.until_told(job, "alarm.raised", every_s=5)
        [alarm] = (await rig.view(job))["alarms"]
        assert (alarm["kind"], "was ordered at another address" in alarm["detail"]) == ("key_refused", True)
        assert (rig.sandbox._provider.polls, other._provider.polls) == (polled, 0)
        await rig.restart(home)
        rig.let_finish()
        await rig.work()
        assert await rig.state(job) == "complete"
