"""What a person is told of before anything is late: a provider that can't be reached, or our own program failing."""

import socket
from contextlib import closing
from pathlib import Path

import pytest
from pydantic import SecretStr

from onetake.engine import people
from onetake.engine.outcomes import REPEATS_ALARM_AFTER
from onetake.engine.poller import FAILURES_MAX
from onetake.engine.watcher import BROKEN_MAX
from onetake.sandbox import SandboxOptions
from onetake.store.database import Tx
from tests.engine.keeping import Row
from tests.engine.recipes import ONE_REPLACEMENT, still
from tests.engine.rig import Rig, rigged, settings_for

PROMPT = "A bell that nobody rings"


async def test_a_provider_that_can_not_be_reached_is_said_after_three_sends(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        job = await rig.order(still(), prompt=PROMPT)
        good = rig.settings
        await _leave(rig)
        async with rig.working():
            await rig.until_told(job, "attempt.not_sent", REPEATS_ALARM_AFTER - 1)
            assert (await rig.view(job))["alarms"] == []
            await rig.until_told(job, "alarm.raised")
            await rig.until_told(job, "attempt.not_sent", REPEATS_ALARM_AFTER + 1)
        view = await rig.view(job)
        assert view["state"] == "draw_ready"
        assert [(alarm["kind"], alarm["detail"][:19]) for alarm in view["alarms"]] == [
            ("repeats", "4 sends in a row we")
        ]
        await rig.restart(good)
        await rig.work()
        assert (await rig.view(job))["alarms"] == []
        assert (await rig.events(job)).count("alarm.raised") == (await rig.events(job)).count("alarm.cleared") == 1


async def test_three_times_later_is_said_until_one_is_accepted(tmp_path: Path) -> None:
    async with rigged(tmp_path, SandboxOptions(tiny=True, retry_after_s=1)) as rig:
        rig.sandbox.script("refuse_429", times=REPEATS_ALARM_AFTER)
        job = await rig.order(still(), prompt=PROMPT)
        tables = await rig.work()
        assert await rig.state(job) == "complete"
        assert [(row["kind"], row["cleared_at"] is None) for row in tables["alarms"]] == [("repeats", False)]


async def test_a_step_that_ends_takes_its_alarm_along(tmp_path: Path) -> None:
    async with rigged(tmp_path, SandboxOptions(tiny=True, retry_after_s=1)) as rig:
        job = await rig.order(still(), prompt=PROMPT)
        await _leave(rig)
        async with rig.crashing():
            await rig.until_told(job, "alarm.raised")
        await rig.act(people.cancel, job)
        assert await rig.state(job) == "cancelled"
        assert (await rig.view(job))["alarms"] == []


async def test_what_was_accepted_in_between_begins_the_row_of_repeats_anew(tmp_path: Path) -> None:
    async with rigged(tmp_path, SandboxOptions(tiny=True, retry_after_s=1)) as rig:
        rig.sandbox.script("refuse_429", times=REPEATS_ALARM_AFTER - 1)
        rig.sandbox.script("task_fails")
        job = await rig.order(still(ONE_REPLACEMENT), prompt=PROMPT)
        async with rig.crashing():
            await rig.until_told(job, "step.replaced")
        rig.sandbox.script("refuse_429", times=REPEATS_ALARM_AFTER - 1)
        await rig.work()
        assert await rig.state(job) == "complete"
        assert "alarm.raised" not in await rig.events(job)


@pytest.mark.parametrize("fault", ["poll_5xx", "poll_drop", "poll_gateway_html"])
async def test_polls_that_nobody_answers_are_said_and_polled_on(tmp_path: Path, fault: str) -> None:
    async with rigged(tmp_path) as rig:
        rig.sandbox.script(fault, times=FAILURES_MAX)
        job = await rig.order(still(), prompt=PROMPT)
        async with rig.working():
            await rig.until(job, "complete", every_s=2)
        [alarm] = rig.look()["alarms"]
        assert (alarm["kind"], alarm["cleared_at"] is None) == ("no_answer", False)
        assert alarm["detail"].startswith("5 polls in a row got no answer")


async def test_polls_without_a_key_are_said(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        rig.sandbox.script("task_never_finishes")
        job = await rig.order(still(), prompt=PROMPT)
        async with rig.crashing():
            await rig.until(job, "draw_processing")
        good = rig.settings
        keyless = {name: each.model_copy(update={"api_key": SecretStr("")}) for name, each in good.providers.items()}
        await rig.restart(good.model_copy(update={"providers": keyless}))
        async with rig.working():
            await rig.until_told(job, "alarm.raised")
        [alarm] = (await rig.view(job))["alarms"]
        assert (alarm["kind"], "No key for reapi" in alarm["detail"]) == ("key_refused", True)
        rig.let_finish()
        await rig.restart(good)
        await rig.work()
        assert (await rig.view(job))["alarms"] == []


async def test_a_visit_that_breaks_us_is_said_by_its_type_alone_and_the_others_go_on(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        job = await rig.order(still(), prompt=PROMPT)
        [spec] = [row["spec"] for row in rig.look()["expected_outputs"]]
        await rig.parts.database.write(_sql, "UPDATE expected_outputs SET spec = '[\"nonsense\"]'")
        other = await rig.order(still(), prompt="Another bell")
        async with rig.working():
            await rig.until_told(job, "alarm.raised")
            await rig.until(other, "complete")
        [alarm] = (await rig.view(job))["alarms"]
        assert BROKEN_MAX > 1
        assert (alarm["kind"], "AttributeError" in alarm["detail"], "nonsense" in alarm["detail"]) == (
            "broken",
            True,
            False,
        )
        await _say_what_comes_out(rig, job, spec)
        async with rig.working():
            await rig.until(job, "complete", every_s=2)
        assert await rig.state(job) == "complete"
        assert (await rig.view(job))["alarms"] == []


async def test_a_step_that_breaks_us_is_left_with_an_alarm_and_the_others_go_on(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        job, other = await rig.order(still(), prompt=PROMPT), await rig.order(still(), prompt="Another bell")
        frozen = next(step["request_hash"] for step in rig.look()["steps"] if step["job_id"] == job)
        await _rehash(rig, job, "not the one that was frozen")
        await rig.work()
        assert [await rig.state(each) for each in (job, other)] == ["draw_ready", "complete"]
        view = await rig.view(job)
        [alarm] = view["alarms"]
        assert (alarm["kind"], "AssertionError" in alarm["detail"]) == ("broken", True)
        assert _attempts(rig, job) == []  # the intent was undone with it
        await _rehash(rig, job, frozen)
        rig.clock.leap(3600)
        await rig.work()
        view = await rig.view(job)
        assert (view["state"], view["alarms"]) == ("complete", [])
        assert rig.bill["totals"]["posts"] == 2


async def _leave(rig: Rig) -> None:
    """Let nothing answer at the provider's address from now on."""
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        dead_origin = f"http://127.0.0.1:{server.getsockname()[1]}"
    await rig.restart(settings_for(rig.folder, rig.settings.database_url, dead_origin))


async def test_a_visit_that_we_refuse_ourselves_is_said_in_its_words(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        rig.sandbox.script("task_never_finishes")
        job = await rig.order(still(), prompt=PROMPT)
        async with rig.crashing():
            await rig.until(job, "draw_processing")
        await rig.parts.database.write(_sql, "UPDATE attempts SET operation = 'nonsense'")
        async with rig.working():
            await rig.until_told(job, "alarm.raised")
        [alarm] = (await rig.view(job))["alarms"]
        assert (alarm["kind"], "has no operation 'nonsense'" in alarm["detail"]) == ("broken", True)


async def _say_what_comes_out(rig: Rig, job: str, spec: str) -> None:
    await rig.parts.database.write(
        _sql, "UPDATE expected_outputs SET spec = :spec WHERE job_id = :job", {"spec": spec, "job": job}
    )


async def _rehash(rig: Rig, job: str, digest: str) -> None:
    await rig.parts.database.write(
        _sql, "UPDATE steps SET request_hash = :hash WHERE job_id = :job", {"hash": digest, "job": job}
    )


def _attempts(rig: Rig, job: str) -> list[Row]:
    return [row for row in rig.look()["attempts"] if row["job_id"] == job]


def _sql(tx: Tx, statement: str, params: dict[str, object] | None = None) -> None:
    assert tx.do(statement, params or {}) == 1
