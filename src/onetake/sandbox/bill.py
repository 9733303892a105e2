"""The truth about what was bought: every accepted task, every refusal, everything odd.

Each change is a line in a journal before the answer that tells of it leaves, so a sandbox that is given a folder knows
its tasks after a restart. Polls and downloads are not journalled: they are counted since the start.
"""

import json
from collections import Counter
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from onetake.sandbox.orders import Order
from onetake.sandbox.tasks import Phase, Task

Json = dict[str, Any]
CURRENCY = "USD"


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A submit that was not accepted.

    Attributes:
        at_s: Unix time.
        route: `image` or `video`.
        prompt: as far as it could be read.
        attempt: its number among those with the same prompt and route; 0 if the order was no good.
        code: why.
        fault: the fault that refused it, if it was one.
    """

    at_s: float
    route: str
    prompt: str
    attempt: int
    code: str
    fault: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Oddity:
    """Something that a careful client never does, such as a clip ordered without a finished first frame."""

    at_s: float
    route: str
    prompt: str
    what: str


class Bill:
    """Everything that the provider knows it did."""

    def __init__(self, journal: Path) -> None:
        """A bill that continues its journal."""
        self.tasks: dict[str, Task] = {}
        self._owners: dict[str, Task] = {}
        self.refused: list[Refusal] = []
        self.odd: list[Oddity] = []
        self._attempts: Counter[tuple[str, str]] = Counter()
        for line in _whole_lines(journal):
            self._reload(json.loads(line))
        self._journal = journal.open("a")

    def close(self) -> None:
        """Close the journal."""
        self._journal.close()

    def next_attempt(self, prompt: str, route: str) -> int:
        """The number of this submit among those with the same prompt and route, from 1."""
        self._attempts[prompt, route] += 1
        return self._attempts[prompt, route]

    def find_by_key(self, key: str) -> Task | None:
        """The task that was ordered under this key."""
        return next((task for task in self.tasks.values() if key and task.key == key), None)

    def find_owner(self, file_name: str) -> Task | None:
        """The task that a file belongs to; none for a file of an earlier sandbox with the same seed."""
        return self._owners.get(file_name.rpartition("-")[0])

    def record(self, entry: Task | Refusal | Oddity) -> None:
        """Enter something new, or a task's new state."""
        self._enter(entry)
        self._journal.write(json.dumps({type(entry).__name__: asdict(entry)}) + "\n")
        self._journal.flush()

    def as_json(self) -> Json:
        """The bill as `GET /_bill` shows it."""
        tasks = self.tasks.values()
        return {
            "currency": CURRENCY,
            "tasks": [_line(task) for task in tasks],
            "refused": [_refusal(refusal) for refusal in self.refused],
            "odd": [_oddity(oddity) for oddity in self.odd],
            "totals": {
                "posts": len(self.tasks) + len(self.refused) + sum(task.replays for task in tasks),
                "accepted": len(self.tasks),
                "refused": len(self.refused),
                "billed_micros": sum(task.price_micros for task in tasks),
                "refunded_micros": sum(task.refunded_micros for task in tasks),
            },
        }

    def _enter(self, entry: Task | Refusal | Oddity) -> None:
        match entry:
            case Task():
                self.tasks[entry.id] = self._owners[entry.stem] = entry
            case Refusal():
                self.refused.append(entry)
            case Oddity():
                self.odd.append(entry)

    def _reload(self, line: dict[str, Json]) -> None:
        ((kind, fields),) = line.items()
        entry = _entry(kind, fields)
        self._enter(entry)
        if isinstance(entry, Task):
            self._reached(entry.order.prompt, entry.order.kind, entry.attempt)
        elif isinstance(entry, Refusal):
            self._reached(entry.prompt, entry.route, entry.attempt)

    def _reached(self, prompt: str, route: str, attempt: int) -> None:
        self._attempts[prompt, route] = max(self._attempts[prompt, route], attempt)


def _whole_lines(journal: Path) -> list[str]:
    """The journal's lines; one that a crash cut short told nobody anything, and is taken out."""
    text = journal.read_text() if journal.exists() else ""
    whole = text[: text.rfind("\n") + 1]
    if whole != text:
        journal.write_text(whole)
    return whole.splitlines()


def _entry(kind: str, fields: Json) -> Task | Refusal | Oddity:
    if kind == "Refusal":
        return Refusal(**fields)
    if kind == "Oddity":
        return Oddity(**fields)
    order, phase, sha256 = Order(**fields["order"]), Phase(fields["phase"]), tuple(fields["sha256"])
    return Task(**fields | {"order": order, "phase": phase, "sha256": sha256})


def _line(task: Task) -> Json:
    return {
        "id": task.id,
        "route": task.order.kind,
        "model": task.order.model,
        "prompt": task.order.prompt,
        "attempt": task.attempt,
        "price_micros": task.price_micros,
        "refunded_micros": task.refunded_micros,
        "currency": CURRENCY,
        "accepted_at": _moment(task.accepted_at_s),
        "told_id": task.is_told,
        "outcome": task.phase,
        "fault": task.submit_fault,
        "task_fault": task.task_fault,
        "first_frame_sha256": task.first_frame_sha256,
        "polls": task.polls,
        "downloads": task.downloads,
        "sha256": list(task.sha256),
        "replays": task.replays,
    }


def _refusal(refusal: Refusal) -> Json:
    fields = asdict(refusal)
    return {"at": _moment(fields.pop("at_s")), **fields}


def _oddity(oddity: Oddity) -> Json:
    fields = asdict(oddity)
    return {"at": _moment(fields.pop("at_s")), **fields}


def _moment(at_s: float) -> str:
    return datetime.fromtimestamp(at_s, UTC).isoformat(timespec="milliseconds")
