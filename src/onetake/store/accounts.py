"""Accounts own jobs, credits and files; an embedded one is there so that nobody has to make one first."""

from onetake.store.database import Tx

EMBEDDED = "acc_default"


def ensure_embedded(tx: Tx) -> str:
    """The embedded account's id; made on first use, under plan `none`."""
    tx.put(
        "INSERT INTO accounts (id, name, plan, created_at) VALUES (:id, 'default', 'none', :now)"
        " ON CONFLICT (name) DO NOTHING",
        {"id": EMBEDDED, "now": tx.now_us},
    )
    return EMBEDDED
