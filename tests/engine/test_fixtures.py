"""Freezing a job as a regression fixture: only a complete one, only by a person, only with the bytes that were kept."""

import dataclasses
import hashlib
from pathlib import Path

import pytest

from onetake.domain.errors import BadValueError, NotAllowedError, NotFoundError, StorageError
from onetake.domain.fixture import from_text, to_text
from onetake.engine.fixtures import check_first_frame, freeze, record_frozen
from onetake.media.findings import Pixels
from tests.engine.recipes import still
from tests.engine.rig import rigged

PROMPT = "A night train crossing a snowy valley"


async def test_a_complete_job_is_frozen_and_the_approval_is_in_its_journal(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        job = await rig.order(prompt=PROMPT, ratio="1:1")
        await rig.work()
        fixture = await freeze(rig.parts, job, approved_by="Grace")
        await rig.act(record_frozen, fixture)
        assert from_text(to_text(fixture)) == fixture
        view = await rig.view(job)
        digests = [output["digest"] for output in view["outputs"]]
        assert [fixture.still_digest, hashlib.sha256(fixture.still).hexdigest()] == digests[:1] * 2
        assert (fixture.prompt_of(fixture.chain.still), fixture.ratio) == (PROMPT, "1:1")
        assert (fixture.duration_ms, fixture.recipe.hash) == (5000, view["recipe_hash"])
        shown = await rig.parts.decoder.pixels(await rig.parts.blobs.local(digests[0]), timeout_s=30)
        assert isinstance(shown, Pixels)
        assert dataclasses.astuple(fixture.first_frame) == (shown.width_px, shown.height_px, shown.sha256)
        last = (await rig.journal(job))[-1]
        assert (last["event"], last["actor"]) == ("fixture.frozen", "ada")
        assert last["data"] == {"approved_by": "Grace", "still": fixture.still_digest, "seal": fixture.seal}
        assert view["state"] == (await rig.view(job))["state"] == "complete"


async def test_what_cant_be_frozen_is_refused(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        open_job = await rig.order(prompt=PROMPT)
        with pytest.raises(NotAllowedError, match="is open: only a complete job"):
            await freeze(rig.parts, open_job, approved_by="Grace")
        with pytest.raises(NotFoundError):
            await freeze(rig.parts, "nobody", approved_by="Grace")
        lone = await rig.order(still(), prompt=PROMPT)
        await rig.work()
        with pytest.raises(BadValueError, match="no paid step of it makes a file of kind video"):
            await freeze(rig.parts, lone, approved_by="Grace")
        with pytest.raises(BadValueError, match="must name a person"):
            await freeze(rig.parts, open_job, approved_by=" ")


async def test_a_still_that_rotted_in_storage_is_not_frozen(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        job = await rig.order(prompt=PROMPT)
        await rig.work()
        digest = (await rig.view(job))["outputs"][0]["digest"]
        path = await rig.parts.blobs.local(digest)
        whole = path.read_bytes()
        path.write_bytes(whole[:-1] + b"?")
        with pytest.raises(StorageError, match="is damaged"):
            await freeze(rig.parts, job, approved_by="Grace")
        path.write_bytes(whole)


async def test_a_first_frame_that_shows_something_else_is_refused(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        job = await rig.order(prompt=PROMPT)
        await rig.work()
        fixture = await freeze(rig.parts, job, approved_by="Grace")
        file = tmp_path / "still"
        file.write_bytes(fixture.still)
        await check_first_frame(fixture, file)
        other = dataclasses.replace(fixture.first_frame, sha256="0" * 64)
        with pytest.raises(BadValueError, match="the frozen first frame's to 0000000000000000…"):
            await check_first_frame(dataclasses.replace(fixture, first_frame=other), file)
        file.write_bytes(b"no picture")
        with pytest.raises(BadValueError, match="its still is no picture"):
            await check_first_frame(fixture, file)
