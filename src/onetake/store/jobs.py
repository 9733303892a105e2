"""Jobs and their immutable requests: one row per account and key, for ever."""

from collections.abc import Mapping

from onetake.domain.canonical import parse
from onetake.domain.events import JobEvent
from onetake.domain.jsonvalue import Json
from onetake.domain.states import JobState
from onetake.domain.transitions import JOB, Repeat
from onetake.store.database import Row, Tx


def insert(
    tx: Tx,
    *,
    job_id: str,
    account_id: str,
    key: str,
    quote_id: str,
    campaign: str = "",
    recipe: tuple[str, int, str],
    request_hash: str,
    expected: int,
    inputs_json: str,
) -> None:
    """An open job with its request. `recipe` is name, version and hash.

    Raises:
        ConstraintError: the account already has a job under this key.
    """
    tx.put(
        "INSERT INTO jobs (id, account_id, key, quote_id, recipe_name, recipe_version, recipe_hash, request_hash,"
        " campaign, state, expected, created_at, updated_at) VALUES (:id, :account, :key, :quote, :name, :version,"
        " :recipe, :request, :campaign, 'open', :expected, :now, :now)",
        {
            "id": job_id,
            "account": account_id,
            "key": key,
            "quote": quote_id,
            "campaign": campaign,
            "name": recipe[0],
            "version": recipe[1],
            "recipe": recipe[2],
            "request": request_hash,
            "expected": expected,
            "now": tx.now_us,
        },
    )
    tx.put("INSERT INTO job_requests (job_id, inputs) VALUES (:id, :inputs)", {"id": job_id, "inputs": inputs_json})


def find_by_key(tx: Tx, account_id: str, key: str) -> Row | None:
    """The account's job under that key."""
    return tx.one("SELECT * FROM jobs WHERE account_id = :account AND key = :key", {"account": account_id, "key": key})


def find(tx: Tx, account_id: str, name: str) -> Row | None:
    """The account's job of that id, or under that key."""
    row = tx.one("SELECT * FROM jobs WHERE account_id = :account AND id = :id", {"account": account_id, "id": name})
    return row or find_by_key(tx, account_id, name)


def get(tx: Tx, job_id: str) -> Row:
    """The job; a caller that writes about it has its row to itself until the transaction ends."""
    row = tx.one(f"SELECT * FROM jobs WHERE id = :id{tx.locking('jobs')}", {"id": job_id})
    if row is None:
        raise LookupError(job_id)
    return row


def get_inputs(tx: Tx, job_id: str) -> dict[str, Json]:
    """The request's inputs, declared defaults included, numbers exact."""
    row = tx.one("SELECT inputs FROM job_requests WHERE job_id = :id", {"id": job_id})
    if row is None:
        raise LookupError(job_id)
    inputs = parse(row["inputs"])
    if not isinstance(inputs, dict):
        raise TypeError(job_id)
    return inputs


def advance(tx: Tx, job: Mapping[str, object], event: JobEvent, *, category: str = "") -> JobState | None:
    """The state that the job moved to; None if the event changes nothing or another writer was first.

    Raises:
        ConstraintError: complete was asked for with an output missing.
    """
    after = JOB.after(JobState(str(job["state"])), event)
    if isinstance(after, Repeat):
        return None
    moved = tx.do(
        "UPDATE jobs SET state = :to, error_category = :category, updated_at = :now,"
        " completed_at = CASE WHEN :to IN ('complete', 'failed', 'cancelled') THEN :now ELSE completed_at END"
        " WHERE id = :id AND state = :from",
        {"to": after.to, "from": job["state"], "category": category, "now": tx.now_us, "id": job["id"]},
    )
    return after.to if moved else None


def count_filled(tx: Tx, job_id: str) -> None:
    """One more expected output stands."""
    tx.put("UPDATE jobs SET filled = filled + 1 WHERE id = :id", {"id": job_id})


def request_cancel(tx: Tx, job_id: str) -> bool:
    """Whether this is the first request to cancel an open job."""
    return bool(
        tx.do(
            "UPDATE jobs SET cancel_requested_at = :now WHERE id = :id AND state = 'open'"
            " AND cancel_requested_at IS NULL",
            {"now": tx.now_us, "id": job_id},
        )
    )


def is_cancel_requested(tx: Tx, job_id: str) -> bool:
    """Whether somebody asked to cancel the job."""
    return get(tx, job_id)["cancel_requested_at"] is not None


def seal(tx: Tx, job_id: str, *, content: str, digest: str) -> None:
    """Keep the manifest; a job has one."""
    tx.put(
        "INSERT INTO manifests (job_id, content, hash, sealed_at) VALUES (:job, :content, :hash, :now)",
        {"job": job_id, "content": content, "hash": digest, "now": tx.now_us},
    )


def find_manifest(tx: Tx, job_id: str) -> Row | None:
    """The sealed record of a complete job's outputs: `content` as canonical JSON, and its `hash`."""
    return tx.one("SELECT content, hash, sealed_at FROM manifests WHERE job_id = :job", {"job": job_id})
