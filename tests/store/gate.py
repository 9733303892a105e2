"""Operations that stay in their transaction until a test lets them go."""

import asyncio
import threading

from onetake.store.database import Database, Tx

WAIT_S = 60.0
"""Longest an operation stays: a test that fails meanwhile must not keep the others from running."""


class Gate:
    """An operation that stays in its transaction until the gate is opened."""

    def __init__(self) -> None:
        self._entered, self._opened = threading.Event(), threading.Event()

    def op(self, tx: Tx) -> int:
        self._entered.set()
        assert self._opened.wait(WAIT_S)
        return tx.now_us

    async def entered(self) -> None:
        assert await asyncio.to_thread(self._entered.wait, WAIT_S)

    def open(self) -> None:
        self._opened.set()


async def held(database: Database) -> tuple[Gate, asyncio.Task[int]]:
    """The writer's thread, busy until the gate is opened; what is written meanwhile becomes a group."""
    gate = Gate()
    task = asyncio.create_task(database.write(gate.op))
    await gate.entered()
    return gate, task
