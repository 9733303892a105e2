"""What people and programs read: every promised field, no address and no prompt, and what work is left."""

import json
from collections.abc import Awaitable, Callable

import pytest

from onetake.domain.events import AttemptEvent, JobEvent, StepEvent
from onetake.domain.states import AlarmKind, CaseKind, JobStatus, WaitReason
from onetake.store import alarms, attempts, cases, jobs, journal, steps, views
from onetake.store.attempts import Attempt
from onetake.store.database import Row
from tests.store.shop import DIGEST, SECOND, Order, Shop

LISTED = {"campaign", "money"} | {  # `onetake jobs list --json`
    *("id", "key", "state", "status", "recipe", "recipe_version", "recipe_hash", "request_hash"),
    *("created_at", "updated_at", "completed_at", "lease_until", "refs", "outputs", "error_category", "last_error"),
    "alarms",
}
SHOWN = {"inputs", "rejected_files", "expected", "filled", "steps", "money", "cases", "cancel_requested_at"}


@pytest.fixture(autouse=True)
async def worker(shop: Shop) -> str:
    return await shop.worker()


async def show(shop: Shop, order: Order) -> Row:
    return await shop.see(lambda tx: views.get_job(tx, jobs.get(tx, order.job)))


async def doubted(shop: Shop, order: Order, name: str = "draw") -> Attempt:
    """An attempt whose outcome nobody knows, with its case."""
    attempt = await shop.submitting(order, name)
    changes = {"worker_id": None, "error_category": "provider", "error_code": "submit_unknown"}
    await shop.do(attempts.advance, attempt, AttemptEvent.DOUBTED, changes)
    await open_case(shop, attempt, CaseKind.UNKNOWN)
    return attempt


async def open_case(shop: Shop, attempt: Attempt, kind: CaseKind) -> None:
    await shop.do(cases.open_, shop.clock, kind, job_id=attempt.job_id, step_id=attempt.step_id, attempt_id=attempt.id)


# --- one job in the list


async def test_the_list_has_every_promised_field(shop: Shop) -> None:
    order = await shop.order("my key", "draw", "move")
    (job,) = await shop.see(views.list_jobs)
    made_at = shop.clock.now_us()
    assert set(job) == LISTED
    assert job == {
        "id": order.job,
        "key": "my key",
        "campaign": "",
        "state": "preparing",
        "status": "preparing",
        "recipe": "r",
        "recipe_version": 1,
        "recipe_hash": "f0",
        "request_hash": "a1",
        "created_at": made_at,
        "updated_at": made_at,
        "completed_at": None,
        "lease_until": None,
        "refs": {},
        "outputs": [
            {"step": name, "output": "still", "state": "missing", "digest": None, "filled_at": None}
            for name in ("draw", "move")
        ],
        "error_category": "",
        "last_error": "",
        "money": {"quoted": 0, "held": 0, "captured": 0, "released": 0},
        "alarms": [],
    }


async def test_the_list_shows_how_far_each_job_is(shop: Shop) -> None:
    await shop.complete(await shop.order("done"))
    chain = await shop.order("chain", "draw", "move")
    await shop.delivered(chain, "draw", ref="t1")
    sent = await shop.submitting(chain, "move", lease_s=7)
    read = {job["key"]: job for job in await shop.see(views.list_jobs)}
    done, half = read["done"], read["chain"]
    assert (done["state"], done["status"], done["lease_until"]) == ("complete", "completed", None)
    assert done["completed_at"] is not None
    assert done["outputs"][0]["digest"] == DIGEST
    assert (half["state"], half["status"]) == ("move_submitting", "submitting")
    assert (half["refs"], half["lease_until"]) == ({"draw": "t1"}, sent.lease_until)
    assert [output["state"] for output in half["outputs"]] == ["filled", "missing"]


async def test_a_lease_is_shown_while_somebody_holds_it(shop: Shop) -> None:
    attempt = await shop.processing(await shop.order())
    lease_until = shop.clock.now_us() + 29 * SECOND  # the worker's own, begun a second before
    assert (await shop.see(views.list_jobs))[0]["lease_until"] == lease_until
    await shop.do(shop.finish, attempt)
    assert (await shop.see(views.list_jobs))[0]["lease_until"] == lease_until
    await shop.do(attempts.make_due, attempt.job_id)
    assert (await shop.see(views.list_jobs))[0]["lease_until"] is None


async def test_the_last_error_is_the_last_steps(shop: Shop) -> None:
    order = await shop.order("k", "draw", "move")
    first = await shop.collecting(order, "draw")
    await shop.do(attempts.note, first.id, category="download", code="gone", message="the address is dead")
    (job,) = await shop.see(views.list_jobs)
    assert (job["error_category"], job["last_error"]) == ("download", "draw: the address is dead")
    await doubted(shop, order, "move")
    (job,) = await shop.see(views.list_jobs)
    assert (job["error_category"], job["last_error"]) == ("provider", "move: submit_unknown")


async def test_jobs_come_newest_first_and_can_be_picked(shop: Shop) -> None:
    made = [await shop.order(f"k{n}") for n in range(4)]
    await shop.complete(made[0], ref="t0")
    await shop.processing(made[1], ref="t1")
    await doubted(shop, made[2])

    async def keys(state: str | None = None, status: str | None = None, limit: int | None = None) -> list[str]:
        return [job["key"] for job in await shop.see(views.list_jobs, state=state, status=status, limit=limit)]

    assert await keys() == ["k3", "k2", "k1", "k0"]
    assert await keys(limit=2) == ["k3", "k2"]
    assert await keys(state="complete") == await keys(status="completed") == ["k0"]
    assert await keys(state="draw_processing") == await keys(status="in_progress") == ["k1"]
    assert await keys(status="submission_unknown", limit=1) == ["k2"]
    assert await keys(status="preparing") == ["k3"]
    assert await keys(state="draw_processing", status="completed") == []
    assert await keys(state="no such word") == []


async def test_jobs_are_counted_by_their_status(shop: Shop) -> None:
    assert await shop.see(views.count_by_status) == {}
    made = [await shop.order(f"k{n}") for n in range(5)]
    await shop.complete(made[0], ref="t0")
    await shop.processing(made[1], ref="t1")
    await doubted(shop, made[2])
    assert await shop.see(views.count_by_status) == {
        "completed": 1,
        "in_progress": 1,
        "submission_unknown": 1,
        "preparing": 2,
    }


STATUSES: dict[JobStatus, Callable[[Shop, Order], Awaitable[object]]] = {
    JobStatus.SUBMITTING: lambda shop, order: shop.submitting(order),
    JobStatus.SUBMISSION_UNKNOWN: doubted,
    JobStatus.IN_PROGRESS: lambda shop, order: shop.processing(order),
    JobStatus.PROCESSING: lambda shop, order: shop.collecting(order),
    JobStatus.COMPLETED: lambda shop, order: shop.complete(order),
    JobStatus.PREPARING: lambda shop, order: shop.ready(order),
}


@pytest.mark.parametrize("status", STATUSES)
async def test_the_list_the_sheet_and_the_count_say_the_same(shop: Shop, status: JobStatus) -> None:
    order = await shop.order()
    await STATUSES[status](shop, order)
    (listed,) = await shop.see(views.list_jobs)
    shown = await show(shop, order)
    assert listed["status"] == shown["status"] == status
    assert listed["state"] == shown["state"]
    assert await shop.see(views.count_by_status) == {status: 1}


async def test_queued_and_a_case_are_seen(shop: Shop) -> None:
    attempt = await shop.processing(await shop.order())
    await shop.do(attempts.note_queued, attempt.id, attempt.token, is_queued=True)
    assert (await shop.see(views.list_jobs))[0]["status"] == "queued"
    await open_case(shop, attempt, CaseKind.NO_OUTPUT)
    assert (await shop.see(views.list_jobs))[0]["status"] == "needs_review"


# --- one job whole


async def test_the_sheet_has_everything_about_a_job(shop: Shop) -> None:
    order = await shop.order("k", "draw", "move", amount=70)
    drawn = await shop.delivered(order, "draw")
    receipt = {"phase": "body_read", "status": 200}
    await shop.do(
        attempts.record_send, drawn.id, 1, outcome="accepted", receipt=json.dumps(receipt), status=200, raw=None
    )
    unknown = await doubted(shop, order, "move")
    await shop.do(alarms.raise_, shop.clock, AlarmKind.DEADLINE, unknown.id, job_id=order.job, detail="late")
    await shop.do(jobs.request_cancel, order.job)
    job = await show(shop, order)
    assert set(job) == LISTED | SHOWN
    assert (job["expected"], job["filled"], job["cancel_requested_at"]) == (2, 1, shop.clock.now_us())
    held = {"holds": 2, "quoted": 140, "held": 70, "open": 1, "captured": 70, "released": 0, "unit": "credit"}
    assert {name: job["money"][name] for name in held} == held
    assert [(each["step"], each["amount_micros"]) for each in job["money"]["spend"]] == [
        ("draw", 40_000),
        ("move", 40_000),
    ]
    assert [(each["kind"], each["state"], each["step"]) for each in job["cases"]] == [("unknown", "open", "move")]
    assert [each["kind"] for each in job["alarms"]] == ["deadline"]
    draw, move = job["steps"]
    assert (draw["name"], draw["state"], move["name"], move["state"]) == ("draw", "complete", "move", "active")
    assert (draw["provider"], draw["operation"], draw["model"]) == ("reapi", "image", "m-1")
    (attempt,) = draw["attempts"]
    assert (attempt["no"], attempt["state"], attempt["ref"], attempt["source"]) == (1, "delivered", "task_1", "answer")
    assert (attempt["outcome"], attempt["http_status"], attempt["receipt"]) == ("accepted", 200, receipt)
    assert (move["attempts"][0]["receipt"], move["attempts"][0]["error_code"]) == (None, "submit_unknown")
    (file, _) = job["outputs"]
    assert (file["digest"], file["media_type"], file["size_bytes"]) == (DIGEST, "image/png", 9)
    assert file["measures"]["width_px"] == 4


async def test_no_view_shows_an_address_a_prompt_or_wire_bytes(shop: Shop) -> None:  # L12
    order = await shop.order("k", "draw", "move")
    drawn = await shop.delivered(order, "draw")
    await shop.collecting(order, "move", ref="task_2")
    await shop.do(attempts.record_send, drawn.id, 1, outcome="accepted", receipt="{}", status=200, raw=b"s3cret-raw")
    held = json.dumps([await shop.rows(f"SELECT * FROM {t}") for t in ("artifacts", "refs", "job_requests")])  # noqa: S608
    assert held.count("s3cret") >= 4  # it is there to be shown
    seen = [await shop.see(views.list_jobs), await show(shop, order), await shop.see(views.list_journal, order.job)]
    assert "s3cret" not in json.dumps(seen)
    assert "://" not in json.dumps(seen)


async def test_the_journal_is_read_from_a_line_on(shop: Shop) -> None:
    order = await shop.order()
    await shop.do(journal.record, order.job, "e", actor="w1")
    assert [line["event"] for line in await shop.see(views.list_journal, order.job)] == ["job.created", "e"]
    assert [line["event"] for line in await shop.see(views.list_journal, order.job, after=1)] == ["e"]


# --- what a worker still has to do


async def is_left(shop: Shop, *closed: str) -> bool:
    return await shop.see(views.is_work_left, closed=closed)


async def test_nothing_is_left_where_nothing_was_ordered(shop: Shop) -> None:
    assert not await is_left(shop)


async def test_a_step_that_waits_for_another_is_no_work(shop: Shop) -> None:
    await shop.order()
    assert not await is_left(shop)


async def test_a_ready_step_is_work_unless_its_provider_is_closed(shop: Shop) -> None:
    await shop.ready(await shop.order())
    assert await is_left(shop)
    assert await is_left(shop, "other")
    assert not await is_left(shop, "reapi")


@pytest.mark.parametrize(("wait_s", "left"), [(0, True), (60, True), (60.000001, False)])
async def test_a_wait_of_over_a_minute_is_not_waited_for(shop: Shop, wait_s: float, *, left: bool) -> None:
    until = shop.clock.now_us() + round((wait_s + 1) * SECOND)  # an order takes a second
    await shop.ready(await shop.order(), not_before=until)
    assert await is_left(shop) is left


@pytest.mark.parametrize(("wait_s", "left"), [(60, True), (60.000001, False)])
async def test_a_backoff_of_over_a_minute_is_not_waited_for(shop: Shop, wait_s: float, *, left: bool) -> None:
    attempt = await shop.processing(await shop.order())
    until = shop.clock.now_us() + round(wait_s * SECOND)
    assert await shop.do(attempts.postpone, attempt.id, attempt.token, until)
    assert await is_left(shop) is left


@pytest.mark.parametrize("state", [JobStatus.SUBMITTING, JobStatus.IN_PROGRESS, JobStatus.PROCESSING])
async def test_what_is_sent_polled_or_fetched_is_work_whoever_is_closed(shop: Shop, state: JobStatus) -> None:
    await STATUSES[state](shop, await shop.order())
    assert await is_left(shop, "reapi")


@pytest.mark.parametrize("state", [JobStatus.SUBMISSION_UNKNOWN, JobStatus.COMPLETED])
async def test_what_only_a_person_can_settle_or_is_over_is_no_work(shop: Shop, state: JobStatus) -> None:
    await STATUSES[state](shop, await shop.order())
    assert not await is_left(shop)


async def test_what_a_case_asks_a_person_about_is_no_work(shop: Shop) -> None:
    attempt = await shop.collecting(await shop.order())
    await open_case(shop, attempt, CaseKind.OUTPUT_REJECTED)
    assert not await is_left(shop)


@pytest.mark.parametrize(
    ("reason", "left"), [(WaitReason.ADDRESS, True), (WaitReason.REVIEW, False), (WaitReason.BUDGET, False)]
)
async def test_a_parked_step_is_work_only_where_no_person_is_needed(
    shop: Shop, reason: WaitReason, *, left: bool
) -> None:
    step = await shop.ready(await shop.order())
    changes = {"waiting_for": reason, "not_before": shop.clock.now_us()}
    await shop.do(steps.advance, step, StepEvent.PARKED, changes)
    assert await is_left(shop) is left


async def test_a_job_that_was_cancelled_is_no_work(shop: Shop) -> None:
    order = await shop.order()
    await shop.do(steps.advance, await shop.ready(order), StepEvent.CANCELLED)
    await shop.do(jobs.advance, await shop.see(jobs.get, order.job), JobEvent.CANCELLED)
    assert not await is_left(shop)
    assert (await show(shop, order))["status"] == "cancelled"
