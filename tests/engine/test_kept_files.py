"""Whether files of filled outputs are still there: looked at in pages, told by job, and nothing changed."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from onetake.diagnosis.files import TOLD_MAX, look_at_files
from onetake.diagnosis.finding import Finding
from tests.engine.recipes import stills
from tests.engine.rig import Rig, rigged

PROMPT = "Four stones in a row"


async def test_files_that_stand_are_counted(tmp_path: Path) -> None:
    async with _four(tmp_path) as rig:
        found, progress = await _look(rig)
        assert found == [Finding("files", is_well=True, says="4 files of filled outputs there, by their sizes")]
        assert progress == [(3, 4), (4, 4)]
        found, progress = await _look(rig, is_hashed=True)
        assert found == [Finding("files", is_well=True, says="4 files of filled outputs read and hashed")]
        assert sorted(set(progress)) == [(seen, 4) for seen in range(1, 5)]


async def test_a_file_that_is_gone_or_shorter_is_told_with_its_job_and_what_to_do(tmp_path: Path) -> None:
    async with _four(tmp_path) as rig:
        gone, short = await _files(rig, 1), await _files(rig, 3)
        kept = gone.read_bytes(), short.read_bytes()
        gone.unlink()
        short.write_bytes(kept[1][:-1])
        found, _ = await _look(rig)
        gone.write_bytes(kept[0])
        short.write_bytes(kept[1])
        job = rig.look()["jobs"][0]["id"]
        assert [(each.what, each.is_well) for each in found] == [("file", False), ("file", False), ("files", False)]
        said = {each.says for each in found}
        assert found[-1].says == "2 of 4 files of filled outputs can't be relied on"
        assert any(f"{job} draw.still1: its file is missing: put {gone} back from a backup" in each for each in said)
        size = len(kept[1])
        assert any(f"draw.still3: its file has {size - 1:,} bytes instead of {size:,}" in each for each in said)


async def test_rot_is_found_by_hashing_alone(tmp_path: Path) -> None:
    async with _four(tmp_path) as rig:
        path = await _files(rig, 0)
        kept = path.read_bytes()
        path.write_bytes(kept[:-1] + bytes([kept[-1] ^ 1]))
        quick, _ = await _look(rig)
        thorough, _ = await _look(rig, is_hashed=True)
        path.write_bytes(kept)
        assert [each.is_well for each in quick] == [True]
        assert [each.is_well for each in thorough] == [False, False]
        assert "draw.still0: its file holds other bytes than were stored" in thorough[0].says


async def test_many_faults_are_told_as_a_number(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        jobs = TOLD_MAX // 4 + 1
        for number in range(jobs):
            await rig.order(stills(asked=4, expected=4), prompt=f"{PROMPT} {number}")
        await rig.work()
        (tmp_path / "files" / "sha256").rename(tmp_path / "elsewhere")
        found, _ = await _look(rig)
        (tmp_path / "elsewhere").rename(tmp_path / "files" / "sha256")
        assert len(found) == TOLD_MAX + 1
        assert found[-1].says == f"{4 * jobs} of {4 * jobs} files of filled outputs can't be relied on"


async def test_there_may_be_none_yet(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        assert await _look(rig) == ([Finding("files", is_well=True, says="none yet")], [])


@asynccontextmanager
async def _four(folder: Path) -> AsyncIterator[Rig]:
    """Four outputs, filled."""
    async with rigged(folder) as rig:
        await rig.order(stills(asked=4, expected=4), prompt=PROMPT)
        await rig.work()
        yield rig


async def _files(rig: Rig, number: int) -> Path:
    """Where the file of an output stands."""
    job = await rig.view(rig.look()["jobs"][0]["id"])
    return await rig.parts.blobs.local(job["outputs"][number]["digest"])


async def _look(rig: Rig, *, is_hashed: bool = False) -> tuple[list[Finding], list[tuple[int, int]]]:
    """What three files a page bring, and how far it was said to have come; no row is changed."""
    progress: list[tuple[int, int]] = []
    before = rig.auditor._read()
    looking = look_at_files(
        rig.parts, is_hashed=is_hashed, on_progress=lambda seen, total: progress.append((seen, total)), page_files=3
    )
    found = [finding async for finding in looking]
    assert rig.auditor._read() == before
    return found, progress
