"""Worker leases: one row per worker process; renewing it renews the lease on everything the worker holds."""

from onetake.store.database import Tx


def insert(tx: Tx, worker_id: str, name: str, *, lease_us: int) -> None:
    """Begin a lease."""
    tx.put(
        "INSERT INTO workers (id, name, started_at, lease_until) VALUES (:id, :name, :now, :until)",
        {"id": worker_id, "name": name, "now": tx.now_us, "until": tx.now_us + lease_us},
    )


def renew(tx: Tx, worker_id: str, *, lease_us: int) -> bool:
    """Whether the lease still stood and now lasts longer. A lease that ran out is not revived."""
    return bool(
        tx.do(
            "UPDATE workers SET lease_until = :until WHERE id = :id AND stopped_at IS NULL AND lease_until > :now",
            {"id": worker_id, "now": tx.now_us, "until": tx.now_us + lease_us},
        )
    )


def stop(tx: Tx, worker_id: str) -> None:
    """End the lease now, so that others take over at once what is left."""
    tx.put(
        "UPDATE workers SET stopped_at = :now, lease_until = :now WHERE id = :id AND stopped_at IS NULL",
        {"id": worker_id, "now": tx.now_us},
    )
