"""The decoding child and its parent, with real processes: killed, hanging, talking rubbish, too greedy, not there."""

# ruff: noqa: ASYNC240 - a test may look at a small local file between two measures

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import sysconfig
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import psutil
import pytest

import onetake
from onetake.domain.errors import MediaError, StorageError
from onetake.domain.outputs import Measures
from onetake.media import decoder as under_test
from onetake.media.decoder import DecodeFault, Decoder, Undecodable, video_available
from tests.media import making

pytestmark = pytest.mark.e2e

TIMEOUT_S = 60.0  # never reached by a file that decodes


@pytest.fixture
async def decoder() -> AsyncIterator[Decoder]:
    async with contextlib.aclosing(Decoder()) as decoder:
        yield decoder


@pytest.fixture
def still(tmp_path: Path) -> Path:
    path = tmp_path / "still"
    path.write_bytes(making.png())
    return path


@pytest.fixture
def fifo(tmp_path: Path) -> Path:
    """A file whose reading never ends: a child that has it is in the middle of it."""
    path = tmp_path / "fifo"
    os.mkfifo(path)
    return path


def process_of(decoder: Decoder) -> asyncio.subprocess.Process:
    process = decoder._children[0]._process
    assert process is not None
    return process


def child_of(decoder: Decoder) -> psutil.Process:
    return psutil.Process(process_of(decoder).pid)


async def kill_reader(decoder: Decoder, fifo: Path) -> None:
    """Wait until the child has opened the file, then kill it; it is gone afterwards."""
    handle = await asyncio.to_thread(os.open, fifo, os.O_WRONLY)
    process = process_of(decoder)
    process.kill()
    await process.wait()
    os.close(handle)


def talker(*sayings: str) -> Sequence[str]:
    """A child that answers each request with the next of these."""
    program = "import sys\nfor saying in sys.argv[1:]:\n    print(saying, flush=True)\n    input()"
    return (sys.executable, "-c", program, *sayings)


async def test_pictures_and_clips_come_back_measured(decoder: Decoder, still: Path, tmp_path: Path) -> None:
    making.clip(tmp_path / "clip", sound=True)
    found = [await decoder.measure(path, timeout_s=TIMEOUT_S) for path in (still, tmp_path / "clip", still)]
    assert [(each.kind, each.media_type) for each in found if isinstance(each, Measures)] == [
        ("image", "image/png"),
        ("video", "video/mp4"),
        ("image", "image/png"),
    ]
    assert found[0] == found[2]


async def test_a_broken_file_is_an_answer_with_its_reason(decoder: Decoder, tmp_path: Path) -> None:
    page = tmp_path / "clip.mp4"
    page.write_bytes(b"<!doctype html><title>Sign in</title>")
    reason = "not a picture or clip: looks like an HTML page"
    found = await decoder.measure(page, timeout_s=TIMEOUT_S)
    assert found == Undecodable(fault=DecodeFault.NOT_MEDIA, reason=reason)


async def test_any_file_name_can_be_read(decoder: Decoder, tmp_path: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff ' \"\n \xc3\xa9"))
    path.write_bytes(making.png())
    assert isinstance(await decoder.measure(path, timeout_s=TIMEOUT_S), Measures)


async def test_a_missing_file_is_the_stores_fault(decoder: Decoder, tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="can't be read: No such file"):
        await decoder.measure(tmp_path / "nothing", timeout_s=TIMEOUT_S)


async def test_one_child_serves_many_files_then_makes_room(decoder: Decoder, still: Path) -> None:
    pids = []
    for _ in range(2):
        await decoder.measure(still, timeout_s=TIMEOUT_S)
        pids.append(child_of(decoder).pid)
    decoder._children[0]._files = under_test._FILES_PER_CHILD
    await decoder.measure(still, timeout_s=TIMEOUT_S)
    assert pids[0] == pids[1] != child_of(decoder).pid
    assert not psutil.pid_exists(pids[0])


async def test_several_children_work_at_once(still: Path, fifo: Path) -> None:
    async with contextlib.aclosing(Decoder(children=2)) as decoder:
        stuck = asyncio.create_task(decoder.measure(fifo, timeout_s=TIMEOUT_S))
        handle = await asyncio.to_thread(os.open, fifo, os.O_WRONLY)
        found = await asyncio.gather(*(decoder.measure(still, timeout_s=TIMEOUT_S) for _ in range(5)))
        assert all(isinstance(each, Measures) for each in found)
        stuck.cancel()
        await asyncio.wait([stuck])
        os.close(handle)


async def test_a_child_killed_in_the_middle_is_replaced_and_the_file_tried_again(
    decoder: Decoder, still: Path, fifo: Path
) -> None:
    measuring = asyncio.create_task(decoder.measure(fifo, timeout_s=TIMEOUT_S))
    handle = await asyncio.to_thread(os.open, fifo, os.O_WRONLY)
    still.replace(fifo)  # what the second child finds under this name
    child_of(decoder).kill()
    os.close(handle)
    assert isinstance(await measuring, Measures)


async def test_a_file_that_kills_two_children_is_to_blame(decoder: Decoder, still: Path, fifo: Path) -> None:
    measuring = asyncio.create_task(decoder.measure(fifo, timeout_s=TIMEOUT_S))
    for _ in range(2):
        await kill_reader(decoder, fifo)
    reason = "the decoder died on this file, twice"
    assert await measuring == Undecodable(fault=DecodeFault.CRASH, reason=reason)
    assert isinstance(await decoder.measure(still, timeout_s=TIMEOUT_S), Measures)


async def test_a_child_that_died_idle_costs_nothing(decoder: Decoder, still: Path) -> None:
    first = await decoder.measure(still, timeout_s=TIMEOUT_S)
    child_of(decoder).kill()
    assert await decoder.measure(still, timeout_s=TIMEOUT_S) == first


async def test_a_hanging_child_is_killed(decoder: Decoder, still: Path, fifo: Path) -> None:
    await decoder.measure(still, timeout_s=TIMEOUT_S)
    hanging = child_of(decoder)
    found = await decoder.measure(fifo, timeout_s=0.1)
    assert found == Undecodable(fault=DecodeFault.TIMEOUT, reason="decoding took longer than 0.1 s")
    assert not hanging.is_running()
    assert isinstance(await decoder.measure(still, timeout_s=TIMEOUT_S), Measures)


async def test_a_cancelled_measure_leaves_no_answer_behind(decoder: Decoder, still: Path, fifo: Path) -> None:
    measuring = asyncio.create_task(decoder.measure(fifo, timeout_s=TIMEOUT_S))
    handle = await asyncio.to_thread(os.open, fifo, os.O_WRONLY)
    measuring.cancel()
    with pytest.raises(asyncio.CancelledError):
        await measuring
    os.close(handle)
    assert isinstance(await decoder.measure(still, timeout_s=TIMEOUT_S), Measures)


@pytest.mark.parametrize(
    "rubbish", ["no JSON", "{}", '{"kind": "poem"}', "x" * 100_000, '{"fault": "mood", "reason": ""}']
)
async def test_rubbish_from_a_child_is_never_believed(still: Path, rubbish: str) -> None:
    async with contextlib.aclosing(Decoder(command=talker('"ready"', rubbish))) as decoder:
        found = await decoder.measure(still, timeout_s=TIMEOUT_S)
    assert isinstance(found, Undecodable)
    assert found.fault is DecodeFault.CRASH


@pytest.mark.parametrize(
    ("command", "complaint"),
    [
        (("/nonexistent/python",), "No such file or directory"),
        ((sys.executable, "-c", "raise SystemExit('no luck')"), "no luck"),
        ((sys.executable, "-c", ""), "it said nothing"),
        (talker("hello"), "it said nothing"),
    ],
)
async def test_a_child_that_can_not_start_is_no_fault_of_the_file(
    still: Path, command: Sequence[str], complaint: str
) -> None:
    async with contextlib.aclosing(Decoder(command=command)) as decoder:
        with pytest.raises(MediaError, match=f"The decoder can't be started: {complaint}."):
            await decoder.measure(still, timeout_s=TIMEOUT_S)


async def test_without_pyav_pictures_work_and_clips_say_what_to_install(still: Path, tmp_path: Path) -> None:
    making.clip(tmp_path / "clip")
    libraries = Path(sysconfig.get_path("platlib"))
    only_pillow = tmp_path / "libraries"
    only_pillow.mkdir()
    for name in ("PIL", "pillow.libs"):
        (only_pillow / name).symlink_to(libraries / name)
    (only_pillow / "onetake").symlink_to(Path(onetake.__file__).parent)
    command = (sys.executable, "-S", *under_test._COMMAND[1:-1], str(only_pillow))
    async with contextlib.aclosing(Decoder(command=command)) as decoder:
        assert isinstance(await decoder.measure(still, timeout_s=TIMEOUT_S), Measures)
        with pytest.raises(MediaError, match=r"pip install 'onetake\[video\]'"):
            await decoder.measure(tmp_path / "clip", timeout_s=TIMEOUT_S)
    assert video_available()


async def test_a_child_holds_no_secret_and_can_write_no_file(decoder: Decoder, still: Path) -> None:
    await decoder.measure(still, timeout_s=TIMEOUT_S)
    child = child_of(decoder)
    assert set(child.environ()) <= {"LC_CTYPE", *under_test._PASSED_ON}
    limits = {kind: child.rlimit(kind)[0] for kind in (psutil.RLIMIT_FSIZE, psutil.RLIMIT_CORE, psutil.RLIMIT_NOFILE)}
    assert list(limits.values()) == [0, 0, 32]
    assert 0 < child.rlimit(psutil.RLIMIT_CPU)[0] < TIMEOUT_S + 60


async def test_a_child_outlives_the_signals_meant_for_its_parent(decoder: Decoder, still: Path) -> None:
    await decoder.measure(still, timeout_s=TIMEOUT_S)
    child = child_of(decoder)
    for number in (signal.SIGINT, signal.SIGTERM):
        child.send_signal(number)
    await decoder.measure(still, timeout_s=TIMEOUT_S)
    assert child_of(decoder) == child


async def test_memory_has_an_end(tmp_path: Path) -> None:
    path = tmp_path / "wide"
    path.write_bytes(making.blank_png(8000, 8000))  # 64 MB once decoded
    tight = ("/bin/sh", "-c", 'ulimit -v 70000; exec "$0" "$@"', *under_test._COMMAND)
    async with contextlib.aclosing(Decoder(command=tight)) as decoder:
        found = await decoder.measure(path, timeout_s=TIMEOUT_S)
    assert isinstance(found, Undecodable)
    assert found.fault is DecodeFault.TOO_LARGE


async def test_closing_ends_the_children(decoder: Decoder, still: Path) -> None:
    await decoder.measure(still, timeout_s=TIMEOUT_S)
    child = child_of(decoder)
    await decoder.aclose()
    assert not child.is_running()


def test_a_child_ends_with_its_parent() -> None:
    child = subprocess.Popen(under_test._COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdin
    assert child.stdout
    assert json.loads(child.stdout.readline()) == "ready"
    child.stdin.close()
    assert child.wait(TIMEOUT_S) == 0
    child.stdout.close()


def test_a_child_loads_only_what_it_needs() -> None:
    program = "import onetake.media.child, sys; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, text=True, check=True)
    assert "PIL" in loaded.stdout.split()
    assert {"av", "aiohttp", "asyncio", "pydantic", "sqlalchemy"}.isdisjoint(loaded.stdout.split())
