"""Cancelling: what was not sent at once; what was sent by the provider's last word alone; nothing is bought after."""

from pathlib import Path

import pytest

from onetake.domain.answers import NotSent, Outcome, Refused
from onetake.domain.states import ErrorCategory
from onetake.domain.wire import SendFault, SendPhase, SendReceipt, WireResult
from onetake.engine import people
from onetake.engine.outcomes import record_outcome
from onetake.engine.submitter import Market, claim
from onetake.sandbox import SandboxOptions
from onetake.store import workers
from tests.engine.recipes import ONE_REPLACEMENT, still
from tests.engine.rig import rigged

PROMPT = "An owl on a lamp post in the fog"
LATER = Refused(category=ErrorCategory.PROVIDER, code="rate_limited", message="", is_later=True)


async def test_before_it_was_sent_nothing_is_bought(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        job = await rig.order(prompt=PROMPT)
        await rig.act(people.cancel, job)
        view = await rig.view(job)
        assert (view["state"], view["money"]["open"]) == ("cancelled", 0)
        await rig.work()
        assert rig.bill["totals"]["posts"] == 0


async def test_after_it_was_sent_the_finished_file_is_kept_and_the_rest_is_not_bought(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        job = await rig.order(prompt=PROMPT)
        async with rig.crashing():
            await rig.until(job, "image_processing")
        await rig.act(people.cancel, job)
        view = await rig.view(job)
        assert [step["state"] for step in view["steps"]] == ["active", "cancelled"]
        assert view["money"]["open"] == 1
        await rig.work()
        view = await rig.view(job)
        assert (view["state"], view["filled"], view["money"]["open"]) == ("cancelled", 1, 0)
        assert rig.bought("video") == []


async def test_a_doubt_outlives_the_wish_to_cancel(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        rig.sandbox.script("accept_then_drop")
        job = await rig.order(prompt=PROMPT)
        await rig.work()
        await rig.act(people.cancel, job)
        view = await rig.view(job)
        assert (view["state"], view["money"]["open"]) == ("image_submit_unknown", 1)
        await people.attach(rig.parts, job, rig.bought()[0]["id"])
        await rig.work()
        view = await rig.view(job)
        assert (view["state"], view["filled"]) == ("cancelled", 1)
        assert rig.bill["totals"]["posts"] == 1


@pytest.mark.parametrize("outcome", [LATER, NotSent(fault=SendFault.DNS)])
async def test_what_came_to_nothing_after_the_wish_to_cancel_is_not_sent_again(
    tmp_path: Path, outcome: Outcome
) -> None:
    async with rigged(tmp_path) as rig:
        job = await rig.order(still(), prompt=PROMPT)
        offered = {"reapi": ("gemini-3.1-flash-image-preview",)}
        adapters = rig.parts.adapters
        await rig.parts.database.write(workers.insert, "ada", "test", lease_us=1_000_000)
        (claimed,) = await rig.act(claim, Market(adapters=adapters, offered=offered, limit=1, started_s=0.0))
        await rig.act(people.cancel, job)
        assert await rig.state(job) == "draw_submitting"
        result = WireResult(receipt=SendReceipt(phase=SendPhase.NOTHING, at_us={}), answer=None)
        await rig.act(record_outcome, adapters["reapi"], claimed.attempt_id, outcome, result)
        view = await rig.view(job)
        assert (view["state"], view["money"]["open"]) == ("cancelled", 0)
        await rig.work()
        assert rig.bill["totals"]["posts"] == 0


async def test_a_429_before_the_wish_to_cancel_is_cancelled_at_once(tmp_path: Path) -> None:
    async with rigged(tmp_path, SandboxOptions(tiny=True, retry_after_s=3600)) as rig:
        rig.sandbox.script("refuse_429")
        job = await rig.order(still("[steps.repeats]\nelapsed_s_max = 86400"), prompt=PROMPT)
        await rig.work()
        assert await rig.state(job) == "draw_ready"
        await rig.act(people.cancel, job)
        assert await rig.state(job) == "cancelled"
        rig.clock.leap(86_400)
        await rig.work()
        assert rig.bill["totals"]["posts"] == 1


async def test_a_failure_after_the_wish_to_cancel_is_not_replaced(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        rig.sandbox.script("task_fails")
        job = await rig.order(still(ONE_REPLACEMENT), prompt=PROMPT)
        async with rig.crashing():
            await rig.until(job, "draw_processing")
        await rig.act(people.cancel, job)
        await rig.work()
        assert await rig.state(job) == "failed"  # the provider's last word
        assert rig.bill["totals"]["posts"] == 1


async def test_cancelling_twice_is_said_once(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        job = await rig.order(prompt=PROMPT)
        async with rig.crashing():
            await rig.until(job, "image_processing")
        await rig.act(people.cancel, job)
        with rig.unchanged():
            await rig.act(people.cancel, job)
