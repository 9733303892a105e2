"""What providers say that they charged: one row for each record, matched with the attempt that it is for."""

from collections.abc import Mapping

from onetake.clock import Clock, new_id
from onetake.domain.usage import UsageRecord
from onetake.store.database import Row, Tx


def insert_import(
    tx: Tx, clock: Clock, *, provider: str, digest: str, name: str, records: list[UsageRecord], actor: str
) -> str | None:
    """The id of a new import; None if the very same file was imported before."""
    import_id = new_id("imp", clock)
    moments = [record.charged_at for record in records if record.charged_at is not None]
    made = tx.do(
        "INSERT INTO usage_imports (id, provider, digest, name, records, from_at, until_at, actor, created_at)"
        " VALUES (:id, :provider, :digest, :name, :records, :from, :until, :actor, :now) ON CONFLICT DO NOTHING",
        {
            "id": import_id,
            "provider": provider,
            "digest": digest,
            "name": name,
            "records": len(records),
            "from": min(moments, default=None),
            "until": max(moments, default=None),
            "actor": actor,
            "now": tx.now_us,
        },
    )
    return import_id if made else None


def insert(tx: Tx, clock: Clock, import_id: str, provider: str, record: UsageRecord) -> str | None:
    """The id of a new charge; None if a record of this key stands already."""
    charge_id = new_id("chg", clock)
    made = tx.do(
        "INSERT INTO charges (id, import_id, provider, record_key, ref, model, amount_micros, currency, charged_at,"
        " created_at) VALUES (:id, :import, :provider, :key, :ref, :model, :amount, :currency, :at, :now)"
        " ON CONFLICT (provider, record_key) DO NOTHING",
        {
            "id": charge_id,
            "import": import_id,
            "provider": provider,
            "key": record.key,
            "ref": record.ref,
            "model": record.model,
            "amount": record.amount_micros,
            "currency": record.currency,
            "at": record.charged_at,
            "now": tx.now_us,
        },
    )
    return charge_id if made else None


def find(tx: Tx, provider: str, record_key: str) -> Row | None:
    """The charge that stands for the record."""
    return tx.one(
        "SELECT * FROM charges WHERE provider = :provider AND record_key = :key",
        {"provider": provider, "key": record_key},
    )


def match(tx: Tx, charge_id: str, attempt_id: str) -> None:
    """Say for which attempt the charge is."""
    tx.put("UPDATE charges SET attempt_id = :attempt WHERE id = :id", {"attempt": attempt_id, "id": charge_id})


def put_case(tx: Tx, charge_id: str, case_id: str) -> None:
    """Say which case is about the charge."""
    tx.put("UPDATE charges SET case_id = :case WHERE id = :id", {"case": case_id, "id": charge_id})


def list_of_attempt(tx: Tx, attempt_id: str) -> list[Row]:
    """The charges for an attempt, oldest first; those of one import by their keys."""
    return tx.all(
        "SELECT * FROM charges WHERE attempt_id = :attempt ORDER BY created_at, record_key", {"attempt": attempt_id}
    )


def list_orphans(tx: Tx, *, ref: str | None = None, provider: str | None = None) -> list[Row]:
    """Charges that no attempt is known for, with their open case; of one task of a provider, where it is named."""
    wants: Mapping[str, str | None] = {"ref": ref, "provider": provider}
    named = "".join(f" AND c.{name} = :{name}" for name, value in wants.items() if value is not None)
    return tx.all(
        "SELECT c.*, k.state AS case_state FROM charges c LEFT JOIN cases k ON k.id = c.case_id"
        f" WHERE c.attempt_id IS NULL{named} ORDER BY c.charged_at, c.id",
        dict(wants),
    )


def list_uncharged(tx: Tx, provider: str, *, from_us: int, until_us: int) -> list[Row]:
    """Attempts that are billed, as far as we know, were accepted in that time, and that no record tells of."""
    return tx.all(
        "SELECT a.id, a.job_id, a.step_id, s.name AS step, r.ref, a.accepted_at FROM attempts a"
        " JOIN steps s ON s.id = a.step_id JOIN refs r ON r.id = a.ref_id"
        " WHERE a.provider = :provider AND a.charged = 'yes' AND a.accepted_at BETWEEN :from AND :until"
        " AND NOT EXISTS (SELECT 1 FROM charges c WHERE c.attempt_id = a.id) ORDER BY a.accepted_at, a.id",
        {"provider": provider, "from": from_us, "until": until_us},
    )


def list_imports(tx: Tx) -> list[Row]:
    """Every import, newest first."""
    return tx.all("SELECT * FROM usage_imports ORDER BY created_at DESC, id DESC")


def note_cost(tx: Tx, attempt_id: str, *, cost_micros: int, currency: str) -> None:
    """Keep with the attempt what it cost, by the provider's own record."""
    tx.put(
        "UPDATE attempts SET charged = 'yes', cost_micros = :cost, cost_currency = :currency WHERE id = :id",
        {"cost": cost_micros, "currency": currency, "id": attempt_id},
    )
