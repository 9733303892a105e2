"""Budget lines, and what stands against each: allowances at worst while they are open, at what they cost once settled.

A line binds an account, a campaign, a provider account or any mixture, for a day of the account or for ever. What
stands against it is kept as a sum, so that a claim need not count; `recount` says what the sum must be.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from onetake.clock import Clock, new_id
from onetake.domain.states import Period
from onetake.store.database import Row, Tx

EACH = "*"
"""The campaign of a line that bounds each campaign by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Whom a line binds; an empty name is anybody."""

    account_id: str = ""
    campaign: str = ""
    provider: str = ""
    period: Period = Period.TOTAL


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A budget line; a bound of None is none.

    Attributes:
        currency: of the spend; empty where only requests are bounded.
    """

    id: str
    scope: Scope
    currency: str
    spend_micros_max: int | None
    requests_max: int | None

    @classmethod
    def of(cls, row: Row) -> "Line":
        """The line in a row."""
        scope = Scope(
            account_id=row["account_id"],
            campaign=row["campaign"],
            provider=row["provider"],
            period=Period(row["period"]),
        )
        return cls(
            id=row["id"],
            scope=scope,
            currency=row["currency"],
            spend_micros_max=row["spend_micros_max"],
            requests_max=row["requests_max"],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where an amount stands against a line: the day, and the campaign where each has its own sum; else empty."""

    line_id: str
    day: str
    campaign: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount:
    """What is reserved or settled: millionths of the line's currency, and requests."""

    spend_micros: int = 0
    requests: int = 0


def insert(
    tx: Tx, clock: Clock, scope: Scope, *, currency: str, spend_micros_max: int | None, requests_max: int | None
) -> Line:
    """A new line.

    Raises:
        ConstraintError: a line for the same scope stands already.
    """
    line_id = new_id("bud", clock)
    tx.do(
        "INSERT INTO budgets (id, account_id, campaign, provider, period, currency, spend_micros_max, requests_max,"
        " created_at, updated_at) VALUES (:id, :account, :campaign, :provider, :period, :currency, :spend, :requests,"
        " :now, :now)",
        {
            "id": line_id,
            "account": scope.account_id,
            "campaign": scope.campaign,
            "provider": scope.provider,
            "period": scope.period,
            "currency": currency,
            "spend": spend_micros_max,
            "requests": requests_max,
            "now": tx.now_us,
        },
    )
    return Line(
        id=line_id, scope=scope, currency=currency, spend_micros_max=spend_micros_max, requests_max=requests_max
    )


def change(tx: Tx, line: Line) -> None:
    """Give the line of that id the bounds that it has here."""
    tx.put(
        "UPDATE budgets SET currency = :currency, spend_micros_max = :spend, requests_max = :requests,"
        " updated_at = :now WHERE id = :id",
        {
            "currency": line.currency,
            "spend": line.spend_micros_max,
            "requests": line.requests_max,
            "now": tx.now_us,
            "id": line.id,
        },
    )


def end(tx: Tx, line_id: str) -> None:
    """Let the line bound nothing from now on; it stays as history."""
    tx.put("UPDATE budgets SET ended_at = :now, updated_at = :now WHERE id = :id", {"now": tx.now_us, "id": line_id})


def find(tx: Tx, scope: Scope) -> Line | None:
    """The line that stands for exactly this scope."""
    row = tx.one(
        "SELECT * FROM budgets WHERE account_id = :account AND campaign = :campaign AND provider = :provider"
        " AND period = :period AND ended_at IS NULL",
        {
            "account": scope.account_id,
            "campaign": scope.campaign,
            "provider": scope.provider,
            "period": scope.period,
        },
    )
    return None if row is None else Line.of(row)


def list_open(tx: Tx) -> list[Line]:
    """The lines that stand, oldest first."""
    return [Line.of(row) for row in tx.all("SELECT * FROM budgets WHERE ended_at IS NULL ORDER BY created_at, id")]


def lock_all(tx: Tx) -> None:
    """Have all lines to oneself until the transaction ends, after everybody who has read which of them stand.

    So nothing is reserved by somebody who didn't know of a line that is being set.
    """
    if locking := tx.locking("budgets"):
        tx.do(f"LOCK TABLE budgets IN ACCESS EXCLUSIVE MODE{' NOWAIT' if locking.endswith('NOWAIT') else ''}")


def lock(tx: Tx, line_ids: Iterable[str]) -> None:
    """Have the lines and their sums to oneself until the transaction ends; all at once, always in the same order."""
    names = {f"id_{n}": line_id for n, line_id in enumerate(sorted(set(line_ids)))}
    if names and (locking := tx.locking("b")):
        among = ", ".join(f":{name}" for name in names)
        tx.all(f"SELECT b.id FROM budgets b WHERE b.id IN ({among}) ORDER BY b.id{locking}", names)


def get_use(tx: Tx, place: Place) -> Amount:
    """What stands against the line there."""
    row = tx.one(
        "SELECT spend_micros, requests FROM budget_uses WHERE budget_id = :id AND day = :day AND campaign = :campaign",
        {"id": place.line_id, "day": place.day, "campaign": place.campaign},
    )
    return Amount(spend_micros=row["spend_micros"], requests=row["requests"]) if row else Amount()


def add(tx: Tx, place: Place, amount: Amount) -> None:
    """Change what stands there by so much; the caller has the line to itself."""
    where = {"id": place.line_id, "day": place.day, "campaign": place.campaign}
    tx.put(
        "INSERT INTO budget_uses (budget_id, day, campaign) VALUES (:id, :day, :campaign) ON CONFLICT DO NOTHING", where
    )
    tx.put(
        "UPDATE budget_uses SET spend_micros = spend_micros + :spend, requests = requests + :requests"
        " WHERE budget_id = :id AND day = :day AND campaign = :campaign",
        {**where, "spend": amount.spend_micros, "requests": amount.requests},
    )


def list_uses(tx: Tx, line_id: str) -> list[Row]:
    """Every sum of the line: `day`, `campaign`, `spend_micros`, `requests`."""
    return tx.all(
        "SELECT day, campaign, spend_micros, requests FROM budget_uses WHERE budget_id = :id ORDER BY day, campaign",
        {"id": line_id},
    )


def count_waiting(tx: Tx, line_id: str) -> int:
    """How many steps wait for room in the line."""
    row = tx.one(
        "SELECT count(*) AS n FROM steps WHERE state = 'waiting' AND waiting_for = 'budget' AND waiting_on = :id",
        {"id": line_id},
    )
    return int((row or {"n": 0})["n"])


def put_uses(tx: Tx, line_id: str, uses: Mapping[tuple[str, str], Amount]) -> None:
    """Replace every sum of the line; the caller has it to itself. Keys are day and campaign."""
    tx.put("DELETE FROM budget_uses WHERE budget_id = :id", {"id": line_id})
    for (day, campaign), amount in uses.items():
        add(tx, Place(line_id=line_id, day=day, campaign=campaign), amount)
