"""How much is in flight and how fast it is sent: what is set holds for all workers together."""

import asyncio
from dataclasses import replace
from pathlib import Path

from onetake.config import AccountSettings
from onetake.domain.recipe_toml import parse_recipe
from onetake.domain.states import Role
from onetake.engine.intake import accept
from onetake.engine.orders import prepare
from onetake.engine.turn import Turn
from onetake.store import accounts
from tests.engine.keeping import Tables
from tests.engine.recipes import apart, still
from tests.engine.rig import Rig, rigged

SECOND = 1_000_000


async def _limited(rig: Rig, **limits: int) -> None:
    provider = rig.settings.providers["reapi"].model_copy(update=limits)
    await rig.restart(rig.settings.model_copy(update={"providers": {"reapi": provider}}))


def _most_at_once(rows: Tables) -> int:
    """The most attempts that were asked for or being made at a time."""
    ends = {
        (line["job_id"], line["step"]): line["at"] for line in rows["journal"] if line["event"] == "attempt.finished"
    }
    names = {step["id"]: step["name"] for step in rows["steps"]}
    spans = [(each["created_at"], ends[each["job_id"], names[each["step_id"]]]) for each in rows["attempts"]]
    return max(sum(bool(began <= moment < ended) for began, ended in spans) for moment, _ in spans)


async def test_no_more_is_in_flight_than_the_provider_account_may_have_by_all_workers(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        await _limited(rig, in_flight_max=2)
        jobs = [await rig.order(still(), prompt=f"A hill {number}") for number in range(7)]
        async with rig.beside() as other:
            await asyncio.gather(rig.work(), rig.work(other))
        assert {await rig.state(job) for job in jobs} == {"complete"}
        assert _most_at_once(rig.look()) == 2


async def test_without_a_limit_all_are_in_flight_at_once(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        for number in range(7):
            await rig.order(still(), prompt=f"A hill {number}")
        assert _most_at_once(await rig.work()) == 7


async def test_no_minute_sees_more_sends_than_the_rate_by_all_workers(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        await _limited(rig, sends_per_minute=6)
        jobs = [await rig.order(still(), prompt=f"A dune {number}") for number in range(14)]
        async with rig.beside() as other:
            await asyncio.gather(rig.work(), rig.work(other))
        assert {await rig.state(job) for job in jobs} == {"complete"}
        sent = sorted(attempt["created_at"] for attempt in rig.look()["attempts"])
        assert max(sum(first <= each < first + 60 * SECOND for each in sent) for first in sent) == 6


async def test_the_rate_is_kept_over_a_restart(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        await _limited(rig, sends_per_minute=1)
        jobs = [await rig.order(still(), prompt=f"A reef {number}") for number in range(2)]
        async with rig.crashing():
            await rig.until_told(jobs[0], "attempt.accepted")
        await rig.work()
        first, second = sorted(attempt["created_at"] for attempt in rig.look()["attempts"])
        assert second - first > 60 * SECOND


async def test_an_account_at_its_limit_waits_and_another_one_goes_first(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        await rig.restart(rig.settings.model_copy(update={"account": AccountSettings(in_flight_max=2)}))
        large = [await rig.order(apart(), day=f"A bay {number}", night="Stars") for number in range(4)]
        large.append(await rig.order(still(), prompt="A cape"))
        small = await _order_as(rig, "acc_small", still(), prompt="A cove")
        rows = await rig.work()
        assert {job["state"] for job in rows["jobs"]} == {"complete"}
        order = [attempt["job_id"] for attempt in sorted(rows["attempts"], key=lambda each: int(each["created_at"]))]
        assert order.index(small) <= 2
        of_large = {name: [row for row in rows[name] if row.get("job_id") != small] for name in ("attempts", "journal")}
        assert _most_at_once({**rows, **of_large}) == 2


async def _order_as(rig: Rig, account: str, source: str, **inputs: object) -> str:
    """The id of an order of another account than the embedded one, in which `ada` is an owner as well."""
    order = prepare(parse_recipe(source, "test.toml"), source, inputs=inputs, key=None)

    def make(turn: Turn) -> str:
        account_id = accounts.insert(turn.tx, turn.clock, name=account, plan="none", zone="UTC")
        accounts.join(turn.tx, account_id, accounts.insert_person(turn.tx, turn.clock, "ada"), Role.OWNER)
        return accept(replace(turn, account=account), order).job_id

    return await rig.act(make)
