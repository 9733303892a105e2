"""What a rehearsal needs of the sandbox: a given still, the first frame on the bill, tasks that are held."""

import hashlib

from onetake.sandbox import SandboxOptions
from onetake.sandbox.pictures import picture
from tests.sandbox.client import sandboxed

STILL = picture("approved", 64, 36, "take")


async def test_a_given_still_is_handed_out_and_the_bill_says_what_a_clip_starts_on() -> None:
    async with sandboxed(SandboxOptions(tiny=True, still=STILL)) as client:
        task = await client.image()
        found = await client.send("GET", task["output"]["image_urls"][0])
        assert found.body == STILL
        await client.order_video(task["output"]["image_urls"][0])
        assert [line["first_frame_sha256"] for line in client.bill["tasks"]] == ["", hashlib.sha256(STILL).hexdigest()]


async def test_what_is_held_waits_until_it_is_let_go_and_what_comes_later_waits_again() -> None:
    async with sandboxed() as client:
        client.sandbox.let_go()  # nothing is held: nothing changes
        client.sandbox.hold()
        first = (await client.order_image()).said
        assert first is not None
        assert client.task()["outcome"] == "queued"
        client.sandbox.let_go()
        await client.sandbox.settled()
        assert (await client.poll(first["id"])).said != first
        assert client.task()["outcome"] == "completed"
        await client.order_image(prompt="Another")
        assert client.task()["outcome"] == "queued"
