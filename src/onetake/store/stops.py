"""Stops: what is not sent until a person says so. Polling and collecting go on."""

from onetake.clock import Clock, new_id
from onetake.domain.states import StopKind
from onetake.store.database import Row, Tx


def set_(tx: Tx, clock: Clock, kind: StopKind, subject: str, *, reason: str, actor: str) -> bool:
    """Whether the stop is new; one that stands stays as it is."""
    return bool(
        tx.do(
            "INSERT INTO stops (id, kind, subject, reason, actor, since)"
            " VALUES (:id, :kind, :subject, :reason, :actor, :now) ON CONFLICT DO NOTHING",
            {
                "id": new_id("sto", clock),
                "kind": kind,
                "subject": subject,
                "reason": reason,
                "actor": actor,
                "now": tx.now_us,
            },
        )
    )


def lift(tx: Tx, kind: StopKind, subject: str, *, actor: str) -> bool:
    """Whether a stop stood and is lifted now."""
    return bool(
        tx.do(
            "UPDATE stops SET lifted_at = :now, lifted_by = :actor"
            " WHERE kind = :kind AND subject = :subject AND lifted_at IS NULL",
            {"now": tx.now_us, "actor": actor, "kind": kind, "subject": subject},
        )
    )


def list_open(tx: Tx) -> list[Row]:
    """The stops that stand, oldest first: `kind`, `subject`, `reason`, `actor`, `since`."""
    return tx.all("SELECT kind, subject, reason, actor, since FROM stops WHERE lifted_at IS NULL ORDER BY since, id")


def find_of_job(tx: Tx, job_id: str) -> Row | None:
    """A stop that keeps a step of the job from being sent now."""
    return tx.one(
        "SELECT t.kind, t.subject, t.reason FROM stops t JOIN jobs j ON j.id = :job"
        " JOIN steps s ON s.job_id = j.id AND s.state = 'ready' WHERE t.lifted_at IS NULL"
        " AND ((t.kind = 'provider' AND t.subject = s.provider) OR (t.kind = 'recipe' AND t.subject = j.recipe_name)"
        " OR (t.kind = 'account' AND t.subject = j.account_id)) LIMIT 1",
        {"job": job_id},
    )


def list_all(tx: Tx) -> list[Row]:
    """All there ever were, newest first."""
    return tx.all("SELECT kind, subject, reason, actor, since, lifted_at, lifted_by FROM stops ORDER BY since DESC, id")
