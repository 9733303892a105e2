"""What comes of several outputs and several steps: too few, too many, one failed beside others."""

from pathlib import Path

import pytest

from tests.engine.recipes import apart, clip_of, stills
from tests.engine.rig import rigged

PROMPT = "Four cups on a wooden table"


@pytest.mark.parametrize("partial", ["failed", "incomplete"])
async def test_one_of_two_outputs_is_kept_and_the_other_released(tmp_path: Path, partial: str) -> None:
    async with rigged(tmp_path) as rig:
        job = await rig.order(stills(asked=1, expected=2, partial=partial), prompt=PROMPT)
        tables = await rig.work()
        view = await rig.view(job)
        assert (view["state"], view["status"], view["error_category"]) == (partial, partial, "no_output")
        assert [row["state"] for row in view["outputs"]] == ["filled", "missing"]
        assert sorted(row["reason"] for row in tables["hold_closings"]) == [
            "delivered",
            "missing from what was delivered",
        ]
        assert rig.bill["totals"]["posts"] == 1


async def test_extra_outputs_are_kept_aside(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        job = await rig.order(stills(asked=3, expected=2), prompt=PROMPT)
        tables = await rig.work()
        assert await rig.state(job) == "complete"
        assert sorted((row["ordinal"], row["use"]) for row in tables["artifacts"]) == [
            (0, "fills"),
            (1, "fills"),
            (2, "extra"),
        ]
        assert {row["digest"] for row in tables["blobs"]} == set(rig.bought()[0]["sha256"])
        assert len(tables["hold_closings"]) == 2


@pytest.mark.parametrize("partial", ["failed", "incomplete"])
async def test_a_step_that_was_to_be_handed_a_missing_output_is_never_bought(tmp_path: Path, partial: str) -> None:
    async with rigged(tmp_path) as rig:
        recipe = stills(asked=1, expected=2, partial=partial, then=clip_of("still1"))
        job = await rig.order(recipe, prompt=PROMPT)
        await rig.work()
        view = await rig.view(job)
        assert view["state"] == partial
        assert [step["state"] for step in view["steps"]] == ["complete", "cancelled"]
        assert view["money"]["open"] == 0
        assert rig.bought("video") == []


@pytest.mark.parametrize(("partial", "clips"), [("failed", 0), ("incomplete", 1)])
async def test_a_step_that_has_all_it_needs_is_bought_only_for_a_job_that_may_be_incomplete(
    tmp_path: Path, partial: str, clips: int
) -> None:
    async with rigged(tmp_path) as rig:
        recipe = stills(asked=1, expected=2, partial=partial, then=clip_of("still0"))
        job = await rig.order(recipe, prompt=PROMPT)
        await rig.work()
        assert await rig.state(job) == partial
        assert len(rig.bought("video")) == clips


async def test_two_steps_apart_are_bought_side_by_side(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        job = await rig.order(apart(), day="The harbour at noon", night="The harbour at midnight")
        await rig.work()
        view = await rig.view(job)
        assert (view["state"], view["filled"]) == ("complete", 2)
        assert {row["prompt"] for row in rig.bought()} == {"The harbour at noon", "The harbour at midnight"}


@pytest.mark.parametrize("partial", ["failed", "incomplete"])
async def test_a_step_that_fails_beside_another_loses_only_its_own(tmp_path: Path, partial: str) -> None:
    async with rigged(tmp_path) as rig:
        rig.sandbox.script("task_fails", prompt_contains="midnight")
        rig.sandbox.script("poll_5xx", times=3)
        job = await rig.order(apart(partial=partial), day="The harbour at noon", night="The harbour at midnight")
        tables = await rig.work()
        view = await rig.view(job)
        assert (view["state"], view["filled"]) == (partial, 1)
        assert [step["state"] for step in view["steps"]] == ["complete", "failed"]
        assert sorted(row["reason"] for row in tables["hold_closings"]) == ["delivered", "provider: generation_failed"]


async def test_a_step_in_doubt_keeps_only_its_own_hold(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        rig.sandbox.script("accept_then_drop", prompt_contains="midnight")
        job = await rig.order(apart(), day="The harbour at noon", night="The harbour at midnight")
        await rig.work()
        view = await rig.view(job)
        assert (view["state"], view["status"]) == ("night_submit_unknown", "submission_unknown")
        assert (view["filled"], view["money"]["open"]) == (1, 1)
