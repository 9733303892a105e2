"""Budget lines: what crosses one isn't sent, waits with the line named, and goes on when there is room."""

import asyncio
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from onetake.config import AccountSettings
from onetake.domain.errors import BadValueError, NotFoundError
from onetake.domain.recipe_toml import parse_recipe
from onetake.domain.states import Period
from onetake.engine import bookkeeping, budgeting, spending
from onetake.engine.intake import accept
from onetake.engine.orders import prepare
from onetake.sandbox import SandboxOptions
from onetake.store import budgets
from onetake.store.budgets import Line, Scope
from tests.engine.lines import PRICE, SOURCE, TOTAL, bound, order, used
from tests.engine.recipes import clip_of, still
from tests.engine.rig import Rig, rigged

DEAR = "[steps.price]\nspend_micros_max = 1000\ncurrency = 'USD'\n"
CHAIN = still(PRICE).replace('name = "still"', 'name = "chain"', 1) + clip_of("still").replace(
    "[[steps.outputs]]", f"{DEAR}\n[[steps.outputs]]"
)
LARGE = still(DEAR).replace('name = "still"', 'name = "large"', 1)
TWICE = "[steps.replacement]\nreasons = ['provider_failed']\ncount_max = 1\n"


async def test_what_would_cross_a_line_waits_with_the_line_named_and_goes_on_with_room(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        line = await bound(rig, spend=250)
        jobs = [await order(rig, number) for number in range(4)]
        await rig.work()
        states = [await rig.state(job) for job in jobs]
        assert states.count("complete") == 2
        assert len(rig.bought()) == 2
        waiting = jobs[next(place for place, state in enumerate(states) if state != "complete")]
        (step,) = (await rig.view(waiting))["steps"]
        assert (step["state"], step["waiting_for"], step["waiting_on"]) == ("waiting", "budget", line.id)
        parked = [each["data"] for each in await rig.journal(waiting) if each["event"] == "step.parked"]
        assert len(parked) == 1
        assert f"it would cross the budget line {line.id} (everything: 0.00025 USD in all)" in parked[0]["why"]
        assert await used(rig, line) == [("", 200, 2)]
        same, is_new = await rig.act(budgeting.set_line, TOTAL, currency="USD", spend_micros_max=400, requests_max=None)
        assert (same.id, is_new) == (line.id, False)
        await rig.work()
        assert {await rig.state(job) for job in jobs} == {"complete"}
        assert await used(rig, line) == [("", 400, 4)]


async def test_a_whole_chain_is_reserved_before_its_first_send_replacements_included(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        line = await bound(rig, spend=1099)
        job = await order(rig, 1, CHAIN)
        await rig.work()
        assert (await rig.state(job), rig.bought()) == ("draw_waiting", [])
        await budgets_raised(rig, 1100)
        await rig.work()
        assert await rig.state(job) == "complete"
        assert await used(rig, line) == [("", 1100, 2)]


async def budgets_raised(rig: Rig, spend: int) -> None:
    """The line over everything, with another bound."""
    await bound(rig, spend=spend)


async def test_a_permitted_replacement_counts_until_it_is_not_needed(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        line = await bound(rig, spend=200)
        first = await order(rig, 1, still(PRICE + TWICE))
        async with rig.working():
            await rig.until_told(first, "attempt.submitting")
            assert await used(rig, line) == [("", 200, 2)]
            await rig.until(first, "complete")
        assert await used(rig, line) == [("", 100, 1)]


async def test_a_refusal_costs_nothing_and_an_unknown_stays_at_worst(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        line = await bound(rig, spend=1000)
        rig.sandbox.script("refuse_4xx")
        await order(rig, 1)
        await rig.work()
        assert await used(rig, line) == []
        rig.sandbox.script("accept_then_drop")
        await order(rig, 2)
        await rig.work()
        rig.clock.leap(30 * 86_400)
        await rig.work()
        assert await used(rig, line) == [("", 100, 1)]


async def test_a_day_line_has_room_again_the_next_day_of_the_account(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        await rig.act(bookkeeping.change_account, plan=None, zone="Pacific/Auckland")
        line = await bound(rig, Scope(period=Period.DAY), requests=1)
        jobs = [await order(rig, number) for number in range(2)]
        await rig.work()
        assert sorted([await rig.state(job) for job in jobs]) == ["complete", "draw_waiting"]
        rig.clock.leap(86_400)
        await rig.work()
        assert [await rig.state(job) for job in jobs] == ["complete"] * 2
        days = [day for day, _, _ in await used(rig, line)]
        assert len(days) == len(set(days)) == 2


async def test_each_day_that_runs_somewhere_is_listed_with_its_use(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        zones = {"default": "UTC", "east": "Pacific/Kiritimati", "west": "Etc/GMT+12"}
        for name in ("east", "west"):
            await rig.act(bookkeeping.create_account, name, plan="none", zone=zones[name])
        west = await bound(rig, Scope(account_id="west", period=Period.DAY), requests=1)
        line = await bound(rig, Scope(provider="reapi", period=Period.DAY), spend=1000)
        for name in zones:
            settings = rig.settings.model_copy(update={"account": AccountSettings(name=name)})
            made = prepare(parse_recipe(SOURCE, "t"), SOURCE, inputs={"prompt": f"Dune of {name}"})
            await replace(rig.parts, settings=settings).act("ada", accept, made)
        await rig.work()
        days = {name: spending.day_of(zone, rig.clock.now_us()) for name, zone in zones.items()}
        assert days["west"] < days["east"]  # 26 hours apart
        assert await running(rig, west) == [(days["west"], 1, ["Etc/GMT+12"])]
        uses = Counter(days.values())
        there = [(day, uses[day], sorted(zones[name] for name in days if days[name] == day)) for day in sorted(uses)]
        assert await running(rig, line) == there
        rig.clock.leap(3 * 86_400)
        assert [requests for _, requests, _ in await running(rig, line)] == [0] * len(await running(rig, line))
        assert len(await running(rig, west)) == 1


async def running(rig: Rig, line: Line) -> list[tuple[str, int, list[str]]]:
    """The days that run now: each with its requests and its zones."""
    rows = await rig.parts.database.read(spending.list_running, line)
    return [(row["day"], row["requests"], row["zones"]) for row in rows]


async def test_a_later_step_counts_on_the_day_of_its_own_dispatch_and_is_never_stranded(tmp_path: Path) -> None:
    async with rigged(tmp_path, SandboxOptions(tiny=True, retry_after_s=2 * 86_400)) as rig:
        line = await bound(rig, Scope(period=Period.DAY), spend=1100)
        rig.sandbox.script("refuse_429", route="video")
        chain = await order(
            rig, 1, CHAIN.replace("duration = 1", "duration = 1\n[steps.repeats]\nelapsed_s_max = 999999")
        )
        await rig.work()
        assert await rig.state(chain) == "move_ready"
        rig.clock.leap(2 * 86_400)
        filler = await order(rig, 2)
        await rig.work()
        assert await rig.state(chain) == "complete"
        assert await rig.state(filler) in ("complete", "draw_waiting")
        spent = {day: spend for day, spend, _ in await used(rig, line)}
        assert max(spent.values()) >= 1000
        assert len(spent) == 2


async def test_each_campaign_is_bound_by_itself_so_one_batch_cannot_eat_everything(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        line = await bound(rig, Scope(campaign="*"), requests=2)
        spring = [await order(rig, number, campaign="spring") for number in range(4)]
        other = [await order(rig, number + 10, campaign="autumn") for number in range(2)]
        free = await order(rig, 20)
        await rig.work()
        assert sorted([await rig.state(job) for job in spring]) == ["complete"] * 2 + ["draw_waiting"] * 2
        assert {await rig.state(job) for job in [*other, free]} == {"complete"}
        assert await used(rig, line) == [("autumn", 0, 2), ("spring", 0, 2)]


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
async def test_what_fits_is_sent_at_once_behind_a_hundred_that_do_not(kind: str, tmp_path: Path) -> None:
    async with rigged(tmp_path, kind=kind) as rig:
        line = await bound(rig, Scope(campaign="large"), spend=99)
        large = [await order(rig, number, campaign="large") for number in range(101)]
        small = await order(rig, 200)
        since_s = rig.clock.monotonic_s()
        async with rig.working():
            await rig.until_told(small, "attempt.submitting", every_s=0.01)
            assert rig.clock.monotonic_s() - since_s < 0.5  # no pause between those that were parked
            await rig.until(small, "complete")
        assert len(rig.bought()) == 1
        steps = [(await rig.view(job))["steps"][0] for job in large]
        assert {(step["state"], step["waiting_on"]) for step in steps} == {("waiting", line.id)}
        assert await rig.parts.database.read(budgets.count_waiting, line.id) == 101
        assert await used(rig, line) == []


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
async def test_a_small_job_that_waits_behind_a_hundred_large_ones_goes_on_with_room(kind: str, tmp_path: Path) -> None:
    async with rigged(tmp_path, kind=kind) as rig:
        line = await bound(rig, spend=0)
        large = [await order(rig, number, LARGE) for number in range(101)]
        small = await order(rig, 200)
        await rig.work()
        assert await rig.parts.database.read(budgets.count_waiting, line.id) == 102
        await bound(rig, spend=999)
        await rig.work()
        assert await rig.state(small) == "complete"
        assert await rig.state(large[0]) == "draw_waiting"
        assert await used(rig, line) == [("", 100, 1)]


async def test_a_step_names_the_line_that_holds_it_up_now(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        lines = {line.id for line in (await bound(rig, Scope(campaign="a"), requests=0), await bound(rig, requests=0))}
        job = await order(rig, 1, campaign="a")
        await rig.work()
        first = (await rig.view(job))["steps"][0]["waiting_on"]
        (second,) = lines - {first}
        await rig.act(budgeting.end_line, first)
        await rig.work()
        assert (await rig.view(job))["steps"][0]["waiting_on"] == second
        assert await rig.parts.database.read(budgets.count_waiting, second) == 1
        await rig.act(budgeting.end_line, second)
        await rig.work()
        assert await rig.state(job) == "complete"


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
async def test_two_workers_never_pass_a_line_together(kind: str, tmp_path: Path) -> None:
    async with rigged(tmp_path, kind=kind) as rig:
        line = await bound(rig, requests=5)
        for number in range(12):
            await order(rig, number)
        async with rig.beside() as other:
            await asyncio.gather(rig.work(), rig.work(other))
        assert len(rig.bought()) == 5
        assert await used(rig, line) == [("", 0, 5)]


async def test_a_new_line_counts_what_stands_already(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        for number in range(3):
            await order(rig, number)
        await rig.work()
        line = await bound(rig, Scope(provider="reapi", period=Period.DAY), spend=300)
        assert [each[1:] for each in await used(rig, line)] == [(300, 3)]
        waits = await order(rig, 9)
        await rig.work()
        assert await rig.state(waits) == "draw_waiting"
        await rig.act(budgeting.end_line, line.id)
        await rig.work()
        assert await rig.state(waits) == "complete"


async def test_a_line_in_another_currency_than_the_step_lets_nothing_through(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        await rig.act(budgeting.set_line, TOTAL, currency="EUR", spend_micros_max=10**9, requests_max=None)
        job = await order(rig, 1)
        await rig.work()
        assert (await rig.state(job), rig.bought()) == ("draw_waiting", [])


async def test_lines_that_meet_must_be_in_one_currency(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        line = await bound(rig, Scope(provider="reapi"), spend=100)
        with pytest.raises(BadValueError, match=f"Line {line.id} .* in USD, so EUR can't be added up"):
            await rig.act(
                budgeting.set_line, Scope(campaign="a"), currency="EUR", spend_micros_max=1, requests_max=None
            )
        with pytest.raises(BadValueError, match="bounds spend, requests or both"):
            await bound(rig)
        with pytest.raises(NotFoundError, match="There is no account"):
            await bound(rig, Scope(account_id="nobody"), requests=1)
        with pytest.raises(BadValueError, match="There is no provider"):
            await bound(rig, Scope(provider="nobody"), requests=1)
        with pytest.raises(NotFoundError, match="There is no budget line"):
            await rig.act(budgeting.end_line, "bud_0")
        assert [each.id for each in await rig.parts.database.read(budgets.list_open)] == [line.id]


async def test_a_bound_that_is_not_given_anew_stays_until_it_is_taken_away(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        line = await bound(rig, spend=100)
        both = await bound(rig, requests=5)
        assert both == replace(line, requests_max=5)
        for number in range(2):
            await order(rig, number)
        await rig.work()
        assert len(rig.bought()) == 1  # by the bound of spend
        assert await bound(rig, spend=150) == replace(both, spend_micros_max=150)
        with pytest.raises(BadValueError, match=f"Line {line.id} .* in USD, so EUR can't be added up"):
            await rig.act(budgeting.set_line, TOTAL, currency="EUR", spend_micros_max=1)
        only = await bound(rig, without="spend")
        assert only == replace(both, spend_micros_max=None, currency="")
        assert await used(rig, line) == [("", 0, 1)]
        await rig.work()
        assert len(rig.bought()) == 2
        with pytest.raises(BadValueError, match=f"would bound nothing any more: .* budgets end {line.id}"):
            await bound(rig, without="requests")
        with pytest.raises(BadValueError, match="There is no such line to take a bound from"):
            await bound(rig, Scope(provider="reapi"), without="spend")
        again, is_new = await rig.act(
            budgeting.set_line, TOTAL, currency="EUR", spend_micros_max=9, keeps_requests=False
        )
        assert (again, is_new) == (replace(line, currency="EUR", spend_micros_max=9), False)
        assert [each.id for each in await rig.parts.database.read(budgets.list_open)] == [line.id]


async def test_a_day_line_that_is_set_while_jobs_run_breaks_none_of_them(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        jobs = [await order(rig, number, CHAIN) for number in range(2)]
        async with rig.working():
            await rig.until(jobs[0], "draw_processing")
        line = await bound(rig, Scope(period=Period.DAY), spend=5000)
        ((_, reserved, _),) = await used(rig, line)
        assert reserved in (1100, 2200)
        await rig.work()
        assert [await rig.state(job) for job in jobs] == ["complete", "complete"]
        assert len(rig.bought()) == 4
        await used(rig, line)
