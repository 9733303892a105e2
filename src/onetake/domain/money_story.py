"""The money of one job in sentences: what was held, what became of it, what it may cost at the provider. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from onetake.domain.amounts import told_micros
from onetake.domain.moments import utc

Row = Mapping[str, Any]


def tell_money(
    holds: Sequence[Row], corrections: Sequence[Row], spend: Sequence[Row], *, unknown: Sequence[str]
) -> Iterator[str]:
    """The story, line by line.

    Args:
        holds: with what each is for and its closing, as `ledger.list_holds` gives them.
        corrections: the entries that corrected a closed hold, oldest first.
        spend: each step's allowance, as `allowances.list_of_job` gives them.
        unknown: the steps of which nobody knows whether they were bought.
    """
    by_hold = {row["id"]: row for row in holds}
    for row in holds:
        yield _hold(row, is_unknown=row["step_name"] in unknown)
    for entry in corrections:
        yield _correction(entry, by_hold[entry["hold_id"]])
    yield _sum(holds, corrections)
    for row in spend:
        yield _spend(row)


def _hold(row: Row, *, is_unknown: bool) -> str:
    what = f"{row['step_name']}.{row['output_name']}"
    if not row["amount"]:
        return f"{what}: no credits are counted for it; {_free(row)}."
    held = f"{what}: {_credits(row['amount'])} held on {utc(row['created_at'])}"
    if row["closed_at"] is None:
        why = (
            "nobody knows whether the provider started, and they stay held until evidence or a person settles it"
            if is_unknown
            else "they stay held until it is delivered or definitely refused"
        )
        return f"{held}; {why}."
    parts = [f"{_credits(row[name])} {word}" for name, word in _ENDS.items() if row[name]]
    return f"{held}; {' and '.join(parts)} on {utc(row['closed_at'])} by {row['actor']} ({row['reason']})."


_ENDS = {"captured": "used", "released": "returned"}


def _free(row: Row) -> str:
    if row["closed_at"] is None:
        return "it is still open"
    return f"it was closed on {utc(row['closed_at'])} ({row['reason']})"


def _correction(entry: Row, hold: Row) -> str:
    what, amount = f"{hold['step_name']}.{hold['output_name']}", _credits(entry["amount"])
    moved = "used after all" if entry["target"] == "captured" else "returned after all"
    second = f" and {entry['second_actor']}" if entry["second_actor"] else ""
    when = utc(entry["created_at"])
    return f"{what}: corrected on {when} by {entry['actor']}{second}: {amount} {moved} ({entry['reason']})."


def _sum(holds: Sequence[Row], corrections: Sequence[Row]) -> str:
    extra = sum(row["amount"] if row["target"] == "captured" else -row["amount"] for row in corrections)
    quoted = sum(row["amount"] for row in holds)
    if not quoted:
        return "In all: no credits are counted for this job."
    used = sum(row["captured"] or 0 for row in holds) + extra
    returned = sum(row["released"] or 0 for row in holds) - extra
    return f"In all: of {_credits(quoted)}, {used:,} used, {returned:,} returned, {quoted - used - returned:,} held."


def _spend(row: Row) -> str:
    worst = f"up to {told_micros(row['amount_micros'], row['currency'])}" if row["currency"] else "a cost nobody stated"
    requests = "1 request" if row["requests"] == 1 else f"{row['requests']} requests"
    told = f"Step {row['step']} at {row['provider']}: {worst} for at most {requests}"
    if row["settled_at"] is not None:
        bought = "1 request" if row["settled_requests"] == 1 else f"{row['settled_requests']} requests"
        return f"{told}; settled: {bought}, {told_micros(row['settled_micros'], row['currency'])}."
    if row["reserved_at"] is None:
        return f"{told}; nothing is reserved for it yet."
    return f"{told}; that much is reserved until it is known."


def _credits(amount: int) -> str:
    return "1 credit" if amount == 1 else f"{amount:,} credits"
