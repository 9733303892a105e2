"""Whether the files of filled outputs are there: by their size, or by hashing every byte. Changes nothing."""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from onetake.diagnosis.finding import Finding
from onetake.domain.errors import StorageError
from onetake.engine.parts import Parts
from onetake.opening import file_path
from onetake.store import artifacts
from onetake.store.database import Row

PAGE_FILES = 500
"""Files looked at per read: some milliseconds of the database's and the disk's time, and little memory."""

TOLD_MAX = 20
"""Files told one by one: more than these have one cause, and are told as a number."""

Progress = Callable[[int, int], None]
"""Told how many files were looked at, and of how many."""


async def look_at_files(
    parts: Parts, *, is_hashed: bool, on_progress: Progress, page_files: int = PAGE_FILES
) -> AsyncIterator[Finding]:
    """Each file that isn't as it was stored, by its job, then all of them in a sentence.

    Raises:
        StorageError: the store can't be looked at.
    """
    seen = faults = 0
    total = await parts.database.read(artifacts.count_kept)
    async for page in _pages(parts, page_files):
        sizes = await parts.blobs.sizes([row["digest"] for row in page])
        for row in page:
            seen += 1
            fault = await _fault_of(parts, row, sizes.get(row["digest"]), is_hashed=is_hashed)
            if is_hashed:
                on_progress(seen, max(seen, total))
            if fault:
                faults += 1
                if faults <= TOLD_MAX:
                    yield Finding("file", is_well=False, says=_told(parts, row, fault))
        on_progress(seen, max(seen, total))
    yield _all_in_all(seen, faults, is_hashed=is_hashed)


async def _pages(parts: Parts, size: int) -> AsyncIterator[list[Row]]:
    after = ""
    while page := await parts.database.read(artifacts.list_kept, after=after, limit=size):
        yield page
        after = page[-1]["id"]


async def _fault_of(parts: Parts, row: Row, size_bytes: int | None, *, is_hashed: bool) -> str:
    """What is the matter with a file; empty if nothing is."""
    if size_bytes is None:
        return "is missing"
    if size_bytes != row["size_bytes"]:
        return f"has {size_bytes:,} bytes instead of {row['size_bytes']:,}"
    if not is_hashed:
        return ""
    try:
        digest = await asyncio.to_thread(_hash, await parts.blobs.local(row["digest"]))
    except (OSError, StorageError):
        return "can't be read"
    return "" if digest == row["digest"] else "holds other bytes than were stored"


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _told(parts: Parts, row: Row, fault: str) -> str:
    path = file_path(parts.settings, row["digest"])
    return (
        f"{row['job_id']} {row['step']}.{row['output']}: its file {fault}: put {path} back from a backup, then run"
        " `onetake doctor --hash`; it isn't bought again"
    )


def _all_in_all(seen: int, faults: int, *, is_hashed: bool) -> Finding:
    how = "read and hashed" if is_hashed else "there, by their sizes"
    files = "1 file of a filled output" if seen == 1 else f"{seen:,} files of filled outputs"
    if faults:
        return Finding("files", is_well=False, says=f"{faults:,} of {files} can't be relied on")
    return Finding("files", is_well=True, says=f"{files} {how}" if seen else "none yet")
