"""Holds and their closings. A hold is immutable; it is closed once, by a row whose key is the hold."""

from dataclasses import dataclass

from onetake.clock import Clock, new_id
from onetake.domain.events import HoldEvent
from onetake.domain.states import HoldState
from onetake.domain.transitions import HOLD
from onetake.store.database import Row, Tx


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of a quote: the highest price of one expected output.

    Attributes:
        credits_max: whole credits; 0 under plan `none`.
        spend_micros_max: the provider's price at worst, in millionths of `currency`.
    """

    step_name: str
    output_name: str
    ordinal: int
    credits_max: int
    spend_micros_max: int
    currency: str


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose money, by which quote, for which job."""

    account_id: str
    quote_id: str
    job_id: str


def insert_quote(tx: Tx, quote_id: str, *, account_id: str, recipe_hash: str, request_hash: str) -> None:
    """A quote that is accepted as it is made."""
    tx.put(
        "INSERT INTO quotes (id, account_id, recipe_hash, request_hash, created_at, accepted_at)"
        " VALUES (:id, :account, :recipe, :request, :now, :now)",
        {"id": quote_id, "account": account_id, "recipe": recipe_hash, "request": request_hash, "now": tx.now_us},
    )


def hold(tx: Tx, clock: Clock, line: Line, owner: Owner) -> str:
    """The id of a hold for the line's price; the line is written with it."""
    line_id, hold_id = new_id("qln", clock), new_id("hld", clock)
    tx.put(
        "INSERT INTO quote_lines (id, quote_id, step_name, output_name, ordinal, credits_max, spend_micros_max,"
        " currency) VALUES (:id, :quote, :step, :output, :ordinal, :credits, :spend, :currency)",
        {
            "id": line_id,
            "quote": owner.quote_id,
            "step": line.step_name,
            "output": line.output_name,
            "ordinal": line.ordinal,
            "credits": line.credits_max,
            "spend": line.spend_micros_max,
            "currency": line.currency,
        },
    )
    tx.put(
        "INSERT INTO holds (id, job_id, account_id, quote_line_id, amount, created_at)"
        " VALUES (:id, :job, :account, :line, :amount, :now)",
        {
            "id": hold_id,
            "job": owner.job_id,
            "account": owner.account_id,
            "line": line_id,
            "amount": line.credits_max,
            "now": tx.now_us,
        },
    )
    return hold_id


def close(tx: Tx, hold_id: str, event: HoldEvent, *, reason: str, actor: str) -> bool:
    """Whether the hold was open and is now captured or released whole; a second closing changes nothing."""
    is_captured = HOLD.move(HoldState.HELD, event) is HoldState.CAPTURED
    captured, released = ("amount", "0") if is_captured else ("0", "amount")
    return bool(
        tx.do(
            "INSERT INTO hold_closings (hold_id, amount, captured, released, reason, actor, closed_at)"
            f" SELECT id, amount, {captured}, {released}, :reason, :actor, :now FROM holds WHERE id = :id"
            " ON CONFLICT (hold_id) DO NOTHING",
            {"id": hold_id, "reason": reason, "actor": actor, "now": tx.now_us},
        )
    )


def reserve(
    tx: Tx, clock: Clock, *, job_id: str, step_id: str, provider: str, currency: str, amount_micros: int, requests: int
) -> None:
    """Set aside what a step may cost at the provider at worst, permitted replacements included."""
    tx.put(
        "INSERT INTO allowances (id, job_id, step_id, provider, currency, amount_micros, requests, created_at)"
        " VALUES (:id, :job, :step, :provider, :currency, :amount, :requests, :now)",
        {
            "id": new_id("alw", clock),
            "job": job_id,
            "step": step_id,
            "provider": provider,
            "currency": currency,
            "amount": amount_micros,
            "requests": requests,
            "now": tx.now_us,
        },
    )


def money_of_job(tx: Tx, job_id: str) -> Row:
    """What is held, captured and released for a job, in credits, and how many of its holds are open."""
    (row,) = tx.all(
        "SELECT count(*) AS holds, CAST(coalesce(sum(h.amount), 0) AS BIGINT) AS quoted,"
        " CAST(coalesce(sum(CASE WHEN c.hold_id IS NULL THEN h.amount ELSE 0 END), 0) AS BIGINT) AS held,"
        " coalesce(sum(CASE WHEN c.hold_id IS NULL THEN 1 ELSE 0 END), 0) AS open,"
        " CAST(coalesce(sum(c.captured), 0) AS BIGINT) AS captured,"
        " CAST(coalesce(sum(c.released), 0) AS BIGINT) AS released"
        " FROM holds h LEFT JOIN hold_closings c ON c.hold_id = h.id WHERE h.job_id = :job",
        {"job": job_id},
    )
    return row
