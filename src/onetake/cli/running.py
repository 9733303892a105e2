"""One job run to its end in this process."""

import asyncio
import os
import signal
import socket
from collections.abc import Callable
from typing import Any

from onetake.app import open_parts, recipe_source
from onetake.cli.jobs import journal_lines
from onetake.cli.orders import take
from onetake.config import Settings
from onetake.domain.recipe_toml import parse_recipe
from onetake.engine.parts import Parts
from onetake.engine.people import find_job
from onetake.engine.worker import Worker
from onetake.store import views


async def run_to_the_end(
    recipe: str, inputs: dict[str, object], key: str | None, on_line: Callable[[dict[str, Any]], None]
) -> dict[str, Any]:
    """The job once it ended or needs a person, with `files`, the paths of its outputs; journal lines are handed on."""
    text, name = recipe_source(recipe)
    parsed = parse_recipe(text, name)
    async with open_parts(Settings.load()) as parts:
        taken = await take(parts, parsed, text, inputs, key)
        stop = stop_on_signals()
        working = asyncio.create_task(Worker(parts, name=worker_name()).run(stop))
        following = asyncio.create_task(_follow(parts, taken.job_id, on_line))
        await asyncio.wait([working, following], return_when=asyncio.FIRST_COMPLETED)
        stop.set()
        await working
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
        job = await parts.database.read(lambda tx: views.get_job(tx, find_job(tx, taken.job_id)))
        files = [str(await parts.blobs.local(each["digest"])) for each in job["outputs"] if each["digest"]]
        return {**job, "files": files}


async def _follow(parts: Parts, job_id: str, on_line: Callable[[dict[str, Any]], None]) -> None:
    async for line in journal_lines(parts.database, job_id):
        on_line(line)


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
