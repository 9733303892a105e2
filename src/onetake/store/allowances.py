"""Allowances: what a step may cost at the provider at worst, set aside with the job; settled by what it did cost."""

from collections.abc import Collection

from onetake.clock import Clock, new_id
from onetake.domain.pricing import Worst
from onetake.store.database import Row, Tx

_WHOLE = (
    "SELECT w.*, j.account_id, j.campaign, a.zone FROM allowances w JOIN jobs j ON j.id = w.job_id"
    " JOIN accounts a ON a.id = j.account_id"
)


def insert(tx: Tx, clock: Clock, worst: Worst, *, job_id: str, step_id: str, provider: str) -> None:
    """What the step may cost at worst, permitted replacements included; no budget is asked yet."""
    tx.put(
        "INSERT INTO allowances (id, job_id, step_id, provider, currency, amount_micros, requests, created_at)"
        " VALUES (:id, :job, :step, :provider, :currency, :amount, :requests, :now)",
        {
            "id": new_id("alw", clock),
            "job": job_id,
            "step": step_id,
            "provider": provider,
            "currency": worst.currency,
            "amount": worst.spend_micros,
            "requests": worst.requests,
            "now": tx.now_us,
        },
    )


def price_of(tx: Tx, step_id: str) -> Worst:
    """What one request of the step may cost at worst; no currency where its recipe names no price."""
    row = tx.one("SELECT currency, amount_micros, requests FROM allowances WHERE step_id = :id", {"id": step_id})
    if row is None or not row["requests"]:
        return Worst(currency="", request_micros=0, requests=1)
    return Worst(currency=row["currency"], request_micros=row["amount_micros"] // row["requests"], requests=1)


def list_of_job(tx: Tx, job_id: str) -> list[Row]:
    """What each step of the job may cost at worst, and what it did cost once that is settled."""
    return tx.all(
        "SELECT w.*, s.name AS step FROM allowances w JOIN steps s ON s.id = w.step_id WHERE w.job_id = :job"
        " ORDER BY s.position",
        {"job": job_id},
    )


def list_whole(tx: Tx, *, job_ids: Collection[str] | None = None) -> list[Row]:
    """Allowances that were reserved, with account, campaign and zone; of these jobs, all of them."""
    if job_ids is None:
        return tx.all(f"{_WHOLE} WHERE w.reserved_at IS NOT NULL ORDER BY w.id")
    names = {f"job_{n}": job_id for n, job_id in enumerate(sorted(set(job_ids)))}
    among = ", ".join(f":{name}" for name in names)
    return tx.all(f"{_WHOLE} WHERE w.job_id IN ({among}) ORDER BY w.id", names) if names else []


def reserve(tx: Tx, job_id: str) -> None:
    """Let the whole job through: each of its allowances stands from now on."""
    tx.put(
        "UPDATE allowances SET reserved_at = :now WHERE job_id = :job AND reserved_at IS NULL",
        {"now": tx.now_us, "job": job_id},
    )


def put_day(tx: Tx, allowance_id: str, day: str) -> None:
    """Keep on which day of the account it was dispatched."""
    tx.put("UPDATE allowances SET day = :day WHERE id = :id", {"day": day, "id": allowance_id})


def settle(tx: Tx, allowance_id: str, *, spend_micros: int, requests: int) -> None:
    """Keep what it did cost; again, where the provider's records say otherwise."""
    tx.put(
        "UPDATE allowances SET settled_micros = :spend, settled_requests = :requests, settled_at = :now WHERE id = :id",
        {"spend": spend_micros, "requests": requests, "now": tx.now_us, "id": allowance_id},
    )


def find_spent(tx: Tx, step_id: str) -> Row | None:
    """What the step may cost, and what it did cost so far by the attempts that are billed.

    Beside the allowance: `in_doubt`, how many attempts go on or may be billed; `billed`, how many are; `spent`, what
    they cost, at worst where the provider didn't say; `has_lines`, whether any budget line stands.
    """
    return tx.one(
        "SELECT w.*, j.account_id, j.campaign, a.zone,"
        " EXISTS (SELECT 1 FROM budgets b WHERE b.ended_at IS NULL) AS has_lines, (SELECT count(*) FROM attempts t"
        " WHERE t.step_id = w.step_id AND (t.ended_at IS NULL OR t.charged = 'unknown')) AS in_doubt,"
        " (SELECT count(*) FROM attempts t WHERE t.step_id = w.step_id AND t.charged = 'yes') AS billed,"
        " (SELECT CAST(coalesce(sum(CASE WHEN t.cost_micros IS NOT NULL AND t.cost_currency = w.currency"
        " THEN t.cost_micros ELSE w.amount_micros / w.requests END), 0) AS BIGINT) FROM attempts t"
        " WHERE t.step_id = w.step_id AND t.charged = 'yes') AS spent"
        " FROM allowances w JOIN jobs j ON j.id = w.job_id JOIN accounts a ON a.id = j.account_id"
        " WHERE w.step_id = :step",
        {"step": step_id},
    )
