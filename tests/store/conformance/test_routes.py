"""Routes: their pause, kept for all workers; and what is put off, at the provider, or with people, in numbers."""

from onetake.domain.events import AttemptEvent, StepEvent
from onetake.domain.pacing import RoutePace
from onetake.domain.states import AlarmKind, CaseKind, WaitReason
from onetake.store import alarms, attempts, cases, leases, overview, routes, steps, views
from onetake.store.routes import Route
from tests.store.shop import SECOND, Shop

IMAGE: Route = ("reapi", "image")
VIDEO: Route = ("reapi", "video")


async def pause(shop: Shop, route: Route, wait_s: int) -> int:
    """The moment until which the route takes nothing."""
    until = shop.clock.now_us() + wait_s * SECOND
    await shop.do(routes.get, route)  # makes its row
    await shop.do(routes.put, route, RoutePace(unknowns=5, pause_s=60, paused_until=until))
    return until


async def test_a_route_is_open_until_it_is_paused_and_after_it_was_reopened(shop: Shop) -> None:
    assert await shop.do(routes.get, IMAGE) == RoutePace()
    assert await shop.see(routes.list_paused) == {}
    until = await pause(shop, IMAGE, 60)
    assert await shop.do(routes.get, IMAGE) == RoutePace(unknowns=5, pause_s=60, paused_until=until)
    assert await shop.see(routes.list_paused) == {IMAGE: until}
    await shop.do(routes.reopen, VIDEO)
    assert await shop.see(routes.list_paused) == {IMAGE: until}
    await shop.do(routes.reopen, IMAGE)
    assert await shop.see(routes.list_paused) == {}
    assert await shop.do(routes.get, IMAGE) == RoutePace()


async def test_a_send_that_may_be_in_the_air_keeps_its_route_in_use(shop: Shop) -> None:
    await shop.worker()
    assert not await shop.see(routes.is_in_use, IMAGE)
    await shop.submitting(await shop.order())
    assert await shop.see(routes.is_in_use, IMAGE)
    assert not await shop.see(routes.is_in_use, VIDEO)


async def test_only_a_route_with_a_row_has_a_turn(shop: Shop) -> None:
    assert not await shop.do(routes.take_turn, IMAGE)
    await pause(shop, IMAGE, 60)
    assert await shop.do(routes.take_turn, IMAGE)


async def test_the_steps_of_a_paused_route_are_not_offered(shop: Shop) -> None:
    image, video = await shop.order("image"), await shop.order("video")
    await shop.ready(image)
    await shop.ready(video)
    await shop.sql("UPDATE steps SET operation = 'video' WHERE job_id = :job", {"job": video.job})
    found = await shop.see(leases.list_ready, limit=9, closed=frozenset[str](), paused=frozenset({IMAGE}))
    assert [step.job_id for step in found] == [video.job]


async def test_a_route_that_is_paused_for_over_a_minute_leaves_no_work(shop: Shop) -> None:
    await shop.ready(await shop.order())
    await pause(shop, IMAGE, 60)
    assert await shop.see(views.is_work_left, closed=())
    await pause(shop, IMAGE, 61)
    assert not await shop.see(views.is_work_left, closed=())


async def test_each_job_counts_once_where_it_stands(shop: Shop) -> None:
    await shop.worker()
    await shop.complete(await shop.order("done"))
    await shop.ready(await shop.order("ready"))
    await shop.order("waits")
    await shop.collecting(await shop.order("collects"), ref="task_6")
    await shop.processing(await shop.order("works"), ref="task_7")
    doubted = await shop.processing(await shop.order("doubted"), ref="task_8")
    for kind in (CaseKind.MISSING_TASK, CaseKind.NO_OUTPUT):
        await shop.do(
            cases.open_, shop.clock, kind, job_id=doubted.job_id, step_id=doubted.step_id, attempt_id=doubted.id
        )
    assert await shop.see(overview.count_jobs) == {"done": 1, "in_work": 3, "provider": 1, "people": 1}
    assert await shop.see(overview.count_for_people) == {"unknown": 0, "parked": 0, "in_doubt": 2}


async def test_what_is_put_off_is_counted_with_the_moment_of_the_first(shop: Shop) -> None:
    await shop.worker()
    first, second = await shop.order("first"), await shop.order("second")
    soon = shop.clock.now_us() + 60 * SECOND
    await shop.ready(first, not_before=soon)
    await shop.ready(second, not_before=soon + SECOND)
    await shop.ready(await shop.order("now"))
    attempt = await shop.processing(await shop.order("polled"))
    assert await shop.do(attempts.postpone, attempt.id, attempt.token, soon + 2)
    assert await shop.see(overview.count_put_off) == {
        "sends": {"count": 2, "not_before": soon},
        "polls": {"count": 1, "not_before": soon + 2},
    }
    until = await pause(shop, IMAGE, 3600)
    assert (await shop.see(overview.count_put_off))["sends"] == {"count": 3, "not_before": until}


async def test_a_parked_step_waits_for_a_person(shop: Shop) -> None:
    step = await shop.ready(await shop.order())
    await shop.do(steps.advance, step, StepEvent.PARKED, {"waiting_for": WaitReason.REVIEW})
    assert (await shop.see(overview.count_for_people))["parked"] == 1
    assert (await shop.see(overview.count_jobs))["people"] == 1


async def test_a_provider_is_unreachable_if_its_last_sends_never_left(shop: Shop) -> None:
    await shop.worker()
    until = shop.clock.now_us() + 3600 * SECOND
    for key, code in (("a", "not_sent_connect_refused"), ("b", "not_sent_given_up"), ("c", "not_sent_absent")):
        attempt = await shop.submitting(await shop.order(key))
        await shop.do(attempts.advance, attempt, AttemptEvent.NEVER_LEFT, {"error_code": code})
        step = await shop.see(steps.get, attempt.step_id)
        await shop.do(steps.advance, step, StepEvent.CAME_BACK, {"not_before": until})
    found = await shop.see(overview.list_unreachable)
    assert found == [{"provider": "reapi", "count": 1, "not_before": until}]


async def test_an_alarm_on_a_route_is_put_in_other_words_and_lowered(shop: Shop) -> None:
    kind = AlarmKind.ROUTE_PAUSED
    await shop.do(alarms.raise_, shop.clock, kind, "reapi/image", job_id=None, detail="a")
    [before] = await shop.see(alarms.list_open)
    shop.clock.advance(5)
    await shop.do(alarms.restate, kind, "reapi/image", "b")
    assert await shop.see(alarms.list_open) == [{**before, "detail": "b"}]
    await shop.do(alarms.lower, "reapi/image", kind)
    assert await shop.see(alarms.list_open) == []
