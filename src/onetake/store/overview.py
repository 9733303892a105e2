"""All jobs at a glance: how far they are, what is put off and until when, and what waits for a person."""

from onetake.store.database import Row, Tx

_PARKED = "SELECT job_id FROM steps WHERE state = 'waiting' AND waiting_for = 'review'"

_PEOPLE = (
    "SELECT j.id AS job_id FROM jobs j WHERE j.state = 'open' AND (j.id IN"
    f" (SELECT job_id FROM cases WHERE state = 'open') OR j.id IN ({_PARKED}))"
)

_PUT_OFF_STEPS = (
    "SELECT s.provider, s.current_attempt_id, CASE WHEN r.paused_until > coalesce(s.not_before, 0) THEN r.paused_until"
    " ELSE s.not_before END AS until FROM steps s"
    " LEFT JOIN routes r ON r.provider = s.provider AND r.operation = s.operation"
    " WHERE s.state = 'ready' AND s.kind = 'generate' AND (s.not_before > :now OR r.paused_until > :now)"
)
"""Ready steps that aren't sent yet, because they or their route are put off."""


def count_jobs(tx: Tx) -> dict[str, int]:
    """How many jobs are done, in work, with the provider, and with people; each job counts once."""
    counts = tx.one(
        f"WITH people AS ({_PEOPLE}), provider AS (SELECT DISTINCT job_id FROM attempts WHERE state = 'processing'"
        " AND job_id IN (SELECT id FROM jobs WHERE state = 'open') AND job_id NOT IN (SELECT job_id FROM people))"
        " SELECT (SELECT count(*) FROM jobs WHERE state <> 'open') AS done,"
        " (SELECT count(*) FROM jobs WHERE state = 'open') AS unfinished,"
        " (SELECT count(*) FROM provider) AS provider, (SELECT count(*) FROM people) AS people"
    )
    done, unfinished, provider, people = (counts or {}).values()
    return {"done": done, "in_work": unfinished - provider - people, "provider": provider, "people": people}


def count_put_off(tx: Tx) -> dict[str, Row]:
    """Sends and polls that wait for a moment: how many, and when the first of them goes on."""
    sends = tx.all(f"SELECT count(*) AS count, min(until) AS not_before FROM ({_PUT_OFF_STEPS}) p", {"now": tx.now_us})
    polls = tx.all(
        "SELECT count(*) AS count, min(not_before) AS not_before FROM attempts"
        " WHERE state IN ('processing', 'collecting') AND not_before > :now",
        {"now": tx.now_us},
    )
    return {"sends": sends[0], "polls": polls[0]}


def count_for_people(tx: Tx) -> dict[str, int]:
    """What only a person can move on: unknown outcomes, steps that are parked, other doubts."""
    rows = tx.all(
        "SELECT CASE WHEN kind = 'unknown' THEN 'unknown' ELSE 'in_doubt' END AS what, count(*) AS n"
        " FROM cases WHERE state = 'open' GROUP BY what"
    )
    parked = tx.all(f"SELECT count(*) AS n FROM ({_PARKED}) p")
    return {"unknown": 0, "parked": parked[0]["n"], "in_doubt": 0, **{row["what"]: row["n"] for row in rows}}


def count_without_budget(tx: Tx) -> int:
    """How many steps wait for room in a budget line."""
    row = tx.one("SELECT count(*) AS n FROM steps WHERE state = 'waiting' AND waiting_for = 'budget'")
    return int((row or {"n": 0})["n"])


def list_unreachable(tx: Tx) -> list[Row]:
    """Providers whose steps are put off because their last sends never left: which, how many, and until when."""
    return tx.all(
        f"SELECT p.provider, count(*) AS count, min(p.until) AS not_before FROM ({_PUT_OFF_STEPS}) p"
        " JOIN attempts a ON a.id = p.current_attempt_id WHERE a.state = 'not_sent'"
        " AND a.error_code NOT IN ('not_sent_given_up', 'not_sent_absent') GROUP BY p.provider ORDER BY p.provider",
        {"now": tx.now_us},
    )
