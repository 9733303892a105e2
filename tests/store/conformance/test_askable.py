"""Attempts of unknown outcome: when each is due, what was learnt of it, and a row for each POST that is intended."""

import pytest

from onetake.domain.events import AttemptEvent
from onetake.store import attempts, doubts
from onetake.store.attempts import Attempt
from onetake.store.database import ConstraintError
from tests.store.shop import SECOND, WIRE, Shop


@pytest.fixture(autouse=True)
async def worker(shop: Shop) -> str:
    return await shop.worker()


async def doubted(shop: Shop, key: str = "k1", *, due_at: int | None = None) -> Attempt:
    attempt = await shop.submitting(await shop.order(key))
    changes = {"worker_id": None, "not_before": due_at}
    await shop.do(attempts.advance, attempt, AttemptEvent.DOUBTED, changes)
    return attempt


async def test_what_is_due_comes_longest_due_first(shop: Shop) -> None:
    now = shop.clock.now_us()
    late, early = await doubted(shop, "k1", due_at=now - 1), await doubted(shop, "k2", due_at=now - 2)
    await doubted(shop, "k3", due_at=now + 3600 * SECOND)
    await doubted(shop, "k4")  # a person's
    assert await shop.do(doubts.list_due, limit=10) == [early.id, late.id]
    assert await shop.do(doubts.list_due, limit=1) == [early.id]
    assert await shop.see(doubts.is_any_due)
    for attempt in (late, early):
        await shop.do(doubts.put_off, attempt.id, None)
    assert not await shop.see(doubts.is_any_due)


async def test_only_an_unknown_is_put_off(shop: Shop) -> None:
    attempt = await shop.submitting(await shop.order())
    await shop.do(doubts.put_off, attempt.id, 5)
    assert await shop.rows("SELECT not_before FROM attempts") == [{"not_before": None}]


async def test_what_was_sent_and_learnt_is_read(shop: Shop) -> None:
    attempt = await doubted(shop)
    sent_at = attempt.created_at
    shop.clock.advance(5)
    for n, outcome in ((2, "not_sent"), (3, "unknown")):
        await shop.do(doubts.intend_replay, attempt.id, n)
        await shop.do(attempts.record_send, attempt.id, n, outcome=outcome, receipt="{}", status=None, raw=None)
    await shop.do(doubts.count_look, attempt.id)
    await shop.do(doubts.mark_landed, attempt.id)
    row = await shop.see(doubts.get, attempt.id)
    assert (row["sent_at"], row["last_sent_at"]) == (sent_at, shop.clock.now_us())
    assert (row["n"], row["posts"], row["looks"], row["is_landed"]) == (3, 2, 1, 1)
    assert (row["method"], row["url"], bytes(row["body"]), row["key"]) == ("POST", WIRE.url, WIRE.body, None)
    with pytest.raises(LookupError):
        await shop.see(doubts.get, "att_0")


async def test_a_post_has_one_number(shop: Shop) -> None:
    attempt = await doubted(shop)
    await shop.do(doubts.intend_replay, attempt.id, 2)
    with pytest.raises(ConstraintError):
        await shop.do(doubts.intend_replay, attempt.id, 2)
    with pytest.raises(ConstraintError):
        await shop.do(doubts.intend_replay, attempt.id, 1)


async def test_refs_that_belong_to_an_attempt_are_named(shop: Shop) -> None:
    await shop.processing(await shop.order("k1"), ref="task_1")

    async def bound(*refs: str) -> frozenset[str]:
        return await shop.see(doubts.list_bound, provider_account="reapi", operation="image", refs=refs)

    assert await bound("task_1", "task_2") == {"task_1"}
    assert await bound() == frozenset()
    await shop.sql("UPDATE refs SET disowned_at = 1")
    assert await bound("task_1") == frozenset()
