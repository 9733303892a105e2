"""Attempts: sent once, with one owner, one ref and a receipt that stays; writers that came too late change nothing."""

from dataclasses import replace

import pytest

from onetake.domain.events import AttemptEvent, StepEvent
from onetake.domain.states import AttemptState, StepState
from onetake.domain.transitions import ImpossibleError
from onetake.store import attempts, leases, steps
from onetake.store.attempts import RAW_BYTES_MAX, Attempt
from onetake.store.database import ConstraintError, Row
from tests.store.shop import LOCATOR, SECOND, WIRE, Shop


@pytest.fixture(autouse=True)
async def worker(shop: Shop) -> str:
    return await shop.worker()


async def row_of(shop: Shop, attempt: Attempt) -> Row:
    (row,) = await shop.rows("SELECT * FROM attempts WHERE id = :id", {"id": attempt.id})
    return row


async def test_an_attempt_reads_back_as_it_was_made(shop: Shop) -> None:
    attempt = await shop.submitting(await shop.order())
    assert await shop.see(attempts.get, attempt.id) == attempt
    assert (attempt.no, attempt.state, attempt.ref, attempt.token) == (1, AttemptState.SUBMITTING, None, 1)
    assert attempt.lease_until == shop.clock.now_us() + 30 * SECOND
    (row,) = await shop.rows("SELECT contract_version, charged, slot FROM attempts")
    assert row == {"contract_version": "c1", "charged": "unknown", "slot": "default"}


async def test_the_bytes_and_the_first_send_are_written_with_it(shop: Shop) -> None:
    await shop.submitting(await shop.order())
    (wire,) = await shop.rows("SELECT method, url, headers, body FROM wires")
    headers = '[["Content-Type", "application/json"]]'
    assert wire == {"method": "POST", "url": WIRE.url, "headers": headers, "body": WIRE.body}
    (send,) = await shop.rows("SELECT n, kind, intended_at, outcome, recorded_at FROM sends")
    assert send == {
        "n": 1,
        "kind": "first",
        "intended_at": shop.clock.now_us(),
        "outcome": None,
        "recorded_at": None,
    }


async def test_a_steps_attempts_come_in_their_order(shop: Shop) -> None:
    order = await shop.order()
    first = await shop.submitting(order)
    await shop.do(attempts.advance, first, AttemptEvent.NEVER_LEFT)
    await shop.do(steps.advance, await shop.step(order), StepEvent.CAME_BACK)

    step = await shop.step(order)
    claimed = {"current_attempt_id": "att_2", "attempts": 2}
    assert await shop.do(steps.advance, step, StepEvent.CLAIMED, claimed) is StepState.ACTIVE
    values = {"attempt_id": "att_2", "no": 2, "contract_version": "c1", "worker_id": "w1", "lease_us": SECOND}
    second = await shop.do(attempts.insert, step, **values)  # type: ignore[arg-type]
    listed = await shop.see(attempts.list_of_step, step.id)
    assert [(each.no, each.state) for each in listed] == [(1, AttemptState.NOT_SENT), (2, AttemptState.SUBMITTING)]
    assert listed[1] == second
    assert await shop.see(attempts.list_of_step, "stp_0") == []


async def test_what_is_not_there_cannot_be_got(shop: Shop) -> None:
    with pytest.raises(LookupError, match="att_0"):
        await shop.see(attempts.get, "att_0")


# --- changes of state


async def test_a_move_ends_the_lease_and_dates_the_end(shop: Shop) -> None:
    attempt = await shop.submitting(await shop.order())
    shop.clock.advance(3)
    changes = {"error_code": "not_sent_dns", "charged": "no"}
    moved = await shop.do(attempts.advance, attempt, AttemptEvent.NEVER_LEFT, changes)
    assert moved is AttemptState.NOT_SENT
    row = await row_of(shop, attempt)
    assert (row["lease_until"], row["ended_at"]) == (None, shop.clock.now_us())
    assert (row["error_code"], row["charged"], row["updated_at"]) == ("not_sent_dns", "no", shop.clock.now_us())


async def test_evidence_that_changes_nothing_writes_nothing(shop: Shop) -> None:
    attempt = await shop.processing(await shop.order())
    before = await row_of(shop, attempt)
    shop.clock.advance(3)
    for event in (AttemptEvent.ACCEPTED, AttemptEvent.DOUBTED, AttemptEvent.REFUSED):
        assert await shop.do(attempts.advance, attempt, event, {"charged": "yes"}) is None
    assert await row_of(shop, attempt) == before


@pytest.mark.parametrize("stale", ["state", "token"])
async def test_a_writer_that_came_too_late_changes_nothing(shop: Shop, stale: str) -> None:  # L14
    attempt = await shop.processing(await shop.order())
    read = replace(attempt, token=attempt.token - 1)
    if stale == "state":
        read = replace(attempt, state=AttemptState.SUBMIT_UNKNOWN, token=attempt.token)
        assert await shop.do(attempts.advance, read, AttemptEvent.NEVER_LEFT) is None
    assert await shop.do(attempts.advance, read, AttemptEvent.WRITTEN_OFF) is None
    assert await shop.see(attempts.get, attempt.id) == attempt


async def test_an_impossible_event_is_a_bug(shop: Shop) -> None:
    attempt = await shop.submitting(await shop.order())
    with pytest.raises(ImpossibleError, match="finished can't happen in submitting"):
        await shop.do(attempts.advance, attempt, AttemptEvent.FINISHED)


async def test_of_two_writers_one_moves_it(shop: Shop) -> None:
    attempt = await shop.collecting(await shop.order())
    moves = [await shop.do(attempts.advance, attempt, AttemptEvent.DELIVERED) for _ in range(2)]
    assert moves == [AttemptState.DELIVERED, None]


# --- refs


async def test_a_ref_is_bound_once_and_found_by_its_account_and_operation(shop: Shop) -> None:
    attempt = await shop.processing(await shop.order(), ref="models/veo/operations/ab:c")
    assert attempt.ref == "models/veo/operations/ab:c"
    (ref,) = await shop.rows("SELECT locator, source, actor, created_at FROM refs")
    assert ref == {"locator": LOCATOR, "source": "answer", "actor": "w1", "created_at": shop.clock.now_us()}
    owners = {
        (account, operation, name): await shop.see(
            attempts.find_ref_owner, provider_account=account, operation=operation, ref=name
        )
        for account in ("reapi", "other")
        for operation in ("image", "video")
        for name in ("models/veo/operations/ab:c", "task_2")
    }
    assert {where: owner for where, owner in owners.items() if owner} == {
        ("reapi", "image", "models/veo/operations/ab:c"): attempt.id
    }


async def test_an_attempt_takes_no_second_ref_and_a_ref_no_second_attempt(shop: Shop) -> None:  # L4
    first = await shop.processing(await shop.order("k1"), ref="task_1")
    second = await shop.submitting(await shop.order("k2"))
    for attempt, ref in ((first, "task_2"), (second, "task_1")):
        with pytest.raises(ConstraintError, match="refs"):
            await shop.do(shop.accept, attempt, ref)
    assert await shop.see(attempts.get, first.id) == first
    assert await shop.see(attempts.get, second.id) == second


async def test_a_disowned_ref_has_no_owner(shop: Shop) -> None:
    await shop.processing(await shop.order("k1"), ref="task_1")
    await shop.sql("UPDATE refs SET disowned_at = 1")
    owner = await shop.see(attempts.find_ref_owner, provider_account="reapi", operation="image", ref="task_1")
    assert owner is None


# --- receipts


async def record(shop: Shop, attempt: Attempt, outcome: str, raw: bytes | None = b"page", n: int = 1) -> bool:
    return await shop.do(attempts.record_send, attempt.id, n, outcome=outcome, receipt="{}", status=502, raw=raw)


async def test_the_first_receipt_stays(shop: Shop) -> None:
    attempt = await shop.submitting(await shop.order())
    shop.clock.advance(2)
    assert await record(shop, attempt, "unknown")
    assert not await record(shop, attempt, "not_sent")
    (send,) = await shop.rows("SELECT outcome, receipt, status, raw, recorded_at FROM sends")
    assert send == {
        "outcome": "unknown",
        "receipt": "{}",
        "status": 502,
        "raw": b"page",
        "recorded_at": shop.clock.now_us(),
    }


async def test_a_receipt_belongs_to_its_send(shop: Shop) -> None:
    attempt = await shop.submitting(await shop.order())
    await shop.sql(
        "INSERT INTO sends (attempt_id, n, kind, intended_at) VALUES (:id, 2, 'replay', 1)", {"id": attempt.id}
    )
    assert await record(shop, attempt, "accepted", None, n=2)
    assert await record(shop, attempt, "unknown")  # of the first, and late
    assert not await record(shop, attempt, "accepted", None)
    assert [row["outcome"] for row in await shop.rows("SELECT outcome FROM sends ORDER BY n")] == [
        "unknown",
        "accepted",
    ]


async def test_of_an_answer_only_the_beginning_is_kept(shop: Shop) -> None:
    attempt = await shop.submitting(await shop.order())
    assert await record(shop, attempt, "unknown", b"x" * (RAW_BYTES_MAX + 1))
    (send,) = await shop.rows("SELECT raw FROM sends")
    assert send["raw"] == b"x" * RAW_BYTES_MAX


# --- what a lease's holder may note


async def test_a_long_wait_is_kept_by_the_leases_holder_alone(shop: Shop) -> None:
    attempt = await shop.processing(await shop.order())
    later = shop.clock.now_us() + 100 * SECOND
    assert not await shop.do(attempts.postpone, attempt.id, attempt.token - 1, later)
    assert (await shop.watched(attempt)).not_before is None
    assert await shop.do(attempts.postpone, attempt.id, attempt.token, later)
    assert (await shop.watched(attempt)).not_before == later


async def test_nothing_waits_that_has_ended(shop: Shop) -> None:
    attempt = await shop.delivered(await shop.order())
    assert not await shop.do(attempts.postpone, attempt.id, attempt.token, shop.clock.now_us())


async def test_queued_is_noted_by_the_leases_holder_alone(shop: Shop) -> None:
    attempt = await shop.processing(await shop.order())
    for token, is_queued, noted in ((0, True, False), (attempt.token, True, True), (attempt.token, False, False)):
        await shop.do(attempts.note_queued, attempt.id, token, is_queued=is_queued)
        assert (await shop.watched(attempt)).is_queued is noted


async def test_an_error_is_noted_on_what_goes_on_only(shop: Shop) -> None:
    going, over = await shop.collecting(await shop.order("k1")), await shop.delivered(await shop.order("k2"), ref="t2")
    for attempt in (going, over):
        await shop.do(attempts.note, attempt.id, category="validation", code="c", message="m")
    assert (await row_of(shop, going))["error_code"] == "c"
    assert (await row_of(shop, over))["error_code"] == ""


# --- resume


async def test_resuming_takes_what_waits_from_its_holder(shop: Shop) -> None:
    order, other = await shop.order("k1", "draw", "move", "sing"), await shop.order("k2")
    waiting = await shop.processing(order, "draw")
    files = await shop.collecting(order, "move", ref="task_2")
    sent = await shop.submitting(order, "sing")
    elsewhere = await shop.processing(other, ref="task_3")
    await shop.do(attempts.postpone, waiting.id, waiting.token, shop.clock.now_us() + SECOND)
    assert await shop.do(attempts.make_due, order.job) == 2
    for attempt in (waiting, files):
        now = await shop.watched(attempt)
        assert (now.worker_id, now.token, now.not_before) == ("", attempt.token + 1, None)
    assert await shop.see(attempts.get, sent.id) == sent
    assert await shop.see(attempts.get, elsewhere.id) == elsewhere
    assert set(await shop.do(leases.lease_open, "w1", limit=9)) == {waiting.id, files.id}
