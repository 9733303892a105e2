"""An event loop on virtual time: nobody really waits, and which of the ready runs next is drawn from a seed.

Time stands still while anything is ready and then jumps to the next timer, so hours cost what happens in them and
nothing more. asyncio's own loops run callbacks first come, first served; real processes on real machines don't, so
here the order is drawn. Every callback carries its owner (a simulated process) in its context: what a frozen owner
has ready is kept back until it thaws, as with a stopped process or a stalled virtual machine.
"""

import asyncio
import contextvars
import heapq
import random
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar

T = TypeVar("T")

CALLBACKS_MAX = 400_000
"""More than this in one schedule is a task that spins without waiting: the longest honest ones need a tenth of it."""

OWNER: contextvars.ContextVar[object] = contextvars.ContextVar("owner", default=None)


class SpinningError(AssertionError):
    """Something runs on and on without waiting for anything."""


class _Handle:
    """A callback that will run, unless it is cancelled; `asyncio.Handle` would want a loop with a debug mode."""

    __slots__ = ("args", "callback", "context", "is_cancelled", "when_s")

    def __init__(
        self,
        callback: Callable[..., object],
        args: tuple[object, ...],
        context: contextvars.Context | None,
        when_s: float,
    ) -> None:
        self.callback, self.args, self.when_s = callback, args, when_s
        self.context = contextvars.copy_context() if context is None else context
        self.is_cancelled = False

    def cancel(self) -> None:
        self.is_cancelled = True

    def cancelled(self) -> bool:
        return self.is_cancelled

    def when(self) -> float:
        return self.when_s


class _Task(asyncio.Task[T]):
    """A task that hashes by its number: asyncio keeps tasks in sets, and their order must be the same in every run."""

    number: int

    def __new__(cls, _: Coroutine[Any, Any, T], *, loop: "VirtualLoop", **__: object) -> "_Task[T]":
        task = super().__new__(cls)
        loop.made += 1
        task.number = loop.made
        return task

    def __hash__(self) -> int:
        return self.number


@dataclass(slots=True)
class _Freeze:
    until_s: float
    kept: list[_Handle]


class VirtualLoop(asyncio.AbstractEventLoop):
    """The loop of one schedule. No sockets, no threads, no signals: whoever asks for one is refused.

    Attributes:
        made: how many tasks and timers there were; each has a number.
        troubles: what reached the exception handler: tasks that failed with nobody to see it.
    """

    def __init__(self, *, chance: random.Random | None) -> None:
        """A loop at second 0; without `chance` it runs first come, first served."""
        self._draw = chance.random if chance else None
        self._now_s = 0.0
        self._ready: list[_Handle] = []
        self._timers: list[tuple[float, int, _Handle]] = []
        self.made = 0
        self._frozen: dict[object, _Freeze] = {}
        self.troubles: list[dict[str, Any]] = []

    def time(self) -> float:
        return self._now_s

    def call_soon(  # type: ignore[override]  # our own handle does what asyncio asks of its own
        self, callback: Callable[..., object], *args: object, context: contextvars.Context | None = None
    ) -> _Handle:
        handle = _Handle(callback, args, context, self._now_s)
        self._ready.append(handle)
        return handle

    def call_at(  # type: ignore[override]  # likewise
        self, when: float, callback: Callable[..., object], *args: object, context: contextvars.Context | None = None
    ) -> _Handle:
        handle = _Handle(callback, args, context, when)
        self.made += 1
        heapq.heappush(self._timers, (when, self.made, handle))
        return handle

    def call_later(  # type: ignore[override]  # likewise
        self, delay: float, callback: Callable[..., object], *args: object, context: contextvars.Context | None = None
    ) -> _Handle:
        return self.call_at(self._now_s + delay, callback, *args, context=context)

    def create_future(self) -> "asyncio.Future[Any]":
        return asyncio.Future(loop=self)

    def create_task(  # type: ignore[override]  # no task factory here
        self, coro: Coroutine[Any, Any, T], *, name: str | None = None, context: contextvars.Context | None = None
    ) -> "asyncio.Task[T]":
        return _Task(coro, loop=self, name=name, context=context)

    def get_debug(self) -> bool:
        return False

    def is_running(self) -> bool:
        return asyncio._get_running_loop() is self

    def is_closed(self) -> bool:
        return False

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        self.troubles.append(context)

    def freeze(self, owner: object, seconds: float) -> None:
        """Let nothing of the owner's run for so long; its timers that come due meanwhile are late."""
        freeze = self._frozen.setdefault(owner, _Freeze(0.0, []))
        freeze.until_s = max(freeze.until_s, self._now_s + seconds)
        self.call_at(freeze.until_s, self._thaw, owner, context=contextvars.Context())

    def _thaw(self, owner: object) -> None:
        freeze = self._frozen.get(owner)
        if freeze is not None and freeze.until_s <= self._now_s:
            self._ready += self._frozen.pop(owner).kept

    def run(self, main: Coroutine[Any, Any, T]) -> T:
        """What the coroutine returns, once what is ready by then has run too.

        Raises:
            SpinningError: virtual time stands still.
        """
        ready, draw = self._ready, self._draw
        asyncio._set_running_loop(self)
        try:
            task = self.create_task(main)
            for _ in range(CALLBACKS_MAX):
                if not ready:
                    if task.done():
                        return task.result()
                    self._jump()
                if draw is None:
                    handle = ready.pop(0)
                else:
                    index = int(draw() * len(ready))
                    ready[index], ready[-1] = ready[-1], ready[index]
                    handle = ready.pop()
                if handle.is_cancelled:
                    continue
                if self._frozen and (freeze := self._frozen.get(handle.context.get(OWNER))):
                    freeze.kept.append(handle)
                else:
                    handle.context.run(handle.callback, *handle.args)
            raise SpinningError(f"{CALLBACKS_MAX} callbacks by second {self._now_s:.1f}")
        finally:
            asyncio._set_running_loop(None)

    def _jump(self) -> None:
        """Go on to the moment of the next timers, and make them ready."""
        ready, timers = self._ready, self._timers
        while not ready or (timers and timers[0][0] <= self._now_s):
            when_s, _, handle = heapq.heappop(timers)
            if not handle.is_cancelled:
                self._now_s = max(self._now_s, when_s)
                ready.append(handle)
