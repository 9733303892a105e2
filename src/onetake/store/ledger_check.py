"""Whether the books are right: every sum is made again from the rows under it. Reads only."""

from collections.abc import Iterator

from onetake.store.database import Row, Tx

Finding = tuple[str, str, str]
"""Table, id of the first wrong row, and what is wrong with it."""

_HOLDS_OF_CREDITS = (
    "SELECT h.id, h.amount, c.captured, c.released,"
    " (SELECT coalesce(sum(e.amount), 0) FROM ledger_entries e WHERE e.hold_id = h.id AND e.kind = 'hold') AS entered,"
    " (SELECT coalesce(sum(e.amount), 0) FROM ledger_entries e WHERE e.hold_id = h.id AND e.kind = 'capture') AS spent,"
    " (SELECT coalesce(sum(e.amount), 0) FROM ledger_entries e WHERE e.hold_id = h.id AND e.kind = 'release') AS back,"
    " (SELECT coalesce(sum(CASE WHEN e.target = 'captured' THEN e.amount ELSE -e.amount END), 0) FROM ledger_entries e"
    " WHERE e.hold_id = h.id AND e.kind = 'correction') AS corrected"
    " FROM holds h LEFT JOIN hold_closings c ON c.hold_id = h.id ORDER BY h.created_at, h.id"
)


def find_faults(tx: Tx) -> Iterator[Finding]:
    """What is wrong, first things first; nothing where the books are right."""
    for check in (find_entry_faults, _quotes, _outcomes, _allowances):
        yield from check(tx)


def find_entry_faults(tx: Tx) -> Iterator[Finding]:
    """What is wrong between holds, entries and balances alone."""
    yield from _entries_of_holds(tx)
    yield from _balances(tx)


def _entries_of_holds(tx: Tx) -> Iterator[Finding]:
    for row in tx.all(_HOLDS_OF_CREDITS):
        captured, released = row["captured"] or 0, row["released"] or 0
        if row["entered"] != row["amount"]:
            yield "holds", row["id"], f"holds {row['amount']} credits, and {row['entered']} were entered for it"
        elif (row["spent"], row["back"]) != (captured, released):
            says, must = f"{captured} captured and {released} released", f"{row['spent']} and {row['back']}"
            yield "hold_closings", row["id"], f"closed {says}, and {must} were entered"
        elif not 0 <= captured + row["corrected"] <= row["amount"]:
            yield "ledger_entries", row["id"], f"corrected by {row['corrected']}, beyond the {row['amount']} held"


def _balances(tx: Tx) -> Iterator[Finding]:
    sums = tx.all(
        "SELECT a.id, b.granted, b.available, b.held, b.captured,"
        " (SELECT coalesce(sum(e.amount), 0) FROM ledger_entries e WHERE e.account_id = a.id AND e.kind = 'grant')"
        " AS in_granted,"
        " (SELECT coalesce(sum(CASE WHEN e.target = 'held' THEN e.amount WHEN e.source = 'held' THEN -e.amount"
        " ELSE 0 END), 0) FROM ledger_entries e WHERE e.account_id = a.id) AS in_held,"
        " (SELECT coalesce(sum(CASE WHEN e.target = 'captured' THEN e.amount WHEN e.source = 'captured' THEN -e.amount"
        " ELSE 0 END), 0) FROM ledger_entries e WHERE e.account_id = a.id) AS in_captured"
        " FROM accounts a LEFT JOIN balances b ON b.account_id = a.id ORDER BY a.id"
    )
    for row in sums:
        for name in ("granted", "held", "captured"):
            if (row[name] or 0) != row[f"in_{name}"]:
                yield "balances", row["id"], f"says {row[name] or 0} {name}, and the entries say {row[f'in_{name}']}"


def _quotes(tx: Tx) -> Iterator[Finding]:
    wrong = tx.all(
        "SELECT h.id, h.amount, l.credits_max, j.account_id AS owner, h.account_id FROM holds h"
        " JOIN quote_lines l ON l.id = h.quote_line_id JOIN jobs j ON j.id = h.job_id"
        " WHERE h.amount <> l.credits_max OR l.quote_id <> j.quote_id OR h.account_id <> j.account_id ORDER BY h.id"
    )
    for row in wrong:
        yield "holds", row["id"], f"holds {row['amount']}, and the job's own quote says {row['credits_max']}"
    missing = tx.all(
        "SELECT o.id FROM expected_outputs o LEFT JOIN holds h ON h.id = o.hold_id AND h.job_id = o.job_id"
        " WHERE h.id IS NULL ORDER BY o.id"
    )
    for row in missing:
        yield "expected_outputs", row["id"], "is paid from no hold of its own job"


def _outcomes(tx: Tx) -> Iterator[Finding]:
    """What was delivered is paid for, and what is over is closed, unless somebody has to look at it."""
    for row in tx.all(
        "SELECT h.id, h.amount, o.state, s.state AS step, c.captured, c.released,"
        " (SELECT coalesce(sum(CASE WHEN e.target = 'captured' THEN e.amount ELSE -e.amount END), 0)"
        " FROM ledger_entries e WHERE e.hold_id = h.id AND e.kind = 'correction') AS corrected,"
        " EXISTS (SELECT 1 FROM cases k WHERE k.step_id = s.id AND k.state = 'open') AS has_case,"
        " EXISTS (SELECT 1 FROM attempts t WHERE t.step_id = s.id AND t.ended_at IS NULL) AS has_open"
        " FROM expected_outputs o JOIN holds h ON h.id = o.hold_id JOIN steps s ON s.id = o.step_id"
        " LEFT JOIN hold_closings c ON c.hold_id = h.id ORDER BY h.id"
    ):
        is_over = row["step"] in ("complete", "failed", "cancelled")
        if row["captured"] is None and row["state"] == "filled":
            yield "holds", row["id"], "is still open, and its output was delivered"
        elif row["captured"] is None and is_over and not (row["has_case"] or row["has_open"]):
            yield "holds", row["id"], f"is still open, its step is {row['step']}, and nobody is asked about it"
        elif row["captured"] is not None and not is_over and row["state"] != "filled":
            yield "holds", row["id"], f"is closed, and its step is {row['step']}"


def _allowances(tx: Tx) -> Iterator[Finding]:
    for row in tx.all(
        "SELECT w.id, w.amount_micros, (SELECT coalesce(sum(l.spend_micros_max), 0) FROM quote_lines l"
        " JOIN jobs j ON j.quote_id = l.quote_id WHERE j.id = w.job_id AND l.step_name = s.name) AS quoted"
        " FROM allowances w JOIN steps s ON s.id = w.step_id ORDER BY w.id"
    ):
        if row["amount_micros"] != row["quoted"]:
            yield "allowances", row["id"], f"sets {row['amount_micros']} aside, and the quote says {row['quoted']}"


def count(tx: Tx) -> Row:
    """How much there is to check."""
    (row,) = tx.all(
        "SELECT (SELECT count(*) FROM accounts) AS accounts, (SELECT count(*) FROM holds) AS holds,"
        " (SELECT count(*) FROM ledger_entries) AS entries, (SELECT count(*) FROM allowances) AS allowances,"
        " (SELECT count(*) FROM budgets WHERE ended_at IS NULL) AS budgets"
    )
    return row
