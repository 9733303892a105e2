"""Who may write what, and until when: claims in order, leases of the dead only, and submits that were lost."""

import pytest

from onetake.domain.events import AttemptEvent, StepEvent
from onetake.domain.states import AlarmKind
from onetake.store import alarms, attempts, leases, steps, workers
from onetake.store.steps import Step
from tests.store.shop import LOCATOR, SECOND, Order, Shop


async def ready_names(shop: Shop, *, limit: int = 99, closed: tuple[str, ...] = ()) -> list[str]:
    found = await shop.see(leases.list_ready, limit=limit, closed=frozenset(closed))
    return [step.job_id for step in found]


async def several(shop: Shop, count: int) -> list[Order]:
    orders = [await shop.order(f"k{n}") for n in range(count)]
    for order in orders:
        await shop.ready(order)
    return orders


# --- steps that may be claimed


async def test_the_oldest_steps_are_claimed_first(shop: Shop) -> None:
    orders = await several(shop, 4)
    assert await ready_names(shop) == [order.job for order in orders]
    assert await ready_names(shop, limit=2) == [order.job for order in orders[:2]]
    assert await ready_names(shop, limit=0) == []


async def test_steps_of_paused_routes_and_full_accounts_are_left_alone(shop: Shop) -> None:
    (order,) = await several(shop, 1)
    step = (await shop.see(leases.list_ready, limit=9, closed=frozenset[str]()))[0]
    account = (await shop.rows("SELECT account_id FROM jobs"))[0]["account_id"]
    for paused, full, found in (
        ({(step.provider, "other"), ("other", step.operation)}, {"acc_other"}, [order.job]),
        ({(step.provider, step.operation)}, set[str](), []),
        (set[tuple[str, str]](), {account}, []),
    ):
        ready = await shop.see(
            leases.list_ready, limit=9, closed=frozenset[str](), paused=frozenset(paused), full=frozenset(full)
        )
        assert [each.job_id for each in ready] == found


async def test_within_a_job_steps_come_in_the_recipes_order(shop: Shop) -> None:
    order = await shop.order("k", "b", "a")
    for name in ("a", "b"):
        await shop.ready(order, name)
    found = await shop.see(leases.list_ready, limit=9, closed=frozenset[str]())
    assert [step.name for step in found] == ["b", "a"]


async def test_a_step_is_claimed_when_its_wait_is_over_and_not_before(shop: Shop) -> None:
    order = await shop.order()
    await shop.ready(order, not_before=shop.clock.now_us() + 5 * SECOND)
    assert await ready_names(shop) == []
    shop.clock.advance(4.999999)
    assert await ready_names(shop) == []
    shop.clock.advance(0.000001)
    assert await ready_names(shop) == [order.job]


async def test_only_ready_paid_steps_are_claimed(shop: Shop) -> None:
    await shop.worker()
    await shop.order("waits")
    await shop.submitting(await shop.order("sent"))
    await shop.complete(await shop.order("done"))
    local = await shop.ready(await shop.order("local"))
    await shop.sql("UPDATE steps SET kind = 'process' WHERE id = :id", {"id": local.id})
    assert await ready_names(shop) == []


async def test_steps_of_a_closed_provider_hide_nobody_elses(shop: Shop) -> None:
    """However many wait in front."""
    orders = await several(shop, 6)
    params = {"id": orders[-1].steps["draw"]}
    await shop.sql("UPDATE steps SET provider = 'other' WHERE id = :id", params)
    assert await ready_names(shop, limit=1, closed=("reapi",)) == [orders[-1].job]
    assert await ready_names(shop, closed=("reapi", "other", "'); --")) == []
    assert len(await ready_names(shop, closed=("third",))) == 6


async def test_of_two_claims_of_one_step_one_wins(shop: Shop) -> None:
    await shop.worker()
    step = await shop.ready(await shop.order())

    async def claim(attempt_id: str) -> object:
        return await shop.do(steps.advance, step, StepEvent.CLAIMED, {"current_attempt_id": attempt_id})

    assert [await claim("att_1"), await claim("att_2")] == ["active", None]
    assert (await shop.see(steps.get, step.id)).current_attempt_id == "att_1"


# --- workers


async def test_a_worker_renews_its_lease_while_it_stands(shop: Shop) -> None:
    await shop.worker(lease_s=10)
    shop.clock.advance(9.9)
    assert await shop.do(workers.renew, "w1", lease_us=10 * SECOND)
    shop.clock.advance(9.9)
    assert await shop.do(workers.renew, "w1", lease_us=10 * SECOND)


async def test_a_lease_that_ran_out_is_not_revived(shop: Shop) -> None:
    await shop.worker(lease_s=10)
    shop.clock.advance(10)
    assert not await shop.do(workers.renew, "w1", lease_us=10 * SECOND)
    assert not await shop.do(workers.renew, "nobody", lease_us=10 * SECOND)


async def test_a_worker_that_stopped_has_no_lease(shop: Shop) -> None:
    await shop.worker(lease_s=10)
    await shop.do(workers.stop, "w1")
    assert not await shop.do(workers.renew, "w1", lease_us=10 * SECOND)
    stopped_at = shop.clock.now_us()
    shop.clock.advance(1)
    await shop.do(workers.stop, "w1")
    (row,) = await shop.rows("SELECT stopped_at, lease_until FROM workers")
    assert row == {"stopped_at": stopped_at, "lease_until": stopped_at}


# --- attempts that nobody alive holds


async def held_by(shop: Shop, worker: str, *, limit: int = 99) -> list[str]:
    return sorted(await shop.do(leases.lease_open, worker, limit=limit))


async def test_what_a_living_worker_holds_stays_with_it(shop: Shop) -> None:
    await shop.worker("w1")
    await shop.worker("w2")
    attempt = await shop.processing(await shop.order())
    assert not await shop.see(leases.is_any_orphan, "w2")
    assert await held_by(shop, "w2") == []
    assert (await shop.watched(attempt)).token == attempt.token


async def test_what_a_dead_worker_held_is_taken_over_once(shop: Shop) -> None:
    await shop.worker("w1", lease_s=10)
    await shop.worker("w2")
    await shop.worker("w3")
    first = await shop.processing(await shop.order("k1"), ref="t1")
    second = await shop.collecting(await shop.order("k2"), ref="t2")
    shop.clock.advance(10)
    assert await shop.see(leases.is_any_orphan, "w2")
    (taken,) = await shop.do(leases.lease_open, "w2", limit=1)
    held = await shop.watched(first)
    assert (taken, held.worker_id, held.token) == (first.id, "w2", first.token + 1)
    assert await held_by(shop, "w3") == [second.id]
    assert await held_by(shop, "w2") == await held_by(shop, "w3") == []
    assert not await shop.see(leases.is_any_orphan, "w2")


async def test_a_worker_that_stopped_leaves_everything_at_once(shop: Shop) -> None:
    await shop.worker("w1")
    await shop.worker("w2")
    attempt = await shop.processing(await shop.order())
    await shop.do(workers.stop, "w1")
    assert await held_by(shop, "w2") == [attempt.id]


async def test_what_nobody_ever_held_is_taken(shop: Shop) -> None:
    await shop.worker("w1")
    attempt = await shop.processing(await shop.order())
    await shop.sql("UPDATE attempts SET worker_id = NULL")
    assert await shop.see(leases.is_any_orphan, "w1")
    assert await held_by(shop, "w1") == [attempt.id]


async def test_a_worker_does_not_take_over_from_itself(shop: Shop) -> None:
    """Its own lease ran out, but it lives: it starts again under a new id."""
    await shop.worker("w1", lease_s=10)
    attempt = await shop.processing(await shop.order())
    shop.clock.advance(10)
    assert await held_by(shop, "w1") == []
    await shop.worker("w1-again")
    assert await held_by(shop, "w1-again") == [attempt.id]


async def test_only_what_waits_for_the_provider_or_for_files_is_taken(shop: Shop) -> None:
    await shop.worker("w1", lease_s=10)
    await shop.submitting(await shop.order("sent"), lease_s=60)
    doubted = await shop.submitting(await shop.order("doubted"))
    await shop.do(attempts.advance, doubted, AttemptEvent.DOUBTED, {"worker_id": None})
    await shop.complete(await shop.order("done"))
    shop.clock.advance(10)
    await shop.worker("w2")
    assert not await shop.see(leases.is_any_orphan, "w2")
    assert await held_by(shop, "w2") == []


async def test_the_oldest_are_taken_first(shop: Shop) -> None:
    await shop.worker("w1")
    made = [await shop.processing(await shop.order(f"k{n}"), ref=f"t{n}") for n in range(5)]
    await shop.do(workers.stop, "w1")
    await shop.worker("w2")
    assert await held_by(shop, "w2", limit=3) == [attempt.id for attempt in made[:3]]


# --- as its holder sees it


async def test_a_watched_attempt_says_all_that_a_poll_needs(shop: Shop) -> None:
    await shop.worker()
    attempt = await shop.processing(await shop.order())
    now = shop.clock.now_us()
    assert await shop.watched(attempt) == leases.Watched(
        attempt_id=attempt.id,
        state="processing",
        worker_id="w1",
        token=1,
        provider="reapi",
        operation="image",
        slot="default",
        ref="task_1",
        locator=LOCATOR,
        not_before=None,
        deadline_at=now + 60 * SECOND,
        is_queued=False,
        has_alarms=False,
    )


async def test_a_watched_attempt_knows_its_standing_alarms(shop: Shop) -> None:
    await shop.worker()
    attempt = await shop.processing(await shop.order())
    await shop.do(alarms.raise_, shop.clock, AlarmKind.DEADLINE, attempt.id, job_id=attempt.job_id, detail="late")
    assert (await shop.watched(attempt)).has_alarms
    await shop.do(alarms.clear, attempt.id)
    assert not (await shop.watched(attempt)).has_alarms


async def test_without_a_deadline_none_is_due(shop: Shop) -> None:
    await shop.worker()
    attempt = await shop.processing(await shop.order())
    await shop.sql("UPDATE steps SET deadline_s = NULL")
    assert (await shop.watched(attempt)).deadline_at is None


async def test_an_attempt_without_a_ref_cannot_be_watched(shop: Shop) -> None:
    await shop.worker()
    attempt = await shop.submitting(await shop.order())
    with pytest.raises(LookupError, match=attempt.id):
        await shop.watched(attempt)
    assert await shop.see(leases.list_held, "w1", [attempt.id]) == []
    assert await shop.see(leases.list_held, "w1", []) == []


async def test_an_attempt_is_found_by_its_holder_until_it_ends(shop: Shop) -> None:
    await shop.worker()
    attempt = await shop.processing(await shop.order())
    assert await shop.see(leases.list_held, "w1", [attempt.id]) == [await shop.watched(attempt)]
    assert await shop.see(leases.list_held, "w2", [attempt.id]) == []
    collecting = await shop.do(shop.finish, attempt)
    assert await shop.see(leases.list_held, "w1", [attempt.id]) == [await shop.watched(attempt)]
    await shop.do(shop.deliver, collecting)
    assert await shop.see(leases.list_held, "w1", [attempt.id]) == []


async def test_a_worker_knows_the_tokens_of_all_that_it_holds(shop: Shop) -> None:
    await shop.worker("w1")
    await shop.worker("w2")
    waits = await shop.processing(await shop.order("waits"), ref="t1")
    files = await shop.collecting(await shop.order("files"), ref="t2")
    await shop.delivered(await shop.order("done"), ref="t3")
    await shop.submitting(await shop.order("sent"))
    await shop.processing(await shop.order("elsewhere"), worker="w2", ref="t4")
    assert await shop.see(leases.tokens_held, "w1") == {waits.id: 1, files.id: 1}
    await shop.do(attempts.make_due, waits.job_id)
    assert await shop.see(leases.tokens_held, "w1") == {files.id: 1}


# --- submits


async def test_a_worker_knows_what_it_claimed_and_has_no_outcome_of(shop: Shop) -> None:
    await shop.worker("w1")
    await shop.worker("w2")
    sent = await shop.submitting(await shop.order("k1"))
    await shop.submitting(await shop.order("k2"), worker="w2")
    await shop.processing(await shop.order("k3"))
    assert await shop.see(leases.list_submitting, "w1") == [sent.id]
    await shop.do(attempts.advance, sent, AttemptEvent.NEVER_LEFT)
    assert await shop.see(leases.list_submitting, "w1") == []


async def test_a_submit_is_lost_when_its_own_lease_ran_out(shop: Shop) -> None:
    await shop.worker("w1", lease_s=5)
    attempt = await shop.submitting(await shop.order(), lease_s=20)
    shop.clock.advance(19.999999)
    assert await shop.see(leases.list_lost_submits, limit=9) == []
    assert not await shop.see(leases.is_any_orphan, "w2")
    shop.clock.advance(0.000001)
    assert await shop.see(leases.list_lost_submits, limit=9) == [attempt.id]
    assert await shop.see(leases.is_any_orphan, "w2")


async def test_the_longest_lost_come_first_and_what_is_answered_is_not_lost(shop: Shop) -> None:
    await shop.worker()
    late = await shop.submitting(await shop.order("k1"), lease_s=20)
    early = await shop.submitting(await shop.order("k2"), lease_s=10)
    await shop.processing(await shop.order("k3"))
    shop.clock.advance(60)
    assert await shop.see(leases.list_lost_submits, limit=9) == [early.id, late.id]
    assert await shop.see(leases.list_lost_submits, limit=1) == [early.id]


async def test_a_step_reads_back_as_it_stands(shop: Shop) -> None:
    step = await shop.ready(await shop.order(), not_before=5)
    assert isinstance(step, Step)
    (found,) = await shop.see(leases.list_ready, limit=9, closed=frozenset[str]())
    assert found == step
