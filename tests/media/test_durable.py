"""What is kept is on the disk before it has its name, and has its name there before anybody hears of it.

Nothing stands between the store and the system here: the interpreter's own profiling hook tells each call of
`os.mkdir`, `os.fsync` and `os.replace` as the store makes it, and the handle says which file or folder was synced.
"""

import asyncio
import contextlib
import hashlib
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

from onetake.media.blobs import FolderBlobs

BYTES = b"the bytes of a still"
DIGEST = hashlib.sha256(BYTES).hexdigest()
SHARD = f"sha256/{DIGEST[:2]}"


async def test_a_file_is_synced_before_it_is_named_and_its_folder_after(tmp_path: Path) -> None:
    blobs = FolderBlobs(tmp_path)
    with _overheard(tmp_path) as calls:
        await blobs.keep(_arrive(blobs), DIGEST)
        assert calls == ["fsync incoming/att_1", f"mkdir {SHARD}", "fsync sha256", "replace", f"fsync {SHARD}"]


async def test_a_file_that_stood_already_is_synced_all_the_same(tmp_path: Path) -> None:
    """Its first writer may not have come so far, or it has rotted."""
    blobs = FolderBlobs(tmp_path)
    with _overheard(tmp_path) as calls:
        await blobs.keep(_arrive(blobs), DIGEST)
        calls.clear()
        await blobs.keep(_arrive(blobs), DIGEST)
        assert calls == ["fsync incoming/att_1", "replace", f"fsync {SHARD}"]


async def test_a_shard_that_another_process_made_is_synced_too(tmp_path: Path) -> None:
    blobs = FolderBlobs(tmp_path)
    (tmp_path / SHARD).mkdir()
    with _overheard(tmp_path) as calls:
        await blobs.keep(_arrive(blobs), DIGEST)
        assert calls.index("fsync sha256") < calls.index("replace")


async def test_a_new_stores_folders_are_synced(tmp_path: Path) -> None:
    with _overheard(tmp_path) as calls:
        await asyncio.to_thread(FolderBlobs, tmp_path / "store")
        assert calls[-1] == "fsync store"


@contextlib.contextmanager
def _overheard(root: Path) -> Iterator[list[str]]:
    """What threads that begin inside the block ask of the system, in order; a loop's first thread is one."""
    calls: list[str] = []

    def hear(frame: FrameType, event: str, called: object) -> None:
        if event != "c_call":
            return
        if called is os.fsync:
            calls.append(f"fsync {_name(root, frame.f_locals['handle'])}")
        elif called is os.mkdir:
            calls.append(f"mkdir {frame.f_locals['self'].relative_to(root)}")
        elif called is os.replace:
            calls.append("replace")

    threading.setprofile(hear)
    try:
        yield calls
    finally:
        threading.setprofile(None)


def _name(root: Path, handle: int) -> str:
    """Which file or folder below the root is open under this handle, without what makes a temporary name unique."""
    opened = os.fstat(handle)
    (path,) = [path for path in root.rglob("*") if os.path.samestat(path.stat(), opened)]
    return str(path.relative_to(root)).partition(".")[0]


def _arrive(blobs: FolderBlobs) -> Path:
    temp = blobs.incoming("att_1")
    temp.write_bytes(BYTES)
    return temp
