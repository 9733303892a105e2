"""Where files stay: a private store in which a file's name is the SHA-256 of its bytes.

A file comes in under a temporary name on the same file system, and is given its digest as a name once it is whole:
file synced, renamed, folder synced, so that a name under `sha256/` never stands for half a file, whatever crashes.
Two writers of one digest write the same bytes, so it doesn't matter who is last.

    ROOT/incoming/NAME.RANDOM       being written; leftovers of crashes are swept
    ROOT/sha256/ab/cdef...          whole; never changed
"""

import asyncio
import contextlib
import errno
import os
import re
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, Protocol

from onetake.domain.errors import StorageError

_DIGEST = re.compile(r"[0-9a-f]{64}")
_NAME = re.compile(r"[A-Za-z0-9_-]{1,100}")  # ids of attempts and artifacts; nothing that could leave the folder
_FOLDER_MODE = 0o700

_TROUBLES = {
    errno.ENOSPC: "is full; free some space there",
    errno.EDQUOT: "has used up its disk quota; free some space or raise the quota",
    errno.EFBIG: "may not hold a file of this size; raise the limit for this process or file system",
    errno.EROFS: "is read-only; mount it writable or choose another place",
    errno.EACCES: "may not be written by this user; change its owner or mode, or choose another place",
    errno.EPERM: "may not be written by this user; change its owner or mode, or choose another place",
    errno.ENOTDIR: "can't be made, because a part of its path is a file; choose another place",
}


class Blobs(Protocol):
    """A store of files by digest, on a folder or in an object store (whose keys are the digests)."""

    def incoming(self, name: str) -> Path:
        """A new, empty, private local file to write into, then `keep` or remove."""
        ...

    async def keep(self, temp: Path, digest: str) -> Path:
        """Store a whole local file durably under its digest, taking the file over; a local file to read it from."""
        ...

    async def local(self, digest: str) -> Path:
        """A local file with the bytes of this digest; to read, not to change or remove."""
        ...

    async def sizes(self, digests: Sequence[str]) -> dict[str, int]:
        """The sizes in bytes of those of these that are there, without reading them."""
        ...

    async def sweep_incoming(self, *, before_us: int) -> int:
        """Remove incoming files last written before that time (microseconds since 1970); how many there were."""
        ...


class FolderBlobs:
    """The store on a local folder, for its user alone."""

    def __init__(self, root: Path) -> None:
        """Make the folders if they aren't there.

        Raises:
            StorageError: they can't be made.
        """
        self._root = root
        self._incoming = root / "incoming"
        self._blobs = root / "sha256"
        self._synced_shards: set[str] = set()
        with storage_trouble(root):
            root.mkdir(mode=_FOLDER_MODE, parents=True, exist_ok=True)
            self._incoming.mkdir(mode=_FOLDER_MODE, exist_ok=True)
            self._blobs.mkdir(mode=_FOLDER_MODE, exist_ok=True)
            _sync_folder(root)

    def incoming(self, name: str) -> Path:
        """A new, empty file to write into, mode 0600; its name begins with the given one and is used by nobody else.

        Raises:
            StorageError: it can't be made.
            ValueError: the name isn't made of up to 100 letters, digits, "-" and "_".
        """
        if not _NAME.fullmatch(name):
            raise ValueError(f"not a plain name: {name!r}")
        with storage_trouble(self._root):
            handle, path = tempfile.mkstemp(prefix=f"{name}.", dir=self._incoming)
            os.close(handle)
        return Path(path)

    async def keep(self, temp: Path, digest: str) -> Path:
        """Give a whole incoming file its digest as a name, durably; its path from now on.

        A file that stands under the digest already is replaced: the new bytes were just hashed, the old ones may have
        rotted since.

        Args:
            temp: from `incoming`; gone afterwards.
            digest: SHA-256 of its bytes in hex, which the caller has computed.

        Raises:
            StorageError: the disk is full, read-only or broken; the incoming file is left.
        """
        return await asyncio.to_thread(self._keep, temp, digest)

    def path(self, digest: str) -> Path:
        """Where the bytes of a digest are, or would be.

        Raises:
            ValueError: not a SHA-256 in lower-case hex.
        """
        return blob_path(self._root, digest)

    async def local(self, digest: str) -> Path:
        """The file with the bytes of this digest; to read, not to change or remove.

        Raises:
            StorageError: it isn't there.
        """
        path = self.path(digest)
        with storage_trouble(self._root):
            path.stat()
        return path

    async def sizes(self, digests: Sequence[str]) -> dict[str, int]:
        """The sizes in bytes of those of these that are there, without reading them.

        Raises:
            StorageError: the store can't be looked at.
        """
        return await asyncio.to_thread(self._sizes, digests)

    def open(self, digest: str) -> BinaryIO:
        """The bytes of a digest, open for reading; the caller closes.

        Raises:
            StorageError: it isn't there or can't be read.
        """
        with storage_trouble(self._root):
            return self.path(digest).open("rb")

    async def sweep_incoming(self, *, before_us: int) -> int:
        """Remove what crashes left behind: incoming files last written before that time; how many there were."""
        return await asyncio.to_thread(self._sweep, before_us)

    def _keep(self, temp: Path, digest: str) -> Path:
        home = self.path(digest)
        with storage_trouble(self._root):
            _sync_file(temp)
            self._make_shard(home.parent)
            temp.replace(home)  # also over one that stands: it may have rotted, and these bytes were just hashed
            _sync_folder(home.parent)  # also when it stood: its writer may not have come this far yet
        return home

    def _sizes(self, digests: Sequence[str]) -> dict[str, int]:
        found = {}
        with storage_trouble(self._root):
            for digest in digests:
                with contextlib.suppress(FileNotFoundError):
                    found[digest] = self.path(digest).stat().st_size
        return found

    def _make_shard(self, shard: Path) -> None:
        if shard.name not in self._synced_shards:
            shard.mkdir(mode=_FOLDER_MODE, exist_ok=True)
            _sync_folder(self._blobs)
            self._synced_shards.add(shard.name)

    def _sweep(self, before_us: int) -> int:
        swept = 0
        with storage_trouble(self._root):
            for path in self._incoming.iterdir():
                with contextlib.suppress(FileNotFoundError):  # kept or removed since it was listed
                    if path.stat().st_mtime_ns < before_us * 1000:
                        path.unlink()
                        swept += 1
        return swept


def blob_path(root: Path, digest: str) -> Path:
    """Where the bytes of a digest are below a store's folder, or would be.

    Raises:
        ValueError: not a SHA-256 in lower-case hex.
    """
    if not _DIGEST.fullmatch(digest):
        raise ValueError("not a SHA-256 in hex")
    return root / "sha256" / digest[:2] / digest[2:]


@contextlib.contextmanager
def storage_trouble(place: Path) -> Iterator[None]:
    """Turns the system's errors into a sentence about this place.

    Raises:
        StorageError: instead of every OSError within.
    """
    try:
        yield
    except OSError as error:
        trouble = _TROUBLES.get(error.errno or 0, f"can't be used: {error.strerror}")
        raise StorageError(f"The file store at {place} {trouble}.") from error


def _sync_file(path: Path) -> None:
    _fsync(path, os.O_RDWR)  # Windows syncs only what may be written


def _sync_folder(path: Path) -> None:
    if os.name != "nt":  # where a folder can't be opened, and NTFS journals its names itself
        _fsync(path, os.O_RDONLY)


def _fsync(path: Path, flags: int) -> None:
    handle = os.open(path, flags)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
