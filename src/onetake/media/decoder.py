"""The parent's side of the decoding child: give it a file, get measures or the reason why there are none.

A child lives for many files, since starting one (60 ms for Pillow, 100 ms more for PyAV) costs more than decoding
a small file (1 ms). It is killed and replaced when it takes too long, dies or says something unintelligible.
"""

import asyncio
import contextlib
import importlib.util
import json
import math
import os
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import pydantic

import onetake
from onetake.domain.errors import MediaError, StorageError
from onetake.domain.outputs import Measures
from onetake.media.findings import VIDEO_HINT, DecodeFault, Pixels, Undecodable

__all__ = ["VIDEO_HINT", "DecodeFault", "Decoder", "Pixels", "Undecodable", "can_decode", "video_available"]

_FILES_PER_CHILD = 1000
"""A leak of 100 KB a file in some decoder would cost 100 MB at most, and what a hostile file might have planted ends
with the child; a new one every thousand files adds about 0.2 ms to each."""

_READY = b'"ready"\n'
_START_TIMEOUT_S = 30.0  # a start takes 0.1 s; a machine that needs longer than this is in no state to decode
_ANSWER_BYTES_MAX = 64 * 1024  # measures are some 300 bytes; faults are sentences, a few per track
_CPU_MARGIN_S = 1  # the parent's time limit comes first, the kernel's is for children whose parent is gone

# -I: no PYTHON* variables, no user folder, no current folder. The package's own folder comes last, for a package that
# runs without being installed.
_BOOT = "import sys; sys.path.append(sys.argv[1]); from onetake.media.child import main; main()"
_COMMAND = (sys.executable, "-I", "-X", "utf8", "-c", _BOOT, str(Path(onetake.__file__).parents[1]))

# Where libraries lie on unusual systems, and what Windows needs to start anything; never credentials.
_PASSED_ON = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT")

_FOUND: dict[str, pydantic.TypeAdapter[Any]] = {
    "measures": pydantic.TypeAdapter(Measures | Undecodable),
    "pixels": pydantic.TypeAdapter(Pixels | Undecodable),
}


def video_available() -> bool:
    """Whether clips can be decoded here; `VIDEO_HINT` says how to get there. Loads nothing."""
    return importlib.util.find_spec("av") is not None


def can_decode(kind: str) -> bool:
    """Whether files of this kind can be decoded here: pictures always, clips and sound with PyAV."""
    return kind == "image" or video_available()


class Decoder:
    """Measures files in child processes that it owns: started when first needed, ended by `aclose`."""

    def __init__(self, *, children: int = 1, command: Sequence[str] = _COMMAND) -> None:
        """Start nothing yet.

        Args:
            children: how many files are decoded at a time; each child uses one core.
            command: what to run as the child.
        """
        self._children = [_Child(command) for _ in range(children)]
        self._idle: asyncio.LifoQueue[_Child] = asyncio.LifoQueue()  # the one used last is warm
        for child in self._children:
            self._idle.put_nowait(child)

    async def measure(self, path: Path, *, timeout_s: float) -> Measures | Undecodable:
        """What decoding every byte of the file found.

        A child that dies is replaced and the file tried once more, since it may have been killed for want of memory
        or by a person; if the second one dies as well, the file is to blame.

        Args:
            path: the file; read, never written.
            timeout_s: for the decoding alone, waiting for a free child not counted.

        Raises:
            MediaError: no child can be started, or the file is a clip and PyAV is missing or broken.
            StorageError: the file is not there or can't be read.
        """
        found = await self._ask(path, "measures", timeout_s)
        return cast(Measures | Undecodable, found)

    async def pixels(self, path: Path, *, timeout_s: float) -> Pixels | Undecodable:
        """What a still picture shows, as a digest of its pixels.

        Raises:
            MediaError: no child can be started.
            StorageError: the file is not there or can't be read.
        """
        found = await self._ask(path, "pixels", timeout_s)
        return cast(Pixels | Undecodable, found)

    async def _ask(self, path: Path, wanted: str, timeout_s: float) -> Measures | Pixels | Undecodable:
        child = await self._idle.get()
        try:
            try:
                found = await child.ask(path, wanted, timeout_s)
            except _DiedError:
                found = await child.ask(path, wanted, timeout_s)
        except _DiedError:
            return Undecodable(fault=DecodeFault.CRASH, reason="the decoder died on this file, twice")
        finally:
            self._idle.put_nowait(child)
        return _delivered(found)

    async def aclose(self) -> None:
        """End the children; call it when nothing is being measured any more. A later `measure` starts new ones."""
        for child in self._children:
            await child.stop()


def _delivered(found: Measures | Pixels | Undecodable) -> Measures | Pixels | Undecodable:
    match found:
        case Undecodable(fault=DecodeFault.NO_DECODER):
            raise MediaError(found.reason)
        case Undecodable(fault=DecodeFault.UNREADABLE):
            raise StorageError(found.reason)
        case _:
            return found


class _DiedError(Exception):
    """The child died or answered rubbish while it had a file."""


class _Child:
    """One child process, or none between two of them."""

    def __init__(self, command: Sequence[str]) -> None:
        self._command = command
        self._process: Process | None = None
        self._files = 0

    async def ask(self, path: Path, wanted: str, timeout_s: float) -> Measures | Pixels | Undecodable:
        """The child's answer about one file; whatever goes wrong or is cancelled, no answer is left in the pipe.

        Raises:
            MediaError: it can't be started.
            _DiedError: it is dead now.
        """
        process = await self._ready_process()
        self._files += 1
        is_answered = False
        try:
            async with asyncio.timeout(timeout_s):
                answer = await _exchange(process, _request(path, wanted, timeout_s))
                found: Measures | Pixels | Undecodable = _FOUND[wanted].validate_json(answer)
            is_answered = True
        except TimeoutError:
            return Undecodable(fault=DecodeFault.TIMEOUT, reason=f"decoding took longer than {timeout_s:g} s")
        except (OSError, ValueError) as error:  # a broken pipe; an empty, endless or unintelligible line
            raise _DiedError from error
        finally:
            if not is_answered:
                await self.stop()
        return found

    async def stop(self) -> None:
        """Kill the process, if there is one, and wait for its end."""
        process, self._process = self._process, None
        if process is not None:
            await _end(process)

    async def _ready_process(self) -> Process:
        if self._files >= _FILES_PER_CHILD:
            await self.stop()
        if self._process is None:
            self._files = 0
            self._process = await _start(self._command)
        return self._process


async def _start(command: Sequence[str]) -> Process:
    environment = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    try:
        process = await asyncio.create_subprocess_exec(
            *command, stdin=PIPE, stdout=PIPE, stderr=PIPE, env=environment, limit=_ANSWER_BYTES_MAX
        )
    except OSError as error:
        raise MediaError(f"The decoder can't be started: {error.strerror}.") from error
    is_ready, complaint = False, ""
    try:
        with contextlib.suppress(TimeoutError, ValueError):  # silence and endless lines are no readiness
            async with asyncio.timeout(_START_TIMEOUT_S):
                is_ready = await _line(process) == _READY
    finally:
        if not is_ready:
            complaint = await _end(process)
    if not is_ready:
        raise MediaError(f"The decoder can't be started: {complaint or 'it said nothing'}.")
    return process


def _request(path: Path, wanted: str, timeout_s: float) -> bytes:
    request = {"path": str(path.absolute()), "cpu_s": math.ceil(timeout_s) + _CPU_MARGIN_S, "wanted": wanted}
    return json.dumps(request).encode() + b"\n"


async def _exchange(process: Process, request: bytes) -> bytes:
    stdin = cast(asyncio.StreamWriter, process.stdin)
    stdin.write(request)
    await stdin.drain()
    return await _line(process)


async def _line(process: Process) -> bytes:
    return await cast(asyncio.StreamReader, process.stdout).readline()


async def _end(process: Process) -> str:
    """Kill it, wait for it, and give the last line of what it complained of."""
    with contextlib.suppress(ProcessLookupError):  # it ended by itself
        process.kill()
    _, complaint = await process.communicate()
    return complaint.decode(errors="replace").strip().rpartition("\n")[2][:200]
