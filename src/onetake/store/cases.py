"""Cases: doubts that need resolving, with their evidence and the decisions taken on them."""

import json
from collections.abc import Mapping

from onetake.clock import Clock, new_id
from onetake.domain.events import CaseEvent
from onetake.domain.states import CaseKind, CaseState
from onetake.domain.transitions import CASE
from onetake.store.database import Row, Tx


def open_(tx: Tx, clock: Clock, kind: CaseKind, *, job_id: str, step_id: str, attempt_id: str) -> str | None:
    """The new case's id; None if one of this kind is already open on the attempt."""
    case_id = new_id("cas", clock)
    made = tx.do(
        "INSERT INTO cases (id, kind, state, job_id, step_id, attempt_id, opened_at)"
        " VALUES (:id, :kind, 'open', :job, :step, :attempt, :now) ON CONFLICT DO NOTHING",
        {"id": case_id, "kind": kind, "job": job_id, "step": step_id, "attempt": attempt_id, "now": tx.now_us},
    )
    return case_id if made else None


def open_alone(tx: Tx, clock: Clock, kind: CaseKind) -> str:
    """The id of a new case that is about no attempt of ours."""
    case_id = new_id("cas", clock)
    tx.put(
        "INSERT INTO cases (id, kind, state, opened_at) VALUES (:id, :kind, 'open', :now)",
        {"id": case_id, "kind": kind, "now": tx.now_us},
    )
    return case_id


def list_alone(tx: Tx) -> list[Row]:
    """The open cases that are about no job, oldest first."""
    return tx.all(
        "SELECT id, kind, opened_at FROM cases WHERE job_id IS NULL AND state = 'open' ORDER BY opened_at, id"
    )


def find_open(tx: Tx, attempt_id: str, kind: CaseKind | None = None) -> list[Row]:
    """The open cases on an attempt, of one kind if named."""
    rows = tx.all(
        "SELECT id, kind, state, opened_at FROM cases WHERE attempt_id = :attempt AND state = 'open'"
        " ORDER BY opened_at",
        {"attempt": attempt_id},
    )
    return [row for row in rows if kind is None or row["kind"] == kind]


def list_of_job(tx: Tx, job_id: str) -> list[Row]:
    """Every case of a job, oldest first, with what is known: `evidence`, one object for each time it was looked at."""
    rows = tx.all(
        "SELECT c.id, c.kind, c.state, c.opened_at, c.closed_at, s.name AS step, a.no AS attempt_no FROM cases c"
        " LEFT JOIN steps s ON s.id = c.step_id LEFT JOIN attempts a ON a.id = c.attempt_id"
        " WHERE c.job_id = :job ORDER BY c.opened_at, c.id",
        {"job": job_id},
    )
    known = tx.all(
        "SELECT e.case_id, e.body FROM evidence e JOIN cases c ON c.id = e.case_id WHERE c.job_id = :job"
        " ORDER BY e.created_at, e.id",
        {"job": job_id},
    )
    return [{**row, "evidence": [json.loads(e["body"]) for e in known if e["case_id"] == row["id"]]} for row in rows]


def list_ended_jobs(tx: Tx) -> list[Row]:
    """The jobs that have ended and have an open case all the same: their ids, oldest case first."""
    return tx.all(
        "SELECT j.id, min(c.opened_at) AS since FROM cases c JOIN jobs j ON j.id = c.job_id"
        " WHERE c.state = 'open' AND j.state <> 'open' GROUP BY j.id ORDER BY since, j.id"
    )


def add_evidence(tx: Tx, clock: Clock, case_id: str, kind: str, body: Mapping[str, object], *, actor: str) -> None:
    """Append what became known."""
    tx.put(
        "INSERT INTO evidence (id, case_id, kind, body, actor, created_at)"
        " VALUES (:id, :case, :kind, :body, :actor, :now)",
        {
            "id": new_id("evi", clock),
            "case": case_id,
            "kind": kind,
            "body": json.dumps(body, ensure_ascii=False, allow_nan=False),
            "actor": actor,
            "now": tx.now_us,
        },
    )


def close(tx: Tx, clock: Clock, case_id: str, event: CaseEvent, *, actor: str, reason: str) -> bool:
    """Whether the case was open and is now decided; the decision is appended."""
    to = CASE.move(CaseState.OPEN, event)
    moved = tx.do(
        "UPDATE cases SET state = :state, closed_at = :now WHERE id = :id AND state = 'open'",
        {"state": to, "now": tx.now_us, "id": case_id},
    )
    if moved:
        tx.put(
            "INSERT INTO decisions (id, case_id, decision, reason, actor, created_at)"
            " VALUES (:id, :case, :decision, :reason, :actor, :now)",
            {
                "id": new_id("dec", clock),
                "case": case_id,
                "decision": to,
                "reason": reason,
                "actor": actor,
                "now": tx.now_us,
            },
        )
    return bool(moved)
