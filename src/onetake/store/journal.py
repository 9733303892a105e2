"""The append-only journal of each job: what happened, in order, and who did it.

A line's number comes from the job's row, in the same transaction as what it tells, so the order of lines is
the order of commits. Writing one also moves the job's `updated_at`: stale means that nothing was learnt.
"""

import json
from collections.abc import Mapping

from onetake.store.database import Row, Tx


def record(
    tx: Tx,
    job_id: str,
    event: str,
    *,
    actor: str,
    step: str = "",
    attempt_no: int | None = None,
    data: Mapping[str, object] | None = None,
) -> None:
    """Append one line.

    Args:
        tx: the transaction of the change that the line tells.
        job_id: whose journal.
        event: a stable name such as `step.claimed`.
        actor: a person or a worker.
        step: the step's name, if the event is about one.
        attempt_no: the attempt's number, if it is about one.
        data: facts for the reader; never prompts, addresses or credentials.

    Raises:
        ConstraintError: there is no such job.
    """
    tx.put(
        "UPDATE jobs SET journal_seq = journal_seq + 1, updated_at = :now WHERE id = :id",
        {"id": job_id, "now": tx.now_us},
    )
    tx.put(
        "INSERT INTO journal (job_id, seq, at, actor, event, step, attempt_no, data) VALUES (:job,"
        " (SELECT journal_seq FROM jobs WHERE id = :job), :at, :actor, :event, :step, :no, :data)",
        {
            "job": job_id,
            "at": tx.now_us,
            "actor": actor,
            "event": event,
            "step": step,
            "no": attempt_no,
            "data": json.dumps(data or {}, ensure_ascii=False, allow_nan=False, separators=(",", ":")),
        },
    )


def list_lines(tx: Tx, job_id: str, *, after: int = 0) -> list[Row]:
    """The lines after number `after`, oldest first, with `data` parsed."""
    rows = tx.all(
        "SELECT seq, at, actor, event, step, attempt_no, data FROM journal"
        " WHERE job_id = :job AND seq > :after ORDER BY seq",
        {"job": job_id, "after": after},
    )
    return [{**row, "data": json.loads(row["data"])} for row in rows]
