"""Several files of one attempt: each is filled as it is found; a dead address holds up nothing but itself."""

import hashlib
import itertools
from collections import Counter
from pathlib import Path

import pytest

from onetake.domain.states import CaseKind
from onetake.engine import collector, people, poller
from onetake.engine.schedule import Watch
from onetake.sandbox.pictures import picture
from onetake.store import leases
from onetake.store.leases import Watched
from tests.engine.front import Front, fronted
from tests.engine.recipes import still, stills
from tests.engine.rig import HOUR_S, Rig, rigged

PROMPT = "Three boats in the harbour"
THREE = stills(asked=3, expected=3)


@pytest.mark.parametrize("dead", [0, 1, 2])
async def test_good_files_fill_while_one_address_is_dead_for_hours(tmp_path: Path, dead: int) -> None:
    async with rigged(tmp_path) as rig, fronted(rig) as front:
        front.refused[dead] = 503
        job = await rig.order(THREE, prompt=PROMPT)
        await rig.work()
        for _ in range(3):
            rig.clock.leap(HOUR_S)
            await rig.work()
        view = await rig.view(job)
        assert (view["state"], view["filled"], view["money"]["open"]) == ("draw_collecting", 2, 1)
        assert [row["state"] for row in view["outputs"]].index("missing") == dead
        assert {row["digest"] for row in view["outputs"]} < {None, *rig.bought()[0]["sha256"]}
        front.refused.clear()
        async with rig.working():
            await rig.until(job, "complete", every_s=2)
        view = await rig.view(job)
        assert [row["digest"] for row in view["outputs"]] == rig.bought()[0]["sha256"]
        assert {place: times for place, times in front.fetched.items() if place != dead} == Counter(
            {place: 1 for place in range(3) if place != dead}
        )
        assert rig.bill["totals"]["posts"] == 1


async def test_a_death_between_two_files_loses_nothing_and_fetches_nothing_twice(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig, fronted(rig) as front:
        front.refused[2] = 503
        job = await rig.order(THREE, prompt=PROMPT)
        async with rig.crashing():
            await rig.until_told(job, "step.filled", 2)
        assert (await rig.view(job))["filled"] == 2
        front.refused.clear()
        await rig.work()
        assert await rig.state(job) == "complete"
        assert (front.fetched[0], front.fetched[1]) == (1, 1)
        (delivered,) = [line for line in await rig.journal(job) if line["event"] == "attempt.delivered"]
        assert (len(delivered["data"]["files"]), delivered["data"]["filled"]) == (1, 3)


@pytest.mark.parametrize("status", [403, 410, 503])
async def test_extra_files_never_block_a_job(tmp_path: Path, status: int) -> None:
    async with rigged(tmp_path) as rig, fronted(rig) as front:
        front.refused |= {1: status, 2: status}
        job = await rig.order(stills(asked=3, expected=1), prompt=PROMPT)
        tables = await rig.work()
        view = await rig.view(job)
        assert (view["state"], view["filled"], view["alarms"], view["cases"]) == ("complete", 1, [], [])
        assert [(row["ordinal"], row["state"]) for row in tables["artifacts"]] == [
            (0, "verified"),
            (1, "fetching"),
            (2, "fetching"),
        ]
        assert front.fetched == Counter({0: 1, 1: 1, 2: 1})


async def test_an_extra_file_that_is_not_like_the_others_is_nobodys_doubt(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig, fronted(rig) as front:
        front.refused[0] = 503  # so that the other one is looked at again and again
        job = await rig.order(stills(asked=2, expected=1), prompt=PROMPT)
        async with rig.crashing():
            await rig.until(job, "draw_processing")
            await rig.sandbox.settled()
            _spoil(rig, place=1)
        async with rig.working():
            await rig.meanwhile(lambda: _is_fetched(front, 4))
            front.refused.clear()
            await rig.until(job, "complete", every_s=2)
        view = await rig.view(job)
        assert (view["state"], view["cases"]) == ("complete", [])


async def test_a_file_that_is_not_what_was_ordered_holds_up_no_good_one_and_is_not_forgotten(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig, fronted(rig) as front:
        front.refused[2] = 503
        job = await rig.order(THREE, prompt=PROMPT)
        async with rig.crashing():
            await rig.until(job, "draw_processing")
            await rig.sandbox.settled()
            _spoil(rig, place=0)
        await rig.work()
        view = await rig.view(job)
        assert (view["filled"], [case["kind"] for case in view["cases"]]) == (1, ["output_rejected"])
        front.refused.clear()
        async with rig.working():
            await rig.until_told(job, "step.filled", 2, every_s=2)
        view = await rig.view(job)
        assert (view["state"], view["status"], view["filled"]) == ("draw_collecting", "needs_review", 2)
        assert view["money"]["open"] == 1  # what is in doubt stays held


async def test_a_dead_address_is_renewed_at_once(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig, fronted(rig) as front:
        front.refused[0] = 410
        job = await rig.order(still(), prompt=PROMPT)
        async with rig.working():
            await rig.meanwhile(lambda: _is_fetched(front, 2))
            front.refused.clear()
            await rig.until(job, "complete")
        assert len(set(front.named)) == len(front.named)  # each try had an address of its own


async def test_a_stubborn_address_is_renewed_after_some_failures_and_not_before(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig, fronted(rig) as front:
        front.refused[0] = 503
        job = await rig.order(still(), prompt=PROMPT)
        async with rig.working():
            await rig.meanwhile(lambda: _is_fetched(front, collector.ALARM_AFTER + 1))
            front.refused.clear()
            await rig.until(job, "complete", every_s=2)
        first, fresh = front.named[: collector.ALARM_AFTER], front.named[collector.ALARM_AFTER]
        assert len(set(first)) == 1
        assert fresh not in first


async def test_old_addresses_get_another_try_while_the_provider_can_not_name_new_ones(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig, fronted(rig) as front:
        front.refused[0] = 503
        job = await rig.order(still(), prompt=PROMPT)
        async with rig.crashing():
            await rig.until(job, "draw_collecting")
            front.unknown = {rig.bought()[0]["id"]}  # the provider has forgotten the task; its storage comes back
            await rig.meanwhile(lambda: _is_fetched(front, collector.ALARM_AFTER))
            front.refused.clear()
            await rig.until(job, "complete", every_s=2)
        assert {case["state"] for case in (await rig.view(job))["cases"]} <= {"settled"}


@pytest.mark.parametrize("status", [403, 404, 410])
async def test_addresses_that_are_refused_for_good_become_a_case_and_are_tried_on(tmp_path: Path, status: int) -> None:
    async with rigged(tmp_path) as rig, fronted(rig) as front:
        front.refused[1] = status
        job = await rig.order(THREE, prompt=PROMPT)
        async with rig.working():
            await rig.until_told(job, "case.opened", every_s=2)
            view = await rig.view(job)
            assert (view["state"], view["status"], view["filled"]) == ("draw_collecting", "needs_review", 2)
            assert [(case["kind"], case["state"]) for case in view["cases"]] == [("no_output", "open")]
            tried = front.fetched[1]
            assert tried == collector.REFUSALS_MAX + 1  # the first one and as many fresh ones
            await rig.clock.sleep(HOUR_S)
            assert tried + 5 < front.fetched[1] < tried + 200  # on, and seldom
            assert [row["kind"] for row in rig.look()["cases"]] == ["no_output"]
            assert len(rig.look()["evidence"]) == 1
            front.refused.clear()
            await rig.until(job, "complete", every_s=5)
        assert [case["state"] for case in (await rig.view(job))["cases"]] == ["settled"]
        assert rig.bill["totals"]["posts"] == 1


async def test_words_that_change_are_no_row_of_refusals(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig, fronted(rig) as front:
        front.refused[0] = itertools.cycle((403, 404))
        job = await rig.order(still(), prompt=PROMPT)
        async with rig.working():
            await rig.meanwhile(lambda: _is_fetched(front, 3 * collector.REFUSALS_MAX))
            assert (await rig.view(job))["cases"] == []


async def test_resume_asks_for_fresh_addresses_and_downloads_anew(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig, fronted(rig) as front:
        front.refused[1] = 503
        job = await rig.order(THREE, prompt=PROMPT)
        await rig.work()
        front.refused.clear()
        tried, polled = len(front.named), sum(front.polled.values())
        resumed = await rig.act(people.resume, job)
        assert (resumed.polls, resumed.files, resumed.steps) == (1, 1, 0)
        await rig.work()
        assert await rig.state(job) == "complete"
        assert sum(front.polled.values()) == polled + 1
        (fresh,) = front.named[tried:]
        assert fresh not in front.named[:tried]
        assert rig.bill["totals"]["posts"] == 1


async def test_resume_downloads_anew_from_the_same_address_if_that_is_what_the_provider_names(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        rig.sandbox.script("file_5xx", times=1000)
        job = await rig.order(still(), prompt=PROMPT)
        await rig.work()
        (same,) = [row["address"] for row in rig.look()["artifacts"]]
        await rig.act(people.resume, job)
        held = await _leased(rig)
        assert await rig.act(poller.record_finished, held, (same,)) is True  # worth a download
        assert await rig.act(poller.record_finished, held, (same,)) is False


async def test_resume_with_a_silent_provider_tries_what_it_has(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig, fronted(rig) as front:
        front.refused[0] = 503
        job = await rig.order(still(), prompt=PROMPT)
        await rig.work()
        front.refused.clear()
        front.unknown = {rig.bought()[0]["id"]}
        await rig.act(people.resume, job)
        async with rig.working():
            await rig.until(job, "complete", every_s=2)


async def test_resume_says_nothing_of_files_that_a_person_must_judge(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        rig.sandbox.script("file_lying", times=2)
        job = await rig.order(still(), prompt=PROMPT)
        await rig.work()
        resumed = await rig.act(people.resume, job)
        assert (resumed.polls, resumed.files) == (0, 0)


@pytest.mark.parametrize("fault", ["", "file_lying", "file_5xx", "file_expired"])
async def test_a_worker_whose_lease_was_taken_over_changes_nothing_by_what_it_fetched(
    tmp_path: Path, fault: str
) -> None:
    """Its downloads go on to their end, with whatever they bring, as often as it takes to be said."""
    async with rigged(tmp_path) as rig:
        stale = await _overtaken(rig)
        if fault:
            rig.sandbox.script(fault, times=1000)
        watch = Watch(held=stale)
        with rig.unchanged():
            for _ in range(collector.REFUSALS_MAX + 2):
                watch.renewals += 1
                await collector.collect(rig.parts, watch)
        rig.sandbox._provider.plan.scripts.clear()


async def test_each_thing_that_a_collector_records_is_fenced(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        stale = await _overtaken(rig)
        digest = hashlib.sha256(b"anything").hexdigest()
        incoming = rig.parts.blobs.incoming("test")
        incoming.write_bytes(b"anything")
        await rig.parts.blobs.keep(incoming, digest)
        rejected = collector.Rejected(ordinal=0, digest=digest, size_bytes=8, measures=None, reason="not a picture")
        with rig.unchanged():
            assert await rig.act(collector.record_rejected, stale, rejected) is False
            assert await rig.act(collector.record_filled, stale, []) is False
            assert await rig.act(collector.record_delivered, stale, []) is None
            await rig.act(poller.record_case, stale, CaseKind.NO_OUTPUT, {})
        # Its successor may, so it was the token that held it back.
        assert await rig.act(collector.record_rejected, await _leased(rig), rejected) is True
        assert [row["state"] for row in rig.look()["artifacts"]] == ["rejected", "fetching"]


async def test_what_was_delivered_is_not_filled_again(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        await rig.order(still(), prompt=PROMPT)
        await rig.work()
        with rig.unchanged():
            assert await rig.act(collector.record_filled, await _leased(rig), []) is False


async def _overtaken(rig: Rig) -> Watched:
    """The lease of a worker on two files to be fetched, and then another's lease on them."""
    rig.sandbox.script("file_5xx", times=1000)
    job = await rig.order(stills(asked=2, expected=2), prompt=PROMPT)
    async with rig.crashing():
        await rig.until(job, "draw_collecting")
    rig.sandbox._provider.plan.scripts.clear()
    stale = await rig.parts.database.read(leases.watched, rig.look()["attempts"][0]["id"])
    await rig.act(people.resume, job)  # takes it from whoever held it
    return stale


async def _leased(rig: Rig) -> Watched:
    return await rig.parts.database.read(leases.watched, rig.look()["attempts"][0]["id"])


async def _is_fetched(front: Front, times: int) -> bool:
    return front.fetched[0] >= times


def _spoil(rig: Rig, *, place: int) -> None:
    """Put another file in an output's place, whole but of another size: what a provider mixes up."""
    (task,) = rig.sandbox._provider.bill.tasks.values()
    rig.sandbox._provider.studio.path(task.file_name(place)).write_bytes(picture(PROMPT, 48, 48, task.id))
