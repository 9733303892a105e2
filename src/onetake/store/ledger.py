"""The ledger: holds and their closings, the entries behind them, and each account's balance.

A hold is immutable; it is closed once, by a row whose key is the hold. Every movement of credits is an entry that takes
an amount out of one bucket and puts it into another, written in the transaction of the balance that it changes. A hold
of nothing (plan `none`) goes the same way without entries.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from onetake.clock import Clock, new_id
from onetake.domain.errors import (
    AlreadyCapturedError,
    AlreadyReleasedError,
    ExceedsHoldError,
    ForeignHoldError,
    NotAllowedError,
    NotEnoughCreditsError,
    NotFoundError,
)
from onetake.domain.events import HoldEvent
from onetake.domain.states import Bucket, EntryKind, HoldState
from onetake.domain.transitions import HOLD
from onetake.store.database import Row, Tx

_HELD = (Bucket.AVAILABLE, Bucket.HELD)
_CAPTURED = (Bucket.HELD, Bucket.CAPTURED)
_RELEASED = (Bucket.HELD, Bucket.AVAILABLE)
_SPENT_LATE = (Bucket.AVAILABLE, Bucket.CAPTURED)
_GIVEN_BACK = (Bucket.CAPTURED, Bucket.AVAILABLE)


_HOLD = (
    "SELECT h.amount, h.account_id, h.job_id, c.captured, c.released FROM holds h"
    " LEFT JOIN hold_closings c ON c.hold_id = h.id"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """Why credits move, for whom, and who says so.

    Attributes:
        second_actor: who else agreed, where it takes two.
    """

    kind: EntryKind
    account_id: str
    hold_id: str | None
    reason: str
    actor: str
    second_actor: str | None = None


def open_account(tx: Tx, account_id: str) -> None:
    """Make the balance of an account, with nothing in it; an old one stays."""
    tx.put("INSERT INTO balances (account_id) VALUES (:id) ON CONFLICT DO NOTHING", {"id": account_id})


def get_balance(tx: Tx, account_id: str) -> Row:
    """What the account was granted, and where it is: `granted`, `available`, `held`, `captured`.

    A caller that moves credits has the row to itself until the transaction ends.
    """
    found = tx.one(
        f"SELECT granted, available, held, captured FROM balances WHERE account_id = :id{tx.locking('balances')}",
        {"id": account_id},
    )
    return found or {"granted": 0, "available": 0, "held": 0, "captured": 0}


def grant(tx: Tx, clock: Clock, account_id: str, amount: int, *, reason: str, actor: str) -> None:
    """Give the account more credits."""
    open_account(tx, account_id)
    get_balance(tx, account_id)
    tx.put(
        "UPDATE balances SET granted = granted + :amount, available = available + :amount WHERE account_id = :id",
        {"amount": amount, "id": account_id},
    )
    entry = Entry(kind=EntryKind.GRANT, account_id=account_id, hold_id=None, reason=reason, actor=actor)
    _enter(tx, clock, entry, (Bucket.GRANTED, Bucket.AVAILABLE), amount)


def take(tx: Tx, account_id: str, amount: int) -> None:
    """Move what a job's holds come to from available to held; `hold` writes the entries, in the same transaction.

    Raises:
        NotEnoughCreditsError: there is less available; nothing was moved.
    """
    available = get_balance(tx, account_id)["available"]
    if available < amount:
        raise NotEnoughCreditsError(
            f"This costs up to {amount} credits and {available} are available:"
            " nothing was ordered, nothing is held; it may be ordered again after more are granted."
        )
    _move(tx, account_id, _HELD, amount)


def hold(tx: Tx, clock: Clock, *, job_id: str, account_id: str, line_id: str, amount: int, actor: str) -> str:
    """The id of a hold for the line of a quote; `take` moves what all holds of the job come to."""
    hold_id = new_id("hld", clock)
    tx.put(
        "INSERT INTO holds (id, job_id, account_id, quote_line_id, amount, created_at)"
        " VALUES (:id, :job, :account, :line, :amount, :now)",
        {"id": hold_id, "job": job_id, "account": account_id, "line": line_id, "amount": amount, "now": tx.now_us},
    )
    if amount:
        entry = Entry(kind=EntryKind.HOLD, account_id=account_id, hold_id=hold_id, reason="ordered", actor=actor)
        _enter(tx, clock, entry, _HELD, amount)
    return hold_id


def close(tx: Tx, clock: Clock, hold_id: str, event: HoldEvent, *, reason: str, actor: str) -> bool:
    """Whether the hold was open and is now captured or released whole; a second closing changes nothing."""
    is_captured = HOLD.move(HoldState.HELD, event) is HoldState.CAPTURED
    captured, released = ("amount", "0") if is_captured else ("0", "amount")
    closed = tx.one(
        "INSERT INTO hold_closings (hold_id, amount, captured, released, reason, actor, closed_at)"
        f" SELECT id, amount, {captured}, {released}, :reason, :actor, :now FROM holds WHERE id = :id"
        " ON CONFLICT (hold_id) DO NOTHING RETURNING captured, released",
        {"id": hold_id, "reason": reason, "actor": actor, "now": tx.now_us},
    )
    if closed is None:
        return False
    if closed["captured"] or closed["released"]:
        _book_closing(tx, clock, hold_id, closed, reason=reason, actor=actor)
    return True


def settle(
    tx: Tx, clock: Clock, hold_id: str, *, account_id: str, job_id: str, captured: int, reason: str, actor: str
) -> None:
    """Close the hold: so much of it is captured, the rest released in the same entries.

    Raises:
        NotFoundError: there is no such hold.
        ForeignHoldError: it is another account's, or another job's.
        AlreadyCapturedError: it was captured before, if only in part.
        AlreadyReleasedError: it was released before.
        ExceedsHoldError: more is to be captured than is held.
    """
    found = _get_hold(tx, hold_id, account_id=account_id, job_id=job_id)
    if found["captured"]:
        raise AlreadyCapturedError(f"Hold {hold_id} was captured before ({found['captured']} credits): nothing moved.")
    if found["released"] is not None:
        raise AlreadyReleasedError(f"Hold {hold_id} was released before ({found['released']} credits): nothing moved.")
    if not 0 <= captured <= found["amount"]:
        raise ExceedsHoldError(
            f"Hold {hold_id} holds {found['amount']} credits, so {captured} can't be captured of it: nothing moved."
        )
    parts = {"captured": captured, "released": found["amount"] - captured}
    tx.do(
        "INSERT INTO hold_closings (hold_id, amount, captured, released, reason, actor, closed_at)"
        " VALUES (:id, :amount, :captured, :released, :reason, :actor, :now)",
        {"id": hold_id, "amount": found["amount"], **parts, "reason": reason, "actor": actor, "now": tx.now_us},
    )
    _book_closing(tx, clock, hold_id, parts, reason=reason, actor=actor)


def correct(
    tx: Tx,
    clock: Clock,
    hold_id: str,
    *,
    account_id: str,
    job_id: str,
    spent: int,
    reason: str,
    actor: str,
    second_actor: str | None = None,
) -> int:
    """How many credits moved, so that of a closed hold so many are spent in all: more of them, or fewer.

    The hold and its closing stay as they are; the correction is an entry of its own.

    Raises:
        NotFoundError: there is no such hold.
        ForeignHoldError: it is another account's, or another job's.
        NotAllowedError: it is still open.
        ExceedsHoldError: more is to be spent than was held.
        NotEnoughCreditsError: the account hasn't got the credits that were released and would be spent now.
    """
    found = _get_hold(tx, hold_id, account_id=account_id, job_id=job_id)
    if found["released"] is None:
        raise NotAllowedError(f"Hold {hold_id} is still open: close it instead of correcting it; nothing moved.")
    if not 0 <= spent <= found["amount"]:
        raise ExceedsHoldError(
            f"Hold {hold_id} held {found['amount']} credits, so {spent} can't be spent of it: nothing moved."
        )
    difference = spent - int(found["captured"]) - spent_by_correction(tx, hold_id)
    if difference == 0:
        return 0
    way, amount = (_SPENT_LATE, difference) if difference > 0 else (_GIVEN_BACK, -difference)
    available = get_balance(tx, account_id)["available"]
    if difference > 0 and available < amount:
        raise NotEnoughCreditsError(
            f"The correction of hold {hold_id} needs {amount} credits and {available} are available: nothing moved."
        )
    _move(tx, account_id, way, amount)
    entry = Entry(
        kind=EntryKind.CORRECTION,
        account_id=account_id,
        hold_id=hold_id,
        reason=reason,
        actor=actor,
        second_actor=second_actor,
    )
    _enter(tx, clock, entry, way, amount)
    return amount


def spent_by_correction(tx: Tx, hold_id: str) -> int:
    """What corrections added to what was captured of the hold; below 0 where they gave back."""
    (row,) = tx.all(
        "SELECT CAST(coalesce(sum(CASE WHEN target = 'captured' THEN amount ELSE -amount END), 0) AS BIGINT) AS spent"
        " FROM ledger_entries WHERE hold_id = :id AND kind = 'correction'",
        {"id": hold_id},
    )
    return int(row["spent"])


_CORRECTED = (
    "coalesce(sum((SELECT sum(CASE WHEN e.target = 'captured' THEN e.amount ELSE -e.amount END)"
    " FROM ledger_entries e WHERE e.hold_id = h.id AND e.kind = 'correction')), 0)"
)
_SUMS = (
    "count(*) AS holds, CAST(coalesce(sum(h.amount), 0) AS BIGINT) AS quoted,"
    " CAST(coalesce(sum(CASE WHEN c.hold_id IS NULL THEN h.amount ELSE 0 END), 0) AS BIGINT) AS held,"
    " coalesce(sum(CASE WHEN c.hold_id IS NULL THEN 1 ELSE 0 END), 0) AS open,"
    f" CAST(coalesce(sum(c.captured), 0) + {_CORRECTED} AS BIGINT) AS captured,"
    f" CAST(coalesce(sum(c.released), 0) - {_CORRECTED} AS BIGINT) AS released"
    " FROM holds h LEFT JOIN hold_closings c ON c.hold_id = h.id"
)


def money_of_job(tx: Tx, job_id: str) -> Row:
    """What is held, captured and released for a job, in credits, corrections included; and how many holds are open."""
    (row,) = tx.all(f"SELECT {_SUMS} WHERE h.job_id = :job", {"job": job_id})
    return row


def list_money(tx: Tx, job_ids: str, params: Mapping[str, object]) -> list[Row]:
    """The same for each of the jobs whose ids a SELECT gives, with `job_id`."""
    return tx.all(f"SELECT h.job_id, {_SUMS} WHERE h.job_id IN ({job_ids}) GROUP BY h.job_id", params)


def list_holds(tx: Tx, job_id: str) -> list[Row]:
    """The job's holds with what each is for and what became of it, in the order of the quote's lines."""
    return tx.all(
        "SELECT h.id, h.amount, h.created_at, l.step_name, l.output_name, l.ordinal, l.spend_micros_max, l.currency,"
        " c.captured, c.released, c.reason, c.actor, c.closed_at FROM holds h"
        " JOIN quote_lines l ON l.id = h.quote_line_id LEFT JOIN hold_closings c ON c.hold_id = h.id"
        " JOIN steps s ON s.job_id = h.job_id AND s.name = l.step_name AND s.cell = l.cell"
        " WHERE h.job_id = :job ORDER BY s.position, l.ordinal",
        {"job": job_id},
    )


def list_entries(tx: Tx, account_id: str, *, job_id: str | None = None, limit: int | None = None) -> list[Row]:
    """Movements of the account's credits, newest first; those of one job only, where one is named."""
    of_job = "" if job_id is None else " AND h.job_id = :job"
    return tx.all(
        "SELECT e.id, e.kind, e.source, e.target, e.amount, e.hold_id, h.job_id, e.reason, e.actor, e.second_actor,"
        " e.created_at FROM ledger_entries e LEFT JOIN holds h ON h.id = e.hold_id"
        f" WHERE e.account_id = :account{of_job} ORDER BY e.created_at DESC, e.id DESC LIMIT :limit",
        {"account": account_id, "job": job_id, "limit": 2**31 - 1 if limit is None else limit},
    )


def get_hold(tx: Tx, hold_id: str) -> Row:
    """The hold with its closing: `amount`, `account_id`, `job_id`, `captured` and `released`, None while it is open."""
    (found,) = tx.all(f"{_HOLD} WHERE h.id = :id", {"id": hold_id})
    return found


def _get_hold(tx: Tx, hold_id: str, *, account_id: str, job_id: str) -> Row:
    found = tx.one(f"{_HOLD} WHERE h.id = :id{tx.locking('h')}", {"id": hold_id})
    if found is None:
        raise NotFoundError(f"There is no hold {hold_id}.")
    if found["account_id"] != account_id or found["job_id"] != job_id:
        raise ForeignHoldError(f"Hold {hold_id} isn't one of job {job_id} of this account: nothing moved.")
    return found


def _book_closing(tx: Tx, clock: Clock, hold_id: str, parts: Mapping[str, int], *, reason: str, actor: str) -> None:
    """The entries of a closing, and what they do to the balance."""
    (owner,) = tx.all(  # whose balance is ours from here on
        "SELECT b.account_id FROM holds h JOIN balances b ON b.account_id = h.account_id"
        f" WHERE h.id = :id{tx.locking('b')}",
        {"id": hold_id},
    )
    account_id = str(owner["account_id"])
    for kind, way, amount in (
        (EntryKind.CAPTURE, _CAPTURED, parts["captured"]),
        (EntryKind.RELEASE, _RELEASED, parts["released"]),
    ):
        if amount:
            _move(tx, account_id, way, amount)
            entry = Entry(kind=kind, account_id=account_id, hold_id=hold_id, reason=reason, actor=actor)
            _enter(tx, clock, entry, way, amount)


def _move(tx: Tx, account_id: str, way: tuple[Bucket, Bucket], amount: int) -> None:
    """Move an amount that is there; the caller has seen that, in a row that is its own (else the row refuses)."""
    source, target = way
    tx.put(
        f"UPDATE balances SET {source} = {source} - :amount, {target} = {target} + :amount WHERE account_id = :id",
        {"amount": amount, "id": account_id},
    )


def _enter(tx: Tx, clock: Clock, entry: Entry, way: tuple[Bucket, Bucket], amount: int) -> None:
    source, target = way
    tx.put(
        "INSERT INTO ledger_entries (id, account_id, kind, source, target, amount, hold_id, reason, actor,"
        " second_actor, created_at) VALUES (:id, :account, :kind, :source, :target, :amount, :hold, :reason, :actor,"
        " :second, :now)",
        {
            "id": new_id("led", clock),
            "account": entry.account_id,
            "kind": entry.kind,
            "source": source,
            "target": target,
            "amount": amount,
            "hold": entry.hold_id,
            "reason": entry.reason,
            "actor": entry.actor,
            "second": entry.second_actor,
            "now": tx.now_us,
        },
    )
