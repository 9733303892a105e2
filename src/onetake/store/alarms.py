"""Alarms: what a person should know of. They change no state; one of a kind may stand on each subject."""

from onetake.clock import Clock, new_id
from onetake.domain.states import AlarmKind
from onetake.store.database import Row, Tx


def raise_(tx: Tx, clock: Clock, kind: AlarmKind, subject: str, *, job_id: str | None, detail: str) -> bool:
    """Whether the alarm is new; one that already stands stays as it is."""
    return bool(
        tx.do(
            "INSERT INTO alarms (id, kind, subject, job_id, detail, since)"
            " VALUES (:id, :kind, :subject, :job, :detail, :now) ON CONFLICT DO NOTHING",
            {
                "id": new_id("alm", clock),
                "kind": kind,
                "subject": subject,
                "job": job_id,
                "detail": detail,
                "now": tx.now_us,
            },
        )
    )


def restate(tx: Tx, kind: AlarmKind, subject: str, detail: str) -> None:
    """Say it in other words, if the alarm stands; since when it does stays as it is."""
    tx.put(
        "UPDATE alarms SET detail = :detail WHERE subject = :subject AND kind = :kind AND cleared_at IS NULL",
        {"detail": detail, "subject": subject, "kind": kind},
    )


def clear(tx: Tx, subject: str, *kinds: AlarmKind) -> int:
    """How many of these alarms stood on the subject and are now cleared; with no kind named, all of them."""
    picked = "" if not kinds else f" AND kind IN ({', '.join(repr(str(kind)) for kind in kinds)})"
    return tx.do(
        f"UPDATE alarms SET cleared_at = :now WHERE subject = :subject AND cleared_at IS NULL{picked}",
        {"now": tx.now_us, "subject": subject},
    )


def lower(tx: Tx, subject: str, kind: AlarmKind) -> None:
    """Clear one that is hardly ever up, where nobody needs to know whether it was."""
    tx.put(
        "UPDATE alarms SET cleared_at = :now WHERE subject = :subject AND kind = :kind AND cleared_at IS NULL",
        {"now": tx.now_us, "subject": subject, "kind": kind},
    )


def list_open(tx: Tx, *, job_id: str | None = None, account_id: str | None = None) -> list[Row]:
    """The standing alarms, oldest first; of one job, if named; for one account, if named: its jobs' and nobody's."""
    wants = {
        "job": (job_id, "job_id = :job"),
        "account": (account_id, "(job_id IS NULL OR job_id IN (SELECT id FROM jobs WHERE account_id = :account))"),
    }
    picked = "".join(f" AND {condition}" for value, condition in wants.values() if value is not None)
    return tx.all(
        f"SELECT kind, subject, job_id, detail, since FROM alarms WHERE cleared_at IS NULL{picked} ORDER BY since, id",
        {name: value for name, (value, _) in wants.items()},
    )
