"""An output's address that got old before the next step was sent: renewed for free, or waited for visibly."""

from pathlib import Path

from onetake.engine import people
from onetake.sandbox import SandboxOptions
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


async def _clip_that_waited_two_hours(rig: Rig) -> str:
    """A chain whose clip was throttled for two hours, at the end of which the still's address is dead."""
    rig.sandbox.script("refuse_429", route="video")
    job = await rig.order(prompt=PROMPT)
    await rig.work()
    rig.clock.leap(2 * HOUR_S)
    for task in rig.sandbox._provider.bill.tasks.values():
        task.addresses_dead = task.addresses
    await rig.act(people.resume, job)  # past the recipe's hour of repeats a person is asked
    return job
