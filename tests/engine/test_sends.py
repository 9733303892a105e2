"""What a POST comes to: unknown, never left, refused, later, replaced; and the models it may be sent for."""

import dataclasses
import socket
from contextlib import closing
from pathlib import Path

import pytest

from onetake.domain.answers import Died
from onetake.domain.errors import BadValueError, ProviderError
from onetake.domain.recipe_toml import parse_recipe
from onetake.engine import people
from onetake.engine.intake import accept
from onetake.engine.orders import prepare
from onetake.engine.poller import record_death
from onetake.sandbox import SandboxOptions
from onetake.store import leases
from tests.engine.recipes import ONE_REPLACEMENT, still
from tests.engine.rig import Rig, rigged, settings_for

PROMPT = "A night train crossing a snowy valley"
THREE_TRIES = "[steps.repeats]\ncount_max = 3"


@pytest.mark.parametrize(
    ("fault", "bought"),
    [
        ("accept_then_drop", 1),
        ("accept_then_5xx", 1),
        ("accept_then_silence", 1),
        ("accept_then_redirect", 1),
        ("accept_no_id", 1),
        ("accept_unreadable", 1),
        ("accept_truncated", 1),
        ("accept_gateway_html", 1),
        ("refuse_drop", 0),
        ("refuse_5xx", 0),
        ("refuse_429_html", 0),
    ],
)
async def test_c002_c004_an_answer_that_proves_nothing_is_unknown(tmp_path: Path, fault: str, bought: int) -> None:
    async with rigged(tmp_path, submit_timeout_s=0.5) as rig:
        rig.sandbox.script(fault)
        job = await rig.order(still(), prompt=PROMPT)
        await rig.work()
        rig.clock.leap(86_400)
        await rig.work()
        view = await rig.view(job)
        assert (view["state"], view["status"]) == ("draw_submit_unknown", "submission_unknown")
        assert [case["kind"] for case in view["cases"]] == ["unknown"]
        assert view["money"]["open"] == 1
        assert view["steps"][0]["attempts"][0]["outcome"] == "unknown"
        assert len(rig.bought()) == bought
        assert rig.bill["totals"]["posts"] == 1


async def test_c002_a_send_that_never_left_is_repeated_within_bounds(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        job = await rig.order(still(THREE_TRIES), prompt=PROMPT)
        good = rig.settings
        with closing(socket.create_server(("127.0.0.1", 0))) as server:
            dead_origin = f"http://127.0.0.1:{server.getsockname()[1]}"
        await rig.restart(settings_for(tmp_path, rig.settings.database_url, dead_origin))
        await rig.work()
        view = await rig.view(job)
        assert view["status"] == "needs_review"
        assert [alarm["kind"] for alarm in view["alarms"]] == ["repeats"]
        tries = view["steps"][0]["attempts"]
        assert [(each["state"], each["error_code"]) for each in tries] == [("not_sent", "not_sent_connect_refused")] * 3
        assert rig.bill["totals"]["posts"] == 0
        rig.clock.leap(86_400)
        await rig.work()
        assert len((await rig.view(job))["steps"][0]["attempts"]) == 3  # a person is asked; time sends nothing
        await rig.restart(good)
        await rig.act(people.resume, job)
        await rig.work()
        assert await rig.state(job) == "complete"
        assert rig.bill["totals"]["posts"] == 1


@pytest.mark.parametrize("fault", ["refuse_429", "refuse_429_date"])
async def test_c135_a_429_is_ready_again_not_before_its_retry_after(tmp_path: Path, fault: str) -> None:
    async with rigged(tmp_path, SandboxOptions(tiny=True, retry_after_s=30)) as rig:
        rig.sandbox.script(fault)
        job = await rig.order(still(), prompt=PROMPT)
        before_us = rig.clock.now_us()
        async with rig.crashing():
            await rig.until_told(job, "attempt.later")
            view = await rig.view(job)
        assert view["state"] == "draw_ready"
        assert 28 <= (view["steps"][0]["not_before"] - before_us) / 1e6 <= 36  # a date counts whole seconds
        await rig.work()
        view = await rig.view(job)
        assert view["state"] == "complete"
        assert [each["state"] for each in view["steps"][0]["attempts"]] == ["rejected", "delivered"]
        assert rig.bill["totals"]["posts"] == 2
        assert len(rig.bought()) == 1


async def test_the_number_of_repeats_is_capped_and_resume_releases(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        rig.sandbox.script("refuse_429", times=3)
        job = await rig.order(still(THREE_TRIES), prompt=PROMPT)
        await rig.work()
        view = await rig.view(job)
        assert (view["status"], view["steps"][0]["waiting_for"]) == ("needs_review", "review")
        assert view["money"]["open"] == 1
        await rig.act(people.resume, job)
        await rig.work()
        view = await rig.view(job)
        assert (view["state"], view["alarms"]) == ("complete", [])


async def test_the_time_of_repeats_is_capped(tmp_path: Path) -> None:
    async with rigged(tmp_path, SandboxOptions(tiny=True, retry_after_s=3600)) as rig:
        rig.sandbox.script("refuse_429")
        job = await rig.order(still("[steps.repeats]\nelapsed_s_max = 600"), prompt=PROMPT)
        await rig.work()
        assert (await rig.view(job))["status"] == "needs_review"
        assert rig.bill["totals"]["posts"] == 1


@pytest.mark.parametrize("fault", ["refuse_4xx", "refuse_moderation"])
async def test_a_definite_refusal_of_the_order_fails_and_releases(tmp_path: Path, fault: str) -> None:
    async with rigged(tmp_path) as rig:
        rig.sandbox.script(fault)
        job = await rig.order(still(ONE_REPLACEMENT), prompt=PROMPT)
        await rig.work()
        view = await rig.view(job)
        assert (view["state"], view["error_category"], view["money"]["open"]) == ("failed", "input", 0)
        assert rig.bill["totals"]["posts"] == 1


@pytest.mark.parametrize("fault", ["refuse_401", "refuse_403"])
async def test_a_refusal_of_our_key_fails_no_order(tmp_path: Path, fault: str) -> None:
    async with rigged(tmp_path) as rig:
        rig.sandbox.script(fault)
        job = await rig.order(still(), prompt=PROMPT)
        await rig.work()
        view = await rig.view(job)
        assert view["state"] == "complete"
        assert [each["state"] for each in view["steps"][0]["attempts"]] == ["rejected", "delivered"]
        assert rig.bill["totals"]["posts"] == 2


@pytest.mark.parametrize(("failures", "state"), [(1, "complete"), (2, "failed")])
async def test_a_replacement_rule_buys_exactly_what_it_says(tmp_path: Path, failures: int, state: str) -> None:
    async with rigged(tmp_path) as rig:
        rig.sandbox.script("task_fails", times=failures)
        job = await rig.order(still(ONE_REPLACEMENT), prompt=PROMPT)
        await rig.work()
        rig.clock.leap(86_400)
        await rig.work()
        assert await rig.state(job) == state
        assert rig.bill["totals"]["posts"] == len(rig.bought()) == 2


async def test_a_moderated_generation_is_never_replaced(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        rig.sandbox.script("task_never_finishes")
        job = await rig.order(still(ONE_REPLACEMENT), prompt=PROMPT)
        async with rig.crashing():
            await rig.until(job, "draw_processing")
        held = await rig.parts.database.read(leases.watched, rig.look()["attempts"][0]["id"])
        died = Died(code="content_policy_violation", message="refused", is_moderation=True, charged="no")
        await rig.act(record_death, held, died)
        await rig.work()
        assert await rig.state(job) == "failed"
        assert rig.bill["totals"]["posts"] == 1


async def test_a_model_that_is_not_offered_is_refused_at_creation(tmp_path: Path) -> None:
    async with rigged(tmp_path, SandboxOptions(tiny=True, image_models=("another-model",))) as rig:
        with pytest.raises(BadValueError, match=r"gemini-3\.1-flash-image-preview"):
            await rig.order(still(), prompt=PROMPT)
        assert rig.look()["jobs"] == []


async def test_a_model_that_is_no_longer_offered_parks_before_the_first_post(tmp_path: Path) -> None:
    async with rigged(tmp_path, SandboxOptions(tiny=True, image_models=("another-model",))) as rig:
        job = await _order_unchecked(rig)
        await rig.work()
        view = await rig.view(job)
        assert (view["status"], [alarm["kind"] for alarm in view["alarms"]]) == ("needs_review", ["model_refused"])
        provider = rig.sandbox._provider
        provider.options = dataclasses.replace(provider.options, image_models=("gemini-3.1-flash-image-preview",))
        await rig.act(people.resume, job)
        await rig.work()
        view = await rig.view(job)
        assert (view["state"], view["alarms"]) == ("complete", [])
        assert rig.bill["totals"]["posts"] == 1


async def test_nothing_is_sent_while_nobody_says_which_models_are_offered(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        with closing(socket.create_server(("127.0.0.1", 0))) as server:
            dead_origin = f"http://127.0.0.1:{server.getsockname()[1]}"
        good = rig.settings
        await rig.restart(settings_for(tmp_path, rig.settings.database_url, dead_origin))
        job = await rig.order(still(), prompt=PROMPT)
        with pytest.raises(ProviderError, match="can't be asked which models"):
            await rig.work()
        tables = rig.look()
        assert await rig.state(job) == "draw_ready"
        assert [(alarm["kind"], alarm["subject"]) for alarm in tables["alarms"]] == [("model_list", "reapi")]
        await rig.restart(good)
        tables = await rig.work()
        assert await rig.state(job) == "complete"
        assert [alarm["cleared_at"] is None for alarm in tables["alarms"]] == [False]


async def test_a_refused_key_sends_nothing_and_is_said(tmp_path: Path) -> None:
    async with rigged(tmp_path, SandboxOptions(tiny=True, keys=("rk_other",))) as rig:
        job = await _order_unchecked(rig)
        with pytest.raises(ProviderError, match="refuses our key"):
            await rig.work()
        assert await rig.state(job) == "draw_ready"
        assert rig.bill["totals"]["posts"] == 0


async def _order_unchecked(rig: Rig) -> str:
    """A job as it is taken when nobody can be asked which models are offered."""
    recipe = parse_recipe(still(), "test.toml")
    return (await rig.act(accept, prepare(recipe, still(), inputs={"prompt": PROMPT}))).job_id
