"""Whether the books of a live database are right, budgets included. Reads only."""

from collections.abc import Iterator

from onetake.engine import spending
from onetake.store import budgets, ledger_check
from onetake.store.database import Tx
from onetake.store.ledger_check import Finding


def find_faults(tx: Tx) -> Iterator[Finding]:
    """What is wrong, first things first; nothing where the books are right."""
    yield from ledger_check.find_faults(tx)
    for line in budgets.list_open(tx):
        wanted = {place: (amount.spend_micros, amount.requests) for place, amount in spending.recount(tx, line).items()}
        found = {(row["day"], row["campaign"]): _use(row) for row in budgets.list_uses(tx, line.id)}
        for place in sorted(wanted | found):
            says, must = found.get(place, (0, 0)), wanted.get(place, (0, 0))
            if says != must:
                where = " ".join(filter(None, place)) or "in all"
                yield "budget_uses", line.id, f"says {says} {where}, and the allowances say {must}"


def _use(row: dict[str, int]) -> tuple[int, int]:
    return row["spend_micros"], row["requests"]
