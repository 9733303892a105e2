"""Late, doubled and contradicting evidence: recorded once, never guessed away, never a reason to buy."""

from pathlib import Path

import aiohttp
import pytest
import structlog

from onetake.domain.answers import Died
from onetake.domain.errors import DatabaseError, NotAllowedError
from onetake.domain.states import AlarmKind, CaseKind
from onetake.engine import collector, people, poller
from onetake.sandbox import SandboxOptions
from onetake.store import attempts, cases, leases
from onetake.store.database import Database
from tests.engine.recipes import ONE_REPLACEMENT, still
from tests.engine.rig import Rig, rigged
from tests.fakes.databases import FailingDatabase

PROMPT = "A heron in the reeds at first light"
SLOW = SandboxOptions(tiny=True, slow_s=0.4)
LOST_S = 12.0
"""Longer than a POST's lease in these tests: five seconds for the POST, one for last words, five for the margin."""


async def test_a_late_own_answer_settles_what_the_sweep_had_named_unknown(tmp_path: Path) -> None:
    async with rigged(tmp_path, SLOW) as rig:
        rig.sandbox.script("accept_slow")
        job = await rig.order(still(), prompt=PROMPT)
        async with rig.working():
            await _named_unknown_while_in_the_air(rig, job)
            await rig.until(job, "complete")
        view = await rig.view(job)
        assert [(case["kind"], case["state"]) for case in view["cases"]] == [("unknown", "settled")]
        assert view["steps"][0]["attempts"][0]["source"] == "answer"
        assert rig.bill["totals"]["posts"] == 1


async def test_a_late_own_answer_with_another_id_than_the_attached_one_is_a_conflict(tmp_path: Path) -> None:
    async with rigged(tmp_path, SLOW) as rig:
        foreign = await _buy_elsewhere(rig)
        rig.sandbox.script("accept_slow")
        job = await rig.order(still(), prompt=PROMPT)
        async with rig.working():
            await _named_unknown_while_in_the_air(rig, job)
            await people.attach(rig.parts, job, foreign)
            await rig.until_told(job, "case.opened", 2)
            await rig.until(job, "complete")
        view = await rig.view(job)
        assert [case["kind"] for case in view["cases"] if case["state"] == "open"] == ["ref_conflict"]
        assert view["refs"]["draw"] == foreign  # a saved ref is never replaced
        [conflict] = [case for case in view["cases"] if case["kind"] == "ref_conflict"]
        own = next(task["id"] for task in rig.bought() if task["id"] != foreign)
        assert conflict["evidence"] == [{"ref": own, "bound": foreign, "belongs_to": None}]
        assert own in [line["data"].get("ref") for line in await rig.journal(job) if line["event"] == "case.opened"]
        assert job in [row["id"] for row in await rig.parts.database.read(cases.list_ended_jobs)]
        assert rig.bill["totals"]["posts"] == 2


async def test_an_answer_with_an_id_that_is_another_attempts_is_a_conflict(tmp_path: Path) -> None:
    async with rigged(tmp_path, SLOW) as rig:
        rig.sandbox.script("accept_then_drop")
        lost = await rig.order(still(), prompt=PROMPT)
        await rig.work()
        rig.sandbox.script("accept_slow")
        robbed = await rig.order(still(), prompt="A heron that takes off")
        async with rig.working():
            await rig.meanwhile(lambda: _is_bought(rig, 2))
            await people.attach(rig.parts, lost, rig.bought()[1]["id"])  # a person mistakes one for the other
            await rig.until(robbed, "draw_submit_unknown")
            await rig.until(lost, "complete")
        kinds = {case["kind"] for case in (await rig.view(robbed))["cases"]}
        assert kinds == {"unknown", "ref_conflict"}
        assert (await rig.view(robbed))["money"]["open"] == 1


async def test_only_a_task_of_this_order_is_attached(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        other = await rig.order(prompt="Another still")
        await rig.work()
        rig.sandbox.script("accept_then_drop")
        job = await rig.order(still(), prompt=PROMPT)
        await rig.work()
        with rig.unchanged():
            for ref in (*(await rig.view(other))["refs"].values(), "task_that_never_was"):
                with pytest.raises(NotAllowedError):
                    await people.attach(rig.parts, job, ref)


async def test_who_lost_the_lease_changes_nothing(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        rig.sandbox.script("task_never_finishes")
        job = await rig.order(still(ONE_REPLACEMENT), prompt=PROMPT)
        async with rig.crashing():
            await rig.until(job, "draw_processing")
        stale = await rig.parts.database.read(leases.watched, rig.look()["attempts"][0]["id"])
        await rig.act(people.resume, job)  # takes the lease from whoever held it
        with rig.unchanged():
            await rig.act(poller.record_alarm, stale, AlarmKind.KEY_REFUSED, "a refusal of yesterday")
            await rig.act(poller.record_case, stale, CaseKind.NO_OUTPUT, {})
            await rig.act(poller.clear_alarms, stale, is_late=False)
            await rig.act(poller.record_finished, stale, ("http://127.0.0.1:1/elsewhere.png",))
            died = Died(code="generation_failed", message="", is_moderation=False, charged="no")
            await rig.act(poller.record_death, stale, died)
            await rig.act(collector.record_delivered, stale, [])
            await rig.parts.database.write(attempts.postpone, stale.attempt_id, stale.token, 1)


async def test_c020_an_id_whose_saving_fails_for_a_while_is_saved(tmp_path: Path) -> None:
    outage = Outage(writes=6)
    async with rigged(tmp_path, around=outage.around) as rig:
        outage.rig = rig
        job = await rig.order(still(), prompt=PROMPT)
        with structlog.testing.capture_logs() as logs:
            await rig.work()
        assert outage.failures == 6
        assert await rig.state(job) == "complete"
        assert rig.bill["totals"]["posts"] == 1
        assert rig.bought()[0]["id"] in [line.get("ref") for line in logs]


async def test_c020_an_id_that_was_never_saved_stays_an_unknown_and_stands_in_the_log(tmp_path: Path) -> None:
    outage = Outage(writes=10_000)
    async with rigged(tmp_path, around=outage.around) as rig:
        outage.rig = rig
        job = await rig.order(still(), prompt=PROMPT)
        with structlog.testing.capture_logs() as logs:
            async with rig.crashing():
                await rig.clock.sleep(20)
        outage.writes = 0
        await rig.work()
        view = await rig.view(job)
        assert (view["state"], view["money"]["open"]) == ("draw_submit_unknown", 1)
        (ref,) = {line["ref"] for line in logs if line["event"] == "answer.not_recorded"}
        await people.attach(rig.parts, job, ref)
        await rig.work()
        assert await rig.state(job) == "complete"
        assert rig.bill["totals"]["posts"] == 1


async def test_a_database_that_stays_gone_ends_the_worker_with_its_sentence(tmp_path: Path) -> None:
    outage = Outage(writes=10_000)
    async with rigged(tmp_path, around=outage.around) as rig:
        outage.rig = rig
        await rig.order(still(), prompt=PROMPT)
        await rig.order(still(), prompt="A second heron, which waits for its claim")
        with pytest.raises(DatabaseError, match="is full"):
            await rig.work()
        outage.writes = 0


class Outage:
    """Makes writes fail from the moment on at which the provider accepted something."""

    rig: Rig | None = None

    def __init__(self, *, writes: int) -> None:
        self.writes = writes
        self.failures = 0

    def around(self, database: Database) -> Database:
        """The database under this outage."""
        return FailingDatabase(database, fails=self._fails)

    def _fails(self) -> bool:
        is_out = self.rig is not None and bool(self.rig.bought()) and self.failures < self.writes
        self.failures += is_out
        return is_out


async def _named_unknown_while_in_the_air(rig: Rig, job: str) -> None:
    """Let the lease of the POST run out after the provider took it and before it answers."""

    async def is_unknown() -> bool:
        return await rig.state(job) == "draw_submit_unknown"

    before = len(rig.bought())
    await rig.meanwhile(lambda: _is_bought(rig, before + 1))
    rig.clock.leap(LOST_S)
    await rig.meanwhile(is_unknown)


async def _is_bought(rig: Rig, count: int) -> bool:
    return len(rig.bought()) >= count


async def _buy_elsewhere(rig: Rig) -> str:
    """The id of a task that somebody ordered with our key, beside onetake."""
    order = {"model": "gemini-3.1-flash-image-preview", "prompt": "Somebody else's still", "size": "16:9"}
    async with (
        aiohttp.ClientSession() as session,
        session.post(f"{rig.sandbox.base_url}/api/v1/images/generations", json=order) as answer,
    ):
        return str((await answer.json())["id"])
