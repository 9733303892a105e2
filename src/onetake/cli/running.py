"""One job run to its end in this process."""

import asyncio
import os
import signal
import socket
from collections.abc import Callable
from typing import Any

from onetake.app import open_parts
from onetake.cli.journal import TAIL_S, journal_lines
from onetake.cli.orders import Lot, take
from onetake.domain.errors import ProviderError, SurroundingsError
from onetake.engine.finding import find_job
from onetake.engine.members import who_of
from onetake.engine.orders import Order
from onetake.engine.parts import Parts
from onetake.engine.worker import Worker
from onetake.opening import load_settings, with_paths
from onetake.store import stops, views


async def run_to_the_end(order: Order, lot: Lot, on_line: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """The job once it ended or needs a person, with the path of each file; journal lines are handed on.

    Stopped by a signal, it finishes what is in the air and gives the job as it stands.

    Raises:
        ProviderError: our key is missing or refused, so nothing can go on.
    """
    async with open_parts(load_settings()) as parts:
        taken = await take(parts, order, lot)
        await _work(parts, taken.job_id, on_line)
        who = who_of(parts.settings)
        job = await parts.database.read(lambda tx: views.get_job(tx, find_job(tx, taken.job_id, who)))
        return with_paths(job, parts.settings)


async def _work(parts: Parts, job_id: str, on_line: Callable[[dict[str, Any]], None]) -> None:
    """Work, and hand the journal on, until the job is at rest, a person is needed, or a signal says stop."""
    stop, worker = stop_on_signals(), Worker(parts, name=worker_name())
    working = asyncio.create_task(worker.run(stop))
    watching = [
        asyncio.create_task(_follow(parts, job_id, on_line)),
        asyncio.create_task(_until_refused(parts, worker)),
        asyncio.create_task(_until_stopped(parts, job_id)),
    ]
    done, _ = await asyncio.wait([working, *watching], return_when=asyncio.FIRST_COMPLETED)
    stop.set()
    await working
    for task in watching:
        task.cancel()
    await asyncio.gather(*watching, return_exceptions=True)
    for task in done:
        task.result()


async def _follow(parts: Parts, job_id: str, on_line: Callable[[dict[str, Any]], None]) -> None:
    async for line in journal_lines(parts.database, job_id, who_of(parts.settings)):
        on_line(line)


async def _until_refused(parts: Parts, worker: Worker) -> None:
    while not isinstance(worker.trouble, ProviderError):
        await parts.clock.sleep(TAIL_S)
    raise worker.trouble


async def _until_stopped(parts: Parts, job_id: str) -> None:
    while (stop := await parts.database.read(stops.find_of_job, job_id)) is None:
        await parts.clock.sleep(TAIL_S)
    what = f"{stop['kind']} {stop['subject']}"
    raise SurroundingsError(
        f"Job {job_id} stands, and nothing is sent for {what} ({stop['reason']}): `onetake stops lift {what}` sends"
        " again."
    )


def worker_name() -> str:
    """What a worker is called in lists: host and process."""
    return f"{socket.gethostname()}/{os.getpid()}"


def stop_on_signals() -> asyncio.Event:
    """An event that SIGTERM or Ctrl-C sets: finish what is in the air. A second one ends the process at once."""
    stop, loop = asyncio.Event(), asyncio.get_running_loop()

    def on_signal(number: int) -> None:
        if stop.is_set():
            os._exit(128 + number)
        stop.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, on_signal, number)
    return stop
