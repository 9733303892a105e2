"""A provider that only answers polls, cheaply, so that it isn't the limit of a worker that polls 100,000 jobs.

Several processes listen on one port; the kernel spreads connections over them. Every job is being worked on, for ever.
When a job was last asked about stands in memory that all share, so each process can tell how long the job had to wait.

`python -m benchmarks.poll_farm PORT PROCESSES JOBS FOLDER`: each process prints `ready`, counts polls in a mapped file
in FOLDER, and at SIGTERM writes there when it was polled and how long that job had waited.
"""

import asyncio
import contextlib
import json
import mmap
import multiprocessing
import signal
import socket
import subprocess
import sys
import tempfile
import time
from array import array
from collections.abc import Iterator, MutableSequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from benchmarks.crowd import number_of

ROOT = Path(__file__).parents[1]
MODELS = b'{"data": [{"id": "gemini-3.1-flash-image-preview"}, {"id": "wan3.0-video"}]}'
Moments = MutableSequence[float]  # of each job, in memory that the processes share

WAITS_MAX = 2_000_000
"""Waits kept by each process: ten minutes at 3,000 a second."""


class Answering(asyncio.Protocol):
    """One connection, kept alive; requests come one after the other and have no body."""

    def __init__(self, last: Moments, waits: "array[float]", count: memoryview) -> None:
        """`last` is when each job was asked about, `waits` moments and waits, `count` how many polls there were."""
        self._last, self._waits, self._count, self._rest = last, waits, count, b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the way back."""
        self._transport = transport if isinstance(transport, asyncio.Transport) else None

    def data_received(self, data: bytes) -> None:
        """Answer each whole request."""
        *requests, self._rest = (self._rest + data).split(b"\r\n\r\n")
        for request in requests:
            path = request[4 : request.index(b" ", 4)]
            body = MODELS if path == b"/v1/models" else self._view(path.rpartition(b"/")[2].decode())
            head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
            if self._transport:
                self._transport.write(head.encode() + body)

    def _view(self, ref: str) -> bytes:
        number, now = number_of(ref), time.monotonic()
        before = self._last[number]
        if before and len(self._waits) < 2 * WAITS_MAX:
            self._waits.extend((now, now - before))
        self._last[number] = now
        self._count[0] += 1
        return json.dumps({"id": ref, "status": "processing"}).encode()


async def _answer(port: int, last: Moments, path: Path) -> None:
    waits = array("d")
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, stop.set)
    listening = socket.create_server(("127.0.0.1", port), reuse_port=True, backlog=1024)
    with _counter(path.with_suffix(".count")) as count:
        await loop.create_server(lambda: Answering(last, waits, count), sock=listening)
        print("ready", flush=True)
        await stop.wait()
    path.write_bytes(waits.tobytes())  # noqa: ASYNC240 - nobody is answered any more


@contextlib.contextmanager
def _counter(path: Path) -> Iterator[memoryview]:
    """A number in a file that processes share."""
    path.touch()
    with path.open("r+b") as file:
        file.truncate(8)
        with mmap.mmap(file.fileno(), 8) as mapped, memoryview(mapped) as raw, raw.cast("Q") as count:
            yield count


def _process(port: int, last: Moments, path: Path) -> None:
    asyncio.run(_answer(port, last, path))


def main() -> None:
    """Answer in several processes until SIGTERM."""
    port, processes, jobs, folder = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4])
    context = multiprocessing.get_context("fork")
    last = context.RawArray("d", jobs)
    started = [
        context.Process(target=_process, args=(port, last, folder / f"{number}.waits")) for number in range(processes)
    ]
    for process in started:
        process.start()
    for process in started:
        process.join()


@dataclass(frozen=True, slots=True)
class Load:
    """How far a farm had come at a moment."""

    at_s: float
    polls: int
    cpu_s: float


@dataclass(frozen=True, slots=True)
class Farm:
    """A running farm.

    Attributes:
        pids: the processes that answer.
    """

    origin: str
    pids: list[int]
    folder: Path

    def load(self) -> Load:
        """How far it has come."""
        times = [psutil.Process(pid).cpu_times() for pid in self.pids]
        polls = sum(int.from_bytes(path.read_bytes(), sys.byteorder) for path in self.folder.glob("*.count"))
        return Load(time.monotonic(), polls, sum(each.user + each.system for each in times))

    def close(self, since_s: float) -> list[float]:
        """End it: how long each job had to wait from one poll to the next, in seconds, for polls since that moment."""
        running = [psutil.Process(pid) for pid in self.pids]
        for process in running:
            process.terminate()
        psutil.wait_procs(running, timeout=30)
        found: list[float] = []
        for path in self.folder.glob("*.waits"):
            values = array("d")
            values.frombytes(path.read_bytes())
            found += [wait for at, wait in zip(values[::2], values[1::2], strict=True) if at >= since_s]
        return found


@contextlib.contextmanager
def open_farm(jobs: int, *, processes: int = 2) -> Iterator[Farm]:
    """A farm that knows so many jobs of a crowd, until the end of the block."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    with tempfile.TemporaryDirectory(prefix="onetake-bench-") as folder:
        command = [sys.executable, "-m", "benchmarks.poll_farm", str(port), str(processes), str(jobs), folder]
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as parent:
            children: list[psutil.Process] = []
            try:
                for _ in range(processes):
                    if not parent.stdout or not parent.stdout.readline():
                        raise SystemExit("the poll farm did not start")
                children = psutil.Process(parent.pid).children()
                yield Farm(f"http://127.0.0.1:{port}", [child.pid for child in children], Path(folder))
            finally:
                for child in children:
                    with contextlib.suppress(psutil.NoSuchProcess):
                        child.kill()
                parent.wait()


if __name__ == "__main__":
    main()
