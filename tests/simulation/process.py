"""A simulated process: it shares the database, the provider and the disk with others, and dies with its memory.

Every seam of the engine (database, transport, fetcher, decoder, blobs) crosses a named place first, where the
schedule may have it fail, wait, freeze with its process, or die. A process dies by cancellation, and from that moment
on none of its seams does anything, so no `finally` of the engine reaches the world after its death.
"""

import asyncio
import random
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING

from tests.simulation.loop import OWNER

if TYPE_CHECKING:
    from tests.simulation.world import World

LATE_S = 80.0
"""How long one task is late: longer than the submitting lease of the simulation's settings (65 s)."""

FREEZE_S = 130.0
"""How long a whole process stands still: longer than any lease here, so that others take over what it holds."""


class SimulatedClock:
    """One process' clock: time is the world's, its wall clock may be off, chance is its own. Implements `Clock`."""

    def __init__(self, world: "World", chance: random.Random, skew_us: int) -> None:
        self._world, self._skew_us = world, skew_us
        self.uniform, self.token, self.sleep = chance.uniform, chance.randbytes, asyncio.sleep

    def now_us(self) -> int:
        """The world's wall clock, a little off."""
        return self._world.wall_us() + self._skew_us

    def monotonic_s(self) -> float:
        """Virtual seconds; nobody sets this clock."""
        return self._world.loop.time()


class Process:
    """One process of the world."""

    def __init__(self, world: "World", name: str) -> None:
        self.world, self.name = world, name
        self.is_alive = True
        self.died_s = float("inf")
        self._task: asyncio.Task[object] | None = None

    def start(self, work: Callable[[], Coroutine[None, None, object]]) -> "asyncio.Task[object]":
        """Run its main task; every task and timer made from there on belongs to the process."""
        token = OWNER.set(self)
        try:
            self._task = asyncio.get_running_loop().create_task(work())
        finally:
            OWNER.reset(token)
        return self._task

    def kill(self) -> None:
        """Die now, as by kill -9: memory is lost, what was sent or committed stays."""
        if self.is_alive:
            self.is_alive, self.died_s = False, self.world.loop.time()
            self.world.note_death(self.name)
        if self._task is not None:
            self._task.cancel()

    def end(self) -> "asyncio.Task[object]":
        """Die with the world; the task to wait for."""
        self.kill()
        if self._task is None:
            raise AssertionError(f"{self.name} was never started")
        return self._task

    def freeze(self) -> None:
        """Stand still for a while, as a stopped process or a stalled machine does, from the next wait on."""
        self.world.note_stall(FREEZE_S)
        self.world.loop.freeze(self, FREEZE_S)

    async def die(self) -> None:
        """Die at this very place; never comes back."""
        self.kill()
        await asyncio.get_running_loop().create_future()

    async def cross(self, place: str, name: str = "") -> str:
        """What befalls the caller at this place, after whatever befalls everybody there has happened."""
        if not self.is_alive:
            raise asyncio.CancelledError
        what = self.world.befalls(place, name)
        if what == "crash_before":
            await self.die()
        elif what == "late":
            self.world.note_stall(LATE_S)
            await asyncio.sleep(LATE_S)
        elif what == "freeze":
            self.freeze()
        await asyncio.sleep(0)  # others may come first
        return what
