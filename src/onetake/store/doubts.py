"""Attempts of unknown outcome: `not_before` says when each is asked about next, NULL that it isn't by itself."""

from collections.abc import Collection

from onetake.store.database import Row, Tx


def list_due(tx: Tx, *, limit: int) -> list[str]:
    """Unknown attempts that are due, the longest due first.

    A caller that writes has their jobs to itself; those that another transaction has are left out.
    """
    rows = tx.all(
        "SELECT a.id FROM attempts a JOIN jobs j ON j.id = a.job_id"
        f" WHERE a.state = 'submit_unknown' AND a.not_before <= :now ORDER BY a.not_before LIMIT {limit:d}"
        f"{tx.locking('j', skip=True)}",
        {"now": tx.now_us},
    )
    return [row["id"] for row in rows]


def is_any_due(tx: Tx) -> bool:
    """Whether an unknown attempt is due."""
    return bool(list_due(tx, limit=1))


def get(tx: Tx, attempt_id: str) -> Row:
    """What was sent and what was learnt since.

    `sent_at` and `last_sent_at` are the moments of the first and the last intent; `posts` may have left, `n` is their
    count with those that didn't; `looks` and `is_landed` as in `recovering.Doubt`; then the wire: `method`, `url`,
    `headers`, `body` and `key`.
    """
    row = tx.one(
        "SELECT a.looks, a.is_landed, s.model, min(x.intended_at) AS sent_at, max(x.intended_at) AS last_sent_at,"
        " max(x.n) AS n, sum(CASE WHEN x.outcome = 'not_sent' THEN 0 ELSE 1 END) AS posts,"
        " w.method, w.url, w.headers, w.body, w.idempotency_key AS key FROM attempts a"
        " JOIN steps s ON s.id = a.step_id JOIN wires w ON w.attempt_id = a.id JOIN sends x ON x.attempt_id = a.id"
        " WHERE a.id = :id GROUP BY a.id, a.looks, a.is_landed, s.model, w.method, w.url, w.headers, w.body,"
        " w.idempotency_key",
        {"id": attempt_id},
    )
    if row is None:
        raise LookupError(attempt_id)
    return row


def put_off(tx: Tx, attempt_id: str, until: int | None) -> None:
    """Look at it again at that moment; None: not by itself."""
    tx.put(
        "UPDATE attempts SET not_before = :until WHERE id = :id AND state = 'submit_unknown'",
        {"until": until, "id": attempt_id},
    )


def intend_replay(tx: Tx, attempt_id: str, n: int) -> None:
    """The row of a further POST of the same bytes: from here on it may leave (L1).

    Raises:
        ConstraintError: there is a POST of this number.
    """
    tx.put(
        "INSERT INTO sends (attempt_id, n, kind, intended_at) VALUES (:id, :n, 'replay', :now)",
        {"id": attempt_id, "n": n, "now": tx.now_us},
    )


def count_look(tx: Tx, attempt_id: str) -> None:
    """One more look-up was answered and found nothing."""
    tx.put("UPDATE attempts SET looks = looks + 1 WHERE id = :id", {"id": attempt_id})


def mark_landed(tx: Tx, attempt_id: str) -> None:
    """The provider proved that it has the order."""
    tx.put("UPDATE attempts SET is_landed = 1 WHERE id = :id", {"id": attempt_id})


def list_bound(tx: Tx, *, provider_account: str, operation: str, refs: Collection[str]) -> frozenset[str]:
    """Those of the refs that belong to an attempt."""
    if not refs:
        return frozenset()
    names = {f"ref_{n}": ref for n, ref in enumerate(refs)}
    rows = tx.all(
        "SELECT ref FROM refs WHERE provider_account = :account AND operation = :operation AND disowned_at IS NULL"
        f" AND ref IN ({', '.join(f':{name}' for name in names)})",
        {"account": provider_account, "operation": operation, **names},
    )
    return frozenset(row["ref"] for row in rows)
