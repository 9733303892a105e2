"""A clock that stands still while anything works and jumps ahead when everything waits.

A worker with real HTTP, files and databases spends most of a test's life waiting: for a poll interval, a backoff, a
lease. `VirtualClock` moves only when nothing that was wrapped by `counted` is under way and every task of the loop
sleeps: then it jumps to the moment of the next sleeper. Hours pass in milliseconds, and no lease runs out under a
request that is in the air, however slow the machine is.
"""

import asyncio
import contextlib
import heapq
import inspect
import math
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import ParamSpec, TypeVar, cast

from onetake.clock import SystemClock

P = ParamSpec("P")
T = TypeVar("T")

_QUIET_TURNS = 25
"""Turns of the event loop in which nothing may happen: a wake-up is handed on through four or five at most."""


class VirtualClock:
    """Time that is told by what waits, and seeded chance. Implements `onetake.clock.Clock`.

    It begins at the real time, because the sandbox names dates by the real clock, and runs ahead of it.
    """

    def __init__(self, *, seed: int = 1) -> None:
        self._start_us = self._now_us = SystemClock().now_us()
        self._random = random.Random(seed)
        self._sleepers: list[tuple[int, int, asyncio.Future[None]]] = []
        self._changes = 0
        self._busy = 0
        self._changed = asyncio.Event()
        self.on_move: Callable[[int], None] = lambda _: None
        """Told each new moment, for clocks elsewhere that must agree."""

    def now_us(self) -> int:
        """The moment that everything has waited for so far."""
        return self._now_us

    def monotonic_s(self) -> float:
        """Seconds since the clock was made: small numbers keep their microseconds."""
        return (self._now_us - self._start_us) / 1e6

    def uniform(self, low: float, high: float) -> float:
        """A seeded number."""
        return self._random.uniform(low, high)

    def token(self, size_bytes: int) -> bytes:
        """Seeded bytes."""
        return self._random.randbytes(size_bytes)

    async def sleep(self, seconds: float) -> None:
        """Come back when the clock has jumped that far; rounded up, so that no wait is over before its moment."""
        future = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self._now_us + max(0, math.ceil(seconds * 1e6)), self._changes, future))
        self._stir()
        await future

    def leap(self, seconds: float) -> None:
        """Jump ahead now, whatever is under way."""
        self._move(self._now_us + round(seconds * 1e6))
        self._wake()

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Stand still inside this block."""
        self._busy += 1
        self._stir()
        try:
            yield
        finally:
            self._busy -= 1
            self._stir()

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Let it jump by itself inside this block."""
        pacer = asyncio.create_task(self._run())
        try:
            yield
        finally:
            pacer.cancel()
            await asyncio.gather(pacer, return_exceptions=True)

    async def _run(self) -> None:
        while True:
            if await self._is_quiet() and (next_us := self._next_us()) is not None:
                self._move(max(self._now_us, next_us))
                self._wake()
            else:
                await self._changed.wait()
            self._changed.clear()

    async def _is_quiet(self) -> bool:
        """Whether nothing works and nothing happened for a while; else the caller waits for a change."""
        seen = self._changes
        for _ in range(_QUIET_TURNS):
            if self._busy or seen != self._changes:
                break
            await asyncio.sleep(0)
        else:
            return True
        if not self._busy:
            self._changed.set()  # it happened meanwhile: look again
        return False

    def _next_us(self) -> int | None:
        while self._sleepers and self._sleepers[0][2].done():
            heapq.heappop(self._sleepers)
        return self._sleepers[0][0] if self._sleepers else None

    def _wake(self) -> None:
        while (next_us := self._next_us()) is not None and next_us <= self._now_us:
            heapq.heappop(self._sleepers)[2].set_result(None)
        self._stir()

    def _move(self, now_us: int) -> None:
        self._now_us = now_us
        self.on_move(now_us)

    def _stir(self) -> None:
        self._changes += 1
        self._changed.set()


class _Counted:
    """Stands for an object; time stands still while one of its coroutine methods runs."""

    def __init__(self, inner: object, clock: VirtualClock) -> None:
        self._inner, self._clock = inner, clock

    def __getattr__(self, name: str) -> object:
        found = getattr(self._inner, name)
        return self._hold(found) if inspect.iscoroutinefunction(found) else found

    def _hold(self, method: Callable[P, Awaitable[T]]) -> Callable[P, Awaitable[T]]:
        async def held(*args: P.args, **kwargs: P.kwargs) -> T:
            with self._clock.held():
                return await method(*args, **kwargs)

        return held


def counted(inner: T, clock: VirtualClock) -> T:
    """The same object for its users; the clock stands still while it works."""
    return cast("T", _Counted(inner, clock))
