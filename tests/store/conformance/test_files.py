"""Files that were found: addresses saved before anything is fetched, bytes by digest, the first one fills, once."""

import json
from dataclasses import asdict, replace

from onetake.domain.outputs import OutputSpec
from onetake.domain.states import ArtifactState, ArtifactUse
from onetake.store import artifacts, jobs
from onetake.store.artifacts import Artifact
from onetake.store.attempts import Attempt
from tests.store.shop import DIGEST, MEASURES, SIGNED, SPEC, Shop

OTHER = "cd" * 32


async def found(shop: Shop, attempt: Attempt, *addresses: str) -> int:
    return await shop.do(artifacts.found, shop.clock, job_id=attempt.job_id, attempt_id=attempt.id, addresses=addresses)


async def files_of(shop: Shop, attempt: Attempt) -> list[Artifact]:
    return await shop.see(artifacts.list_of_attempt, attempt.id)


async def store(shop: Shop, artifact: Artifact, digest: str = DIGEST) -> bool:
    return await shop.do(artifacts.store, artifact, digest=digest, size_bytes=9, media_type="image/png")


async def test_an_expected_output_reads_back_with_its_spec(shop: Shop) -> None:
    spec = OutputSpec(kind="video", media_types=("video/mp4",), ratio="16:9", fps=23.976, video_codecs=("h264", "hevc"))
    assert artifacts.parse_spec(json.dumps(asdict(spec))) == spec
    order = await shop.order(outputs=3)
    listed = await shop.see(artifacts.list_expected, step_id=order.steps["draw"])
    assert [(each.ordinal, each.state, each.artifact_id, each.spec) for each in listed] == [
        (n, "missing", None, SPEC) for n in range(3)
    ]
    assert [each.hold_id for each in listed] == order.holds["draw"]


async def test_addresses_are_kept_in_the_providers_order(shop: Shop) -> None:
    await shop.worker()
    attempt = await shop.processing(await shop.order())
    assert await found(shop, attempt, "a", "b", "c") == 3
    files = await files_of(shop, attempt)
    assert [(file.ordinal, file.address) for file in files] == [(0, "a"), (1, "b"), (2, "c")]
    assert {(file.state, file.use, file.digest) for file in files} == {(ArtifactState.FETCHING, None, None)}


async def test_fresh_addresses_replace_old_ones_until_the_file_is_ours(shop: Shop) -> None:
    await shop.worker()
    attempt = await shop.processing(await shop.order())
    await found(shop, attempt, "a", "b")
    assert await found(shop, attempt, "a", "b") == 0
    assert await found(shop, attempt, "a2", "b") == 1
    first, _ = await files_of(shop, attempt)
    assert first.address == "a2"
    assert await store(shop, first)
    assert await found(shop, attempt, "a3", "b3", "c") == 2
    assert [file.address for file in await files_of(shop, attempt)] == ["a2", "b3", "c"]


async def test_a_renewed_address_is_kept_for_what_stands_too(shop: Shop) -> None:
    await shop.worker()
    order = await shop.order()
    attempt = await shop.delivered(order)
    named_at = shop.clock.now_us()
    shop.clock.advance(10)
    later = shop.clock.now_us()
    assert await shop.see(artifacts.list_old_addresses, order.job, before=named_at) == {}
    assert await shop.see(artifacts.list_old_addresses, order.job, before=later) == {("draw", "still"): attempt.id}
    await shop.do(artifacts.renew, attempt.id, ("fresh", "beyond"))
    assert [file.address for file in await files_of(shop, attempt)] == ["fresh"]
    assert await shop.see(artifacts.list_old_addresses, order.job, before=later) == {}


async def test_a_file_is_stored_then_verified_once(shop: Shop) -> None:
    await shop.worker()
    attempt = await shop.collecting(await shop.order())
    (file,) = await files_of(shop, attempt)
    assert not await shop.do(artifacts.verify, file, MEASURES, ArtifactUse.FILLS)  # not ours yet
    assert not await shop.do(artifacts.reject, file, measures=None, reason="r")
    assert [await store(shop, file), await store(shop, file, OTHER)] == [True, False]
    assert await shop.do(artifacts.verify, file, MEASURES, ArtifactUse.FILLS)
    assert not await shop.do(artifacts.verify, file, MEASURES, ArtifactUse.LATE)
    assert not await shop.do(artifacts.reject, file, measures=MEASURES, reason="r")
    expected = replace(file, state=ArtifactState.VERIFIED, use=ArtifactUse.FILLS, digest=DIGEST)
    assert await files_of(shop, attempt) == [expected]
    (row,) = await shop.rows("SELECT measures, reason FROM artifacts")
    assert json.loads(row["measures"])["width_px"] == 4


async def test_a_file_that_is_not_what_was_ordered_is_kept_with_the_reason(shop: Shop) -> None:
    await shop.worker()
    attempt = await shop.collecting(await shop.order())
    await found(shop, attempt, SIGNED, "second")
    for file, measures in zip(await files_of(shop, attempt), (MEASURES, None), strict=True):
        assert await store(shop, file)
        assert await shop.do(artifacts.reject, file, measures=measures, reason="too small")
    rows = await shop.rows("SELECT state, reason, digest, measures FROM artifacts ORDER BY ordinal")
    assert [(row["state"], row["reason"], row["digest"]) for row in rows] == [("rejected", "too small", DIGEST)] * 2
    assert [row["measures"] is None for row in rows] == [False, True]


async def test_the_same_bytes_are_one_blob(shop: Shop) -> None:
    await shop.worker()
    for n in range(2):
        (file,) = await files_of(shop, await shop.collecting(await shop.order(f"k{n}"), ref=f"t{n}"))
        await shop.do(artifacts.store, file, digest=DIGEST, size_bytes=9 + n, media_type="image/png")
    assert await shop.rows("SELECT digest, size_bytes FROM blobs") == [{"digest": DIGEST, "size_bytes": 9}]


async def test_the_first_file_fills_an_output_and_no_other_ever_does(shop: Shop) -> None:
    await shop.worker()
    order = await shop.order()
    attempt = await shop.collecting(order)
    await found(shop, attempt, SIGNED, "second")
    first, second = await files_of(shop, attempt)
    (output,) = await shop.see(artifacts.list_expected, step_id=order.steps["draw"])
    fills = [await shop.do(artifacts.fill, output, file.id) for file in (first, second, first)]
    assert fills == [True, False, False]
    (filled,) = await shop.see(artifacts.list_expected, step_id=order.steps["draw"])
    assert (filled.state, filled.artifact_id) == ("filled", first.id)


async def test_the_files_of_a_job_come_in_the_recipes_order(shop: Shop) -> None:
    await shop.worker()
    order = await shop.order("k", "draw", "move")
    await shop.delivered(order, "draw")
    drawn, moved = await shop.see(artifacts.list_files, order.job)
    assert drawn == {
        "step": "draw",
        "output": "still",
        "ordinal": 0,
        "state": "filled",
        "digest": DIGEST,
        "media_type": "image/png",
        "size_bytes": 9,
        "measures": {**asdict(MEASURES), "faults": []},
        "address": SIGNED,
        "filled_at": shop.clock.now_us(),
    }
    assert (moved["step"], moved["state"], moved["digest"], moved["measures"]) == ("move", "missing", None, None)
    assert (await shop.see(jobs.get, order.job))["filled"] == 1
