"""A task: one accepted, billed submit and what became of it."""

import hashlib
import secrets
from dataclasses import dataclass
from enum import StrEnum

from onetake.sandbox.chance import draw
from onetake.sandbox.faults import Occasion
from onetake.sandbox.orders import Order

SUFFIXES = {"image": "png", "video": "mp4"}


class Phase(StrEnum):
    """Where a task stands; the first two are both `processing` on the wire."""

    QUEUED = "queued"
    RENDERING = "rendering"
    COMPLETED = "completed"
    FAILED = "failed"


@dataclass(slots=True, kw_only=True)
class Task:
    """One accepted submit.

    Attributes:
        id: the provider's id.
        order: what was asked for.
        attempt: the number of the submit among those with the same prompt and kind, from 1.
        accepted_at_s: Unix time.
        starts_at_s: when rendering may start.
        ends_at_s: when it may be done.
        price_micros: billed at acceptance.
        submit_fault: what befell the answer to the submit.
        task_fault: what is the matter with the task.
        first_frame_sha256: of the picture that a clip was ordered to start on, as it was fetched.
        phase: where it stands.
        is_told: whether an answer that held the id left this machine.
        polls: how often it was asked for.
        downloads: how often one of its files was asked for.
        addresses: how many polls named addresses; each address carries its number.
        addresses_dead: those up to this number open nothing any more.
        sha256: of each output, once there is one.
        key: the `Idempotency-Key` that it was ordered under.
        body_sha256: of the order's bytes.
        replays: how often the order came again under its key, and bought nothing.
    """

    id: str
    order: Order
    attempt: int
    accepted_at_s: float
    starts_at_s: float
    ends_at_s: float
    price_micros: int
    submit_fault: str | None = None
    task_fault: str | None = None
    first_frame_sha256: str = ""
    phase: Phase = Phase.QUEUED
    is_told: bool = False
    polls: int = 0
    downloads: int = 0
    addresses: int = 0
    addresses_dead: int = 0
    sha256: tuple[str, ...] = ()
    key: str = ""
    body_sha256: str = ""
    replays: int = 0

    @property
    def is_final(self) -> bool:
        """Whether it has come to its end."""
        return self.phase in {Phase.COMPLETED, Phase.FAILED}

    @property
    def refunded_micros(self) -> int:
        """What was given back: all of it for a failed task, as reAPI states."""
        return self.price_micros if self.phase is Phase.FAILED else 0

    def occasion(self, number: int) -> Occasion:
        """The moment of its `number`-th poll or download."""
        return Occasion(prompt=self.order.prompt, kind=self.order.kind, attempt=self.attempt, number=number)

    def file_name(self, output: int) -> str:
        """The name of one of its outputs; made from a hash, since an id may be no name at all."""
        return f"{self.stem}-{output}.{SUFFIXES[self.order.kind]}"

    @property
    def stem(self) -> str:
        """What the names of its files begin with."""
        return hashlib.blake2b(self.id.encode(), digest_size=12).hexdigest()


def new_id() -> str:
    """An id that no task had before, in this run or another."""
    return f"task_{secrets.token_hex(10)}"


def odd_id(*seed: object) -> str:
    """An id that is legal in JSON and awkward in an address; its kind is drawn, its core unique."""
    core = secrets.token_hex(6)
    shapes = (
        f"jobs/{core}/1",
        f"a/../{core}",
        f" {core} with spaces ",
        f"x?y={core}#z",
        f"tâche-é-{core}",
        f"-rf{core}",
        f"%2e%2E%2f{core}%41",  # percent signs of its own: decoding twice spoils it
        f"a+b&c={core};d",
        (core * 42)[:500],
    )
    return shapes[int(draw(*seed) * len(shapes))]
