"""Accounts and people, quotes, budgets, allowances, stops, and what a provider says that it charged."""

from dataclasses import replace

import pytest

from onetake.domain.errors import (
    AlreadyCapturedError,
    AlreadyReleasedError,
    ExceedsHoldError,
    ForeignHoldError,
    NotAllowedError,
    NotEnoughCreditsError,
    NotFoundError,
)
from onetake.domain.events import HoldEvent, StepEvent
from onetake.domain.pricing import QuoteLine
from onetake.domain.states import Period, Role, StepState, StopKind, WaitReason
from onetake.domain.usage import UsageRecord
from onetake.store import (
    accounts,
    allowances,
    attempts,
    budgets,
    cases,
    charges,
    leases,
    ledger,
    ledger_check,
    quotes,
    recipes,
    steps,
    stops,
)
from onetake.store.budgets import Amount, Line, Place, Scope
from onetake.store.database import ConstraintError, Tx
from tests.store.shop import SECOND, Shop

EMBEDDED = accounts.EMBEDDED


# --- accounts and people


async def test_an_account_has_a_name_a_plan_and_the_people_that_were_let_in(shop: Shop) -> None:
    account = await shop.do(accounts.insert, shop.clock, name="studio", plan="credits", zone="Europe/Berlin")
    person = await shop.do(accounts.insert_person, shop.clock, "ada")
    assert await shop.do(accounts.insert_person, shop.clock, "ada") == person
    for _ in range(2):
        await shop.do(accounts.join, account, person, Role.OPERATOR)
    await shop.do(accounts.join, account, person, Role.ADMIN)
    assert await shop.see(accounts.roles_of, account, "ada") == {Role.OPERATOR, Role.ADMIN}
    assert await shop.see(accounts.roles_of, account, "ben") == frozenset()
    found = await shop.see(accounts.find_member, "studio", "ada")
    assert [(row["id"], row["plan"], row["role"]) for row in found] == [
        (account, "credits", "admin"),
        (account, "credits", "operator"),
    ]
    assert [row["role"] for row in await shop.see(accounts.find_member, account, "ben")] == [None]
    assert await shop.see(accounts.find_member, "nobody", "ada") == []
    assert [(row["name"], row["role"]) for row in await shop.see(accounts.list_people, account)] == [
        ("ada", "admin"),
        ("ada", "operator"),
    ]
    assert await shop.do(accounts.leave, account, "ada", Role.ADMIN)
    assert not await shop.do(accounts.leave, account, "ada", Role.ADMIN)
    with pytest.raises(ConstraintError):
        await shop.do(accounts.insert, shop.clock, name="studio", plan="none", zone="UTC")


async def test_an_account_may_change_its_plan_and_keeps_its_balance(shop: Shop) -> None:
    await shop.do(accounts.ensure_embedded)
    await shop.do(ledger.grant, shop.clock, EMBEDDED, 5, reason="r", actor="ada")
    await shop.do(accounts.change, EMBEDDED, plan="credits", zone="Asia/Tokyo")
    row = await shop.see(accounts.get, EMBEDDED)
    assert (row["plan"], row["zone"]) == ("credits", "Asia/Tokyo")
    assert await shop.see(accounts.find, "default") == row
    (listed,) = await shop.see(accounts.list_all)
    assert (listed["name"], listed["granted"], listed["available"]) == ("default", 5, 5)
    with pytest.raises(LookupError):
        await shop.see(accounts.get, "acc_0")


async def test_what_people_did_is_kept_newest_first(shop: Shop) -> None:
    await shop.do(accounts.record_act, shop.clock, "granted", "acc_1", actor="ada", data={"credits": 5})
    shop.clock.advance(1)
    await shop.do(accounts.record_act, shop.clock, "corrected", "hld_1", actor="ada", second_actor="ben")
    acts = await shop.see(accounts.list_acts, limit=5)
    assert [(row["act"], row["second_actor"], row["data"]) for row in acts] == [
        ("corrected", "ben", "{}"),
        ("granted", None, '{"credits":5}'),
    ]


# --- quotes


def _line(credits_: int = 4) -> QuoteLine:
    return QuoteLine(
        step_name="draw", output_name="still", ordinal=0, credits_max=credits_, spend_micros_max=9, currency="USD"
    )


async def test_a_quote_waits_is_found_by_its_account_and_accepted_once(shop: Shop) -> None:
    await shop.do(accounts.ensure_embedded)
    quoted = quotes.Quoted(
        account_id=EMBEDDED,
        recipe_hash="f0",
        request_hash="a1",
        price_version="p",
        consent_version="c1",
        expires_at=shop.clock.now_us() + SECOND,
    )
    await shop.do(quotes.insert, "qte_1", quoted, is_accepted=False)
    await shop.do(quotes.insert_request, "qte_1", recipe=("r", 2), inputs="{}", input_digests="{}", actor="ada")
    ids = await shop.do(quotes.insert_lines, shop.clock, "qte_1", [_line()])
    row = await shop.see(quotes.find, EMBEDDED, "qte_1")
    assert row is not None
    assert (row["recipe_name"], row["recipe_version"], row["consent_version"], row["job_id"]) == ("r", 2, "c1", None)
    assert await shop.see(quotes.find, "acc_of_another", "qte_1") is None
    lines = await shop.see(quotes.list_lines, "qte_1")
    assert quotes.lines_by_place(lines) == ids == {("draw", "still", 0): lines[0]["id"]}
    assert await shop.do(quotes.accept, "qte_1", consent_version="c1")
    assert not await shop.do(quotes.accept, "qte_1", consent_version="c1")


async def test_the_newest_version_of_a_recipe_is_found(shop: Shop) -> None:
    assert not await shop.see(recipes.is_known, "r")
    with pytest.raises(LookupError):
        await shop.see(recipes.get_newest, "r")
    for version in (2, 10, 3):
        await shop.do(
            recipes.record, name="r", version=version, digest=f"f{version}", content="{}", source=f"v{version}"
        )
    assert await shop.see(recipes.is_known, "r")
    assert await shop.see(recipes.get_newest, "r") == "v10"


# --- credits


async def test_what_is_not_there_can_not_be_taken(shop: Shop) -> None:
    await shop.do(accounts.ensure_embedded)
    with pytest.raises(NotEnoughCreditsError, match="up to 1 credits and 0 are available"):
        await shop.do(ledger.take, EMBEDDED, 1)
    await shop.do(ledger.grant, shop.clock, EMBEDDED, 5, reason="r", actor="ada")
    with pytest.raises(NotEnoughCreditsError):
        await shop.do(ledger.take, EMBEDDED, 6)
    assert await shop.see(ledger.get_balance, EMBEDDED) == {"granted": 5, "available": 5, "held": 0, "captured": 0}


async def test_entries_are_listed_with_their_job_newest_first(shop: Shop) -> None:
    order = await shop.order("k1", amount=70)
    other = await shop.order("k2", amount=5)
    (hold,) = order.holds["draw"]
    shop.clock.advance(5)
    assert await shop.do(ledger.close, shop.clock, hold, HoldEvent.CAPTURED, reason="delivered", actor="w1")
    entries = await shop.see(ledger.list_entries, EMBEDDED, job_id=order.job)
    assert [(row["kind"], row["source"], row["target"], row["amount"]) for row in entries] == [
        ("capture", "held", "captured", 70),
        ("hold", "available", "held", 70),
    ]
    assert {row["job_id"] for row in entries} == {order.job}
    assert len(await shop.see(ledger.list_entries, EMBEDDED)) == 5
    assert len(await shop.see(ledger.list_entries, EMBEDDED, limit=2)) == 2
    (listed,) = await shop.see(ledger.list_holds, order.job)
    assert (listed["id"], listed["amount"], listed["captured"], listed["reason"]) == (hold, 70, 70, "delivered")
    money = await shop.see(ledger.list_money, "SELECT id FROM jobs", {})
    assert {row["job_id"]: (row["held"], row["captured"]) for row in money} == {order.job: (0, 70), other.job: (5, 0)}


async def test_the_books_name_the_first_wrong_row(shop: Shop) -> None:
    async def faults() -> list[str]:
        return [table for table, _, _ in await shop.see(lambda tx: list(ledger_check.find_faults(tx)))]

    await shop.worker()
    done = await shop.order("done", amount=40)
    await shop.complete(done)
    order = await shop.order("k1", amount=70)
    assert await faults() == []
    counts = await shop.see(ledger_check.count)
    assert (counts["holds"], counts["entries"]) == (2, 5)
    wrongs = {
        "balances": "UPDATE balances SET granted = granted + 1, available = available + 1",
        "allowances": "UPDATE allowances SET amount_micros = 1 WHERE job_id = (SELECT id FROM jobs WHERE key = 'k1')",
    }
    for table, sql in wrongs.items():
        await shop.sql(sql)
        assert (await faults())[0] == table
        await shop.sql("UPDATE balances SET granted = 110, available = 0")
    await shop.sql(
        "INSERT INTO ledger_entries (id, account_id, kind, source, target, amount, hold_id, reason, actor, created_at)"
        " VALUES ('led_x', 'acc_default', 'capture', 'held', 'captured', 3, :hold, 'r', 'a', 1)",
        {"hold": order.holds["draw"][0]},
    )
    assert (await faults())[0] == "hold_closings"


async def test_a_hold_that_was_closed_too_early_or_not_at_all_is_named(shop: Shop) -> None:
    async def first() -> str:
        return (await shop.see(lambda tx: list(ledger_check.find_faults(tx))))[0][2]

    await shop.worker()
    early = await shop.order("early")
    await shop.do(ledger.close, shop.clock, early.holds["draw"][0], HoldEvent.RELEASED, reason="r", actor="w")
    assert "is closed, and its step is waiting" in await first()
    step = await shop.step(early)
    await shop.do(steps.advance, step, StepEvent.CANCELLED)
    assert await shop.see(lambda tx: list(ledger_check.find_faults(tx))) == []
    open_ = await shop.order("open")
    await shop.do(steps.advance, await shop.step(open_), StepEvent.CANCELLED)
    assert "is still open, its step is cancelled" in await first()


# --- budgets and allowances


async def _bounded(shop: Shop, scope: Scope) -> Line:
    return await shop.do(budgets.insert, shop.clock, scope, currency="USD", spend_micros_max=500, requests_max=None)


async def test_a_line_stands_once_for_a_scope_and_is_history_when_it_has_ended(shop: Shop) -> None:
    scope = Scope(campaign="*", provider="reapi", period=Period.DAY)
    line = await _bounded(shop, scope)
    assert await shop.see(budgets.find, scope) == line
    assert await shop.see(budgets.find, Scope()) is None
    with pytest.raises(ConstraintError):
        await _bounded(shop, scope)
    await shop.do(budgets.change, replace(line, spend_micros_max=700, requests_max=3))
    (changed,) = await shop.see(budgets.list_open)
    assert (changed.spend_micros_max, changed.requests_max, changed.scope) == (700, 3, scope)
    await shop.do(budgets.end, line.id)
    assert await shop.see(budgets.list_open) == []
    await _bounded(shop, scope)


async def test_what_stands_against_a_line_is_a_sum_for_each_place(shop: Shop) -> None:
    line = await _bounded(shop, Scope())
    here, there = Place(line_id=line.id, day="2026-12-01", campaign=""), Place(line_id=line.id, day="", campaign="a")
    assert await shop.see(budgets.get_use, here) == Amount()

    def use(tx: Tx) -> None:
        budgets.lock(tx, [line.id])
        budgets.add(tx, here, Amount(spend_micros=5, requests=1))
        budgets.add(tx, here, Amount(spend_micros=-2, requests=1))
        budgets.add(tx, there, Amount(spend_micros=7))

    await shop.do(use)
    assert await shop.see(budgets.get_use, here) == Amount(spend_micros=3, requests=2)
    assert [row["spend_micros"] for row in await shop.see(budgets.list_uses, line.id)] == [7, 3]
    await shop.do(budgets.put_uses, line.id, {("", ""): Amount(requests=9)})
    assert [(row["day"], row["requests"]) for row in await shop.see(budgets.list_uses, line.id)] == [("", 9)]


async def test_a_step_that_waits_for_a_line_is_listed_and_counted(shop: Shop) -> None:
    step = await shop.ready(await shop.order())
    assert not await shop.see(steps.is_any_without_budget)
    changes = {"waiting_for": WaitReason.BUDGET, "waiting_on": "bud_1"}
    await shop.do(steps.advance, step, StepEvent.PARKED, changes)
    (waiting,) = await shop.see(steps.list_without_budget, limit=5)
    assert (waiting.id, waiting.waiting_on) == (step.id, "bud_1")
    assert await shop.see(steps.is_any_without_budget)
    assert await shop.see(budgets.count_waiting, "bud_1") == 1
    await shop.do(steps.wait_on, waiting, "bud_2")
    (waiting,) = await shop.see(steps.list_without_budget, limit=5)
    await shop.do(steps.wait_on, waiting, "bud_2")
    assert await shop.see(budgets.count_waiting, "bud_2") == 1
    assert await shop.do(steps.advance, waiting, StepEvent.OPENED) is StepState.READY
    assert (await shop.see(steps.get, step.id)).waiting_on is None


async def test_an_allowance_is_reserved_with_its_job_and_settled_by_what_it_cost(shop: Shop) -> None:
    await shop.worker()
    order = await shop.order()
    (row,) = await shop.see(allowances.list_whole, job_ids=[order.job])
    assert (row["amount_micros"], row["reserved_at"], row["zone"], row["campaign"]) == (40_000, None, "UTC", "")
    assert await shop.see(allowances.list_whole) == []
    await shop.do(allowances.reserve, order.job)
    await shop.do(allowances.put_day, row["id"], "2026-12-01")
    assert [each["day"] for each in await shop.see(allowances.list_whole)] == ["2026-12-01"]
    assert [each["step"] for each in await shop.see(allowances.list_of_job, order.job)] == ["draw"]
    attempt = await shop.delivered(order)
    spent = await shop.see(allowances.find_spent, order.steps["draw"])
    assert spent is not None
    assert (spent["in_doubt"], spent["billed"], spent["spent"], bool(spent["has_lines"])) == (0, 1, 40_000, False)
    await shop.do(charges.note_cost, attempt.id, cost_micros=7, currency="USD")
    spent = await shop.see(allowances.find_spent, order.steps["draw"])
    assert spent is not None
    assert spent["spent"] == 7
    await shop.do(allowances.settle, row["id"], spend_micros=7, requests=1)
    (settled,) = await shop.see(allowances.list_whole, job_ids=[order.job])
    assert (settled["settled_micros"], settled["settled_requests"]) == (7, 1)


# --- stops


async def test_a_stop_stands_once_until_it_is_lifted(shop: Shop) -> None:
    stop = (StopKind.PROVIDER, "reapi")
    assert await shop.do(stops.set_, shop.clock, *stop, reason="locked", actor="w1")
    assert not await shop.do(stops.set_, shop.clock, *stop, reason="again", actor="ada")
    assert [(row["subject"], row["reason"]) for row in await shop.see(stops.list_open)] == [("reapi", "locked")]
    assert await shop.do(stops.lift, *stop, actor="ada")
    assert not await shop.do(stops.lift, *stop, actor="ada")
    assert await shop.see(stops.list_open) == []
    assert [row["lifted_by"] for row in await shop.see(stops.list_all)] == ["ada"]


# --- what the provider charged


def _record(ref: str = "task_1", at: int | None = None) -> UsageRecord:
    return UsageRecord(key=f"k_{ref}", ref=ref, model="m", amount_micros=5, currency="USD", charged_at=at)


async def test_a_charge_stands_once_and_is_matched_or_an_orphan(shop: Shop) -> None:
    await shop.worker()
    attempt = await shop.delivered(await shop.order())

    async def take_in() -> str | None:
        return await shop.do(
            charges.insert_import,
            shop.clock,
            provider="reapi",
            digest="d",
            name="n",
            records=[_record(at=1)],
            actor="ada",
        )

    import_id = await take_in()
    assert import_id is not None
    assert await take_in() is None
    charge = await shop.do(charges.insert, shop.clock, import_id, "reapi", _record())
    assert charge is not None
    assert await shop.do(charges.insert, shop.clock, import_id, "reapi", _record()) is None
    assert [row["from_at"] for row in await shop.see(charges.list_imports)] == [1]
    assert await shop.see(attempts.find_by_ref, provider_account="reapi", ref="task_1") == attempt.id
    assert await shop.see(attempts.find_by_ref, provider_account="reapi", ref="task_9") is None
    case_id = await shop.do(cases.open_alone, shop.clock, "orphan")  # type: ignore[arg-type]
    await shop.do(charges.put_case, charge, case_id)
    (orphan,) = await shop.see(charges.list_orphans, ref="task_1", provider="reapi")
    assert (orphan["case_id"], orphan["case_state"]) == (case_id, "open")
    assert [row["id"] for row in await shop.see(cases.list_alone)] == [case_id]
    bounds = {"from_us": 0, "until_us": shop.clock.now_us()}
    assert [row["id"] for row in await shop.see(charges.list_uncharged, "reapi", **bounds)] == [attempt.id]
    await shop.do(charges.match, charge, attempt.id)
    assert await shop.see(charges.list_orphans) == []
    assert await shop.see(charges.list_uncharged, "reapi", **bounds) == []
    assert [row["id"] for row in await shop.see(charges.list_of_attempt, attempt.id)] == [charge]
    assert (await shop.see(charges.find, "reapi", "k_task_1") or {})["attempt_id"] == attempt.id
    assert await shop.see(attempts.billed, attempt.id) == ("yes", "")
    with pytest.raises(LookupError):
        await shop.see(attempts.billed, "att_0")


async def test_a_job_that_has_ended_with_an_open_case_is_listed(shop: Shop) -> None:
    await shop.worker()
    attempt = await shop.complete(await shop.order())
    assert await shop.see(cases.list_ended_jobs) == []
    await shop.do(
        cases.open_,
        shop.clock,
        "charge",  # type: ignore[arg-type]
        job_id=attempt.job_id,
        step_id=attempt.step_id,
        attempt_id=attempt.id,
    )
    assert [row["id"] for row in await shop.see(cases.list_ended_jobs)] == [attempt.job_id]


async def test_each_wrong_closing_and_correction_has_its_own_error(shop: Shop) -> None:
    order = await shop.order("k1", amount=70)
    (hold,) = order.holds["draw"]

    async def settle(captured: int) -> None:
        await shop.do(
            ledger.settle,
            shop.clock,
            hold,
            account_id=EMBEDDED,
            job_id=order.job,
            captured=captured,
            reason="r",
            actor="ada",
        )

    async def correct(spent: int, hold_id: str = hold) -> int:
        return await shop.do(
            ledger.correct,
            shop.clock,
            hold_id,
            account_id=EMBEDDED,
            job_id=order.job,
            spent=spent,
            reason="r",
            actor="ada",
            second_actor="ben",
        )

    with pytest.raises(NotAllowedError, match="is still open"):
        await correct(1)
    with pytest.raises(ExceedsHoldError):
        await settle(71)
    await settle(30)
    with pytest.raises(AlreadyCapturedError):
        await settle(30)
    with pytest.raises(ExceedsHoldError):
        await correct(71)
    assert await correct(30) == 0
    assert await correct(10) == 20
    await shop.order("k2", amount=0)
    taken = await shop.see(ledger.get_balance, EMBEDDED)
    await shop.do(ledger.take, EMBEDDED, taken["available"])
    with pytest.raises(NotEnoughCreditsError, match="needs 60 credits and 0 are available"):
        await correct(70)
    with pytest.raises(NotFoundError):
        await correct(1, "hld_0")


async def test_a_released_hold_is_not_settled_and_a_foreign_one_is_not_touched(shop: Shop) -> None:
    order = await shop.order("k1", amount=70)
    (hold,) = order.holds["draw"]
    await shop.do(ledger.close, shop.clock, hold, HoldEvent.RELEASED, reason="r", actor="w")

    async def settle(account_id: str) -> None:
        whose = {"account_id": account_id, "job_id": order.job}
        await shop.do(ledger.settle, shop.clock, hold, **whose, captured=1, reason="r", actor="ada")

    with pytest.raises(AlreadyReleasedError):
        await settle(EMBEDDED)
    with pytest.raises(ForeignHoldError):
        await settle("acc_x")


async def test_credits_that_are_held_nowhere_can_not_be_closed(shop: Shop) -> None:
    (hold,) = (await shop.order("k1", amount=70)).holds["draw"]
    await shop.sql("UPDATE balances SET available = available + held, held = 0")
    with pytest.raises(ConstraintError):
        await shop.do(ledger.close, shop.clock, hold, HoldEvent.CAPTURED, reason="r", actor="w")


async def test_the_steps_of_a_stopped_recipe_are_not_offered(shop: Shop) -> None:
    await shop.ready(await shop.order())
    none: frozenset[str] = frozenset()
    assert len(await shop.see(leases.list_ready, limit=9, closed=none)) == 1
    assert await shop.see(leases.list_ready, limit=9, closed=none, stopped=frozenset({"r"})) == []


async def test_a_stop_that_holds_a_job_up_is_found(shop: Shop) -> None:
    order = await shop.order()
    await shop.ready(order)
    assert await shop.see(stops.find_of_job, order.job) is None
    for kind, subject in ((StopKind.PROVIDER, "reapi"), (StopKind.RECIPE, "r"), (StopKind.ACCOUNT, EMBEDDED)):
        await shop.do(stops.set_, shop.clock, kind, subject, reason="why", actor="ada")
        found = await shop.see(stops.find_of_job, order.job)
        assert found == {"kind": kind, "subject": subject, "reason": "why"}
        await shop.do(stops.lift, kind, subject, actor="ada")
