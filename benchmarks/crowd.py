"""Many jobs in flight, quickly: one job goes the real way until the provider works on it, and is then copied in SQL.

A copy's ids are the first one's with the last eight letters replaced by a number, so rows are as large as real ones.
Ids at the provider and the addresses to poll are numbered likewise: they end with 1 and seven digits.
"""

from dataclasses import dataclass, replace
from pathlib import Path

from onetake.domain.answers import Accepted
from onetake.domain.recipe_toml import parse_recipe
from onetake.domain.wire import SendPhase, SendReceipt, WireResult
from onetake.engine.intake import accept
from onetake.engine.orders import prepare
from onetake.engine.outcomes import record_outcome
from onetake.engine.parts import Parts
from onetake.engine.submitter import Market, claim
from onetake.engine.turn import Turn
from onetake.store import workers
from onetake.store.accounts import OWNER_NAME
from onetake.store.database import Tx

STILL = (Path(__file__).parent / "harness-still.toml").read_text()
FIRST = 10_000_000
"""The number of the job that went the real way: eight digits, so that every copy's has eight as well."""

OWNER = "wrk_" + "0" * 26
"""The worker that the crowd belongs to; its lease ran out long ago."""


@dataclass(frozen=True, slots=True)
class _Rows:
    """Which rows of a table belong to a job, and which of its columns are numbered in a copy."""

    table: str
    of_job: str
    numbered: tuple[str, ...]


_ATTEMPTS = "attempt_id IN (SELECT id FROM attempts WHERE job_id = :job)"
_STEPS = "step_id IN (SELECT id FROM steps WHERE job_id = :job)"
_QUOTES = "(SELECT quote_id FROM jobs WHERE id = :job)"
_JOB = (
    _Rows("quotes", f"id = {_QUOTES}", ("id",)),
    _Rows("quote_lines", f"quote_id = {_QUOTES}", ("id", "quote_id")),
    _Rows("jobs", "id = :job", ("id", "quote_id", "key")),
    _Rows("job_requests", "job_id = :job", ("job_id",)),
    _Rows("steps", "job_id = :job", ("id", "job_id", "current_attempt_id")),
    _Rows("step_requests", _STEPS, ("step_id",)),
    _Rows("holds", "job_id = :job", ("id", "job_id", "quote_line_id")),
    _Rows("expected_outputs", "job_id = :job", ("id", "job_id", "step_id", "hold_id")),
    _Rows("allowances", "job_id = :job", ("id", "job_id", "step_id")),
    _Rows("attempts", "job_id = :job", ("id", "job_id", "step_id")),
    _Rows("wires", _ATTEMPTS, ("attempt_id", "callback_token")),
    _Rows("sends", _ATTEMPTS, ("attempt_id",)),
    _Rows("refs", _ATTEMPTS, ("id", "attempt_id", "ref", "locator")),
    _Rows("journal", "job_id = :job", ("job_id",)),
)

_UNSENT = {"state": "submitting", "lease_until": 1, "ref_id": None}
"""An attempt and its ref name each other: the attempt comes first, without one."""


async def make_crowd(parts: Parts, count: int) -> None:
    """Fill an empty database with so many jobs that wait for the provider and that nobody alive holds."""
    await parts.act(OWNER, _first, parts)
    await parts.database.write(_copy, count - 1)


def _first(turn: Turn, parts: Parts) -> None:
    """A job up to the provider's id."""
    workers.insert(turn.tx, OWNER, "crowd", lease_us=-1)
    recipe, key = parse_recipe(STILL, "harness-still.toml"), f"crowd-{FIRST}"
    inputs = {"image_prompt": f"a red bicycle chain={key}", "video_prompt": f"the wheel turns chain={key}"}
    accept(replace(turn, actor=OWNER_NAME), prepare(recipe, STILL, inputs=inputs, key=key))
    models = {step.model for step in recipe.steps}
    market = Market(adapters=parts.adapters, offered={"reapi": tuple(models)}, limit=1, started_s=0.0)
    (claimed,) = claim(turn, market)
    receipt = SendReceipt(phase=SendPhase.BODY_READ, at_us={"connected": 200, "body_read": 900}, status=200)
    outcome = Accepted(ref=f"img_00{FIRST}", locator="")
    result = WireResult(receipt=receipt, answer=None)
    record_outcome(turn, parts.adapters["reapi"], claimed.attempt_id, outcome, result)


def _copy(tx: Tx, count: int) -> None:
    job = tx.one("SELECT id FROM jobs")
    if job is None or not count:
        return
    for rows in _JOB:
        for found in tx.all(f"SELECT * FROM {rows.table} WHERE {rows.of_job}", {"job": job["id"]}):
            row = {**found, **_UNSENT} if rows.table == "attempts" else found
            values = ", ".join(_numbered(name) if name in rows.numbered else f":{name}" for name in row)
            tx.do(
                f"INSERT INTO {rows.table} ({', '.join(row)}) WITH RECURSIVE copies(n) AS"
                f" (SELECT 1 UNION ALL SELECT n + 1 FROM copies WHERE n < {count:d}) SELECT {values} FROM copies",
                row,
            )
    mine = "(SELECT r.id FROM refs r WHERE r.attempt_id = attempts.id AND r.disowned_at IS NULL)"
    tx.do(f"UPDATE attempts SET state = 'processing', lease_until = NULL, ref_id = {mine} WHERE state = 'submitting'")


def _numbered(column: str) -> str:
    return f"substr(:{column}, 1, length(:{column}) - 8) || CAST({FIRST} + copies.n AS TEXT)"


def number_of(ref: str) -> int:
    """Which of the crowd's jobs a ref, or an address to poll, stands for, from 0."""
    return int(ref[-8:]) - FIRST


def disown(tx: Tx) -> int:
    """Give all of the crowd back to its dead owner; how many there are."""
    return tx.do("UPDATE attempts SET worker_id = :owner WHERE ended_at IS NULL", {"owner": OWNER})
