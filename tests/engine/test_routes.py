"""Case C007: a route whose answers are a gateway's pages takes no more sends for a while; the other one goes on."""

import asyncio
from pathlib import Path

from onetake.config import WorkerSettings
from onetake.domain.pacing import ROUTE_PAUSE_S, ROUTE_UNKNOWNS_MAX
from onetake.sandbox import SandboxOptions
from onetake.store import views
from tests.engine.keeping import Row
from tests.engine.recipes import still
from tests.engine.rig import Rig, rigged

PROMPT = "A gate that never opens"
FAULT = "accept_gateway_html"
LOOKS = 1000  # half a second apart; some hundred are usual


async def test_c007_after_some_gateway_pages_only_that_route_stops_and_one_probe_opens_it(tmp_path: Path) -> None:
    async with rigged(tmp_path, SandboxOptions(tiny=True, retry_after_s=20), concurrency=1) as rig:
        chain = await _clip_that_waits_20_s(rig)
        rig.sandbox.script(FAULT, route="image", times=ROUTE_UNKNOWNS_MAX + 1)
        jobs = [await rig.order(still(), prompt=f"{PROMPT} {number}") for number in range(15)]
        async with rig.crashing():
            await rig.until_told(chain, "attempt.accepted", 2)  # the clip, within the pause
            lost, waiting = await _by_state(rig, jobs)
            assert (len(lost), len(waiting)) == (ROUTE_UNKNOWNS_MAX, 15 - ROUTE_UNKNOWNS_MAX)
        [alarm] = _alarms(rig)
        assert (alarm["kind"], alarm["subject"], alarm["cleared_at"]) == ("route_paused", "reapi/image", None)
        assert f"{ROUTE_UNKNOWNS_MAX} sends in a row have an unknown outcome" in alarm["detail"]
        await _say_why_they_wait(rig, lost, waiting)
        async with rig.crashing():
            left = 14 - ROUTE_UNKNOWNS_MAX  # the first probe is among the lost
            assert await _when_lost(rig, jobs, ROUTE_UNKNOWNS_MAX + 1) == left
        rig.clock.leap(2 * ROUTE_PAUSE_S)
        await rig.work()
        lost, waiting = await _by_state(rig, jobs)
        assert (len(lost), waiting) == (ROUTE_UNKNOWNS_MAX + 1, [])
        assert len(rig.bought()) == 2 + 15
        assert [alarm["cleared_at"] is None for alarm in _alarms(rig)] == [False]
        for job in lost:
            view = await rig.view(job)
            assert (view["state"], view["money"]["open"]) == ("draw_submit_unknown", 1)


async def test_c007_the_pause_holds_for_every_worker_and_after_a_restart(tmp_path: Path) -> None:
    async with rigged(tmp_path, concurrency=1) as rig:
        rig.sandbox.script(FAULT, route="image", times=ROUTE_UNKNOWNS_MAX + 1)
        jobs = [await rig.order(still(), prompt=f"{PROMPT} {number}") for number in range(2 * ROUTE_UNKNOWNS_MAX)]
        async with rig.crashing():
            assert await _when_lost(rig, jobs, ROUTE_UNKNOWNS_MAX) == ROUTE_UNKNOWNS_MAX
        async with rig.crashing():
            await rig.clock.sleep(ROUTE_PAUSE_S / 2)
        assert rig.bill["totals"]["posts"] == ROUTE_UNKNOWNS_MAX
        rig.clock.leap(ROUTE_PAUSE_S)
        await rig.restart(rig.settings.model_copy(update={"worker": WorkerSettings(concurrency=8)}))
        async with rig.beside() as other:
            await asyncio.gather(rig.work(), rig.work(other))  # one probe, by one of the two
        assert rig.bill["totals"]["posts"] == ROUTE_UNKNOWNS_MAX + 1


async def test_c007_a_refusal_is_a_clear_answer_and_what_never_left_is_none(tmp_path: Path) -> None:
    async with rigged(tmp_path, concurrency=1) as rig:
        for fault in [FAULT] * (ROUTE_UNKNOWNS_MAX - 1) + ["refuse_4xx"]:
            rig.sandbox.script(fault)
            await rig.order(still(), prompt=f"{PROMPT} {len(rig.look()['jobs'])}")
            await rig.work()
        assert [(row["unknowns"], row["paused_until"]) for row in rig.look()["routes"]] == [(0, None)]
        assert _alarms(rig) == []


async def _clip_that_waits_20_s(rig: Rig) -> str:
    """A chain whose still stands, and whose clip may be sent in 20 seconds."""
    rig.sandbox.script("refuse_429", route="video")
    job = await rig.order(prompt="A river")
    async with rig.crashing():
        await rig.until_told(job, "attempt.later")
    return job


async def _by_state(rig: Rig, jobs: list[str]) -> tuple[list[str], list[str]]:
    """Those that are unknown, and those that are still ready."""
    states = {job: await rig.state(job) for job in jobs}
    picked = [[job for job in jobs if states[job] == state] for state in ("draw_submit_unknown", "draw_ready")]
    return picked[0], picked[1]


async def _when_lost(rig: Rig, jobs: list[str], count: int) -> int:
    """How many are still ready when so many are unknown."""
    for _ in range(LOOKS):
        lost, waiting = await _by_state(rig, jobs)
        if len(lost) == count:
            return len(waiting)
        await rig.clock.sleep(0.5)
    raise AssertionError(f"not {count} unknown")


def _alarms(rig: Rig) -> list[Row]:
    return rig.look()["alarms"]


async def _say_why_they_wait(rig: Rig, lost: list[str], waiting: list[str]) -> None:
    listed = {job["id"]: job["alarms"] for job in await rig.parts.database.read(views.list_jobs)}
    assert {job: listed[job] for job in waiting} == {job: ["route_paused"] for job in waiting}
    assert {job: listed[job] for job in lost} == {job: [] for job in lost}
    [alarm] = (await rig.view(waiting[0]))["alarms"]
    assert "nothing is sent there until" in alarm["detail"]
