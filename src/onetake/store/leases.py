"""Who may write what, and until when: claims of ready steps, leases on attempts, and what a dead owner leaves.

Two kinds of lease. An attempt that is being submitted carries an end of its own (`lease_until`), as long as
the POST may take plus a margin. Everything else that a worker holds ends with the worker's row, which one
UPDATE renews. Each change of hands raises the attempt's `token`; a write that names an old token changes nothing.

Limits stand in the text: SQLite looks at a bound LIMIT when it plans, and prepares the statement anew for each.
"""

from dataclasses import dataclass

from onetake.store.database import Tx
from onetake.store.steps import Step


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """An attempt that a worker has leased to poll or to collect.

    Attributes:
        token: names this lease in every write.
        ref, locator: the provider's id and the path or address to poll.
        accepted_at: when the id was saved, in microseconds since 1970.
        not_before: no poll before this moment, if one was set.
        deadline_at: when an alarm is due, if the recipe says so.
        is_queued: the provider last said so.
        has_alarms: an alarm stands on it, to be cleared when it does well.
    """

    attempt_id: str
    step_id: str
    job_id: str
    state: str
    worker_id: str
    token: int
    provider: str
    operation: str
    slot: str
    ref: str
    locator: str
    accepted_at: int
    not_before: int | None
    deadline_at: int | None
    is_queued: bool
    has_alarms: bool


def list_ready(tx: Tx, *, limit: int, closed: frozenset[str]) -> list[Step]:
    """Steps that may be claimed now, oldest first; none of a provider in `closed`."""
    names = {f"closed_{n}": provider for n, provider in enumerate(sorted(closed))}
    others = f" AND provider NOT IN ({', '.join(f':{name}' for name in names)})" if names else ""
    rows = tx.all(
        "SELECT * FROM steps WHERE state = 'ready' AND kind = 'generate'"
        f" AND (not_before IS NULL OR not_before <= :now){others} ORDER BY created_at, position LIMIT {limit:d}",
        {"now": tx.now_us, **names},
    )
    return [Step.of(row) for row in rows]


_ORPHANS = (
    "SELECT a.id FROM attempts a LEFT JOIN workers w ON w.id = a.worker_id"
    " WHERE a.ended_at IS NULL AND a.state IN ('processing', 'collecting')"
    " AND (w.id IS NULL OR (w.lease_until <= :now AND w.id <> :worker))"
)


def is_any_orphan(tx: Tx, worker_id: str) -> bool:
    """Whether a submit was lost, or an attempt waits that nobody alive holds."""
    if list_lost_submits(tx, limit=1):
        return True
    return tx.one(f"{_ORPHANS} LIMIT 1", {"now": tx.now_us, "worker": worker_id}) is not None


def lease_open(tx: Tx, worker_id: str, *, limit: int) -> list[Watched]:
    """Attempts that nobody alive holds and that wait for the provider or for their files; now this worker's."""
    taken = tx.all(
        "UPDATE attempts SET worker_id = :worker, token = token + 1, lease_until = NULL"
        f" WHERE id IN ({_ORPHANS} ORDER BY a.created_at LIMIT {limit:d}) RETURNING id",
        {"worker": worker_id, "now": tx.now_us},
    )
    return [watched(tx, row["id"]) for row in taken]


def watched(tx: Tx, attempt_id: str) -> Watched:
    """The attempt as its holder sees it; it has a ref."""
    found = _find(tx, attempt_id)
    if found is None:
        raise LookupError(attempt_id)
    return found


def find_held(tx: Tx, attempt_id: str, worker_id: str) -> Watched | None:
    """The attempt, if it waits for the provider or for its files and this worker holds it."""
    found = _find(tx, attempt_id)
    return found if found and found.worker_id == worker_id and found.state in ("processing", "collecting") else None


def tokens_held(tx: Tx, worker_id: str) -> dict[str, int]:
    """The attempts that this worker holds, each with the token of its lease."""
    rows = tx.all(
        "SELECT id, token FROM attempts WHERE ended_at IS NULL AND state IN ('processing', 'collecting')"
        " AND worker_id = :worker",
        {"worker": worker_id},
    )
    return {row["id"]: row["token"] for row in rows}


def _find(tx: Tx, attempt_id: str) -> Watched | None:
    row = tx.one(
        "SELECT a.id AS attempt_id, a.step_id, a.job_id, a.state, coalesce(a.worker_id, '') AS worker_id,"
        " a.token, a.provider, a.operation, a.slot, r.ref,"
        " r.locator, a.accepted_at, a.not_before, a.accepted_at + s.deadline_s * 1000000 AS deadline_at, a.is_queued,"
        " EXISTS (SELECT 1 FROM alarms m WHERE m.subject = a.id AND m.cleared_at IS NULL) AS has_alarms"
        " FROM attempts a JOIN steps s ON s.id = a.step_id JOIN refs r ON r.id = a.ref_id WHERE a.id = :id",
        {"id": attempt_id},
    )
    if row is None:
        return None
    return Watched(**{**row, "is_queued": bool(row["is_queued"]), "has_alarms": bool(row["has_alarms"])})


def list_sources(tx: Tx, job_id: str) -> list[Watched]:
    """The attempts whose files fill a job's outputs: what later steps are handed."""
    rows = tx.all(
        "SELECT DISTINCT r.attempt_id FROM expected_outputs o JOIN artifacts f ON f.id = o.artifact_id"
        " JOIN refs r ON r.attempt_id = f.attempt_id WHERE o.job_id = :job AND r.disowned_at IS NULL",
        {"job": job_id},
    )
    return [watched(tx, row["attempt_id"]) for row in rows]


def list_lost_submits(tx: Tx, *, limit: int) -> list[str]:
    """Attempts whose submitting lease ran out: their owner is dead or silent."""
    rows = tx.all(
        "SELECT id FROM attempts WHERE ended_at IS NULL AND state = 'submitting' AND lease_until <= :now"
        f" ORDER BY lease_until LIMIT {limit:d}",
        {"now": tx.now_us},
    )
    return [row["id"] for row in rows]
