"""The wire format on a good day, and what is refused without any fault."""

import hashlib
import io
from typing import Any

import av
import pytest
from PIL import Image

from onetake.sandbox import SandboxOptions, Span
from tests.sandbox.client import IMAGE, VIDEO, Client, sandboxed

KEYED = SandboxOptions(tiny=True, keys=("rk_live_1", "rk_live_2"))


async def test_a_picture_is_ordered_polled_and_downloaded(client: Client) -> None:
    ordered = (await client.order_image()).said
    assert ordered is not None
    assert ordered["id"].startswith("task_")
    assert (ordered["status"], ordered["model"]) == ("processing", IMAGE["model"])
    task = await client.finished(await client.order_image())
    assert (task["status"], task["error"]) == ("completed", None)
    file = await client.send("GET", task["output"]["image_urls"][0])
    assert file.headers["Content-Type"] == "image/png"
    assert file.headers["Content-Length"] == str(len(file.body))
    assert file.headers["ETag"].strip('"') == hashlib.sha256(file.body).hexdigest() == client.task()["sha256"][0]
    picture = Image.open(io.BytesIO(file.body))
    picture.load()
    assert (picture.size, picture.info["Take"]) == ((64, 36), task["id"])


async def test_a_clip_starts_on_a_finished_picture(client: Client) -> None:
    task = await client.video(duration=2)
    file = await client.send("GET", task["output"]["video_urls"][0])
    assert file.headers["Content-Type"] == "video/mp4"
    with av.open(io.BytesIO(file.body), "r") as clip:
        stream = clip.streams.video[0]
        assert (stream.width, stream.height, clip.duration) == (64, 36, 2_000_000)
    assert client.task()["price_micros"] == 200_000


async def test_several_pictures_cost_several_prices_and_differ(client: Client) -> None:
    task = await client.image(n=3)
    bodies = {(await client.send("GET", url)).body for url in task["output"]["image_urls"]}
    assert len(bodies) == 3
    assert client.bill["totals"]["billed_micros"] == 120_000


async def test_every_order_makes_another_picture(client: Client) -> None:
    headers = {"Idempotency-Key": "the same"}
    for _ in range(2):
        await client.send("POST", "/api/v1/images/generations", json=IMAGE, headers=headers)
    await client.sandbox.settled()
    first, second = client.bill["tasks"]
    assert first["id"] != second["id"]
    assert first["sha256"] != second["sha256"]


@pytest.mark.parametrize(
    ("says_queued", "status"),
    [pytest.param(True, "queued", id="told apart"), pytest.param(False, "processing", id="as reAPI does")],
)
async def test_a_waiting_task_is_in_work(says_queued: bool, status: str) -> None:  # noqa: FBT001 - a parameter
    options = SandboxOptions(tiny=True, queue_s=Span.parse("600"), says_queued=says_queued)
    async with sandboxed(options) as client:
        ordered = (await client.order_image()).said
        assert ordered is not None
        assert (await client.poll(ordered["id"])).said == ordered | {"status": status, "output": None, "error": None}


@pytest.mark.parametrize("path", ["/v1/models", "/api/v1/models"])
async def test_models_are_listed(client: Client, path: str) -> None:
    listed = (await client.send("GET", path)).said
    assert listed is not None
    assert [(model["id"], model["object"]) for model in listed["data"]] == [
        (IMAGE["model"], "model"),
        (VIDEO["model"], "model"),
    ]


@pytest.mark.parametrize(
    ("headers", "is_let_in"),
    [
        ({}, False),
        ({"Authorization": "Bearer rk_live_3"}, False),
        ({"Authorization": "Basic rk_live_1"}, False),
        ({"Authorization": "Bearer rk_live_é"}, False),
        ({"Authorization": "Bearer rk_live_1"}, True),
        ({"Authorization": "bearer rk_live_2"}, True),
    ],
)
async def test_keys_are_checked(headers: dict[str, str], is_let_in: bool) -> None:  # noqa: FBT001 - a parameter
    async with sandboxed(KEYED) as client:
        order = await client.send("POST", "/api/v1/images/generations", json=IMAGE, headers=headers)
        models = await client.send("GET", "/v1/models", headers=headers)
        poll = await client.send("GET", "/api/v1/tasks/nobody", headers=headers)
        assert [order.status, models.status, poll.status] == ([200, 200, 404] if is_let_in else [401, 401, 401])
        assert client.bill["totals"]["accepted"] == int(is_let_in)
        assert client.bill["totals"]["posts"] == 1


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"prompt": None}, "missing_prompt"),
        ({"prompt": " \n"}, "missing_prompt"),
        ({"prompt": "half \ud83d a pair"}, "bad_prompt"),
        ({"model": "wan3.0-video"}, "unknown_model"),
        ({"model": "gpt-image-9"}, "unknown_model"),
        ({"size": "17:9"}, "bad_size"),
        ({"size": "8192x16"}, "bad_size"),
        ({"size": 7}, "bad_size"),
        ({"size": "4x4000"}, "bad_size"),
        ({"resolution": "9k"}, "bad_resolution"),
        ({"n": 0}, "bad_n"),
        ({"n": True}, "bad_n"),
    ],
)
async def test_a_bad_order_is_refused_and_not_billed(fields: dict[str, Any], code: str) -> None:
    async with sandboxed(SandboxOptions()) as client:
        answer = await client.order_image(**fields)
        assert (answer.status, (answer.said or {})["error"]["code"]) == (400, code)
        assert [refusal["code"] for refusal in client.bill["refused"]] == [code]
        assert client.bill["totals"]["billed_micros"] == 0


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"\xff"])
async def test_a_body_that_is_no_object_is_refused(client: Client, body: bytes) -> None:
    answer = await client.send("POST", "/api/v1/images/generations", data=body)
    assert (answer.status, (answer.said or {})["error"]["code"]) == (400, "bad_json")


@pytest.mark.parametrize(
    ("fields", "size"),
    [
        ({"size": "1:1"}, (1024, 1024)),
        ({"aspect_ratio": "9:16"}, (720, 1280)),
        ({"size": "16:9", "resolution": "480p"}, (854, 480)),
        ({"size": "9:16", "resolution": "360p"}, (360, 640)),
        ({"size": "333x201"}, (334, 202)),
        ({"size": "640*360"}, (640, 360)),
    ],
)
async def test_sizes_are_pixels_or_a_ratio_and_a_resolution(fields: dict[str, Any], size: tuple[int, int]) -> None:
    order = {name: value for name, value in IMAGE.items() if name not in {"size", "resolution"}} | fields
    async with sandboxed(SandboxOptions()) as client:
        task = await client.finished(await client.send("POST", "/api/v1/images/generations", json=order))
        file = await client.send("GET", task["output"]["image_urls"][0])
        assert Image.open(io.BytesIO(file.body)).size == size


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/", 404),
        ("GET", "/api/v1/tasks/", 404),
        ("GET", "/api/v1/tasks/task_nobody", 404),
        ("GET", "/api/v1/images/generations", 405),
        ("PUT", "/api/v1/images/generations", 405),
    ],
)
async def test_what_does_not_exist_is_refused_in_json(client: Client, method: str, path: str, status: int) -> None:
    answer = await client.send(method, path)
    assert answer.status == status
    assert set((answer.said or {})["error"]) == {"code", "message"}


async def test_a_body_that_is_too_large_is_refused_in_json(client: Client) -> None:
    body = io.BytesIO(b"x" * 5_000_000)
    answer = await client.send("POST", "/api/v1/images/generations", data=body)
    assert (answer.status, set((answer.said or {})["error"])) == (413, {"code", "message"})


async def test_statistics_count_what_was_asked(client: Client) -> None:
    task = await client.image()
    await client.send("GET", task["output"]["image_urls"][0])
    await client.order_image(prompt="")
    counts = (await client.send("GET", "/_stats")).said
    assert counts == {"posts": 2, "accepted": 1, "refused": 1, "polls": 1, "downloads": 1}
    assert (await client.send("GET", "/_bill")).said == client.bill
