"""Real worker processes beside an engine of the test: started, stopped, killed, over the same files and provider."""

import asyncio
import contextlib
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import closing
from pathlib import Path

from onetake.sandbox import SandboxOptions
from onetake.store.driver import sqlite
from tests.engine.rig import TINY, Rig, rigged

REAPED_S = 60.0
"""Past every lease of these tests: a POST's is ten seconds, a worker's thirty."""


class Site:
    """One engine in the test's own process, and as many worker processes as the test starts."""

    def __init__(self, rig: Rig) -> None:
        self.rig = rig
        self.errors = rig.folder / "errors.log"
        self._started: list[Process] = []

    async def start(self, *arguments: str, **settings: str) -> Process:
        """A running `onetake` command; `settings` are environment variables without `ONETAKE_`."""
        environment = {**os.environ, **_environment(self.rig), **{f"ONETAKE_{k}": v for k, v in settings.items()}}
        with self.errors.open("ab") as errors:
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "onetake", *arguments, stdout=PIPE, stderr=errors, env=environment
            )
        self._started.append(process)
        return process

    async def run(self, *arguments: str, **settings: str) -> str:
        """What a command printed; it must end with 0."""
        process = await self.start(*arguments, **settings)
        printed, _ = await process.communicate()
        assert process.returncode == 0, self.errors.read_text()
        return printed.decode()

    async def kill(self, process: Process) -> None:
        """End it as a power cut does."""
        process.send_signal(signal.SIGKILL)
        await process.wait()

    async def end(self, processes: Sequence[Process]) -> None:
        """End them politely; each must end well."""
        for process in processes:
            process.send_signal(signal.SIGTERM)
        await asyncio.gather(*(process.communicate() for process in processes))
        assert [process.returncode for process in processes] == [0] * len(processes), self.errors.read_text()

    async def reap(self) -> None:
        """A minute later: an engine that starts anew finds what the dead ones left, and works it off."""
        self.rig.clock.leap(REAPED_S)
        await self.rig.work()

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Another program holds the database's write lock during the block: no commit of a worker ends in it."""
        with closing(sqlite.connect(str(self.rig.settings.database_path), isolation_level=None)) as raw:
            raw.execute("BEGIN IMMEDIATE")
            yield
            raw.execute("ROLLBACK")

    async def close(self) -> None:
        """End what still runs."""
        for process in self._started:
            if process.returncode is None:
                await self.kill(process)


@contextlib.asynccontextmanager
async def site(folder: Path, options: SandboxOptions = TINY, *, kind: str = "", url: str = "") -> AsyncIterator[Site]:
    """A site in the folder, with a database of that kind or address; whatever it started is ended at the end."""
    async with rigged(folder, options, kind=kind, url=url, keeps_time=True) as rig:
        here = Site(rig)
        try:
            yield here
        finally:
            await here.close()


def _environment(rig: Rig) -> dict[str, str]:
    provider = rig.settings.providers["reapi"]
    return {
        "ONETAKE_DATABASE_URL": rig.settings.database_url,
        "ONETAKE_STORAGE_URL": rig.settings.storage_url,
        "ONETAKE_PROVIDERS__REAPI__BASE_URL": provider.base_url,
        "ONETAKE_PROVIDERS__REAPI__API_KEY": provider.api_key.get_secret_value(),
        "ONETAKE_PROVIDERS__REAPI__SUBMIT_TIMEOUT_S": str(provider.submit_timeout_s),
        "ONETAKE_PROVIDERS__REAPI__POLL_FIRST_S": "0.05",
        "ONETAKE_PROVIDERS__REAPI__POLL_INTERVAL_S": "0.1",
    }
