"""Where tasks live: they wait, are drawn in a worker thread, and end.

Drawing and encoding happen in Pillow and FFmpeg, which release the interpreter's lock, so the server goes on answering
meanwhile.
"""

import asyncio
import hashlib
import io
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from PIL import Image

from onetake.sandbox.bill import Bill
from onetake.sandbox.clips import clip
from onetake.sandbox.orders import Order
from onetake.sandbox.pictures import picture
from onetake.sandbox.tasks import Phase, Task

_HANDS = 2  # threads that draw; each keeps about one core busy
_FPS = 24
_FPS_TINY = 4


class Studio:
    """Renders tasks and keeps their files."""

    def __init__(self, bill: Bill, folder: Path, *, tiny: bool, still: bytes = b"") -> None:
        """A studio that keeps its files in a folder, which must exist."""
        self._bill = bill
        self._folder = folder
        self._fps = _FPS_TINY if tiny else _FPS
        self._still = still
        self._gate: asyncio.Event | None = None
        self._hands = ThreadPoolExecutor(_HANDS, thread_name_prefix="sandbox-studio")
        self._lives: set[asyncio.Task[None]] = set()

    def begin(self, task: Task, first_frame: bytes = b"") -> None:
        """Let a task run its course; a video's first frame is kept beside it for a restart."""
        if first_frame:
            self._first_frame_path(task).write_bytes(first_frame)
        life = asyncio.create_task(self._live(task))
        self._lives.add(life)
        life.add_done_callback(self._lives.discard)

    def hold(self) -> None:
        """Keep each task that begins from now on in the queue, until it is let go."""
        self._gate = asyncio.Event()

    def let_go(self) -> None:
        """Let go on what is held now; tasks that begin later are held again."""
        if self._gate is not None:
            self._gate.set()
            self.hold()

    def go_on(self) -> None:
        """Take up the tasks that a restart interrupted."""
        for task in self._bill.tasks.values():
            if not task.is_final:
                self.begin(task)

    async def settled(self) -> None:
        """Come back when no task is on its way (those that never finish aside)."""
        while self._lives:
            await asyncio.gather(*self._lives)

    async def close(self) -> None:
        """Stop all work; what isn't finished stays so."""
        for life in self._lives:
            life.cancel()
        await asyncio.gather(*self._lives, return_exceptions=True)
        await asyncio.to_thread(self._hands.shutdown, cancel_futures=True)  # waits for what is being drawn

    def path(self, file_name: str) -> Path:
        """Where a finished output is."""
        return self._folder / file_name

    async def _live(self, task: Task) -> None:
        gate = self._gate
        await _sleep_until(task.starts_at_s)
        if gate is not None:
            await gate.wait()
        task.phase = Phase.RENDERING
        if task.task_fault == "task_never_finishes":
            return
        sha256: tuple[str, ...] = ()
        phase = Phase.FAILED
        if task.task_fault != "task_fails":
            sha256 = await asyncio.get_running_loop().run_in_executor(self._hands, self._render, task)
            phase = Phase.COMPLETED
        await _sleep_until(task.ends_at_s)
        task.sha256, task.phase = sha256, phase
        self._bill.record(task)

    def _render(self, task: Task) -> tuple[str, ...]:
        """Draw every output of a task into its file."""
        return tuple(self._render_one(task, output) for output in range(task.order.count))

    def _render_one(self, task: Task, output: int) -> str:
        order, take = task.order, task.id if output == 0 else f"{task.id}#{output}"
        if order.kind == "image":
            data = self._still or picture(order.prompt, order.width_px, order.height_px, take)
        else:
            data = self._clip(order, self._first_frame_path(task).read_bytes(), take)
        self.path(task.file_name(output)).write_bytes(data)
        return hashlib.sha256(data).hexdigest()

    def _clip(self, order: Order, first_frame: bytes, take: str) -> bytes:
        size = (order.width_px, order.height_px)
        return clip(first_frame, *size, order.seconds, fps=self._fps, motion=order.prompt, take=take)

    def _first_frame_path(self, task: Task) -> Path:
        return self._folder / f"{task.stem}.first-frame"


def is_picture(data: bytes) -> bool:
    """Whether Pillow can decode it to its end."""
    try:
        Image.open(io.BytesIO(data)).load()
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError):  # what Pillow's decoders raise
        return False
    return True


async def _sleep_until(at_s: float) -> None:
    await asyncio.sleep(max(at_s - time.time(), 0.0))
