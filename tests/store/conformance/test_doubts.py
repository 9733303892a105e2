"""Cases and alarms: one open of a kind, evidence and decisions appended, alarms cleared by what did well."""

import json

import pytest

from onetake.domain.events import AttemptEvent, CaseEvent
from onetake.domain.states import AlarmKind, CaseKind
from onetake.store import alarms, attempts, cases
from onetake.store.attempts import Attempt
from tests.store.shop import WIRE, Shop


async def opened(shop: Shop, attempt: Attempt, kind: CaseKind = CaseKind.UNKNOWN) -> str | None:
    return await shop.do(
        cases.open_,
        shop.clock,
        kind,
        job_id=attempt.job_id,
        step_id=attempt.step_id,
        attempt_id=attempt.id,
    )


async def close(shop: Shop, case_id: str, event: CaseEvent) -> bool:
    return await shop.do(cases.close, shop.clock, case_id, event, actor="ada", reason="seen in the dashboard")


@pytest.fixture
async def attempt(shop: Shop) -> Attempt:
    await shop.worker()
    return await shop.submitting(await shop.order())


async def test_one_case_of_a_kind_is_open_on_an_attempt(shop: Shop, attempt: Attempt) -> None:
    case_id = await opened(shop, attempt)
    assert case_id is not None
    assert await opened(shop, attempt) is None
    other = await opened(shop, attempt, CaseKind.REF_CONFLICT)
    found = await shop.see(cases.find_open, attempt.id)
    assert {row["id"]: row["kind"] for row in found} == {case_id: "unknown", other: "ref_conflict"}
    assert [row["id"] for row in await shop.see(cases.find_open, attempt.id, CaseKind.UNKNOWN)] == [case_id]
    assert await shop.see(cases.find_open, "att_0") == []


@pytest.mark.parametrize("event", CaseEvent)
async def test_a_case_is_decided_once_and_the_decision_is_kept(shop: Shop, attempt: Attempt, event: CaseEvent) -> None:
    case_id = str(await opened(shop, attempt))
    shop.clock.advance(60)
    assert await close(shop, case_id, event)
    for late in CaseEvent:
        assert not await close(shop, case_id, late)
    (row,) = await shop.see(cases.list_of_job, attempt.job_id)
    assert (row["state"], row["closed_at"], row["step"], row["attempt_no"]) == (event, shop.clock.now_us(), "draw", 1)
    decisions = await shop.rows("SELECT case_id, decision, reason, actor FROM decisions")
    assert decisions == [{"case_id": case_id, "decision": event, "reason": "seen in the dashboard", "actor": "ada"}]


async def test_a_doubt_that_comes_back_is_a_new_case(shop: Shop, attempt: Attempt) -> None:
    first = str(await opened(shop, attempt))
    await close(shop, first, CaseEvent.SETTLED)
    shop.clock.advance(1)
    second = await opened(shop, attempt)
    assert [row["id"] for row in await shop.see(cases.list_of_job, attempt.job_id)] == [first, second]


async def test_a_case_that_is_not_there_is_not_decided(shop: Shop, attempt: Attempt) -> None:
    assert not await close(shop, "cas_0", CaseEvent.SETTLED)
    assert await shop.rows("SELECT id FROM decisions") == []
    assert await shop.see(cases.list_of_job, attempt.job_id) == []


async def test_evidence_is_appended(shop: Shop, attempt: Attempt) -> None:
    case_id = str(await opened(shop, attempt))
    for n in range(2):
        body = {"phase": "body_sent", "n": n, "é": "🎬"}
        await shop.do(cases.add_evidence, shop.clock, case_id, "observation", body, actor="w1")
    rows = await shop.rows("SELECT kind, body, actor FROM evidence ORDER BY created_at, id")
    assert sorted(json.loads(row["body"])["n"] for row in rows) == [0, 1]
    assert {(row["kind"], row["actor"]) for row in rows} == {("observation", "w1")}


async def raise_(shop: Shop, kind: AlarmKind, subject: str, job_id: str | None = None) -> bool:
    return await shop.do(alarms.raise_, shop.clock, kind, subject, job_id=job_id, detail="why")


async def test_an_alarm_that_stands_is_not_raised_again(shop: Shop, attempt: Attempt) -> None:
    assert await raise_(shop, AlarmKind.DEADLINE, attempt.id, attempt.job_id)
    since = shop.clock.now_us()
    shop.clock.advance(5)
    assert not await raise_(shop, AlarmKind.DEADLINE, attempt.id, attempt.job_id)
    assert await raise_(shop, AlarmKind.STORAGE, attempt.id, attempt.job_id)
    assert await raise_(shop, AlarmKind.KEY_REFUSED, "reapi")
    standing = await shop.see(alarms.list_open)
    assert {row["kind"] for row in standing} == {"deadline", "storage", "key_refused"}
    assert standing[0] == {
        "kind": "deadline",
        "subject": attempt.id,
        "job_id": attempt.job_id,
        "detail": "why",
        "since": since,
    }
    assert {row["kind"] for row in await shop.see(alarms.list_open, job_id=attempt.job_id)} == {"deadline", "storage"}


async def test_an_alarm_is_cleared_by_kind_or_all_at_once(shop: Shop) -> None:
    for kind in (AlarmKind.DEADLINE, AlarmKind.STORAGE, AlarmKind.DOWNLOAD):
        await raise_(shop, kind, "a1")
    await raise_(shop, AlarmKind.DEADLINE, "a2")
    assert await shop.do(alarms.clear, "a1", AlarmKind.DEADLINE, AlarmKind.REPEATS) == 1
    assert await shop.do(alarms.clear, "a1") == 2
    assert await shop.do(alarms.clear, "a1") == 0
    assert [row["subject"] for row in await shop.see(alarms.list_open)] == ["a2"]


async def test_an_alarm_may_stand_again_after_it_was_cleared(shop: Shop) -> None:
    for _ in range(3):
        assert await raise_(shop, AlarmKind.STORAGE, "a1")
        assert await shop.do(alarms.clear, "a1", AlarmKind.STORAGE) == 1
    assert len(await shop.rows("SELECT id FROM alarms")) == 3


async def test_unknown_outcomes_are_listed_by_provider_and_model_oldest_first(shop: Shop) -> None:
    await shop.worker()
    made = [await shop.submitting(await shop.order(key)) for key in ("k1", "k2", "k3")]
    for attempt in reversed(made[:2]):
        await shop.do(attempts.advance, attempt, AttemptEvent.DOUBTED, {"worker_id": None})
    model = (await shop.rows("SELECT model FROM steps"))[0]["model"]
    found = await shop.see(attempts.list_unknown, provider=made[0].provider, model=model)
    assert [(row["id"], row["key"], row["step"]) for row in found] == [
        (made[0].id, "k1", "draw"),
        (made[1].id, "k2", "draw"),
    ]
    assert bytes(found[0]["body"]) == WIRE.body
    assert await shop.see(attempts.list_unknown, provider=made[0].provider, model="other") == []
