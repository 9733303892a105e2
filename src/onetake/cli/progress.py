"""A worker's progress at a terminal: one line at the bottom of standard error, over which the log goes on."""

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator, Mapping
from typing import TextIO

from onetake.clock import Clock
from onetake.domain.errors import DatabaseError
from onetake.store import overview
from onetake.store.database import Reader

EVERY_S = 2.0
"""Between two looks: often enough to watch, and with a hundred thousand jobs still a few hundredths of the time."""

_BACK = "\r\x1b[2K"
"""To the beginning of the line, and clear it."""


class BottomLine:
    """A terminal's stream whose last line can be said anew; whatever else is written goes above it."""

    def __init__(self, stream: TextIO) -> None:
        self._stream, self._line = stream, ""

    def show(self, line: str) -> None:
        """Say this at the bottom, in place of what was said there; nothing clears it."""
        self._stream.write(f"{_BACK}{line}")
        self._stream.flush()
        self._line = line

    def write(self, text: str) -> int:
        """Write whole lines above it."""
        return self._stream.write(f"{_BACK}{text}{self._line}" if self._line else text)

    def flush(self) -> None:
        """Let everything be seen."""
        self._stream.flush()


def sentence(counts: Mapping[str, int]) -> str:
    """The counts of `overview.count_jobs`, in a line."""
    told = f"{counts['done']} done, {counts['in_work']} in work, {counts['provider']} with the provider"
    return f"{told}, {counts['people']} for people"


def is_wanted(*, is_json: bool) -> bool:
    """Whether somebody is there to watch."""
    return not is_json and sys.stderr.isatty()


@contextlib.asynccontextmanager
async def shown(database: Reader, clock: Clock, line: BottomLine) -> AsyncIterator[None]:
    """The progress is shown during the block, and gone after it."""

    async def watch() -> None:
        while True:
            with contextlib.suppress(DatabaseError):  # the worker says so itself
                line.show(sentence(await database.read(overview.count_jobs)))
            await clock.sleep(EVERY_S)

    watching = asyncio.create_task(watch())
    try:
        yield
    finally:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
        line.show("")
