"""Waiting for whatever comes first, without a task for each thing: a busy worker waits a thousand times a second."""

import asyncio
from collections.abc import Callable

from onetake.clock import Clock


class Bell(asyncio.Event):
    """An event that can be waited for beside others."""

    def __init__(self) -> None:
        super().__init__()
        self._listeners: dict[Callable[[], None], None] = {}  # ordered, so that a simulation repeats itself

    def set(self) -> None:
        """Wake whoever waits for it."""
        super().set()
        for listener in tuple(self._listeners):
            listener()

    def listen(self, listener: Callable[[], None]) -> None:
        """Call the listener whenever the bell is set, until `ignore`."""
        self._listeners[listener] = None

    def ignore(self, listener: Callable[[], None]) -> None:
        """Call it no more."""
        self._listeners.pop(listener, None)


async def first_of(wait_s: float, clock: Clock, *bells: Bell) -> None:
    """Come back when one of the bells is set or the time is over, whichever is first."""
    woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def wake() -> None:
        if not woken.done():
            woken.set_result(None)

    timer = asyncio.create_task(clock.sleep(wait_s))
    timer.add_done_callback(lambda _: wake())
    for bell in bells:
        bell.listen(wake)
    if any(bell.is_set() for bell in bells):
        wake()
    try:
        await woken
    finally:
        timer.cancel()
        for bell in bells:
            bell.ignore(wake)


async def pass_on(event: asyncio.Event, bell: Bell) -> None:
    """Set the bell once the event is set."""
    await event.wait()
    bell.set()
