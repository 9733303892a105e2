"""Every fault does what its sentence says, and the bill tells the truth under each."""

import asyncio
import io
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

import aiohttp
import pytest
from PIL import Image

from onetake.sandbox import FAULTS, SandboxOptions
from onetake.sandbox.faults import Stage
from tests.sandbox.client import IMAGE, Client, Json, sandboxed

CUT = (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError)
PATIENT_S = 600.0  # longer than any test may take: what is slow only ends because the client leaves
SLOW = SandboxOptions(tiny=True, slow_s=PATIENT_S, silence_s_max=PATIENT_S)


@dataclass(frozen=True, slots=True)
class Seen:
    """What a client sees of a fault.

    Attributes:
        status: of the answer; 0 for a cut connection, -1 for an answer that doesn't come, -2 for half a body.
        code: the word in the provider's JSON error; None for a body that holds none.
        retry_after: the kind of Retry-After header.
    """

    status: int
    code: str | None = None
    retry_after: str | None = None


SUBMITS = {
    "accept_then_drop": Seen(0),
    "accept_then_5xx": Seen(502, "bad_gateway"),
    "accept_then_silence": Seen(-1),
    "accept_then_redirect": Seen(307),
    "accept_no_id": Seen(200),
    "accept_unreadable": Seen(200),
    "accept_truncated": Seen(-2),
    "accept_gateway_html": Seen(504),
    "accept_slow": Seen(-1),
    "refuse_drop": Seen(0),
    "refuse_5xx": Seen(503, "unavailable"),
    "refuse_4xx": Seen(400, "invalid_request"),
    "refuse_moderation": Seen(422, "content_policy_violation"),
    "refuse_429": Seen(429, "rate_limited", "seconds"),
    "refuse_429_date": Seen(429, "rate_limited", "date"),
    "refuse_429_html": Seen(429),
    "refuse_401": Seen(401, "invalid_api_key"),
    "refuse_402": Seen(402, "insufficient_credits"),
    "refuse_403": Seen(403, "model_not_allowed"),
    "refuse_account_locked": Seen(403, "account_locked"),
}
POLLS = {
    "poll_5xx": Seen(503, "unavailable"),
    "poll_429": Seen(429, "rate_limited", "seconds"),
    "poll_429_date": Seen(429, "rate_limited", "date"),
    "poll_slow": Seen(-1),
    "poll_drop": Seen(0),
    "poll_404": Seen(404, "task_not_found"),
    "poll_401": Seen(401, "invalid_api_key"),
    "poll_unreadable": Seen(200),
    "poll_gateway_html": Seen(200),
    "poll_no_addresses": Seen(200),
    "poll_unlisted_status": Seen(200),
}
DOWNLOADS = {
    "file_truncated": Seen(-2),
    "file_lying": Seen(200),
    "file_html": Seen(200),
    "file_5xx": Seen(503, "unavailable"),
    "file_expired": Seen(403),
    "file_slow": Seen(-1),
    "file_drop": Seen(0),
}
TASKS = {"task_fails", "task_no_addresses", "task_never_finishes", "task_odd_id"}


def test_every_fault_is_in_a_table_here() -> None:
    tables = {Stage.SUBMIT: set(SUBMITS), Stage.POLL: set(POLLS), Stage.DOWNLOAD: set(DOWNLOADS)}
    for stage, names in tables.items():
        assert {fault.name for fault in FAULTS.values() if fault.stage is stage} == names
    assert set(FAULTS) == set(SUBMITS) | set(POLLS) | set(DOWNLOADS) | TASKS


async def look(client: Client, expected: Seen, method: str, path: str, json: object = None) -> tuple[Seen, Json]:
    """Send one request that meets a fault, and say what came; leave once one that isn't answered has arrived."""
    asking = asyncio.create_task(client.send(method, path, json=json))
    try:
        if expected.status == -1:
            await arrived(client)
            asking.cancel()
        answer = await asking
    except asyncio.CancelledError:
        return Seen(-1), {}
    except CUT:
        return Seen(0), {}
    except aiohttp.ClientPayloadError:
        return Seen(-2), {}
    said = answer.said or {}
    code = (said.get("error") or {}).get("code")
    return Seen(answer.status, code, kind_of_wait(answer.headers.get("Retry-After"))), said


async def arrived(client: Client) -> None:
    """Come back when the scripted fault has been used up: the request is being kept waiting."""
    while client.sandbox.scripts:  # noqa: ASYNC110 - the sandbox is a server: it can be looked at, not waited for
        await asyncio.sleep(0.001)


def kind_of_wait(header: str | None) -> str | None:
    if header is None:
        return None
    if header.isdigit():
        return "seconds"
    assert parsedate_to_datetime(header).tzinfo is not None
    return "date"


@pytest.mark.parametrize("name", SUBMITS)
async def test_a_submit_meets_a_fault(name: str) -> None:
    async with sandboxed(SLOW) as client:
        client.sandbox.script(name, route="image")
        seen, said = await look(client, SUBMITS[name], "POST", "/api/v1/images/generations", json=IMAGE)
        assert seen == SUBMITS[name]
        assert "id" not in said
        totals = client.bill["totals"]
        assert (totals["accepted"], totals["refused"]) == ((1, 0) if FAULTS[name].is_accepted else (0, 1))
        entry = (client.bill["tasks"] + client.bill["refused"])[0]
        assert (entry["fault"], entry["prompt"], entry["attempt"]) == (name, IMAGE["prompt"], 1)
        assert totals["billed_micros"] == 40_000 * totals["accepted"]
        assert not entry.get("told_id")
        assert (await client.order_image()).status == 200
        assert client.task()["attempt"] == 2


@pytest.mark.parametrize("name", [name for name in SUBMITS if name.startswith("accept_")])
async def test_an_accepted_order_is_made_whatever_its_answer(name: str) -> None:
    async with sandboxed(SLOW) as client:
        client.sandbox.script(name)
        await look(client, SUBMITS[name], "POST", "/api/v1/images/generations", json=IMAGE)
        await client.sandbox.settled()
        assert client.task()["outcome"] == "completed"
        assert (await client.poll(client.task()["id"])).status == 200


async def test_a_late_answer_is_told_if_the_client_waits() -> None:
    async with sandboxed(SandboxOptions(tiny=True, slow_s=0.0)) as client:
        client.sandbox.script("accept_slow")
        assert (await client.order_image()).status == 200
        assert client.task()["told_id"]


async def test_silence_ends_at_its_cap() -> None:
    async with sandboxed(SandboxOptions(tiny=True, silence_s_max=0.0)) as client:
        client.sandbox.script("accept_then_silence")
        with pytest.raises(CUT):
            await client.order_image()


async def test_whoever_follows_the_redirect_buys_twice(client: Client) -> None:
    client.sandbox.script("accept_then_redirect")
    url = client.sandbox.base_url + "/api/v1/images/generations"
    async with client.session.post(url, json=IMAGE, allow_redirects=True) as response:
        assert response.status == 200
    assert client.bill["totals"]["accepted"] == 2


async def test_a_gateway_answers_with_either_status() -> None:
    statuses = set()
    async with sandboxed(SandboxOptions(tiny=True, rates={"accept_gateway_html": 1.0})) as client:
        for number in range(20):
            answer = await client.order_image(prompt=f"prompt {number}")
            statuses.add(answer.status)
            assert answer.body.startswith(b"<!doctype html>")
    assert statuses == {502, 504}


@pytest.mark.parametrize("name", POLLS)
async def test_a_poll_meets_a_fault_once(name: str) -> None:
    async with sandboxed(SLOW) as client:
        task = await client.image()
        client.sandbox.script(name)
        seen, said = await look(client, POLLS[name], "GET", f"/api/v1/tasks/{task['id']}")
        assert seen == POLLS[name]
        assert not said.get("output")
        again = (await client.poll(task["id"])).said
        assert again is not None
        assert again["output"]["image_urls"]
        assert client.task()["polls"] == 3


async def test_a_completed_task_can_lack_its_addresses_once(client: Client) -> None:
    client.sandbox.script("poll_no_addresses")
    task = await client.image()
    assert (task["status"], task["output"]) == ("completed", {})


async def test_a_status_can_be_a_word_nobody_listed(client: Client) -> None:
    client.sandbox.script("poll_unlisted_status")
    assert (await client.image())["status"] == "finalizing"


@pytest.mark.parametrize("name", DOWNLOADS)
async def test_a_download_meets_a_fault_once(name: str) -> None:
    async with sandboxed(SLOW) as client:
        task = await client.image()
        client.sandbox.script(name, route="download")
        seen, _ = await look(client, DOWNLOADS[name], "GET", task["output"]["image_urls"][0])
        assert seen == DOWNLOADS[name]
        again = (await client.poll(task["id"])).said
        assert again is not None
        file = await client.send("GET", again["output"]["image_urls"][0])
        assert Image.open(io.BytesIO(file.body)).size == (64, 36)
        assert client.task()["downloads"] == 2


async def test_an_expired_address_stays_dead(client: Client) -> None:
    task = await client.image()
    client.sandbox.script("file_expired")
    url = task["output"]["image_urls"][0]
    assert [(await client.send("GET", url)).status for _ in range(2)] == [403, 403]


async def test_a_lying_file_is_whole_and_of_another_size_or_kind(client: Client) -> None:
    client.sandbox.script("file_lying", times=100)
    seen = set()
    for number in range(12):
        task = await client.image(prompt=f"prompt {number}")
        file = await client.send("GET", task["output"]["image_urls"][0])
        picture = Image.open(io.BytesIO(file.body))
        picture.load()
        seen.add((file.headers["Content-Type"], picture.format, picture.size))
    assert seen == {("image/png", "PNG", (48, 48)), ("image/png", "JPEG", (48, 48))}


async def test_a_lying_clip_is_a_clip_of_another_size_or_a_picture(client: Client) -> None:
    client.sandbox.script("file_lying", times=100)
    starts = set()
    for number in range(12):
        task = await client.video(prompt=f"prompt {number}", duration=1)
        file = await client.send("GET", task["output"]["video_urls"][0])
        assert file.headers["Content-Type"] == "video/mp4"
        starts.add(file.body[4:8] if file.body[4:8] == b"ftyp" else file.body[:2])
    assert starts == {b"ftyp", b"\xff\xd8"}


async def test_a_failed_task_is_refunded(client: Client) -> None:
    client.sandbox.script("task_fails", route="image")
    task = await client.image()
    assert (task["status"], task["output"], task["error"]["code"]) == ("failed", None, "generation_failed")
    assert (client.task()["outcome"], client.task()["task_fault"]) == ("failed", "task_fails")
    totals = client.bill["totals"]
    assert (totals["billed_micros"], totals["refunded_micros"]) == (40_000, 40_000)


async def test_a_task_can_complete_without_ever_naming_an_address(client: Client) -> None:
    client.sandbox.script("task_no_addresses")
    task = await client.image()
    assert (task["status"], task["output"]) == ("completed", {})
    assert (await client.poll(task["id"])).said == task


async def test_a_task_can_stay_in_work_for_ever(client: Client) -> None:
    client.sandbox.script("task_never_finishes")
    task = await client.image()
    assert (task["status"], client.task()["outcome"]) == ("processing", "rendering")


async def test_odd_ids_are_found_decoded_once_and_exactly() -> None:
    async with sandboxed(SandboxOptions(tiny=True, rates={"task_odd_id": 1.0})) as client:
        for number in range(60):
            ordered = (await client.order_image(prompt=f"prompt {number}")).said
            assert ordered is not None
            said = (await client.poll(ordered["id"])).said
            assert said is not None
            assert said["id"] == ordered["id"]
        await client.sandbox.settled()
        assert all(task["sha256"] for task in client.bill["tasks"])
        ids = [task["id"] for task in client.bill["tasks"]]
    assert set("/. ?#%+&-é") <= set("".join(ids))
    assert {len(task_id) == 500 for task_id in ids} == {True, False}


async def test_an_id_that_is_not_encoded_is_not_found(client: Client) -> None:
    client.sandbox.script("task_odd_id", times=100)
    for number in range(30):
        await client.order_image(prompt=f"prompt {number}")
    slashed = next(task["id"] for task in client.bill["tasks"] if task["id"].startswith("jobs/"))
    assert (await client.send("GET", f"/api/v1/tasks/{slashed}")).status == 404
    assert (await client.poll(slashed)).status == 200
