"""The eight ways in which a paid, slow job goes wrong, and what must come of each."""

import asyncio
from pathlib import Path

import pytest

from onetake.domain.answers import Accepted, Died
from onetake.domain.errors import NotAllowedError
from onetake.domain.outputs import Measures
from onetake.domain.wire import Answer, SendPhase, SendReceipt, WireResult
from onetake.engine import people
from onetake.engine.collector import record_delivered
from onetake.engine.outcomes import record_outcome
from onetake.engine.poller import record_death, record_finished
from onetake.engine.settling import Checked
from onetake.store import artifacts, leases
from onetake.store.artifacts import Artifact
from tests.engine.recipes import still
from tests.engine.rig import HOUR_S, Rig, rigged

PROMPT = "A lighthouse on a cliff at dawn"


async def test_two_workers_claim_one_image_ready_row(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig, rig.beside() as other:
        job = await rig.order(prompt=PROMPT)
        assert await rig.state(job) == "image_ready"
        await asyncio.gather(rig.work(), rig.work(other))
        tables = rig.look()
        assert [row["no"] for row in tables["attempts"]] == [1, 1]
        assert rig.bill["totals"]["posts"] == 2  # one for the still, one for the clip
        assert await rig.state(job) == "complete"


async def test_image_accepted_and_id_saved_then_a_restart_polls_on(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        job = await rig.order(prompt=PROMPT)
        async with rig.crashing():
            await rig.until(job, "image_processing")
            saved = (await rig.view(job))["refs"]
        assert rig.bought("image")[0]["polls"] == 0
        await rig.work()
        view = await rig.view(job)
        assert view["state"] == "complete"
        assert view["refs"]["image"] == saved["image"] == rig.bought("image")[0]["id"]
        assert len(rig.bought("image")) == 1


async def test_c001_connection_drops_during_the_image_post_and_48_hours_send_nothing(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        rig.sandbox.script("accept_then_drop", route="image")
        job = await rig.order(prompt=PROMPT)
        await rig.work()
        for hour in range(48):
            rig.clock.leap(HOUR_S)
            if hour % 12 == 0:
                await rig.restart()
            await rig.work()
        await rig.act(people.resume, job)
        await rig.work()
        view = await rig.view(job)
        assert (view["state"], view["status"]) == ("image_submit_unknown", "submission_unknown")
        assert [case["kind"] for case in view["cases"]] == ["unknown"]
        assert view["money"]["open"] == 2
        assert rig.bill["totals"]["posts"] == len(rig.bought()) == 1


async def test_image_polling_meets_its_local_deadline(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        rig.sandbox.script("task_never_finishes")
        job = await rig.order(still(deadline_s=60), prompt=PROMPT)
        async with rig.working():
            await rig.until_told(job, "alarm.raised")
            view = await rig.view(job)
            assert (view["state"], view["status"], view["money"]["open"]) == ("draw_processing", "in_progress", 1)
            assert [alarm["kind"] for alarm in view["alarms"]] == ["deadline"]
            rig.let_finish()
            await rig.until(job, "complete")
        assert (await rig.view(job))["alarms"] == []
        assert len(rig.bought()) == 1


async def test_image_completes_without_addresses(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        rig.sandbox.script("task_no_addresses", route="image")
        job = await rig.order(prompt=PROMPT)
        await rig.work()
        view = await rig.view(job)
        assert (view["state"], view["status"]) == ("image_processing", "needs_review")
        assert [(case["kind"], case["state"]) for case in view["cases"]] == [("no_output", "open")]
        assert rig.bought("image")[0]["polls"] <= 6  # four more after the first, then a person
        assert rig.bought("video") == []
        rig.let_finish()
        async with rig.working():
            await rig.until(job, "complete")
        assert [case["state"] for case in (await rig.view(job))["cases"]] == ["settled"]
        assert len(rig.bought("image")) == 1


async def test_address_saved_and_then_the_process_dies(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        rig.sandbox.script("file_5xx", times=4)
        job = await rig.order(still(), prompt=PROMPT)
        async with rig.crashing():
            await rig.until(job, "draw_collecting")
        polls = rig.bought()[0]["polls"]
        await rig.work()
        assert await rig.state(job) == "complete"
        assert rig.bought()[0]["polls"] == polls  # the saved address was good
        assert rig.bill["totals"]["posts"] == 1


async def test_video_polling_returns_failed(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        rig.sandbox.script("task_fails", route="video")
        job = await rig.order(prompt=PROMPT)
        tables = await rig.work()
        view = await rig.view(job)
        assert (view["state"], view["error_category"]) == ("failed", "provider")
        assert "video" in view["last_error"]
        assert view["refs"]["video"] == rig.bought("video")[0]["id"]
        assert {row["output"]: row["state"] for row in view["outputs"]} == {"still": "filled", "clip": "missing"}
        assert sorted(row["reason"] for row in tables["hold_closings"]) == ["delivered", "provider: generation_failed"]


async def test_one_incoming_event_twice(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        job = await rig.order(still(), prompt=PROMPT)
        with rig.unchanged():
            again = await rig.take(still(), prompt=PROMPT)
            assert (again.job_id, again.is_new) == (job, False)
        async with rig.crashing():
            await rig.until(job, "draw_processing")
        with rig.unchanged():
            await _repeat_the_posts_own_answer(rig)
        async with rig.crashing():
            rig.sandbox.script("file_5xx", times=2)
            await rig.until(job, "draw_collecting")
        with rig.unchanged():
            await _repeat_the_finished_poll(rig)
        await rig.work()
        assert await rig.state(job) == "complete"
        with rig.unchanged():
            await _repeat_the_posts_own_answer(rig)
            await _repeat_the_finished_poll(rig)
            await _repeat_the_delivery(rig)
            await _contradict_the_end(rig)
        events = await rig.events(job)
        assert len(events) == len(set(events))


async def test_the_same_id_attached_twice(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        rig.sandbox.script("accept_then_drop")
        job = await rig.order(still(), prompt=PROMPT)
        await rig.work()
        ref = rig.bought()[0]["id"]
        await people.attach(rig.parts, job, ref)
        with rig.unchanged(), pytest.raises(NotAllowedError):
            await people.attach(rig.parts, job, ref)
        await rig.work()
        assert await rig.state(job) == "complete"
        assert (await rig.events(job)).count("attempt.accepted") == 1


def _answer(ref: str) -> WireResult:
    receipt = SendReceipt(phase=SendPhase.BODY_READ, at_us={}, status=200)
    return WireResult(
        receipt=receipt, answer=Answer(status=200, headers={}, body=b'{"id": "%s"}' % ref.encode(), is_whole=True)
    )


async def _repeat_the_posts_own_answer(rig: Rig) -> None:
    attempt, ref = rig.look()["attempts"][0]["id"], rig.bought()[0]["id"]
    outcome = Accepted(ref=ref, locator="")
    await rig.act(record_outcome, rig.parts.adapters["reapi"], attempt, outcome, _answer(ref))


async def _repeat_the_finished_poll(rig: Rig) -> None:
    tables = rig.look()
    held = await rig.parts.database.read(leases.watched, tables["attempts"][0]["id"])
    await rig.act(record_finished, held, (tables["artifacts"][0]["address"],))


async def _repeat_the_delivery(rig: Rig) -> None:
    tables = rig.look()
    held = await rig.parts.database.read(leases.watched, tables["attempts"][0]["id"])
    file: Artifact = (await rig.parts.database.read(artifacts.list_of_attempt, held.attempt_id))[0]
    blob = tables["blobs"][0]
    measures = await rig.parts.decoder.measure(await rig.parts.blobs.local(blob["digest"]), timeout_s=10)
    assert isinstance(measures, Measures)
    checked = Checked(ordinal=file.ordinal, digest=blob["digest"], size_bytes=blob["size_bytes"], measures=measures)
    await rig.act(record_delivered, held, [checked])


async def _contradict_the_end(rig: Rig) -> None:
    """The provider's failed, when the file is ours already."""
    held = await rig.parts.database.read(leases.watched, rig.look()["attempts"][0]["id"])
    await rig.act(record_death, held, Died(code="generation_failed", message="", is_moderation=False, charged="no"))
