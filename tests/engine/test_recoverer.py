"""A lost answer is asked for as far as the contract goes: settled where it can be, else held, never bought twice."""

from dataclasses import replace
from pathlib import Path

import pytest

from onetake.domain.recovering import POSTS_MAX
from onetake.domain.states import StopKind
from onetake.engine import stopping
from onetake.sandbox import SandboxOptions
from tests.engine.promises import BY_ECHO, BY_KEY, BY_TIME, REFUSED, REPLAYED, contract_file
from tests.engine.recipes import still
from tests.engine.rig import HOUR_S, TINY, Rig, rigged

PROMPT = "A harbour before dawn"
REPLAYING = replace(TINY, used_keys="replayed")
REFUSING = replace(TINY, used_keys="refused")
SHOWING = replace(TINY, shows_tasks=True)
LOST = ("accept_then_drop", "accept_then_5xx", "accept_no_id", "accept_unreadable", "accept_gateway_html")
NOT_TAKEN = ("refuse_drop", "refuse_5xx", "refuse_429_html")


async def settled(rig: Rig, job: str) -> str:
    """The job's state, after a worker did all that there is to do within some hours."""
    for _ in range(4):
        await rig.work()
        rig.clock.leap(HOUR_S / 4)
    await rig.work()
    return await rig.state(job)


def sends(rig: Rig) -> list[tuple[str, str | None]]:
    return [(row["kind"], row["outcome"]) for row in rig.look()["sends"]]


@pytest.mark.parametrize("fault", [*LOST, *NOT_TAKEN])
async def test_a_replay_under_the_same_key_buys_once(tmp_path: Path, fault: str) -> None:
    contract = contract_file(tmp_path, idempotency=REPLAYED)
    async with rigged(tmp_path, REPLAYING, contract=contract) as rig:
        rig.sandbox.script(fault)
        job = await rig.order(still(), prompt=PROMPT)
        assert await settled(rig, job) == "complete"
        assert sends(rig) == [("first", "unknown"), ("replay", "accepted")]
        assert (len(rig.bought()), rig.bill["totals"]["posts"]) == (1, 2)
        view = await rig.view(job)
        assert (len(view["steps"][0]["attempts"]), view["cases"]) == (1, [])
        assert {row["source"] for row in rig.look()["refs"]} == {"answer"}


async def test_replays_go_on_until_one_is_answered_and_are_bounded(tmp_path: Path) -> None:
    contract = contract_file(tmp_path, idempotency=REPLAYED)
    async with rigged(tmp_path, REPLAYING, contract=contract) as rig:
        rig.sandbox.script("accept_then_drop", times=3, prompt_contains="dawn")
        lucky = await rig.order(still(), prompt=PROMPT)
        assert await settled(rig, lucky) == "complete"
        rig.sandbox.script("accept_then_drop", times=POSTS_MAX, prompt_contains="dusk")
        unlucky = await rig.order(still(), prompt="A harbour at dusk")
        assert await settled(rig, unlucky) == "draw_submit_unknown"
        view = await rig.view(unlucky)
        assert [case["kind"] for case in view["cases"]] == ["unknown"]
        assert view["cases"][0]["evidence"][0]["posts"] == POSTS_MAX
        assert view["money"]["open"] == 1
        assert len(rig.bought()) == 2


async def test_a_replay_that_is_refused_for_its_input_proves_that_the_first_was_not_taken(tmp_path: Path) -> None:
    contract = contract_file(tmp_path, idempotency=REPLAYED)
    async with rigged(tmp_path, REPLAYING, contract=contract) as rig:
        rig.sandbox.script("refuse_drop")
        rig.sandbox.script("refuse_4xx")
        job = await rig.order(still(), prompt=PROMPT)
        assert await settled(rig, job) == "failed"
        assert (await rig.view(job))["money"]["open"] == 0
        assert sends(rig) == [("first", "unknown"), ("replay", "rejected")]


@pytest.mark.parametrize("fault", ["refuse_401", "refuse_429"])
async def test_a_refusal_that_speaks_of_key_or_pace_proves_nothing(tmp_path: Path, fault: str) -> None:
    contract = contract_file(tmp_path, idempotency=REPLAYED)
    async with rigged(tmp_path, REPLAYING, contract=contract) as rig:
        rig.sandbox.script("accept_then_drop")
        rig.sandbox.script(fault)
        job = await rig.order(still(), prompt=PROMPT)
        assert await settled(rig, job) == "complete"
        assert len(rig.bought()) == 1
        assert [kind for kind, _ in sends(rig)] == ["first", "replay", "replay"]


async def test_c009_a_key_that_is_refused_as_used_proves_that_the_first_landed(tmp_path: Path) -> None:
    contract = contract_file(tmp_path, idempotency=REFUSED)
    async with rigged(tmp_path, REFUSING, contract=contract) as rig:
        rig.sandbox.script("accept_then_drop")
        job = await rig.order(still(), prompt=PROMPT)
        assert await settled(rig, job) == "draw_submit_unknown"
        assert [kind for kind, _ in sends(rig)] == ["first", "replay"]  # it would be refused again
        assert (len(rig.bought()), (await rig.view(job))["money"]["open"]) == (1, 1)
        assert [case["kind"] for case in (await rig.view(job))["cases"]] == ["unknown"]
        rig.sandbox.script("refuse_drop")
        other = await rig.order(still(), prompt="Another harbour")
        assert await settled(rig, other) == "complete"  # never used: the replay bought it
        assert len(rig.bought()) == 2


async def test_a_key_that_is_used_and_shown_is_adopted(tmp_path: Path) -> None:
    contract = contract_file(tmp_path, idempotency=REFUSED, lookup=BY_KEY)
    async with rigged(tmp_path, replace(REFUSING, shows_tasks=True), contract=contract) as rig:
        rig.sandbox.script("accept_then_drop")
        job = await rig.order(still(), prompt=PROMPT)
        assert await settled(rig, job) == "complete"
        assert {row["source"] for row in rig.look()["refs"]} == {"lookup"}
        assert len(rig.bought()) == 1


@pytest.mark.parametrize("fault", LOST)
async def test_a_task_is_found_by_our_reference(tmp_path: Path, fault: str) -> None:
    async with rigged(tmp_path, SHOWING, contract=contract_file(tmp_path, lookup=BY_KEY)) as rig:
        rig.sandbox.script(fault)
        job = await rig.order(still(), prompt=PROMPT)
        assert await settled(rig, job) == "complete"
        assert rig.bill["totals"]["posts"] == 1
        assert {row["source"] for row in rig.look()["refs"]} == {"lookup"}
        assert "attempt.looked_up" in await rig.events(job)


@pytest.mark.parametrize("fault", NOT_TAKEN)
async def test_a_task_that_a_conclusive_list_does_not_show_was_never_taken(tmp_path: Path, fault: str) -> None:
    async with rigged(tmp_path, SHOWING, contract=contract_file(tmp_path, lookup=BY_KEY)) as rig:
        rig.sandbox.script(fault)
        job = await rig.order(still(), prompt=PROMPT)
        assert await settled(rig, job) == "complete"
        tries = (await rig.view(job))["steps"][0]["attempts"]
        assert [(each["no"], each["state"]) for each in tries] == [(1, "not_sent"), (2, "delivered")]
        assert tries[0]["error_code"] == "not_sent_absent"  # by which it isn't taken for an unreachable provider
        assert len(rig.bought()) == 1
        assert [line["data"]["found"] for line in await rig.journal(job) if line["event"] == "attempt.looked_up"] == [
            "nothing"
        ] * 3


async def test_nothing_is_looked_up_before_it_is_certainly_shown(tmp_path: Path) -> None:
    async with rigged(tmp_path, SHOWING, contract=contract_file(tmp_path, lookup=BY_KEY)) as rig:
        rig.sandbox.script("accept_then_drop")
        job = await rig.order(still(), prompt=PROMPT)
        await rig.work()
        sent_at = rig.look()["sends"][0]["intended_at"]
        looked = [line["at"] for line in await rig.journal(job) if line["event"] == "attempt.looked_up"]
        assert looked[0] - sent_at >= 10_000_000


async def test_the_one_task_that_repeats_our_inputs_is_adopted(tmp_path: Path) -> None:
    async with rigged(tmp_path, SHOWING, contract=contract_file(tmp_path, lookup=BY_ECHO)) as rig:
        other = await rig.order(still(), prompt="Somebody else's")
        await rig.work()
        rig.sandbox.script("accept_then_drop")
        job = await rig.order(still(), prompt=PROMPT)
        assert await settled(rig, job) == "complete"
        assert await rig.state(other) == "complete"
        assert rig.bill["totals"]["posts"] == 2


async def test_two_alike_unknowns_are_never_matched(tmp_path: Path) -> None:
    async with rigged(tmp_path, SHOWING, contract=contract_file(tmp_path, lookup=BY_ECHO)) as rig:
        rig.sandbox.script("accept_then_drop", times=2)
        one, two = [await rig.order(still(), key, prompt=PROMPT) for key in ("one", "two")]
        assert [await settled(rig, job) for job in (one, two)] == ["draw_submit_unknown"] * 2
        assert (len(rig.bought()), rig.look()["refs"]) == (2, [])


async def test_what_has_only_the_time_is_told_to_a_person_and_not_taken(tmp_path: Path) -> None:
    async with rigged(tmp_path, SHOWING, contract=contract_file(tmp_path, lookup=BY_TIME)) as rig:
        rig.sandbox.script("accept_then_drop")
        job = await rig.order(still(), prompt=PROMPT)
        assert await settled(rig, job) == "draw_submit_unknown"
        (task,) = rig.bought()
        told = [line["data"].get("refs") for line in await rig.journal(job) if line["event"] == "attempt.looked_up"]
        assert told[0] == [task["id"]]
        assert [case["kind"] for case in (await rig.view(job))["cases"]] == ["unknown"]


async def test_a_statement_that_has_run_out_permits_nothing(tmp_path: Path) -> None:
    old = REPLAYED + 'valid_until = "2020-01-01"\n'
    async with rigged(tmp_path, REPLAYING, contract=contract_file(tmp_path, idempotency=old)) as rig:
        rig.sandbox.script("accept_then_drop")
        job = await rig.order(still(), prompt=PROMPT)
        assert await settled(rig, job) == "draw_submit_unknown"
        assert sends(rig) == [("first", "unknown")]
        why = (await rig.view(job))["cases"][0]["evidence"][0]["reason"]
        assert why == "what the contract says of replays has run out"


async def test_a_replay_is_kept_back_while_the_provider_is_stopped(tmp_path: Path) -> None:
    async with rigged(tmp_path, REPLAYING, contract=contract_file(tmp_path, idempotency=REPLAYED)) as rig:
        rig.sandbox.script("accept_then_silence")
        job = await rig.order(still(), prompt=PROMPT)
        async with rig.crashing():
            await rig.meanwhile(lambda: _is_bought(rig))
        await rig.act(stopping.stop, StopKind.PROVIDER, "reapi", "looking into it")
        rig.clock.leap(HOUR_S / 60)
        async with rig.working():
            await rig.until(job, "draw_submit_unknown")
            await rig.clock.sleep(300)
        assert [kind for kind, _ in sends(rig)] == ["first"]
        await rig.act(stopping.lift, StopKind.PROVIDER, "reapi")
        assert await settled(rig, job) == "complete"
        assert len(rig.bought()) == 1


async def _is_bought(rig: Rig) -> bool:
    return bool(rig.bought())


@pytest.mark.parametrize("after_s", [0.0, 0.3, 1.0, 2.0])
async def test_a_crash_in_the_middle_of_recovery_buys_nothing_twice(tmp_path: Path, after_s: float) -> None:
    options = SandboxOptions(tiny=True, used_keys="replayed", slow_s=3.0)
    async with rigged(tmp_path, options, contract=contract_file(tmp_path, idempotency=REPLAYED)) as rig:
        rig.sandbox.script("accept_then_drop")
        rig.sandbox.script("accept_slow")
        job = await rig.order(still(), prompt=PROMPT)
        async with rig.crashing():
            await rig.until(job, "draw_submit_unknown")
            await rig.clock.sleep(after_s)
        assert await settled(rig, job) == "complete"
        assert len(rig.bought()) == 1
