"""The guards of a claim: what has waited too long isn't sent, and what turns out to be running isn't bought again."""

import asyncio
from pathlib import Path

from onetake.domain.answers import NotSent, Outcome
from onetake.engine import submitter
from onetake.engine.submitter import LEASE_MARGIN_S, Claim, Market
from onetake.store import models, workers
from onetake.store.database import Tx
from onetake.store.leases import Watched
from tests.engine.recipes import still
from tests.engine.rig import Rig, rigged

PROMPT = "A ticket that is punched once"
WORKER = "wrk_1"


async def test_a_claim_whose_first_byte_could_outlive_its_lease_is_not_sent(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        await rig.order(still(), prompt=PROMPT)
        claim = await _claim(rig)
        rig.clock.leap(LEASE_MARGIN_S + 0.001)
        outcome, _ = await _submit(rig, claim)
        assert isinstance(outcome, NotSent)
        assert rig.bill["totals"]["posts"] == 0
        [attempt] = rig.look()["attempts"]
        assert attempt["state"] == "not_sent"


async def test_a_claim_is_sent_up_to_the_last_moment(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        job = await rig.order(still(), prompt=PROMPT)
        claim = await _claim(rig)
        rig.clock.leap(LEASE_MARGIN_S)
        await _submit(rig, claim)
        assert rig.bill["totals"]["posts"] == 1
        await rig.work()
        assert await rig.state(job) == "complete"


async def test_a_ready_step_with_an_attempt_that_runs_adopts_it_and_buys_nothing(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        job = await rig.order(still(), prompt=PROMPT)
        async with rig.crashing():
            await rig.until(job, "draw_processing")
        await rig.parts.database.write(_reopen)
        assert await rig.state(job) == "draw_ready"
        await rig.work()
        assert await rig.state(job) == "complete"
        assert rig.bill["totals"]["posts"] == len(rig.bought()) == len(rig.look()["attempts"]) == 1


async def _claim(rig: Rig) -> Claim:
    """The one ready step, claimed by a worker that this test is."""
    await rig.parts.database.write(workers.insert, WORKER, "test", lease_us=3_600_000_000)
    offered = await rig.parts.database.read(models.find, "reapi", age_us_max=3_600_000_000)
    assert offered is not None
    market = Market(adapters=rig.parts.adapters, offered={"reapi": offered}, limit=1, started_s=rig.clock.monotonic_s())
    [claim] = await rig.parts.act(WORKER, submitter.claim, market)
    return claim


async def _submit(rig: Rig, claim: Claim) -> tuple[Outcome, Watched | None]:
    return await submitter.submit(rig.parts, claim, worker_id=WORKER, give_up=asyncio.Event(), on_sending=lambda: None)


def _reopen(tx: Tx) -> None:
    """As if something had made the step ready again, which nothing does."""
    tx.do("UPDATE steps SET state = 'ready'")
