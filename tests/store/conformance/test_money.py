"""Holds are closed once, by appending, and what is held, captured and released adds up."""

import asyncio

import pytest

from onetake.domain.events import HoldEvent
from onetake.store import ledger
from tests.store.shop import Shop


async def close(shop: Shop, hold_id: str, event: HoldEvent) -> bool:
    return await shop.do(ledger.close, shop.clock, hold_id, event, reason="r", actor="w1")


@pytest.mark.parametrize(
    ("event", "captured", "released"), [(HoldEvent.CAPTURED, 120, 0), (HoldEvent.RELEASED, 0, 120)]
)
async def test_a_hold_is_captured_or_released_whole(shop: Shop, event: HoldEvent, captured: int, released: int) -> None:
    order = await shop.order(amount=120)
    assert await close(shop, order.holds["draw"][0], event)
    assert await shop.rows("SELECT * FROM hold_closings") == [
        {
            "hold_id": order.holds["draw"][0],
            "amount": 120,
            "captured": captured,
            "released": released,
            "reason": "r",
            "actor": "w1",
            "closed_at": shop.clock.now_us(),
        }
    ]


async def test_a_second_closing_changes_nothing(shop: Shop) -> None:
    (hold,) = (await shop.order(amount=120)).holds["draw"]
    assert await close(shop, hold, HoldEvent.RELEASED)
    before = await shop.rows("SELECT * FROM hold_closings")
    shop.clock.advance(1)
    for event in HoldEvent:
        assert not await close(shop, hold, event)
    assert await shop.rows("SELECT * FROM hold_closings") == before


async def test_of_closings_at_once_one_counts(shop: Shop) -> None:  # C049
    (hold,) = (await shop.order(amount=120)).holds["draw"]
    closings = await asyncio.gather(*(close(shop, hold, event) for event in list(HoldEvent) * 10))
    assert closings.count(True) == 1


async def test_a_hold_that_is_not_there_is_not_closed(shop: Shop) -> None:
    assert not await close(shop, "hld_0", HoldEvent.RELEASED)


async def test_the_money_of_a_job_adds_up(shop: Shop) -> None:
    order, other = await shop.order("k1", outputs=3, amount=70), await shop.order("k2", amount=5)
    nothing = await shop.see(ledger.money_of_job, "job_0")
    assert nothing == {"holds": 0, "quoted": 0, "held": 0, "open": 0, "captured": 0, "released": 0}
    whole = await shop.see(ledger.money_of_job, order.job)
    assert whole == {"holds": 3, "quoted": 210, "held": 210, "open": 3, "captured": 0, "released": 0}
    first, second, _ = order.holds["draw"]
    await close(shop, first, HoldEvent.CAPTURED)
    await close(shop, second, HoldEvent.RELEASED)
    parted = await shop.see(ledger.money_of_job, order.job)
    assert parted == {"holds": 3, "quoted": 210, "held": 70, "open": 1, "captured": 70, "released": 70}
    assert (await shop.see(ledger.money_of_job, other.job))["held"] == 5


async def test_a_hold_is_told_with_what_became_of_it(shop: Shop) -> None:
    order = await shop.order(amount=120)
    (hold,) = order.holds["draw"]
    whose = {"amount": 120, "account_id": "acc_default", "job_id": order.job}
    assert await shop.see(ledger.get_hold, hold) == {**whose, "captured": None, "released": None}
    await close(shop, hold, HoldEvent.RELEASED)
    assert await shop.see(ledger.get_hold, hold) == {**whose, "captured": 0, "released": 120}


async def test_without_a_credit_plan_the_same_path_holds_nothing(shop: Shop) -> None:
    (hold,) = (await shop.order(amount=0)).holds["draw"]
    assert await close(shop, hold, HoldEvent.CAPTURED)
    assert not await close(shop, hold, HoldEvent.CAPTURED)


async def test_an_order_writes_its_quote_its_prices_and_its_worst_case(shop: Shop) -> None:
    order = await shop.order(outputs=2, amount=7)
    (quote,) = await shop.rows("SELECT account_id, recipe_hash, request_hash, created_at, accepted_at FROM quotes")
    now = shop.clock.now_us()
    assert quote == {
        "account_id": "acc_default",
        "recipe_hash": "f0",
        "request_hash": "a1",
        "created_at": now,
        "accepted_at": now,
    }
    lines = await shop.rows("SELECT step_name, ordinal, credits_max, spend_micros_max, currency FROM quote_lines")
    assert sorted(line.pop("ordinal") for line in lines) == [0, 1]
    assert lines == [{"step_name": "draw", "credits_max": 7, "spend_micros_max": 40_000, "currency": "USD"}] * 2
    (allowance,) = await shop.rows("SELECT step_id, provider, currency, amount_micros, requests FROM allowances")
    assert allowance == {
        "step_id": order.steps["draw"],
        "provider": "reapi",
        "currency": "USD",
        "amount_micros": 40_000,
        "requests": 1,
    }
