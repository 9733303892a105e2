"""The models that each provider account was offered, as last asked."""

import json

from onetake.store.database import Tx


def record(tx: Tx, provider_account: str, models: tuple[str, ...]) -> None:
    """Keep the list."""
    tx.put(
        "INSERT INTO model_lists (provider_account, models, fetched_at) VALUES (:account, :models, :now)"
        " ON CONFLICT (provider_account) DO UPDATE SET models = excluded.models, fetched_at = excluded.fetched_at",
        {"account": provider_account, "models": json.dumps(models), "now": tx.now_us},
    )


def forget(tx: Tx, provider_account: str) -> None:
    """Ask again at the next need."""
    tx.put("DELETE FROM model_lists WHERE provider_account = :account", {"account": provider_account})


def find(tx: Tx, provider_account: str, *, age_us_max: int) -> tuple[str, ...] | None:
    """The list, if one is there and not older than `age_us_max`."""
    row = tx.one(
        "SELECT models FROM model_lists WHERE provider_account = :account AND fetched_at > :since",
        {"account": provider_account, "since": tx.now_us - age_us_max},
    )
    return None if row is None else tuple(json.loads(row["models"]))
