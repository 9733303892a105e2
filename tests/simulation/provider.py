"""The simulated provider and its truthful bill: what arrived, what was accepted, what became of it."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.simulation.fates import PostFate, TaskFate

if TYPE_CHECKING:
    from tests.simulation.process import Process

ORIGIN = "https://provider.sim"
MODELS = ("model-image", "model-video")
OUTPUT_KEYS = {"image": "image_urls", "video": "video_urls"}


@dataclass(slots=True, kw_only=True)
class Task:
    """What was bought.

    Attributes:
        body: the request, as it was understood.
        ready_s: the second of its end.
        named: how many times its addresses were named; each time they are new.
    """

    id: str
    operation: str
    body: dict[str, Any]
    fate: TaskFate
    accepted_s: float
    ready_s: float
    named: int = 0

    @property
    def outputs(self) -> int:
        """How many files it makes."""
        return 0 if self.fate.ending != "finished" else max(0, int(self.body.get("n", 1)) + self.fate.outputs)


@dataclass(slots=True, kw_only=True)
class Arrival:
    """One POST of which at least a byte arrived.

    Attributes:
        fate: what befell it.
        sender: the process that sent it.
        task: what was made of it; None: nothing, ever.
        answered_s: when the answer was in the sender's hands, if it ever was.
    """

    operation: str
    prompt: str
    body: bytes
    at_s: float
    fate: PostFate
    sender: "Process"
    task: Task | None = None
    answered_s: float | None = None

    @property
    def is_conclusive(self) -> bool:
        """Whether the answer reached its sender and says what came of the request."""
        is_acceptance = self.task is not None and self.fate.body is None and self.fate.is_whole
        return self.answered_s is not None and (is_acceptance or self.fate.is_refusal)


@dataclass(frozen=True, slots=True)
class File:
    """What stands behind an address, until it expires."""

    task: Task
    kind: str
    digest: str
    expires_s: float


def digest_of(content: str) -> str:
    """The SHA-256 of a file whose bytes are told by a name."""
    return hashlib.sha256(content.encode()).hexdigest()


@dataclass(slots=True, kw_only=True)
class Provider:
    """The provider.

    Attributes:
        now_s: its clock.
        fate_of_task: what becomes of the next task that is accepted.
        on_arrival: told of each POST before it is looked at.
    """

    now_s: Callable[[], float]
    fate_of_task: Callable[[str], TaskFate]
    on_arrival: Callable[[Arrival], None]
    arrivals: list[Arrival] = field(default_factory=list)
    tasks: dict[str, Task] = field(default_factory=dict)
    files: dict[str, File] = field(default_factory=dict)

    def arrive(self, operation: str, body: bytes, fate: PostFate, *, sender: "Process") -> Arrival:
        """Take a POST, and accept it or not, as its fate says."""
        arrival = Arrival(
            operation=operation,
            prompt=json.loads(body)["prompt"],
            body=body,
            at_s=self.now_s(),
            fate=fate,
            sender=sender,
        )
        self.arrivals.append(arrival)
        self.on_arrival(arrival)
        if fate.is_accepted:
            arrival.task = self._accept(arrival)
        return arrival

    def _accept(self, arrival: Arrival) -> Task:
        body, fate, now_s = json.loads(arrival.body), self.fate_of_task(arrival.operation), self.now_s()
        if not all(self._serves(each["url"]) for each in body.get("image_with_roles", ())):
            fate = TaskFate(ending="failed", code="unreachable_image")
        task = Task(
            id=f"task_{arrival.operation}_{len(self.tasks) + 1}",
            operation=arrival.operation,
            body=body,
            fate=fate,
            accepted_s=now_s,
            ready_s=now_s + fate.queued_s + fate.working_s,
        )
        self.tasks[task.id] = task
        return task

    def _serves(self, address: str) -> bool:
        file = self.files.get(address)
        return file is not None and file.expires_s > self.now_s()

    def answer(self, arrival: Arrival) -> bytes:
        """What an accepted POST is told."""
        return json.dumps({"id": arrival.task.id, "status": "queued"}).encode() if arrival.task else b""

    def operation_of(self, task_id: str) -> str:
        """What was ordered with it; empty if there is no such task."""
        return self.tasks[task_id].operation if task_id in self.tasks else ""

    def knows(self, task: Task) -> bool:
        """Whether it says so when it is asked about the task."""
        return self.now_s() >= task.accepted_s + task.fate.forgotten_s

    def tell(self, task_id: str) -> tuple[int, bytes]:
        """Status and body of a poll."""
        task = self.tasks.get(task_id)
        if task is None or not self.knows(task):
            return 404, b'{"error": {"code": "not_found", "message": "no such task"}}'
        told: dict[str, Any] = {"id": task.id, "model": task.body["model"]}
        if self.now_s() < task.ready_s:
            is_queued = self.now_s() < task.accepted_s + task.fate.queued_s
            told["status"] = "queued" if is_queued else "processing"
        elif task.fate.ending == "failed":
            told |= {"status": "failed", "error": {"code": task.fate.code, "message": "it failed"}}
        else:
            told |= {"status": "completed", "output": {OUTPUT_KEYS[task.operation]: self._name(task)}}
        return 200, json.dumps(told).encode()

    def _name(self, task: Task) -> list[str]:
        """Fresh addresses of the task's files."""
        task.named += 1
        expires_s = self.now_s() + task.fate.lifetime_s
        named = []
        for place in range(task.outputs):
            address = f"https://files.sim/{task.id}/{place}?signature={task.named}"
            kind = "good" if place < task.fate.good else task.fate.kind
            digest = digest_of(f"{task.id}/{place}/{kind}")
            self.files[address] = File(task=task, kind=kind, digest=digest, expires_s=expires_s)
            named.append(address)
        return named
