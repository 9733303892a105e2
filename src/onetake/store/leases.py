"""Who may write what, and until when: claims of ready steps, leases on attempts, and what a dead owner leaves.

Two kinds of lease. An attempt that is being submitted carries an end of its own (`lease_until`), as long as
the POST may take plus a margin. Everything else that a worker holds ends with the worker's row, which one
UPDATE renews. Each change of hands raises the attempt's `token`; a write that names an old token changes nothing.

Limits stand in the text: SQLite looks at a bound LIMIT when it plans, and prepares the statement anew for each.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass

from onetake.store.database import Row, Tx
from onetake.store.steps import Step


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """An attempt that a worker has leased to poll or to collect: what it needs for that, for a worker holds many.

    Attributes:
        token: names this lease in every write.
        ref, locator: the provider's id and the address to poll; a worker leaves the usual one out.
        not_before: no poll before this moment, if one was set.
        deadline_at: when an alarm is due, if the recipe says so.
        is_queued: the provider last said so.
        has_alarms: an alarm stands on it, to be cleared when it does well.
    """

    attempt_id: str
    state: str
    worker_id: str
    token: int
    provider: str
    operation: str
    slot: str
    ref: str
    locator: str
    not_before: int | None
    deadline_at: int | None
    is_queued: bool
    has_alarms: bool


def list_ready(
    tx: Tx,
    *,
    limit: int,
    closed: frozenset[str],
    paused: frozenset[tuple[str, str]] = frozenset(),
    full: frozenset[str] = frozenset(),
    stopped: frozenset[str] = frozenset(),
) -> list[Step]:
    """Steps that may be claimed now, oldest first.

    None of a closed provider, a paused route, a full account or a stopped recipe.

    A caller that writes has their jobs to itself; those that another transaction has are left out.
    """
    names = {f"closed_{n}": provider for n, provider in enumerate(sorted(closed))}
    others = f" AND s.provider NOT IN ({', '.join(f':{name}' for name in names)})" if names else ""
    for n, (provider, operation) in enumerate(sorted(paused)):
        others += f" AND NOT (s.provider = :provider_{n} AND s.operation = :operation_{n})"
        names |= {f"provider_{n}": provider, f"operation_{n}": operation}
    for n, account in enumerate(sorted(full)):
        others += f" AND j.account_id <> :account_{n}"
        names[f"account_{n}"] = account
    for n, recipe in enumerate(sorted(stopped)):
        others += f" AND j.recipe_name <> :recipe_{n}"
        names[f"recipe_{n}"] = recipe
    rows = tx.all(
        "SELECT s.* FROM steps s JOIN jobs j ON j.id = s.job_id WHERE s.state = 'ready' AND s.kind = 'generate'"
        f" AND (s.not_before IS NULL OR s.not_before <= :now){others} ORDER BY s.created_at, s.position LIMIT {limit:d}"
        f"{tx.locking('j', skip=True)}",
        {"now": tx.now_us, **names},
    )
    return [Step.of(row) for row in rows]


_WAITING = "a.state IN ('processing', 'collecting')"

_DEAD = (
    "SELECT w.id FROM workers w WHERE w.lease_until <= :now AND w.id <> :worker"
    f" AND EXISTS (SELECT 1 FROM attempts a WHERE a.worker_id = w.id AND {_WAITING})"
)
"""Workers whose lease ran out and that still hold something."""


def is_any_orphan(tx: Tx, worker_id: str) -> bool:
    """Whether a submit was lost, or an attempt waits that nobody alive holds."""
    if list_lost_submits(tx, limit=1):
        return True
    if tx.one(f"SELECT a.id FROM attempts a WHERE a.worker_id IS NULL AND {_WAITING} LIMIT 1"):
        return True
    return tx.one(f"{_DEAD} LIMIT 1", {"now": tx.now_us, "worker": worker_id}) is not None


def lease_open(tx: Tx, worker_id: str, *, limit: int) -> list[str]:
    """Attempts that nobody alive holds and that wait for the provider or for their files; now this worker's.

    What somebody let go comes first, then what each dead worker left; each oldest first.
    """
    dead = tx.all(_DEAD, {"now": tx.now_us, "worker": worker_id})
    taken = _lease(tx, worker_id, "a.worker_id IS NULL", "", limit)
    for row in dead:
        taken += _lease(tx, worker_id, "a.worker_id = :owner", row["id"], limit - len(taken))
    return taken


def _lease(tx: Tx, worker_id: str, is_orphan: str, owner: str, limit: int) -> list[str]:
    # MATERIALIZED: PostgreSQL could else run the inner SELECT more than once, and lease more than `limit`.
    rows = tx.all(
        f"WITH found AS MATERIALIZED (SELECT a.id FROM attempts a WHERE {is_orphan} AND {_WAITING}"
        f" ORDER BY a.created_at LIMIT {limit:d}{tx.locking('a', skip=True)})"
        " UPDATE attempts SET worker_id = :worker, token = token + 1, lease_until = NULL"
        " WHERE id IN (SELECT id FROM found) RETURNING id",
        {"worker": worker_id, "owner": owner},
    )
    return [row["id"] for row in rows]


def watched(tx: Tx, attempt_id: str) -> Watched:
    """The attempt as its holder sees it; it has a ref."""
    found = list_watched(tx, [attempt_id])
    if not found:
        raise LookupError(attempt_id)
    return found[0]


def list_held(tx: Tx, worker_id: str, attempt_ids: Sequence[str]) -> list[Watched]:
    """Those of the attempts that wait for the provider or for their files and that this worker holds."""
    found = list_watched(tx, attempt_ids)
    return [each for each in found if each.worker_id == worker_id and each.state in ("processing", "collecting")]


def tokens_held(tx: Tx, worker_id: str) -> dict[str, int]:
    """The attempts that this worker holds, each with the token of its lease."""
    rows = tx.all(
        f"SELECT a.id, a.token FROM attempts a WHERE {_WAITING} AND a.worker_id = :worker",
        {"worker": worker_id},
    )
    return {row["id"]: row["token"] for row in rows}


def list_watched(tx: Tx, attempt_ids: Sequence[str]) -> list[Watched]:
    """Those of the attempts that have a ref, oldest first, as their holder sees them."""
    if not attempt_ids:
        return []
    names = {f"id_{n}": attempt_id for n, attempt_id in enumerate(attempt_ids)}
    rows = tx.all(
        "SELECT a.id AS attempt_id, a.state, coalesce(a.worker_id, '') AS worker_id,"
        " a.token, a.provider, a.operation, a.slot, r.ref, r.locator, a.not_before,"
        " a.accepted_at + s.deadline_s * CAST(1000000 AS BIGINT) AS deadline_at, a.is_queued,"
        " EXISTS (SELECT 1 FROM alarms m WHERE m.subject = a.id AND m.cleared_at IS NULL) AS has_alarms"
        " FROM attempts a JOIN steps s ON s.id = a.step_id JOIN refs r ON r.id = a.ref_id"
        f" WHERE a.id IN ({', '.join(f':{name}' for name in names)}) ORDER BY a.created_at, a.id",
        names,
    )
    return [_watched(row) for row in rows]


_SHARED = ("state", "worker_id", "provider", "operation", "slot")
"""Words that a hundred thousand attempts have in common, and keep in memory once."""


def _watched(row: Row) -> Watched:
    shared = {name: sys.intern(row[name]) for name in _SHARED}
    return Watched(**{**row, **shared, "is_queued": bool(row["is_queued"]), "has_alarms": bool(row["has_alarms"])})


def list_submitting(tx: Tx, worker_id: str) -> list[str]:
    """The attempts that this worker has claimed and not yet recorded an outcome of."""
    rows = tx.all(
        "SELECT id FROM attempts WHERE state = 'submitting' AND worker_id = :worker",
        {"worker": worker_id},
    )
    return [row["id"] for row in rows]


def list_lost_submits(tx: Tx, *, limit: int) -> list[str]:
    """Attempts whose submitting lease ran out: their owner is dead or silent.

    A caller that writes has their jobs to itself; those that another transaction has are left out.
    """
    rows = tx.all(
        "SELECT a.id FROM attempts a JOIN jobs j ON j.id = a.job_id"
        f" WHERE a.state = 'submitting' AND a.lease_until <= :now ORDER BY a.lease_until LIMIT {limit:d}"
        f"{tx.locking('j', skip=True)}",
        {"now": tx.now_us},
    )
    return [row["id"] for row in rows]
