"""Jobs, their steps and their journal: one job a key, moves by compare-and-set, lines in the order of commits."""

import asyncio
from dataclasses import replace
from decimal import Decimal

import pytest

from onetake.domain.canonical import encode
from onetake.domain.errors import RecipeError
from onetake.domain.events import JobEvent, StepEvent
from onetake.domain.jsonvalue import Json
from onetake.domain.states import JobState, StepState, WaitReason
from onetake.domain.transitions import ImpossibleError
from onetake.store import accounts, jobs, journal, models, recipes, steps
from onetake.store.database import ConstraintError
from tests.store.shop import SECOND, Shop

# --- jobs


async def test_a_job_is_found_by_its_account_and_key_or_id(shop: Shop) -> None:
    order = await shop.order("a key: / é 🎬")
    row = await shop.see(jobs.get, order.job)
    assert (row["key"], row["state"], row["expected"], row["filled"]) == ("a key: / é 🎬", "open", 1, 0)
    assert await shop.see(jobs.find_by_key, accounts.EMBEDDED, order.key) == row
    for name in (order.job, order.key):
        assert await shop.see(jobs.find, accounts.EMBEDDED, name) == row
        assert await shop.see(jobs.find, "acc_other", name) is None  # L11
    assert await shop.see(jobs.find, accounts.EMBEDDED, "no such job") is None


async def test_an_account_has_one_job_under_a_key(shop: Shop) -> None:
    orders = await asyncio.gather(*(shop.order("same") for _ in range(10)), return_exceptions=True)
    assert sum(not isinstance(order, BaseException) for order in orders) == 1
    assert sum(isinstance(order, ConstraintError) for order in orders) == 9
    assert len(await shop.rows("SELECT id FROM jobs")) == 1
    assert len(await shop.rows("SELECT id FROM holds")) == 1


async def test_two_accounts_may_use_the_same_key(shop: Shop) -> None:  # C119
    order = await shop.order("campaign-1")
    await shop.sql("INSERT INTO accounts (id, name, created_at) VALUES ('acc_b', 'b', 1)")
    await shop.sql(
        "INSERT INTO quotes (id, account_id, recipe_hash, request_hash, created_at)"
        " VALUES ('qte_b', 'acc_b', 'f', 'a', 1)"
    )
    await shop.sql(
        "INSERT INTO jobs (id, account_id, key, quote_id, recipe_name, recipe_version, recipe_hash, request_hash,"
        " state, expected, created_at, updated_at) SELECT 'job_b', 'acc_b', key, 'qte_b', recipe_name,"
        " recipe_version, recipe_hash, 'other', 'open', 1, 1, 1 FROM jobs"
    )
    mine = await shop.see(jobs.find_by_key, accounts.EMBEDDED, "campaign-1")
    other = await shop.see(jobs.find_by_key, "acc_b", "campaign-1")
    assert mine is not None
    assert other is not None
    assert (mine["id"], other["id"]) == (order.job, "job_b")


async def test_the_inputs_read_back_exactly(shop: Shop) -> None:
    inputs: dict[str, Json] = {"n": 2**80, "s": Decimal("0.1"), "t": "é\u2028🎬", "l": [True, None, {}]}
    order = await shop.order(inputs=encode(inputs).decode())
    assert await shop.see(jobs.get_inputs, order.job) == inputs


async def test_inputs_that_are_no_object_are_a_bug(shop: Shop) -> None:
    order = await shop.order(inputs="[]")
    with pytest.raises(TypeError, match=order.job):
        await shop.see(jobs.get_inputs, order.job)


async def test_a_job_ends_once(shop: Shop) -> None:
    row = await shop.see(jobs.get, (await shop.order()).job)
    shop.clock.advance(5)
    assert await shop.do(jobs.advance, row, JobEvent.FAILED, category="provider") is JobState.FAILED
    assert await shop.do(jobs.advance, row, JobEvent.CANCELLED) is None  # read before: too late
    ended = await shop.see(jobs.get, row["id"])
    assert (ended["state"], ended["error_category"], ended["completed_at"]) == (
        "failed",
        "provider",
        shop.clock.now_us(),
    )
    assert await shop.do(jobs.advance, ended, JobEvent.CANCELLED) is None  # read after: a repeat
    assert (await shop.see(jobs.get, row["id"])) == ended


async def test_a_job_that_fell_short_has_no_end_yet(shop: Shop) -> None:
    row = await shop.see(jobs.get, (await shop.order()).job)
    assert await shop.do(jobs.advance, row, JobEvent.FELL_SHORT) is JobState.INCOMPLETE
    incomplete = await shop.see(jobs.get, row["id"])
    assert incomplete["completed_at"] is None
    assert await shop.do(jobs.advance, incomplete, JobEvent.REPAIRED) is JobState.OPEN


async def test_complete_is_refused_with_an_output_missing(shop: Shop) -> None:
    row = await shop.see(jobs.get, (await shop.order(outputs=2)).job)
    await shop.do(jobs.count_filled, row["id"])
    with pytest.raises(ConstraintError, match="jobs_complete"):
        await shop.do(jobs.advance, row, JobEvent.COMPLETED)
    await shop.do(jobs.count_filled, row["id"])
    assert await shop.do(jobs.advance, row, JobEvent.COMPLETED) is JobState.COMPLETE
    with pytest.raises(ConstraintError, match="jobs"):
        await shop.do(jobs.count_filled, row["id"])


async def test_a_job_is_asked_to_cancel_once(shop: Shop) -> None:
    order = await shop.order()
    assert not await shop.see(jobs.is_cancel_requested, order.job)
    assert await shop.do(jobs.request_cancel, order.job)
    asked_at = shop.clock.now_us()
    shop.clock.advance(1)
    assert not await shop.do(jobs.request_cancel, order.job)
    assert await shop.see(jobs.is_cancel_requested, order.job)
    assert (await shop.see(jobs.get, order.job))["cancel_requested_at"] == asked_at


async def test_a_job_that_ended_is_not_cancelled(shop: Shop) -> None:
    await shop.worker()
    order = await shop.order()
    await shop.complete(order)
    assert not await shop.do(jobs.request_cancel, order.job)


async def test_a_manifest_is_sealed_once(shop: Shop) -> None:
    order = await shop.order()
    await shop.do(jobs.seal, order.job, content='{"a":1}', digest="d1")
    with pytest.raises(ConstraintError, match="manifests"):
        await shop.do(jobs.seal, order.job, content='{"a":2}', digest="d2")
    sealed = {"content": '{"a":1}', "hash": "d1", "sealed_at": shop.clock.now_us()}
    assert await shop.see(jobs.find_manifest, order.job) == sealed
    assert await shop.see(jobs.find_manifest, "job_0") is None


# --- steps


async def test_a_step_waits_until_it_is_opened(shop: Shop) -> None:
    order = await shop.order("k", "draw", "move")
    step = await shop.step(order)
    assert (step.state, step.waiting_for, step.request_hash) == (StepState.WAITING, WaitReason.NEEDS, None)
    ready = await shop.ready(order)
    assert (ready.state, ready.waiting_for, ready.request_hash) == (StepState.READY, None, "c3")
    assert ready.version == step.version + 1
    assert [each.name for each in await shop.see(steps.list_of_job, order.job)] == ["draw", "move"]
    with pytest.raises(LookupError, match="stp_0"):
        await shop.see(steps.get, "stp_0")


async def test_a_step_opens_only_with_a_frozen_request(shop: Shop) -> None:  # L5
    step = await shop.step(await shop.order())
    with pytest.raises(ConstraintError, match="steps_frozen"):
        await shop.do(steps.advance, step, StepEvent.OPENED)


@pytest.mark.parametrize("stale", ["version", "state"])
async def test_a_writer_that_read_an_older_step_changes_nothing(shop: Shop, stale: str) -> None:  # L14
    step = await shop.ready(await shop.order())
    read = replace(step, version=step.version - 1) if stale == "version" else replace(step, state=StepState.WAITING)
    assert await shop.do(steps.advance, read, StepEvent.CANCELLED) is None
    assert await shop.see(steps.get, step.id) == step


async def test_an_event_that_changes_nothing_writes_nothing(shop: Shop) -> None:
    step = await shop.ready(await shop.order())
    assert await shop.do(steps.advance, step, StepEvent.OPENED, {"repeats": 5}) is None
    assert await shop.see(steps.get, step.id) == step
    with pytest.raises(ImpossibleError):
        await shop.do(steps.advance, step, StepEvent.DELIVERED)


async def test_a_move_forgets_what_the_step_waited_for(shop: Shop) -> None:
    order = await shop.order()
    step = await shop.ready(order, not_before=shop.clock.now_us() + SECOND)
    parked = {"waiting_for": WaitReason.REVIEW, "repeats": 3, "repeats_since": 7}
    assert await shop.do(steps.advance, step, StepEvent.PARKED, parked) is StepState.WAITING
    waiting = await shop.step(order)
    assert (waiting.waiting_for, waiting.not_before, waiting.repeats, waiting.repeats_since) == ("review", None, 3, 7)
    assert await shop.do(steps.advance, waiting, StepEvent.OPENED) is StepState.READY
    assert ((await shop.step(order)).waiting_for, (await shop.step(order)).repeats) == (None, 3)


async def test_steps_that_wait_for_an_address_are_listed_when_a_try_is_due(shop: Shop) -> None:
    orders = [await shop.order(f"k{n}") for n in range(3)]
    for order, reason in zip(orders, (WaitReason.ADDRESS, WaitReason.ADDRESS, WaitReason.REVIEW), strict=True):
        changes = {"waiting_for": reason, "not_before": shop.clock.now_us()}
        await shop.do(steps.advance, await shop.ready(order), StepEvent.PARKED, changes)
    first = await shop.step(orders[0])
    await shop.do(steps.postpone, first, shop.clock.now_us() + SECOND)
    assert [step.id for step in await shop.see(steps.list_without_address)] == [orders[1].steps["draw"]]
    shop.clock.advance(1)
    assert len(await shop.see(steps.list_without_address)) == 2


async def test_only_the_last_reader_puts_a_step_off(shop: Shop) -> None:
    order = await shop.order()
    step = await shop.ready(order)
    await shop.do(steps.postpone, replace(step, version=step.version - 1), 5)
    assert await shop.step(order) == step
    await shop.do(steps.postpone, step, 5)
    assert await shop.step(order) == replace(step, not_before=5, version=step.version + 1)


# --- the journal


async def test_lines_are_numbered_in_the_order_of_commits(shop: Shop) -> None:
    order, other = await shop.order("k1"), await shop.order("k2")
    for n in range(3):
        shop.clock.advance(1)
        data = {"n": n, "text": "é🎬\n"}
        await shop.do(journal.record, order.job, f"e.{n}", actor="w1", step="draw", attempt_no=n, data=data)
    lines = await shop.see(journal.list_lines, order.job)
    assert [line["seq"] for line in lines] == [1, 2, 3, 4]
    assert lines[-1] == {
        "seq": 4,
        "at": shop.clock.now_us(),
        "actor": "w1",
        "event": "e.2",
        "step": "draw",
        "attempt_no": 2,
        "data": {"n": 2, "text": "é🎬\n"},
    }
    assert lines[0]["data"] == {"steps": ["draw"]}
    assert [line["seq"] for line in await shop.see(journal.list_lines, order.job, after=2)] == [3, 4]
    assert len(await shop.see(journal.list_lines, other.job)) == 1


async def test_a_line_moves_the_jobs_last_change(shop: Shop) -> None:
    order = await shop.order()
    shop.clock.advance(9)
    await shop.do(journal.record, order.job, "e", actor="w1")
    assert (await shop.see(jobs.get, order.job))["updated_at"] == shop.clock.now_us()


async def test_a_line_holds_no_number_that_json_has_not(shop: Shop) -> None:  # C121
    order = await shop.order()
    with pytest.raises(ValueError, match="JSON"):
        await shop.do(journal.record, order.job, "e", actor="w1", data={"n": float("nan")})
    assert len(await shop.see(journal.list_lines, order.job)) == 1


# --- recipes and models


async def test_a_recipes_name_and_version_stand_for_one_content(shop: Shop) -> None:
    kept = {"name": "r", "version": 1, "content": "{}", "source": "[recipe]"}
    for _ in range(2):
        await shop.do(recipes.record, digest="f0", **kept)  # type: ignore[arg-type]
    with pytest.raises(RecipeError, match="Recipe r version 1 is already in use with other content"):
        await shop.do(recipes.record, digest="f1", **kept)  # type: ignore[arg-type]
    await shop.do(recipes.record, digest="f1", **{**kept, "version": 2, "source": "[recipe] # 2"})  # type: ignore[arg-type]
    assert await shop.see(recipes.get_source, "f0") == "[recipe]"
    assert await shop.see(recipes.get_source, "f1") == "[recipe] # 2"
    with pytest.raises(LookupError, match="f2"):
        await shop.see(recipes.get_source, "f2")


async def test_a_list_of_models_is_believed_for_a_while(shop: Shop) -> None:
    assert await shop.see(models.find, "reapi", age_us_max=SECOND) is None
    await shop.do(models.record, "reapi", ("a",))
    shop.clock.advance(0.999)
    assert await shop.see(models.find, "reapi", age_us_max=SECOND) == ("a",)
    assert await shop.see(models.find, "other", age_us_max=SECOND) is None
    shop.clock.advance(0.001)
    assert await shop.see(models.find, "reapi", age_us_max=SECOND) is None
    await shop.do(models.record, "reapi", ())
    assert await shop.see(models.find, "reapi", age_us_max=SECOND) == ()
    await shop.do(models.forget, "reapi")
    assert await shop.see(models.find, "reapi", age_us_max=SECOND) is None
