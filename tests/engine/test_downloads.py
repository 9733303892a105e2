"""From the saved address to our own checked file: repaired on our side, whatever goes wrong, and never bought again."""

from pathlib import Path

import pytest

from onetake.sandbox.tasks import Phase
from tests.engine.recipes import still
from tests.engine.rig import rigged

PROMPT = "A red kite over a field of barley"


@pytest.mark.parametrize(
    "fault", ["file_drop", "file_5xx", "file_truncated", "file_html", "file_expired", "file_lying"]
)
async def test_c072_c073_c074_only_the_download_repeats(tmp_path: Path, fault: str) -> None:
    async with rigged(tmp_path) as rig:
        times = 1 if fault == "file_lying" else 2
        rig.sandbox.script(fault, times=times)
        job = await rig.order(still(), prompt=PROMPT)
        await rig.work()
        view = await rig.view(job)
        assert view["state"] == "complete"
        assert [row["digest"] for row in view["outputs"]] == rig.bought()[0]["sha256"]
        assert rig.bought()[0]["downloads"] == times + 1
        assert rig.bill["totals"]["posts"] == 1
        assert list((tmp_path / "files" / "incoming").iterdir()) == []


async def test_a_download_that_keeps_failing_raises_an_alarm_and_goes_on(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        rig.sandbox.script("file_5xx", times=12)
        job = await rig.order(still(), prompt=PROMPT)
        async with rig.working():
            await rig.until_told(job, "alarm.raised", every_s=2)
            view = await rig.view(job)
            assert (view["state"], view["status"], view["money"]["open"]) == ("draw_collecting", "processing", 1)
            assert [alarm["kind"] for alarm in view["alarms"]] == ["download"]
            await rig.until(job, "complete", every_s=5)
        assert (await rig.view(job))["alarms"] == []
        assert rig.bill["totals"]["posts"] == 1


async def test_a_file_that_lies_twice_is_kept_as_evidence_and_asks_a_person(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        rig.sandbox.script("file_lying", times=2)
        job = await rig.order(still(), prompt=PROMPT)
        tables = await rig.work()
        view = await rig.view(job)
        assert (view["state"], view["status"], view["money"]["open"]) == ("draw_collecting", "needs_review", 1)
        assert (view["error_category"], [case["kind"] for case in view["cases"]]) == ("validation", ["output_rejected"])
        assert [row["state"] for row in tables["artifacts"]] == ["rejected"]
        rig.clock.leap(86_400)
        await rig.work()
        assert await rig.state(job) == "draw_collecting"
        assert rig.bill["totals"]["posts"] == 1


async def test_a_store_that_can_not_be_written_is_repaired_later(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        job = await rig.order(still(), prompt=PROMPT)
        incoming = tmp_path / "files" / "incoming"
        async with rig.working():
            await rig.until(job, "draw_processing")
            incoming.rmdir()
            incoming.write_text("not a folder")
            await rig.until_told(job, "alarm.raised", every_s=2)
            assert [alarm["kind"] for alarm in (await rig.view(job))["alarms"]] == ["storage"]
            incoming.unlink()
            incoming.mkdir()
            await rig.until(job, "complete", every_s=2)
        assert (await rig.view(job))["alarms"] == []
        assert rig.bill["totals"]["posts"] == 1


@pytest.mark.parametrize("fault", ["file_expired", "file_html"])
async def test_an_address_that_is_dead_again_and_again_is_renewed_seldom_and_said(tmp_path: Path, fault: str) -> None:
    async with rigged(tmp_path) as rig:
        rig.sandbox.script(fault, times=10)
        job = await rig.order(still(), prompt=PROMPT)
        started_us = rig.clock.now_us()
        async with rig.working():
            await rig.until_told(job, "alarm.raised", every_s=2)
            assert [alarm["kind"] for alarm in (await rig.view(job))["alarms"]] == ["download"]
            await rig.until(job, "complete", every_s=2)
        assert (rig.clock.now_us() - started_us) / 1e6 > 60
        assert rig.bill["totals"]["posts"] == 1


async def test_a_task_that_is_said_to_have_failed_after_it_finished_is_asked_on(tmp_path: Path) -> None:
    """The provider contradicts itself while a dead address is renewed: nothing is lost, and a person hears of it."""
    async with rigged(tmp_path) as rig:
        rig.sandbox.script("file_expired", times=1000)
        job = await rig.order(still(), prompt=PROMPT)
        async with rig.working():
            await rig.until_told(job, "attempt.finished")
            task = next(iter(rig.sandbox._provider.bill.tasks.values()))
            task.phase = Phase.FAILED
            await rig.until_told(job, "alarm.raised", every_s=2)
            view = await rig.view(job)
            assert (view["state"], view["money"]["open"]) == ("draw_collecting", 1)
            task.phase = Phase.COMPLETED
            rig.sandbox._provider.plan.scripts.clear()
            await rig.until(job, "complete", every_s=2)
        assert rig.bill["totals"]["posts"] == 1
