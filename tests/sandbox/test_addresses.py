"""Outputs' addresses: signed, expiring, new at every poll."""

import io

import pytest
from PIL import Image

from onetake.sandbox import SandboxOptions
from onetake.sandbox.addresses import AddressError, Addresses
from tests.sandbox.client import Client, sandboxed


async def test_every_poll_names_a_new_address_and_the_old_one_still_works(client: Client) -> None:
    task = await client.image()
    again = (await client.poll(task["id"])).said
    assert again is not None
    old, new = task["output"]["image_urls"][0], again["output"]["image_urls"][0]
    assert old != new
    assert (await client.send("GET", old)).body == (await client.send("GET", new)).body


async def test_an_address_expires() -> None:
    async with sandboxed(SandboxOptions(tiny=True, address_ttl_s=0)) as client:
        task = await client.image()
        assert (await client.send("GET", task["output"]["image_urls"][0])).status == 403


@pytest.mark.parametrize(
    ("found", "put"),
    [("-0.png", "-1.png"), ("expires=1", "expires=2"), ("number=1", "number=2"), ("signature=", "signature=A")],
)
async def test_an_address_can_not_be_forged(client: Client, found: str, put: str) -> None:
    url = (await client.image())["output"]["image_urls"][0]
    assert found in url
    assert (await client.send("GET", url.replace(found, put))).status == 403


async def test_an_address_without_signature_opens_nothing(client: Client) -> None:
    url = (await client.image())["output"]["image_urls"][0]
    assert (await client.send("GET", url.partition("?")[0])).status == 403


def test_a_signature_that_was_decoded_on_the_way_is_spoiled() -> None:
    addresses = Addresses.of("1", 60)
    signed = next(url for n in range(99) if "%2B" in (url := addresses.sign("a.png", n, 0.0)))
    query = dict(pair.split("=", 1) for pair in signed.partition("?")[2].replace("%2B", " ").split("&"))
    with pytest.raises(AddressError):
        addresses.check("a.png", query, 0.0)


async def test_an_address_of_an_earlier_sandbox_opens_nothing(client: Client) -> None:
    url = (await client.image())["output"]["image_urls"][0]
    async with sandboxed() as other:
        moved = url.replace(client.sandbox.base_url, other.sandbox.base_url)
        assert (await other.send("GET", moved)).status == 403
        assert (await other.order_video(moved)).status == 400


async def test_a_first_frame_must_be_a_finished_picture_on_this_machine(client: Client) -> None:
    clip = (await client.video())["output"]["video_urls"][0]
    base = client.sandbox.base_url
    bad = [
        clip,
        "",
        "no address",
        "http://[::1",
        "file:///etc/passwd",
        "http://192.0.2.1/a.png",
        "http://example.com/a.png",
        f"{base}/files/x-0.png",
        "http://127.0.0.1:1/a.png",
    ]
    for url in bad:
        answer = await client.order_video(url)
        assert (answer.status, (answer.said or {})["error"]["code"]) == (400, "bad_first_frame")
    assert client.bill["totals"]["accepted"] == 2
    assert client.bill["totals"]["refused"] == len(bad)
    assert len(client.bill["odd"]) == len(bad) - 1  # the empty one is no address, so nothing was looked at
    assert {oddity["route"] for oddity in client.bill["odd"]} == {"video"}


async def test_a_first_frame_may_lie_on_another_server_of_this_machine(client: Client) -> None:
    async with sandboxed() as other:
        url = (await other.image())["output"]["image_urls"][0]
        task = await client.finished(await client.order_video(url))
        assert task["status"] == "completed"
        other.sandbox.script("file_html")
        assert (await client.order_video(url)).status == 400
        other.sandbox.script("file_5xx")
        assert (await client.order_video(url)).status == 400


async def test_exactly_one_first_frame_is_named(client: Client) -> None:
    url = (await client.image())["output"]["image_urls"][0]
    frame = {"url": url, "role": "first_frame"}
    for roles in (None, [], [frame, frame], [{"url": url, "role": "last_frame"}], [7], [{"role": "first_frame"}]):
        assert (await client.order_video(url, image_with_roles=roles)).status == 400


async def test_faults_of_downloads_do_not_strike_the_provider_itself() -> None:
    async with sandboxed(SandboxOptions(tiny=True, rates={"file_html": 1.0})) as client:
        task = await client.video()
        assert task["status"] == "completed"
        page = await client.send("GET", task["output"]["video_urls"][0])
        with pytest.raises(OSError, match="cannot identify"):
            Image.open(io.BytesIO(page.body))
