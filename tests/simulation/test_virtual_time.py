"""The loop that the simulation runs on, and that a schedule always runs the same way."""

import asyncio
import random

import pytest

from onetake.domain.wire import SendFault
from tests.simulation.fates import POSTS
from tests.simulation.loop import OWNER, SpinningError, VirtualLoop
from tests.simulation.schedule import drawn
from tests.simulation.world import simulate


def loop_of(seed: int | None = None) -> VirtualLoop:
    return VirtualLoop(chance=None if seed is None else random.Random(seed))  # type: ignore[abstract]  # as in `world`


async def said(order: list[str], names: str, sleep_s: float = 0.0) -> None:
    async def say(name: str) -> None:
        await asyncio.sleep(sleep_s)
        order.append(name)

    await asyncio.gather(*(say(name) for name in names))


def test_hours_pass_at_once() -> None:
    loop = loop_of()
    loop.run(asyncio.sleep(36_000))
    assert loop.time() == 36_000


def test_without_chance_the_first_comes_first() -> None:
    order: list[str] = []
    loop_of().run(said(order, "abcdef"))
    assert order == list("abcdef")


def test_with_chance_every_order_comes_up_and_each_seed_keeps_its_own() -> None:
    orders = []
    for seed in (*range(200), *range(200)):
        order: list[str] = []
        loop_of(seed).run(said(order, "abc"))
        orders.append("".join(order))
    assert orders[:200] == orders[200:]
    assert set(orders) == {"abc", "acb", "bac", "bca", "cab", "cba"}


def test_what_belongs_to_a_frozen_owner_waits() -> None:
    loop, owner, order = loop_of(), object(), list[str]()

    async def main() -> None:
        token = OWNER.set(owner)
        frozen = asyncio.create_task(said(order, "frozen"[:1], sleep_s=1))
        OWNER.reset(token)
        loop.freeze(owner, 60)
        await said(order, "x", sleep_s=2)
        await frozen

    loop.run(main())
    assert order == ["x", "f"]
    assert loop.time() == 61


def test_a_task_that_spins_is_stopped() -> None:
    async def spin() -> None:
        while True:  # noqa: ASYNC110 - that is the fault
            await asyncio.sleep(0)

    with pytest.raises(SpinningError, match="by second 0"):
        loop_of().run(spin())


@pytest.mark.parametrize("number", [3, 14, 159, 265])
def test_a_schedule_runs_the_same_way_every_time(number: int) -> None:
    assert simulate(drawn(number)) == simulate(drawn(number))


def test_every_fault_of_the_wire_is_simulated() -> None:
    own = {SendFault.LEASE_TOO_SHORT, SendFault.GIVEN_UP}  # the sender's own doing: `wire` makes them by itself
    assert {fate.fault for fate in POSTS.values()} - {None} == set(SendFault) - own
