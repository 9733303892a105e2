"""Freezing a complete job as a regression fixture. Approval is a person's, and is recorded; it publishes nothing."""

import asyncio
import datetime
import hashlib
from pathlib import Path

from onetake.domain.errors import BadValueError, MediaError, NotAllowedError, StorageError
from onetake.domain.fixture import FirstFrame, Fixture, approver, chain_of, ordered_clip
from onetake.domain.jsonvalue import Json, shown
from onetake.domain.recipe_toml import parse_recipe
from onetake.domain.states import JobState
from onetake.engine.finding import find_job
from onetake.engine.members import Who, who_of
from onetake.engine.parts import Parts
from onetake.engine.turn import Turn
from onetake.media.decoder import Decoder, Undecodable
from onetake.store import artifacts, jobs, recipes
from onetake.store.database import Row, Tx

DECODE_TIMEOUT_S = 60.0
"""Longest the still may decode: the largest that is taken needs a few seconds on one core."""


async def freeze(parts: Parts, job_name: str, *, approved_by: str) -> Fixture:
    """The fixture that the job makes; nothing is recorded yet.

    Raises:
        BadValueError: the approver isn't named, or the recipe has no still that becomes a clip.
        NotFoundError: there is no such job.
        NotAllowedError: the job isn't complete.
        StorageError: the still isn't in storage, or its bytes aren't those that were recorded.
        MediaError: the still can't be decoded here.
    """
    name = approver(approved_by)
    job, source, inputs, files = await parts.database.read(_facts, who_of(parts.settings), job_name)
    recipe = parse_recipe(source, "the stored recipe")
    part, clip = chain_of(recipe).still, ordered_clip(recipe, inputs)
    file = next(each for each in files if (each["step"], each["output"]) == (part.step, part.output))
    path = await parts.blobs.local(file["digest"])
    data = await asyncio.to_thread(path.read_bytes)
    if hashlib.sha256(data).hexdigest() != file["digest"]:
        raise StorageError(f"The stored still {file['digest'][:16]}… is damaged: its bytes are not those recorded.")
    pixels = await parts.decoder.pixels(path, timeout_s=DECODE_TIMEOUT_S)
    if isinstance(pixels, Undecodable):
        raise MediaError(f"The still can't be decoded: {pixels.reason}.")
    approved_at = datetime.datetime.fromtimestamp(parts.clock.now_us() // 1_000_000, datetime.UTC)
    return Fixture(
        approved_by=name,
        approved_at=approved_at.isoformat(),
        job_id=job["id"],
        request_hash=job["request_hash"],
        recipe=recipe,
        source=source,
        inputs=inputs,
        still=data,
        still_digest=file["digest"],
        media_type=file["media_type"],
        first_frame=FirstFrame(width_px=pixels.width_px, height_px=pixels.height_px, sha256=pixels.sha256),
        duration_ms=clip.duration_ms,
        ratio=clip.ratio,
    )


async def check_first_frame(fixture: Fixture, still: Path) -> None:
    """Compare what the fixture's still shows, as written to a file, with what was frozen.

    Raises:
        BadValueError: it shows something else, or is no picture.
        MediaError: no decoder can be started.
    """
    decoder = Decoder()
    try:
        pixels = await decoder.pixels(still, timeout_s=DECODE_TIMEOUT_S)
    finally:
        await decoder.aclose()
    frozen = fixture.first_frame
    if isinstance(pixels, Undecodable):
        raise BadValueError(f"This fixture is not as it was approved: its still is no picture ({pixels.reason}).")
    if (pixels.width_px, pixels.height_px, pixels.sha256) != (frozen.width_px, frozen.height_px, frozen.sha256):
        raise BadValueError(
            f"This fixture is not as it was approved: the still's pixels hash to {pixels.sha256[:16]}…,"
            f" the frozen first frame's to {shown(frozen.sha256, 17)}."
        )


def _facts(tx: Tx, who: Who, job_name: str) -> tuple[Row, str, dict[str, Json], list[Row]]:
    job = find_job(tx, job_name, who)
    if job["state"] != JobState.COMPLETE:
        raise NotAllowedError(f"Job {job['id']} is {job['state']}: only a complete job can be frozen.")
    source = recipes.get_source(tx, job["recipe_hash"])
    return job, source, jobs.get_inputs(tx, job["id"]), artifacts.list_files(tx, job["id"])


def record_frozen(turn: Turn, fixture: Fixture) -> None:
    """Keep who approved what, in the job's journal."""
    data = {"approved_by": fixture.approved_by, "still": fixture.still_digest, "seal": fixture.seal}
    turn.tell("fixture.frozen", fixture.job_id, data=data)
