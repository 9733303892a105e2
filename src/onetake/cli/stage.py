"""The demo's stage: a folder and settings of its own, the processes it started, and the transcript."""

import asyncio
import os
import shlex
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from pathlib import Path
from typing import IO

from onetake.cli.printing import emit, say
from onetake.domain.errors import SurroundingsError

WAIT_S = 90.0
"""Longest the demo waits for anything: a slow machine draws both clips in a third of it."""

_END_S = 10.0
"""How long a process may take to end politely: a worker finishes a POST, a sandbox a drawing."""

_PREFIX = "ONETAKE_"


class Stage:
    """One performance's own corner of the machine; leave it with `strike`."""

    def __init__(self, root: Path, *, is_json: bool) -> None:
        """A new numbered folder below `root`.

        Raises:
            SurroundingsError: it can't be made.
        """
        self._is_json, self._last_kind = is_json, ""
        self.folder = _next_folder(root)
        self.settings: dict[str, str] = {}
        self._running: list[Process] = []
        self._errors: IO[bytes] = (self.folder / "errors.log").open("ab")

    def set_up(self, origin: str) -> None:
        """Settings for this process and those that it starts; the caller's own are left out of the play."""
        self.settings = {
            "ONETAKE_DATABASE_URL": f"sqlite:///{self.folder / 'onetake.db'}",
            "ONETAKE_STORAGE_URL": f"file://{self.folder / 'files'}",
            "ONETAKE_PROVIDERS__REAPI__BASE_URL": origin,
            "ONETAKE_PROVIDERS__REAPI__API_KEY": "demo",
            "ONETAKE_PROVIDERS__REAPI__SUBMIT_TIMEOUT_S": "5",
            "ONETAKE_PROVIDERS__REAPI__POLL_FIRST_S": "0.3",
            "ONETAKE_PROVIDERS__REAPI__POLL_INTERVAL_S": "0.5",
            "ONETAKE_WORKER__LEASE_S": "2",
        }
        for name in [name for name in os.environ if name.upper().startswith(_PREFIX)]:
            del os.environ[name]
        os.environ.update(self.settings)

    def show(self, kind: str, text: str, **more: object) -> None:
        """One line of the transcript."""
        if self._is_json:
            emit({"kind": kind, "text": text, **more})
            return
        if note := more.get("note"):
            text = f"{text}  # {note}"
        is_new_scene = self._last_kind not in ("", kind) and kind in ("command", "file")
        self._last_kind = kind
        line = {"command": f"$ {text}", "file": text}.get(kind, f"  {kind:<7} | {text}")
        say(f"\n{line}" if is_new_scene else line)

    async def start(self, *arguments: str, note: str) -> Process:
        """Start one of our own commands and leave it running; its process id is told."""
        process = await self._spawn(*arguments, stdout=DEVNULL)
        self.show("command", f"{shlex.join(['onetake', *arguments])} &", note=f"process {process.pid}, {note}")
        return process

    async def serve(self, *arguments: str, note: str) -> str:
        """Start one of our own servers and leave it running; its first line.

        Raises:
            SurroundingsError: it ended instead.
        """
        self.show("command", f"{shlex.join(['onetake', *arguments])} &", note=note)
        server = await self._spawn(*arguments, stdout=PIPE)
        if server.stdout is None:
            raise AssertionError("a pipe was asked for")
        line = await asyncio.wait_for(server.stdout.readline(), WAIT_S)
        if not line:
            raise SurroundingsError(f"`onetake {arguments[0]}` ended at once: {self.last_words()}")
        return line.decode().strip()

    async def run(self, *arguments: str, note: str) -> None:
        """Run one of our own commands to its end.

        Raises:
            SurroundingsError: it failed.
        """
        told = shlex.join(["onetake", *arguments])
        self.show("command", told, note=note)
        if await (await self._spawn(*arguments, stdout=DEVNULL)).wait():
            raise SurroundingsError(f"`{told}` failed: {self.last_words()}")

    async def kill(self, process: Process, *, note: str) -> None:
        """End a process as a crash would."""
        self.show("command", f"kill -9 {process.pid}", note=note)
        process.send_signal(signal.SIGKILL)
        await process.wait()

    def last_words(self) -> str:
        """The end of what our commands wrote to standard error."""
        return (self.folder / "errors.log").read_text("utf-8", "replace")[-500:].strip() or "it gave no reason"

    async def strike(self) -> None:
        """End every process that was started here, the last one first."""
        for process in reversed(self._running):
            if process.returncode is None:
                process.terminate()
                try:
                    await asyncio.wait_for(process.wait(), _END_S)
                except TimeoutError:
                    process.kill()
                    await process.wait()
        self._errors.close()

    async def _spawn(self, *arguments: str, stdout: int) -> Process:
        command = (sys.executable, "-m", "onetake", *arguments)
        process = await asyncio.create_subprocess_exec(*command, stdout=stdout, stderr=self._errors)
        self._running.append(process)
        return process


def _next_folder(root: Path) -> Path:
    """A new folder `001`, `002`, … below the demo's folder."""
    try:
        root.mkdir(parents=True, exist_ok=True)
        used = [int(each.name) for each in root.iterdir() if each.name.isdecimal()]
        folder = root.resolve() / f"{max(used, default=0) + 1:03}"
        folder.mkdir()
    except OSError as error:
        raise SurroundingsError(
            f"The demo can't make its folder in {root} ({error.strerror}): name another with --folder."
        ) from None
    return folder
