"""Attempts: the buys of a step, with their wire bytes, sends and refs.

A change of state names the state that was read; the first ref of an attempt is a compare-and-set on "no ref
yet" and needs no lease, because evidence is evidence whoever brings it (L14).
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from onetake.clock import Clock, new_id
from onetake.domain.events import AttemptEvent
from onetake.domain.states import FINAL_ATTEMPT, AttemptState
from onetake.domain.transitions import ATTEMPT, Repeat
from onetake.domain.wire import WireRequest
from onetake.store.database import Row, Tx
from onetake.store.steps import Step

RAW_BYTES_MAX = 65_536
"""How much of an answer that nobody understood is kept as evidence: enough for any error page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """An attempt as it was read.

    Attributes:
        ref: the provider's id, once saved.
        has_cases: a case is open on it.
        has_alarms: an alarm stands on it.
    """

    id: str
    step_id: str
    job_id: str
    no: int
    state: AttemptState
    provider: str
    operation: str
    slot: str
    worker_id: str | None
    token: int
    lease_until: int | None
    ref: str | None
    created_at: int
    has_cases: bool
    has_alarms: bool


_READ = (
    "SELECT a.id, a.step_id, a.job_id, a.no, a.state, a.provider, a.operation, a.slot, a.worker_id, a.token,"
    " a.lease_until, r.ref, a.created_at,"
    " EXISTS (SELECT 1 FROM cases c WHERE c.attempt_id = a.id AND c.state = 'open') AS has_cases,"
    " EXISTS (SELECT 1 FROM alarms m WHERE m.subject = a.id AND m.cleared_at IS NULL) AS has_alarms"
    " FROM attempts a LEFT JOIN refs r ON r.id = a.ref_id"
)


def insert(
    tx: Tx, step: Step, *, attempt_id: str, no: int, contract_version: str, worker_id: str, lease_us: int
) -> Attempt:
    """The intent, as it now stands: from here on the request may have left (L1).

    Raises:
        ConstraintError: the step already has an attempt of this number.
    """
    made = Attempt(
        id=attempt_id,
        step_id=step.id,
        job_id=step.job_id,
        no=no,
        state=AttemptState.SUBMITTING,
        provider=step.provider,
        operation=step.operation,
        slot="default",
        worker_id=worker_id,
        token=1,
        lease_until=tx.now_us + lease_us,
        ref=None,
        created_at=tx.now_us,
        has_cases=False,
        has_alarms=False,
    )
    tx.put(
        "INSERT INTO attempts (id, step_id, job_id, no, state, provider, operation, slot, contract_version, worker_id,"
        " token, lease_until, created_at, updated_at) VALUES (:id, :step_id, :job_id, :no, :state, :provider,"
        " :operation, :slot, :contract, :worker_id, :token, :lease_until, :created_at, :created_at)",
        {**asdict(made), "contract": contract_version},
    )
    return made


def insert_wire(
    tx: Tx, attempt_id: str, request: WireRequest, *, idempotency_key: str | None, callback_token: str
) -> None:
    """The exact bytes, and the row of the first POST."""
    tx.put(
        "INSERT INTO wires (attempt_id, method, url, headers, body, idempotency_key, callback_token)"
        " VALUES (:id, :method, :url, :headers, :body, :key, :token)",
        {
            "id": attempt_id,
            "method": request.method,
            "url": request.url,
            "headers": json.dumps(request.headers),
            "body": request.body,
            "key": idempotency_key,
            "token": callback_token,
        },
    )
    tx.put(
        "INSERT INTO sends (attempt_id, n, kind, intended_at) VALUES (:id, 1, 'first', :now)",
        {"id": attempt_id, "now": tx.now_us},
    )


def get(tx: Tx, attempt_id: str) -> Attempt:
    """The attempt of that id; a caller that writes has it and its job's row to itself until the transaction ends."""
    if lock := tx.locking("j"):  # by itself, so that what is read next is what was left when the wait was over
        tx.put(f"SELECT j.id FROM jobs j JOIN attempts a ON a.job_id = j.id WHERE a.id = :id{lock}", {"id": attempt_id})
    row = tx.one(f"{_READ} WHERE a.id = :id{tx.locking('a')}", {"id": attempt_id})
    if row is None:
        raise LookupError(attempt_id)
    return _attempt(row)


def _attempt(row: Row) -> Attempt:
    told = {
        "state": AttemptState(row["state"]),
        "has_cases": bool(row["has_cases"]),
        "has_alarms": bool(row["has_alarms"]),
    }
    return Attempt(**{**row, **told})


def list_of_step(tx: Tx, step_id: str) -> list[Attempt]:
    """The step's attempts, first to last."""
    rows = tx.all(f"{_READ} WHERE a.step_id = :id ORDER BY a.no", {"id": step_id})
    return [_attempt(row) for row in rows]


def list_unknown(tx: Tx, *, provider: str, model: str) -> list[Row]:
    """Every attempt at that provider and model whose outcome is unknown, oldest first, with its job and what was sent.

    Each row: id, job_id, account_id, key, step, created_at, last_sent_at, and the body's bytes, for comparing and never
    shown.
    """
    return tx.all(
        "SELECT a.id, a.job_id, j.account_id, j.key, s.name AS step, a.created_at,"
        " (SELECT max(x.intended_at) FROM sends x WHERE x.attempt_id = a.id) AS last_sent_at, w.body FROM attempts a"
        " JOIN steps s ON s.id = a.step_id JOIN jobs j ON j.id = a.job_id JOIN wires w ON w.attempt_id = a.id"
        " WHERE a.state = 'submit_unknown' AND a.provider = :provider AND s.model = :model"
        " ORDER BY a.created_at, a.id",
        {"provider": provider, "model": model},
    )


def advance(
    tx: Tx, attempt: Attempt, event: AttemptEvent, changes: Mapping[str, object] | None = None
) -> AttemptState | None:
    """The state that the attempt moved to; None if the event changes nothing or another writer was first.

    Args:
        tx: whose transaction it is part of.
        attempt: as it was read; its state and token fence the write.
        event: the evidence.
        changes: other columns that change with the state.
    """
    after = ATTEMPT.after(attempt.state, event)
    if isinstance(after, Repeat):
        return None
    values: dict[str, object] = {"lease_until": None, **(changes or {})}
    if after.to in FINAL_ATTEMPT:
        values["ended_at"] = tx.now_us
    assignments = "".join(f", {name} = :{name}" for name in values)
    moved = tx.do(
        f"UPDATE attempts SET state = :to, updated_at = :now{assignments}"
        " WHERE id = :id AND state = :from AND token = :token",
        {"to": after.to, "now": tx.now_us, "id": attempt.id, "from": attempt.state, "token": attempt.token, **values},
    )
    return after.to if moved else None


def bind_ref(
    tx: Tx, clock: Clock, attempt: Attempt, *, provider_account: str, ref: str, locator: str, source: str, actor: str
) -> str:
    """The id of the new row that binds the provider's id to the attempt, for ever.

    Raises:
        ConstraintError: the attempt has a ref, or the ref belongs to another attempt.
    """
    ref_id = new_id("ref", clock)
    tx.do(
        "INSERT INTO refs (id, attempt_id, provider_account, operation, ref, locator, source, actor, created_at)"
        " VALUES (:id, :attempt, :account, :operation, :ref, :locator, :source, :actor, :now)",
        {
            "id": ref_id,
            "attempt": attempt.id,
            "account": provider_account,
            "operation": attempt.operation,
            "ref": ref,
            "locator": locator,
            "source": source,
            "actor": actor,
            "now": tx.now_us,
        },
    )
    return ref_id


def find_ref_owner(tx: Tx, *, provider_account: str, operation: str, ref: str) -> str | None:
    """The attempt that this ref belongs to."""
    row = tx.one(
        "SELECT attempt_id FROM refs WHERE provider_account = :account AND operation = :operation AND ref = :ref"
        " AND disowned_at IS NULL",
        {"account": provider_account, "operation": operation, "ref": ref},
    )
    return None if row is None else str(row["attempt_id"])


def find_by_ref(tx: Tx, *, provider_account: str, ref: str) -> str | None:
    """The attempt that this ref belongs to, whatever was ordered."""
    row = tx.one(
        "SELECT attempt_id FROM refs WHERE provider_account = :account AND ref = :ref AND disowned_at IS NULL"
        " ORDER BY created_at LIMIT 1",
        {"account": provider_account, "ref": ref},
    )
    return None if row is None else str(row["attempt_id"])


def billed(tx: Tx, attempt_id: str) -> tuple[str, str]:
    """Whether the provider bills for the attempt (yes, no or unknown), and in which currency; empty: nobody told."""
    row = tx.one("SELECT charged, cost_currency FROM attempts WHERE id = :id", {"id": attempt_id})
    if row is None:
        raise LookupError(attempt_id)
    return str(row["charged"]), str(row["cost_currency"])


def record_send(
    tx: Tx, attempt_id: str, n: int, *, outcome: str, receipt: str, status: int | None, raw: bytes | None
) -> bool:
    """Whether this is the first receipt for the attempt's `n`-th POST; evidence is never written over."""
    return bool(
        tx.do(
            "UPDATE sends SET outcome = :outcome, receipt = :receipt, status = :status, raw = :raw, recorded_at = :now"
            " WHERE attempt_id = :id AND n = :n AND recorded_at IS NULL",
            {
                "outcome": outcome,
                "receipt": receipt,
                "status": status,
                "raw": None if raw is None else raw[:RAW_BYTES_MAX],
                "now": tx.now_us,
                "id": attempt_id,
                "n": n,
            },
        )
    )


def postpone(tx: Tx, attempt_id: str, token: int, not_before: int | None) -> bool:
    """Keep a long wait, so that a restart honours it too; only the lease's holder may."""
    return bool(
        tx.do(
            "UPDATE attempts SET not_before = :until WHERE id = :id AND token = :token AND ended_at IS NULL",
            {"until": not_before, "id": attempt_id, "token": token},
        )
    )


def note_queued(tx: Tx, attempt_id: str, token: int, *, is_queued: bool) -> None:
    """Keep that the provider says queued, or no longer; only the lease's holder may."""
    tx.put(
        "UPDATE attempts SET is_queued = :queued, updated_at = :now WHERE id = :id AND token = :token",
        {"queued": int(is_queued), "now": tx.now_us, "id": attempt_id, "token": token},
    )


def note(tx: Tx, attempt_id: str, *, category: str, code: str, message: str) -> None:
    """Keep the last error of an attempt that goes on."""
    tx.put(
        "UPDATE attempts SET error_category = :category, error_code = :code, error_message = :message,"
        " updated_at = :now WHERE id = :id AND ended_at IS NULL",
        {"category": category, "code": code, "message": message, "now": tx.now_us, "id": attempt_id},
    )


def make_due(tx: Tx, job_id: str) -> int:
    """How many attempts of a job wait for the provider or have files to fetch; a long wait of theirs is ended.

    The lease is taken from its holder, so that a worker visits the attempt at once.
    """
    return tx.do(
        "UPDATE attempts SET not_before = NULL, worker_id = NULL, token = token + 1"
        " WHERE job_id = :job AND ended_at IS NULL AND (state = 'processing' OR (state = 'collecting'"
        " AND EXISTS (SELECT 1 FROM artifacts f WHERE f.attempt_id = attempts.id AND f.state = 'fetching')))",
        {"job": job_id},
    )
