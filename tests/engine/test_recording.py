"""An answer that can't be recorded as it is: what it comes to is kept, or the doubt is, and an id is never lost."""

from collections.abc import Callable
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

import pytest
import structlog
from structlog.typing import EventDict

from onetake.engine import people
from onetake.sandbox import SandboxOptions
from onetake.store.database import Database, Tx
from tests.engine.recipes import still
from tests.engine.rig import rigged

P = ParamSpec("P")
T = TypeVar("T")

PROMPT = "An owl on a fence post at midnight"
QUOTE = "what can't be kept: " + PROMPT


class ChokingDatabase:
    """A database that breaks on answers to a POST, after all is written, so many times; in no way of its own."""

    def __init__(self, inner: Database, *, times: int) -> None:
        self._inner, self._times = inner, times

    async def write(self, op: Callable[Concatenate[Tx, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The operation's result, committed."""
        if op.__name__ != "record_outcome" or not self._times:
            return await self._inner.write(op, *args, **kwargs)
        self._times -= 1

        def choked(tx: Tx) -> T:
            op(tx, *args, **kwargs)
            raise UnicodeError(QUOTE)

        return await self._inner.write(choked)

    async def read(self, op: Callable[Concatenate[Tx, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The operation's result, from one snapshot."""
        return await self._inner.read(op, *args, **kwargs)

    async def aclose(self) -> None:
        """Close the real one."""
        await self._inner.aclose()


def choking(times: int) -> Callable[[Database], Database]:
    return lambda database: ChokingDatabase(database, times=times)


def not_recorded(logs: list[EventDict]) -> list[EventDict]:
    """The errors that were logged: ids and the kind of error, and nothing that was said."""
    assert PROMPT not in str([line for line in logs if line["event"] != "submit.broke"])
    return [line for line in logs if line["event"] == "answer.not_recorded"]


async def test_an_accepted_id_is_kept_without_the_rest_of_its_answer(tmp_path: Path) -> None:
    async with rigged(tmp_path, around=choking(1)) as rig:
        job = await rig.order(still(), prompt=PROMPT)
        with structlog.testing.capture_logs() as logs:
            tables = await rig.work()
        ref = rig.bought()[0]["id"]
        assert not_recorded(logs) == [
            {
                "event": "answer.not_recorded",
                "log_level": "error",
                "attempt": tables["attempts"][0]["id"],
                "ref": ref,
                "error": "UnicodeError",
            }
        ]
        view = await rig.view(job)
        assert (view["state"], view["refs"]["draw"]) == ("complete", ref)
        assert [(row["outcome"], row["status"]) for row in tables["sends"]] == [("accepted", 200)]
        assert rig.bill["totals"]["posts"] == 1


async def test_a_refusal_is_kept_without_its_words(tmp_path: Path) -> None:
    async with rigged(tmp_path, around=choking(1)) as rig:
        rig.sandbox.script("refuse_moderation")
        job = await rig.order(still(), prompt=PROMPT)
        tables = await rig.work()
        assert await rig.state(job) == "failed"
        assert [(row["error_code"], row["error_message"]) for row in tables["attempts"]] == [("refused", "")]
        assert [(row["outcome"], row["status"], row["raw"]) for row in tables["sends"]] == [("rejected", 422, None)]


async def test_a_not_now_still_says_how_long(tmp_path: Path) -> None:
    async with rigged(tmp_path, SandboxOptions(tiny=True, retry_after_s=30), around=choking(1)) as rig:
        rig.sandbox.script("refuse_429")
        job = await rig.order(still(), prompt=PROMPT)
        before_us = rig.clock.now_us()
        tables = await rig.work()
        assert await rig.state(job) == "complete"
        assert [row["outcome"] for row in tables["sends"]] == ["later", "accepted"]
        assert tables["sends"][1]["intended_at"] - before_us >= 30e6


async def test_what_nobody_can_record_is_in_doubt_at_once_and_the_doubt_names_the_id(tmp_path: Path) -> None:
    async with rigged(tmp_path, around=choking(2)) as rig:
        job = await rig.order(still(), prompt=PROMPT)
        with structlog.testing.capture_logs() as logs:
            tables = await rig.work()
        ref = rig.bought()[0]["id"]
        assert [line["ref"] for line in not_recorded(logs)] == [ref, ref]
        view = await rig.view(job)
        assert (view["state"], view["money"]["open"]) == ("draw_submit_unknown", 1)
        assert [(row["outcome"], row["status"], row["raw"]) for row in tables["sends"]] == [("unknown", 200, None)]
        assert ref in tables["attempts"][0]["error_message"]
        await people.attach(rig.parts, job, ref)
        await rig.work()
        assert await rig.state(job) == "complete"
        assert rig.bill["totals"]["posts"] == 1


@pytest.mark.parametrize(("fault", "posts"), [("", 1), ("refuse_429", 0)])
async def test_a_doubt_that_can_not_be_recorded_is_named_when_the_lease_is_over(
    tmp_path: Path, fault: str, posts: int
) -> None:
    async with rigged(tmp_path, around=choking(3)) as rig:
        if fault:
            rig.sandbox.script(fault)
        job = await rig.order(still(), prompt=PROMPT)
        with structlog.testing.capture_logs() as logs:
            await rig.work()
            rig.clock.leap(60)
            await rig.work()
        assert len(not_recorded(logs)) == 3
        assert await rig.state(job) == "draw_submit_unknown"
        assert len(rig.bought()) == posts
        assert rig.bill["totals"]["posts"] == 1
