"""Downloads, decoding and files, simulated behind their protocols. The disk outlives processes."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path

from onetake.domain.errors import MediaError, StorageError
from onetake.domain.outputs import Measures
from onetake.media.fetch import Fetched, FetchFailed, FetchFault
from onetake.media.findings import DecodeFault, Pixels, Undecodable
from tests.simulation.fates import DECODES, DOWNLOADS, FILES, GOOD, DownloadFate
from tests.simulation.process import Process
from tests.simulation.provider import digest_of

_NOWHERE = Path("simulated")
"""A folder that isn't there: what the engine does to a path itself (it may remove one) meets nothing."""


@dataclass(frozen=True, slots=True)
class Content:
    """The bytes of a file, told by what they are."""

    operation: str
    kind: str
    digest: str


@dataclass(slots=True)
class Disk:
    """What stands on it: files that came in, and files kept under their digest."""

    incoming: dict[Path, Content | None] = field(default_factory=dict)
    kept: dict[str, Content] = field(default_factory=dict)
    names: "count[int]" = field(default_factory=count)


class ProcessFetcher:
    """Downloads as one process sees them. Implements `Fetching`."""

    def __init__(self, process: Process) -> None:
        self._process, self._world = process, process.world

    async def fetch(
        self,
        address: str,
        *,
        into: Path,
        size_bytes_max: int,  # noqa: ARG002 - files are as large as their fate says
        timeout_s: float,  # noqa: ARG002 - likewise
    ) -> Fetched | FetchFailed:
        """The file behind an address, or why there is none."""
        what = await self._process.cross("download")
        fate = DOWNLOADS.get(what, DownloadFate())
        await asyncio.sleep(fate.delay_s)
        if fate.fault is not None:
            wait_s = 7.0 if fate.fault is FetchFault.THROTTLED else None
            return FetchFailed(kind=fate.fault, detail="simulated", retry_after_s=wait_s)
        file = self._world.provider.files.get(address)
        if file is None or file.expires_s <= self._world.loop.time():
            return FetchFailed(kind=FetchFault.EXPIRED, detail="simulated")
        if self._world.is_down("storage"):
            return FetchFailed(kind=FetchFault.STORAGE, detail="simulated")
        content = Content(file.task.operation, fate.kind or file.kind, file.digest)
        if fate.kind:
            content = replace(content, digest=digest_of(f"{file.digest}/{fate.kind}"))
        self._world.disk.incoming[into] = content
        if what == "crash_after":
            await self._process.die()
        return Fetched(path=into, digest=content.digest, size_bytes=4000, content_type="application/octet-stream")


class ProcessDecoder:
    """The decoder as one process sees it. Implements `Measuring`."""

    def __init__(self, process: Process) -> None:
        self._process, self._world = process, process.world

    async def measure(self, path: Path, *, timeout_s: float) -> Measures | Undecodable:
        """What decoding the file found."""
        what = await self._process.cross("decode")
        trouble = DECODES.get(what, "")
        await asyncio.sleep(min(timeout_s, 60.0) if trouble == DecodeFault.TIMEOUT else 0.1)
        if trouble == "MediaError":
            raise MediaError("The simulated decoder is missing.")
        if trouble == "StorageError":
            raise StorageError("The simulated file can't be read.")
        if trouble:
            return Undecodable(fault=DecodeFault(trouble), reason="simulated")
        if what == "crash_after":
            await self._process.die()
        content = self._world.disk.incoming[path]
        if content is None:
            return Undecodable(fault=DecodeFault.NOT_MEDIA, reason="empty")
        found = GOOD[content.operation] if content.kind == "good" else FILES[content.kind]
        return Undecodable(fault=found, reason="simulated") if isinstance(found, DecodeFault) else found

    async def pixels(self, path: Path, *, timeout_s: float) -> Pixels | Undecodable:  # noqa: ARG002 - takes no time
        """What a kept still shows; the digest of its bytes stands for its pixels."""
        content = self._world.disk.kept.get(path.name)
        if content is None or content.kind != "good" or content.operation != "image":
            return Undecodable(fault=DecodeFault.NOT_MEDIA, reason="not a still")
        return Pixels(width_px=64, height_px=36, sha256=content.digest)


class ProcessBlobs:
    """The file store as one process sees it. Implements `Blobs`."""

    def __init__(self, process: Process) -> None:
        self._process, self._world = process, process.world

    def incoming(self, name: str) -> Path:
        """A new, empty file."""
        if self._world.is_down("storage"):
            raise StorageError("The simulated file store is full.")
        path = _NOWHERE / f"{name}.{next(self._world.disk.names)}"
        self._world.disk.incoming[path] = None
        return path

    async def keep(self, temp: Path, digest: str) -> Path:
        """Store a file under its digest."""
        what = await self._process.cross("keep")
        if what == "full" or self._world.is_down("storage"):
            raise StorageError("The simulated file store is full.")
        content = self._world.disk.incoming.pop(temp)
        if content is None or content.digest != digest:
            raise AssertionError(f"{temp} was kept under a digest that isn't its own")
        self._world.disk.kept[digest] = content
        if what == "crash_after":
            await self._process.die()
        return _NOWHERE / digest

    async def local(self, digest: str) -> Path:
        """The file of a digest."""
        if digest not in self._world.disk.kept:
            raise StorageError("The simulated file isn't there.")
        return _NOWHERE / digest

    async def sizes(self, digests: Sequence[str]) -> dict[str, int]:
        """The sizes of those that are there: all are alike."""
        return dict.fromkeys(self._world.disk.kept.keys() & set(digests), 4000)

    async def sweep_incoming(self, *, before_us: int) -> int:  # noqa: ARG002 - nothing here grows old
        """Leave everything: whoever is still writing may go on."""
        return 0
