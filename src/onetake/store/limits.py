"""What limits count: when a provider account is due to be sent to, and how much of it or of an account is in flight.

Only limits that are set are asked for. A claim first takes the row that a limit belongs to, so that all workers
together keep it.
"""

from onetake.store.database import Tx

_IN_FLIGHT = "a.state IN ('submitting', 'processing')"
"""Asked for, or being made: what is only fetched no longer burdens the provider."""


def take_provider(tx: Tx, provider: str) -> None:
    """Have the provider account's limits to oneself until the transaction ends."""
    tx.put("INSERT INTO paces (provider, next_at) VALUES (:provider, 0) ON CONFLICT DO NOTHING", {"provider": provider})
    if lock := tx.locking("p"):
        tx.one(f"SELECT p.provider FROM paces p WHERE p.provider = :provider{lock}", {"provider": provider})


def get_next_send_at(tx: Tx, provider: str) -> int:
    """When the next send is due by the rate, in microseconds; 0 if none was counted yet."""
    row = tx.one("SELECT next_at FROM paces WHERE provider = :provider", {"provider": provider})
    return 0 if row is None else int(row["next_at"])


def put_next_send_at(tx: Tx, provider: str, next_at: int) -> None:
    """Keep it; the caller has taken the provider account."""
    tx.put("UPDATE paces SET next_at = :next WHERE provider = :provider", {"provider": provider, "next": next_at})


def count_of_provider(tx: Tx, provider: str) -> int:
    """How many attempts the provider account has in flight."""
    row = tx.one(f"SELECT count(*) AS n FROM attempts a WHERE {_IN_FLIGHT} AND a.provider = :name", {"name": provider})
    return int((row or {"n": 0})["n"])


def take_account_of(tx: Tx, job_id: str) -> str:
    """The account that the job belongs to; a caller that writes has it to itself until the transaction ends."""
    row = tx.one(
        "SELECT c.id FROM accounts c WHERE c.id = (SELECT account_id FROM jobs WHERE id = :job)" + tx.locking("c"),
        {"job": job_id},
    )
    if row is None:
        raise LookupError(job_id)
    return str(row["id"])


def count_by_account(tx: Tx) -> dict[str, int]:
    """How many attempts each account has in flight; one without any isn't named."""
    rows = tx.all(
        "SELECT j.account_id AS account, count(*) AS n FROM attempts a JOIN jobs j ON j.id = a.job_id"
        f" WHERE {_IN_FLIGHT} GROUP BY j.account_id"
    )
    return {row["account"]: row["n"] for row in rows}
