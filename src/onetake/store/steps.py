"""Steps: the orders of a job. Every change names the version that was read and loses if it is gone."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from onetake.domain.events import StepEvent
from onetake.domain.states import StepState, WaitReason
from onetake.domain.transitions import STEP, Repeat
from onetake.store.database import Row, Tx


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A paid step as it was read; `version` fences writes. Times are microseconds since 1970."""

    id: str
    job_id: str
    name: str
    state: StepState
    waiting_for: WaitReason | None
    waiting_on: str | None
    provider: str
    operation: str
    model: str
    not_before: int | None
    deadline_s: int | None
    attempts: int
    repeats: int
    repeats_since: int | None
    replacements: int
    current_attempt_id: str | None
    request_hash: str | None
    version: int

    @classmethod
    def of(cls, row: Row) -> "Step":
        """The step in a row."""
        names = cls.__slots__
        picked: dict[str, Any] = {name: row[name] for name in names}
        picked["state"] = StepState(row["state"])
        picked["waiting_for"] = None if row["waiting_for"] is None else WaitReason(row["waiting_for"])
        return cls(**picked)


def insert(
    tx: Tx,
    *,
    step_id: str,
    job_id: str,
    name: str,
    position: int,
    provider: str,
    operation: str,
    model: str,
    deadline_s: int,
) -> None:
    """A paid step that waits for what it needs."""
    tx.put(
        "INSERT INTO steps (id, job_id, name, position, kind, state, waiting_for, provider, operation, model,"
        " deadline_s, created_at, updated_at) VALUES (:id, :job, :name, :position, 'generate', 'waiting', 'needs',"
        " :provider, :operation, :model, :deadline, :now, :now)",
        {
            "id": step_id,
            "job": job_id,
            "name": name,
            "position": position,
            "provider": provider,
            "operation": operation,
            "model": model,
            "deadline": deadline_s,
            "now": tx.now_us,
        },
    )


def freeze(tx: Tx, step_id: str, *, meaning: str, request_hash: str) -> None:
    """Keep what the step orders for ever; its hash goes onto the step.

    The meaning has digests where the body has addresses, so an address can be renewed and the order stays the same.
    """
    tx.put(
        "INSERT INTO step_requests (step_id, meaning, frozen_at) VALUES (:id, :meaning, :now)",
        {"id": step_id, "meaning": meaning, "now": tx.now_us},
    )
    tx.put(
        "UPDATE steps SET request_hash = :hash WHERE id = :id AND request_hash IS NULL",
        {"id": step_id, "hash": request_hash},
    )


def get(tx: Tx, step_id: str) -> Step:
    """The step of that id."""
    row = tx.one("SELECT * FROM steps WHERE id = :id", {"id": step_id})
    if row is None:
        raise LookupError(step_id)
    return Step.of(row)


def list_of_job(tx: Tx, job_id: str) -> list[Step]:
    """The job's paid steps in the recipe's order."""
    rows = tx.all("SELECT * FROM steps WHERE job_id = :job AND kind = 'generate' ORDER BY position", {"job": job_id})
    return [Step.of(row) for row in rows]


def list_without_address(tx: Tx) -> list[Step]:
    """Steps that wait for a fresh address and are due for a try."""
    rows = tx.all(
        "SELECT * FROM steps WHERE state = 'waiting' AND waiting_for = 'address' AND not_before <= :now",
        {"now": tx.now_us},
    )
    return [Step.of(row) for row in rows]


def list_without_budget(tx: Tx, *, limit: int, after: str = "") -> list[Step]:
    """Steps that wait for room in a budget line, oldest first: those after the step with that id.

    A caller that writes has their jobs to itself; those that another transaction has are left out.
    """
    rows = tx.all(
        "SELECT s.* FROM steps s JOIN jobs j ON j.id = s.job_id WHERE s.state = 'waiting' AND s.waiting_for = 'budget'"
        f" AND s.id > :after ORDER BY s.id LIMIT {limit:d}{tx.locking('j', skip=True)}",
        {"after": after},
    )
    return [Step.of(row) for row in rows]


def is_any_without_budget(tx: Tx) -> bool:
    """Whether a step waits for room in a budget line."""
    return bool(list_without_budget(tx, limit=1))


def wait_on(tx: Tx, step: Step, subject: str) -> None:
    """Name what the step waits for now, where that is another than before; it stays in its state."""
    if subject != step.waiting_on:
        tx.put(
            "UPDATE steps SET waiting_on = :subject, version = version + 1 WHERE id = :id AND version = :version",
            {"subject": subject, "id": step.id, "version": step.version},
        )


def postpone(tx: Tx, step: Step, not_before: int) -> None:
    """Put off what the step waits for; it stays in its state."""
    tx.put(
        "UPDATE steps SET not_before = :until, version = version + 1 WHERE id = :id AND version = :version",
        {"until": not_before, "id": step.id, "version": step.version},
    )


def advance(tx: Tx, step: Step, event: StepEvent, changes: Mapping[str, object] | None = None) -> StepState | None:
    """The state that the step moved to; None if the event changes nothing or the version is gone.

    Args:
        tx: whose transaction it is part of.
        step: as it was read.
        event: what happened to it.
        changes: other columns that change with the state.
    """
    after = STEP.after(step.state, event)
    if isinstance(after, Repeat):
        return None
    values = {"waiting_for": None, "waiting_on": None, "not_before": None, **(changes or {})}
    assignments = "".join(f", {name} = :{name}" for name in values)
    moved = tx.do(
        f"UPDATE steps SET state = :to, version = version + 1, updated_at = :now{assignments}"
        " WHERE id = :id AND version = :version AND state = :from",
        {"to": after.to, "now": tx.now_us, "id": step.id, "version": step.version, "from": step.state, **values},
    )
    return after.to if moved else None
