"""The tests' clock itself: it jumps when everything waits, and stands still while anything works."""

import asyncio

from tests.fakes.virtual_time import VirtualClock, counted


class Machine:
    """Something that takes real time."""

    async def work(self) -> str:
        """Work for a moment."""
        await asyncio.sleep(0.01)
        return "done"


async def test_hours_pass_at_once_and_in_order() -> None:
    clock, woken = VirtualClock(), []

    async def sleeper(seconds: float) -> None:
        await clock.sleep(seconds)
        woken.append((seconds, clock.monotonic_s()))

    async with clock.running():
        await asyncio.gather(*(sleeper(seconds) for seconds in (7200, 60, 3600)))
    assert woken == [(60, 60.0), (3600, 3600.0), (7200, 7200.0)]


async def test_it_stands_still_while_something_works() -> None:
    clock = VirtualClock()
    machine = counted(Machine(), clock)
    async with clock.running():
        sleeping = asyncio.create_task(clock.sleep(1))
        assert await machine.work() == "done"
        assert clock.monotonic_s() == 0
        await sleeping
    assert clock.monotonic_s() == 1


async def test_a_leap_wakes_whoever_is_due_even_while_something_works() -> None:
    clock = VirtualClock()
    async with clock.running():
        sleeping = asyncio.create_task(clock.sleep(5))
        await asyncio.sleep(0)
        with clock.held():
            clock.leap(10)
            await sleeping
    assert clock.monotonic_s() == 10


async def test_a_wait_that_was_given_up_doesn_t_move_it() -> None:
    clock = VirtualClock()
    async with clock.running():
        given_up = asyncio.create_task(clock.sleep(10))
        await asyncio.sleep(0)
        given_up.cancel()
        await clock.sleep(1)
    assert clock.monotonic_s() == 1
