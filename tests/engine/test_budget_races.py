"""Budget lines on PostgreSQL, where several connections write at once: nobody passes a line that is just being set."""

import asyncio
from pathlib import Path

from onetake.engine import budgeting
from onetake.engine.spending import SpendGate
from onetake.engine.turn import Turn
from onetake.store import leases
from onetake.store.budgets import Line
from tests.engine.lines import TOTAL, bound, order, used
from tests.engine.rig import Rig, rigged
from tests.servers.postgres import execute
from tests.store.gate import Gate

WAITING = "SELECT count(*) FROM pg_locks WHERE NOT granted"


def reserve(turn: Turn, gate: Gate) -> bool:
    """Whether the one step that is ready fits; its transaction stays open until the gate is opened."""
    (step,) = leases.list_ready(turn.tx, limit=2, closed=frozenset())
    is_through = SpendGate(turn, [step]).find_crossed(step) is None
    gate.op(turn.tx)
    return is_through


def set_line(turn: Turn, gate: Gate) -> Line:
    """A line that lets nothing through; its transaction stays open until the gate is opened."""
    line, _ = budgeting.set_line(turn, TOTAL, requests_max=0)
    gate.op(turn.tx)
    return line


async def waiting(rig: Rig, *tasks: "asyncio.Task[object]") -> None:
    """Come back when somebody waits for a lock; or when one of the tasks ended, which should have waited."""

    async def is_waiting() -> bool:
        ((count,),) = execute(rig.settings.database_url, WAITING)
        return count > 0 or any(task.done() for task in tasks)

    await rig.meanwhile(is_waiting)


async def test_a_line_that_is_set_while_a_step_is_reserved_counts_it(tmp_path: Path) -> None:
    async with rigged(tmp_path, kind="postgres") as rig, rig.beside() as other:
        first, gate = await order(rig, 1), Gate()
        reserving = asyncio.create_task(other.act("w", reserve, gate))
        await gate.entered()
        setting = asyncio.create_task(bound(rig, requests=1))
        await waiting(rig, setting)
        assert not setting.done()
        gate.open()
        assert await reserving
        line = await setting
        assert await used(rig, line) == [("", 0, 1)]
        second = await order(rig, 2)
        await rig.work()
        assert [await rig.state(job) for job in (first, second)] == ["complete", "draw_waiting"]
        assert len(rig.bought()) == 1


async def test_a_step_that_is_claimed_while_a_line_is_set_is_bound_by_it(tmp_path: Path) -> None:
    async with rigged(tmp_path, kind="postgres") as rig, rig.beside() as other:
        job, gate = await order(rig, 1), Gate()
        setting = asyncio.create_task(rig.act(set_line, gate))
        await gate.entered()
        working = asyncio.create_task(rig.work(other))
        await waiting(rig, working)
        gate.open()
        line = await setting
        await working
        assert (await rig.state(job), rig.bought()) == ("draw_waiting", [])
        assert await used(rig, line) == []
