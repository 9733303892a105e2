"""A sandbox with a folder knows its tasks after any end; the program starts, announces itself and ends."""

import asyncio
import re
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest

from onetake.sandbox import SandboxOptions, Span
from tests.sandbox.client import IMAGE, sandboxed


@pytest.fixture
def options(tmp_path: Path) -> SandboxOptions:
    return SandboxOptions(tiny=True, folder=tmp_path)


async def test_tasks_files_and_the_bill_outlive_a_restart(options: SandboxOptions) -> None:
    async with sandboxed(options) as client:
        client.sandbox.script("task_fails", prompt_contains="bad")
        client.sandbox.script("refuse_402", prompt_contains="poor")
        await client.image(prompt="bad")
        await client.order_image(prompt="poor")
        await client.order_video("http://192.0.2.1/a.png")
        task = await client.video()
        before = client.bill
    async with sandboxed(options) as client:
        uncounted = [line | {"polls": 0, "downloads": 0} for line in before["tasks"]]
        assert [line | {"polls": 0, "downloads": 0} for line in client.bill["tasks"]] == uncounted
        assert client.bill | {"tasks": []} == before | {"tasks": []}
        again = (await client.poll(task["id"])).said
        assert again is not None
        assert (await client.send("GET", again["output"]["video_urls"][0])).status == 200
        await client.order_image(prompt="poor")
        assert client.task()["attempt"] == 2


async def test_a_task_that_was_interrupted_goes_on(options: SandboxOptions, tmp_path: Path) -> None:
    waiting = SandboxOptions(tiny=True, folder=tmp_path, queue_s=Span.parse("600"))
    async with sandboxed(options) as client:
        url = (await client.image())["output"]["image_urls"][0]
    async with sandboxed(waiting) as client:
        moved = client.sandbox.base_url + url[url.index("/files/") :]
        ordered = (await client.order_video(moved)).said
        assert ordered is not None
        assert client.task()["outcome"] == "queued"
    pass_time(tmp_path / "journal.jsonl")
    async with sandboxed(options) as client:
        await client.sandbox.settled()
        said = (await client.poll(ordered["id"])).said
        assert said is not None
        assert said["status"] == "completed"


def pass_time(journal: Path) -> None:
    """Let every wait in a journal be over."""
    journal.write_text(re.sub(r'"(starts|ends)_at_s": [\d.]+', r'"\1_at_s": 0', journal.read_text()))


async def test_a_line_that_a_crash_cut_short_is_forgotten(options: SandboxOptions, tmp_path: Path) -> None:
    async with sandboxed(options) as client:
        await client.image()
    journal = tmp_path / "journal.jsonl"
    with journal.open("a") as file:
        file.write('{"Task": {"id": "task_half')
    async with sandboxed(options) as client:
        assert client.bill["totals"]["accepted"] == 1
        await client.image()
    async with sandboxed(options) as client:
        assert client.bill["totals"]["accepted"] == 2


@asynccontextmanager
async def program(*arguments: str) -> AsyncIterator[Process]:
    """The sandbox as a process of its own; killed if a test leaves it running."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "onetake.sandbox", "--tiny", *arguments, stdout=PIPE, stderr=PIPE
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def ready(process: Process) -> str:
    assert process.stdout is not None
    word, url = (await process.stdout.readline()).decode().split()
    assert word == "ready"
    return url


@pytest.mark.e2e
async def test_the_program_announces_itself_survives_a_kill_and_ends_when_asked(tmp_path: Path) -> None:
    async with program("--state", str(tmp_path)) as process, aiohttp.ClientSession(await ready(process)) as session:
        await session.post("/api/v1/images/generations", json=IMAGE)
        process.kill()
        await process.wait()
    async with program("--state", str(tmp_path)) as process:
        async with aiohttp.ClientSession(await ready(process)) as session, session.get("/_bill") as response:
            assert (await response.json())["totals"]["accepted"] == 1
        process.send_signal(signal.SIGTERM)
        _, errors = await process.communicate()
        assert (process.returncode, errors) == (0, b"")


@pytest.mark.e2e
async def test_a_port_that_is_taken_is_one_sentence() -> None:
    async with sandboxed() as client:
        port = client.sandbox.base_url.rpartition(":")[2]
        async with program("--port", port) as process:
            _, errors = await process.communicate()
            assert process.returncode == 1
            assert errors.startswith(b"the sandbox can't start: ")
            assert b"Traceback" not in errors
