"""The wire, simulated at the transport's one function: fates for POSTs and GETs, and deaths at every boundary.

What a real transport promises is kept: a deadline over all, `give_up` obeyed at any time, `may_send` asked right
before the first byte, and a receipt that says how far it got.
"""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from onetake.domain.wire import Answer, SendFault, SendPhase, SendReceipt, WireRequest, WireResult
from onetake.providers.transport import Credential
from tests.simulation.fates import GETS, MODEL_LISTS, POLLS, POSTS, WELL, GetFate, PostFate
from tests.simulation.process import Process

if TYPE_CHECKING:
    from tests.simulation.world import World

CONNECT_S_MAX = 0.4
"""Longest that a healthy connect takes; each draws its own."""


class ProcessTransport:
    """The wire as one process sees it. Implements `Transport`."""

    def __init__(self, process: Process) -> None:
        self._process, self._world = process, process.world

    async def post_once(
        self,
        request: WireRequest,
        *,
        credential: Credential | None,  # noqa: ARG002 - the simulated provider knows us
        timeout_s: float,
        may_send: Callable[[], bool],
        give_up: asyncio.Event | None = None,
    ) -> WireResult:
        """What came of exactly one POST."""
        world, operation = self._world, _operation(request.url)
        deadline_s = world.loop.time() + timeout_s
        what = await self._process.cross("post", operation)
        fate = POSTS["connect_refused"] if world.is_down("provider") else POSTS.get(what, WELL)
        connect_s = fate.delay_s if not fate.leaves else world.delay_s(CONNECT_S_MAX)
        if fault := await _waited(world, connect_s, deadline_s, give_up):
            return _failed(SendPhase.RESOLVED, fault)
        if not fate.leaves:
            return _failed(fate.phase, fate.fault)
        if not may_send():
            return _failed(SendPhase.CONNECTED, SendFault.LEASE_TOO_SHORT)
        arrival = world.provider.arrive(operation, request.body, fate, sender=self._process)
        if what == "crash_after":
            await self._process.die()
        if what == "freeze_in_air":
            self._process.freeze()
        if fault := await _waited(world, fate.delay_s, deadline_s, give_up):
            return _failed(SendPhase.BODY_SENT, fault)
        if what == "crash_answered":
            await self._process.die()
        if fate.status is None:
            return _failed(fate.phase, fate.fault)
        arrival.answered_s = world.loop.time()
        return _answered(fate, world.provider.answer(arrival))

    async def get(
        self,
        request: WireRequest,
        *,
        credential: Credential | None,  # noqa: ARG002 - likewise
        timeout_s: float,
    ) -> WireResult:
        """What came of one GET."""
        world, path = self._world, urlsplit(request.url).path
        is_poll = "/tasks/" in path
        task_id = unquote(path.rsplit("/", 1)[1]) if is_poll else ""
        name = world.provider.operation_of(task_id) if is_poll else "models"
        what = await self._process.cross("poll" if is_poll else "get", name)
        fate = (POLLS if is_poll else MODEL_LISTS).get(what, GetFate(status=200, body=None))
        if world.is_down("key"):
            fate = GETS["get_401"]
        if world.is_down("provider"):
            fate = GETS["get_refused"]
        if fault := await _waited(world, fate.delay_s, world.loop.time() + timeout_s, None):
            return _failed(SendPhase.BODY_SENT, fault)
        if fate.status is None:
            return _failed(SendPhase.BODY_SENT, fate.fault)
        status, body = fate.status, fate.body
        if body is None:
            status, body = world.provider.tell(task_id) if is_poll else (200, world.models)
        if what == "crash_after":
            await self._process.die()
        answer = Answer(status=status, headers=dict(fate.headers), body=body, is_whole=fate.is_whole)
        return WireResult(receipt=_receipt(SendPhase.BODY_READ, fate.fault, status), answer=answer)

    async def aclose(self) -> None:
        """Nothing is open."""


def _operation(url: str) -> str:
    return "image" if "/images/" in url else "video"


async def _waited(world: "World", delay_s: float, deadline_s: float, give_up: asyncio.Event | None) -> SendFault | None:
    """Wait that long; or until the deadline, or `give_up`, and say so."""
    left_s = deadline_s - world.loop.time()
    wait_s = max(0.0, min(delay_s, left_s))
    if give_up is None:
        await asyncio.sleep(wait_s)
    else:
        try:
            async with asyncio.timeout(wait_s):
                await give_up.wait()
        except TimeoutError:
            pass
        else:
            return SendFault.GIVEN_UP
    is_late = world.loop.time() > deadline_s and world.delay_s(1.0) < 0.5  # woken too late, either may be seen first
    return SendFault.DEADLINE if delay_s > left_s or is_late else None


def _receipt(phase: SendPhase, fault: SendFault | None, status: int | None = None) -> SendReceipt:
    return SendReceipt(phase=phase, at_us={}, status=status, fault=fault)


def _failed(phase: SendPhase, fault: SendFault | None) -> WireResult:
    return WireResult(receipt=_receipt(phase, fault), answer=None)


def _answered(fate: PostFate, well: bytes) -> WireResult:
    body = well if fate.body is None else fate.body
    if not fate.is_whole:
        body = body[: len(body) // 2]
    status = fate.status or 0
    answer = Answer(status=status, headers=dict(fate.headers), body=body, is_whole=fate.is_whole)
    return WireResult(receipt=_receipt(fate.phase, fate.fault, status), answer=answer)
