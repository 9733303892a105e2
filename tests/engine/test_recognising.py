"""Attaching an id that can't be this request's, or that may be another's as well."""

from pathlib import Path

import pytest

from onetake.config import AccountSettings
from onetake.domain.errors import NotAllowedError, NotFoundError
from onetake.domain.states import Role
from onetake.engine import bookkeeping, people
from tests.engine.recipes import still
from tests.engine.rig import Rig, rigged

HOUR_S = 3600.0


async def lost(rig: Rig, *prompts: str) -> list[str]:
    """Jobs whose answer was lost, in the order of their prompts."""
    found = []
    for prompt in prompts:
        rig.sandbox.script("accept_then_drop")
        found.append(await rig.order(still(), key=prompt, prompt=prompt))
        await rig.work()
    return found


async def test_a_task_of_another_time_is_refused_with_both_times(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        [first] = await lost(rig, "first")
        [task] = rig.bought()
        rig.clock.leap(HOUR_S)
        [second] = await lost(rig, "second")
        with (
            rig.unchanged(),
            pytest.raises(NotAllowedError, match=r"was made at .* UTC, this request was sent between"),
        ):
            await people.attach(rig.parts, second, task["id"])
        with rig.unchanged(), pytest.raises(NotAllowedError, match="was made at"):
            await people.attach(rig.parts, second, task["id"], is_sure=True)
        await people.attach(rig.parts, first, task["id"])  # its time tells it from the other one


async def test_where_nothing_tells_two_apart_a_person_must_be_sure(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        first, second = await lost(rig, "first", "second")
        task = next(each for each in rig.bought() if each["prompt"] == "second")
        with rig.unchanged(), pytest.raises(NotAllowedError, match="any of 2 unknown requests") as refused:
            await people.attach(rig.parts, second, task["id"])
        assert set(refused.value.fields) == {f"/{first}/draw", f"/{second}/draw"}
        assert all(told.startswith("key ") and told.endswith(" UTC") for told in refused.value.fields.values())
        await people.attach(rig.parts, second, task["id"], is_sure=True)
        await rig.work()
        assert await rig.state(second) == "complete"
        other = next(each for each in rig.bought() if each["prompt"] == "first")
        await people.attach(rig.parts, first, other["id"])  # the only one left


async def test_a_task_that_may_be_another_accounts_is_attached_only_from_over_all_accounts(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        [first] = await lost(rig, "first")
        await rig.act(bookkeeping.create_account, "b", plan="none", zone="UTC")
        await rig.restart(rig.settings.model_copy(update={"account": AccountSettings(name="b"), "person": "ben"}))
        await rig.act(bookkeeping.add_person, "ben", Role.OPERATOR)
        [second] = await lost(rig, "second")
        task = next(each for each in rig.bought() if each["prompt"] == "second")
        for is_sure in (False, True):
            with rig.unchanged(), pytest.raises(NotAllowedError, match="1 of them are other accounts'") as refused:
                await people.attach(rig.parts, second, task["id"], is_sure=is_sure)
            assert first not in f"{refused.value.sentence} {refused.value.fields}"
        await rig.restart(rig.settings.model_copy(update={"person": "ada"}))
        with rig.unchanged(), pytest.raises(NotAllowedError, match="repeat with --yes") as unsure:
            await people.attach(rig.parts, second, task["id"])
        assert set(unsure.value.fields) == {f"/{first}/draw", f"/{second}/draw"}
        await people.attach(rig.parts, second, task["id"], is_sure=True)
        with rig.unchanged(), pytest.raises(NotFoundError):
            await people.attach(rig.parts, first, task["id"])
