"""What people and programs read: lists and single jobs, from the rows as they stand."""

import itertools
import json
from collections.abc import Iterable

from onetake.domain.inputs import told_inputs
from onetake.domain.projection import StepView, state_of, status_of
from onetake.domain.states import AttemptState, JobState, StepState, WaitReason
from onetake.store import allowances, artifacts, cases, jobs, journal, ledger, recipes
from onetake.store.database import Row, Tx

LONG_WAIT_US = 60_000_000
"""What `--until-idle` doesn't wait for: a minute."""

MONEY = ("quoted", "held", "captured", "released")
"""What is told of a job's credits in a list."""

_ALL = 2**31 - 1
"""A LIMIT that leaves nothing out."""

_STEPS = (
    "SELECT s.id, s.job_id, s.name, s.state, s.waiting_for, s.waiting_on, s.provider, s.operation, s.model,"
    " s.request_hash, s.attempts, s.not_before, s.updated_at, a.id AS attempt_id, a.no AS attempt_no,"
    " a.state AS attempt, a.is_queued, a.charged, a.error_category, a.error_code, a.error_message,"
    " a.accepted_at, r.ref,"
    " coalesce(a.lease_until, CASE WHEN a.state IN ('processing', 'collecting') THEN w.lease_until END) AS lease_until,"
    " EXISTS (SELECT 1 FROM cases c WHERE c.attempt_id = a.id AND c.state = 'open') AS has_case"
    " FROM steps s LEFT JOIN attempts a ON a.id = s.current_attempt_id LEFT JOIN refs r ON r.id = a.ref_id"
    " LEFT JOIN workers w ON w.id = a.worker_id"
)

_ALARMS = (
    "SELECT id, kind, subject, job_id, detail, since FROM alarms WHERE cleared_at IS NULL AND job_id IS NOT NULL"
    " UNION ALL SELECT DISTINCT m.id, m.kind, m.subject, s.job_id, m.detail, m.since FROM alarms m"
    " JOIN steps s ON m.subject = s.provider || '/' || s.operation AND s.state = 'ready'"
    " WHERE m.cleared_at IS NULL AND m.kind = 'route_paused'"
)
"""The standing alarms by job: its own, and those of the routes that its steps wait for."""

_FILES = (
    "SELECT o.job_id, s.name AS step, o.name AS output, o.state, a.digest, o.filled_at"
    " FROM expected_outputs o JOIN steps s ON s.id = o.step_id LEFT JOIN artifacts a ON a.id = o.artifact_id"
)


def is_work_left(tx: Tx, *, closed: Iterable[str]) -> bool:
    """Whether something remains that a worker can do within a minute, without a person.

    Args:
        tx: a snapshot.
        closed: providers that take no submits now; steps for them don't count.
    """
    soon = tx.now_us + LONG_WAIT_US
    row = tx.one(
        "SELECT 1 AS found FROM attempts WHERE state = 'submitting' UNION ALL"
        " SELECT 1 AS found FROM attempts WHERE state = 'submit_unknown' AND not_before <= :soon UNION ALL"
        " SELECT 1 AS found FROM attempts a WHERE a.state IN ('processing', 'collecting')"
        " AND (a.not_before IS NULL OR a.not_before <= :soon) AND (a.worker_id IS NULL"
        " OR NOT EXISTS (SELECT 1 FROM cases c WHERE c.attempt_id = a.id AND c.state = 'open')) LIMIT 1",
        {"soon": soon},
    )
    if row is not None:
        return True
    rows = tx.all(
        "SELECT DISTINCT s.provider FROM steps s WHERE s.kind = 'generate'"
        " AND (s.not_before IS NULL OR s.not_before <= :soon)"
        " AND (s.state = 'ready' OR (s.state = 'waiting' AND s.waiting_for = 'address'))"
        " AND NOT EXISTS (SELECT 1 FROM stops t JOIN jobs j ON j.id = s.job_id WHERE t.lifted_at IS NULL"
        " AND ((t.kind = 'provider' AND t.subject = s.provider) OR (t.kind = 'recipe' AND t.subject = j.recipe_name)"
        " OR (t.kind = 'account' AND t.subject = j.account_id)))"
        " AND NOT EXISTS (SELECT 1 FROM routes r WHERE r.provider = s.provider AND r.operation = s.operation"
        " AND r.paused_until > :soon)",
        {"soon": soon},
    )
    return bool({row["provider"] for row in rows} - set(closed))


def list_jobs(
    tx: Tx,
    *,
    account_id: str | None = None,
    campaign: str | None = None,
    state: str | None = None,
    status: str | None = None,
    limit: int | None = None,
) -> list[Row]:
    """Jobs, newest first, each as `onetake jobs list --json` prints it; of every account, if none is named.

    The words of an open job are made from its steps, so filtering by one of those reads every open job.
    """
    stored = _stored_state(state, status)
    is_made_here = stored is JobState.OPEN
    wants = {"state": stored, "account_id": account_id, "campaign": campaign}
    params = {"limit": _ALL if limit is None or is_made_here else limit, **wants}
    wanted = " AND ".join(f"j.{name} = :{name}" for name, value in wants.items() if value is not None)
    wanted = f"WHERE {wanted}" if wanted else ""
    chosen = f"FROM jobs j {wanted} ORDER BY j.created_at DESC, j.id DESC LIMIT :limit"
    steps = _by_job(tx.all(f"{_STEPS} WHERE s.job_id IN (SELECT j.id {chosen}) ORDER BY s.position", params))
    files = _by_job(tx.all(f"{_FILES} WHERE o.job_id IN (SELECT j.id {chosen}) ORDER BY s.position, o.ordinal", params))
    money = {row["job_id"]: row for row in ledger.list_money(tx, f"SELECT j.id {chosen}", params)}
    alarming = _by_job(tx.all(f"SELECT job_id, kind FROM ({_ALARMS}) a ORDER BY since, id"))
    found = (
        {
            **_summary(row, steps.get(row["id"], []), files.get(row["id"], [])),
            "money": {name: money[row["id"]][name] for name in MONEY},
            "alarms": [alarm["kind"] for alarm in alarming.get(row["id"], [])],
        }
        for row in tx.all(f"SELECT j.* {chosen}", params)
    )
    picked = (job for job in found if state in (None, job["state"]) and status in (None, job["status"]))
    return list(itertools.islice(picked, limit))


def _stored_state(state: str | None, status: str | None) -> JobState | None:
    """The state that the rows of the wanted jobs have; None for any."""
    if state is None and status is None:
        return None
    ended = {each for each in JobState if each is not JobState.OPEN}
    return next((each for each in ended if state == each or status == status_of(each, ())), JobState.OPEN)


def _by_job(rows: Iterable[Row]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row["job_id"], []).append(row)
    return found


def get_job(tx: Tx, job: Row) -> Row:
    """One job whole: its summary, steps, attempts, money, cases and standing alarms."""
    steps = tx.all(f"{_STEPS} WHERE s.job_id = :job ORDER BY s.position", {"job": job["id"]})
    files = artifacts.list_files(tx, job["id"])
    return {
        **_summary(job, steps, files),
        "inputs": told_inputs(recipes.get_content(tx, job["recipe_hash"]), jobs.get_inputs(tx, job["id"])),
        "expected": job["expected"],
        "filled": job["filled"],
        "steps": [_step(tx, step) for step in steps],
        "money": {
            **ledger.money_of_job(tx, job["id"]),
            "unit": "credit",
            "spend": [_spend(row) for row in allowances.list_of_job(tx, job["id"])],
        },
        "rejected_files": artifacts.list_rejected(tx, job["id"]),
        "cases": cases.list_of_job(tx, job["id"]),
        "alarms": tx.all(
            f"SELECT kind, subject, job_id, detail, since FROM ({_ALARMS}) a WHERE job_id = :job ORDER BY since, id",
            {"job": job["id"]},
        ),
        "cancel_requested_at": job["cancel_requested_at"],
    }


def _spend(row: Row) -> Row:
    """What a step may cost at the provider, and what it did."""
    names = ("step", "provider", "currency", "amount_micros", "requests", "reserved_at", "day", "settled_micros")
    return {name: row[name] for name in (*names, "settled_requests", "settled_at")}


def _views(steps: list[Row]) -> list[StepView]:
    return [
        StepView(
            name=step["name"],
            state=StepState(step["state"]),
            waiting_for=None if step["waiting_for"] is None else WaitReason(step["waiting_for"]),
            attempt=None if step["attempt"] is None else AttemptState(step["attempt"]),
            is_queued=bool(step["is_queued"]),
            has_case=bool(step["has_case"]),
        )
        for step in steps
    ]


def _summary(job: Row, steps: list[Row], files: list[Row]) -> Row:
    views = _views(steps)
    last = next((step for step in reversed(steps) if step["error_code"]), None)
    leases = [step["lease_until"] for step in steps if step["lease_until"] is not None]
    return {
        "id": job["id"],
        "key": job["key"],
        "campaign": job["campaign"],
        "state": state_of(JobState(job["state"]), views),
        "status": str(status_of(JobState(job["state"]), views)),
        "recipe": job["recipe_name"],
        "recipe_version": job["recipe_version"],
        "recipe_hash": job["recipe_hash"],
        "request_hash": job["request_hash"],
        "created_at": job["created_at"],
        "updated_at": job["updated_at"],
        "completed_at": job["completed_at"],
        "lease_until": max(leases, default=None),
        "refs": {step["name"]: step["ref"] for step in steps if step["ref"] is not None},
        "outputs": [_output(row) for row in files],
        "error_category": last["error_category"] if last else "",
        "last_error": f"{last['name']}: {last['error_message'] or last['error_code']}" if last else "",
    }


def _output(row: Row) -> Row:
    """An output without its address: signed addresses are for the engine alone."""
    names = ("step", "output", "state", "digest", "media_type", "size_bytes", "measures", "filled_at")
    return {name: row[name] for name in names if name in row}


def _step(tx: Tx, step: Row) -> Row:
    names = (
        "name",
        "state",
        "waiting_for",
        "waiting_on",
        "provider",
        "operation",
        "model",
        "request_hash",
        "not_before",
    )
    return {**{name: step[name] for name in names}, "attempts": list_attempts(tx, step["id"])}


def list_attempts(tx: Tx, step_id: str) -> list[Row]:
    """A step's attempts with the outcome and receipt of each POST; no wire bytes, no addresses."""
    rows = tx.all(
        "SELECT a.no, a.state, r.ref, r.source, a.charged, a.error_category, a.error_code, a.error_message,"
        " a.created_at, a.accepted_at, a.ended_at, d.n AS sends, d.outcome, d.status AS http_status,"
        " d.receipt FROM attempts a LEFT JOIN refs r ON r.id = a.ref_id LEFT JOIN sends d ON d.attempt_id = a.id"
        " AND d.n = (SELECT max(n) FROM sends WHERE attempt_id = a.id) WHERE a.step_id = :id ORDER BY a.no",
        {"id": step_id},
    )
    return [{**row, "receipt": None if row["receipt"] is None else json.loads(row["receipt"])} for row in rows]


def list_journal(tx: Tx, job_id: str, *, after: int = 0) -> list[Row]:
    """The job's journal after line number `after`."""
    return journal.list_lines(tx, job_id, after=after)


def count_by_status(tx: Tx) -> dict[str, int]:
    """How many jobs stand in each status."""
    rows = tx.all("SELECT state, count(*) AS n FROM jobs WHERE state <> 'open' GROUP BY state")
    counts = {str(status_of(JobState(row["state"]), ())): int(row["n"]) for row in rows}
    open_steps = tx.all(f"{_STEPS} WHERE s.job_id IN (SELECT id FROM jobs WHERE state = 'open') ORDER BY s.position")
    for steps in _by_job(open_steps).values():
        status = str(status_of(JobState.OPEN, _views(steps)))
        counts[status] = counts.get(status, 0) + 1
    return counts
