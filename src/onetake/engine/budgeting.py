"""Budget lines as people set them: checked against one another, counted from what stands already, recorded."""

from dataclasses import replace

from onetake.domain.errors import BadValueError, NotFoundError
from onetake.domain.jsonvalue import shown
from onetake.domain.roles import Act
from onetake.engine import spending
from onetake.engine.members import is_over_all, require
from onetake.engine.orders import check_campaign
from onetake.engine.turn import Turn
from onetake.providers.catalogue import list_contracts
from onetake.store import accounts, budgets
from onetake.store.budgets import EACH, Line, Scope
from onetake.store.database import Tx


def set_line(
    turn: Turn,
    scope: Scope,
    *,
    currency: str = "",
    spend_micros_max: int | None = None,
    requests_max: int | None = None,
    keeps_spend: bool = True,
    keeps_requests: bool = True,
) -> tuple[Line, bool]:
    """The line that now stands for the scope, and whether it is new; what stands against it is counted.

    Args:
        turn: whose act it is.
        scope: whom it binds; the account by its name or id.
        currency: of the spend that is given.
        spend_micros_max: most spend at providers; None: as the line has it already.
        requests_max: most requests; None: likewise.
        keeps_spend: a bound of spend that stands and isn't given stays.
        keeps_requests: likewise, of requests.

    Raises:
        RoleError: the person may not.
        NotFoundError: there is no such account.
        BadValueError: it bounds nothing, names nothing there can be, or overlaps with a line in another currency.
    """
    if spend_micros_max is None and requests_max is None and keeps_spend and keeps_requests:
        raise BadValueError("A budget line bounds spend, requests or both: give --spend or --requests.")
    turn.check_over_all(Act.BUDGET)
    budgets.lock_all(turn.tx)
    scope = _known(turn, scope)
    found = budgets.find(turn.tx, scope)
    if found is not None and keeps_spend and spend_micros_max is None:
        currency, spend_micros_max = found.currency, found.spend_micros_max
    if found is not None and keeps_requests and requests_max is None:
        requests_max = found.requests_max
    if spend_micros_max is None and requests_max is None:
        raise BadValueError(_would_bound_nothing(found))
    _check_currency(turn.tx, scope, currency)
    if found is None:
        line = budgets.insert(
            turn.tx,
            turn.clock,
            scope,
            currency=currency,
            spend_micros_max=spend_micros_max,
            requests_max=requests_max,
        )
    else:
        line = replace(found, currency=currency, spend_micros_max=spend_micros_max, requests_max=requests_max)
        budgets.change(turn.tx, line)
    spending.put_days(turn.tx)
    budgets.put_uses(turn.tx, line.id, spending.recount(turn.tx, line))
    accounts.record_act(
        turn.tx, turn.clock, "budget_set", line.id, actor=turn.actor, data={"line": spending.told(line)}
    )
    return line, found is None


def _would_bound_nothing(found: Line | None) -> str:
    if found is None:
        return "There is no such line to take a bound from: give --spend or --requests."
    return (
        f"Line {found.id} ({spending.told(found)}) would bound nothing any more: end it with"
        f" `onetake budgets end {found.id}`; nothing was changed."
    )


def _check_currency(tx: Tx, scope: Scope, currency: str) -> None:
    for other in budgets.list_open(tx) if currency else ():
        if other.currency and other.currency != currency and overlap(other.scope, scope):
            raise BadValueError(
                f"Line {other.id} ({spending.told(other)}) bounds some of the same spend in {other.currency}, so"
                f" {currency} can't be added up with it: end that line, or give the amount in {other.currency};"
                " nothing was changed."
            )


def end_line(turn: Turn, line_id: str) -> None:
    """Let a line bound nothing any more.

    Raises:
        RoleError: the person may not.
        NotFoundError: no such line stands.
    """
    turn.check_over_all(Act.BUDGET)
    line = next((line for line in budgets.list_open(turn.tx) if line.id == line_id), None)
    if line is None:
        raise NotFoundError(f"There is no budget line {shown(line_id)}: `onetake budgets list` names them.")
    budgets.end(turn.tx, line.id)
    accounts.record_act(
        turn.tx, turn.clock, "budget_ended", line.id, actor=turn.actor, data={"line": spending.told(line)}
    )


def overlap(one: Scope, other: Scope) -> bool:
    """Whether an allowance could stand against lines of both scopes."""
    campaigns = {one.campaign, other.campaign}
    return (
        ("" in (one.account_id, other.account_id) or one.account_id == other.account_id)
        and ("" in (one.provider, other.provider) or one.provider == other.provider)
        and (bool(campaigns & {"", EACH}) or len(campaigns) == 1)
    )


def list_seen(tx: Tx, account: str, person: str) -> list[Line]:
    """The lines that the person may see: of all accounts by a role over the installation, else of the account."""
    member = require(tx, account, person, Act.LOOK)
    sees_all = is_over_all(tx, person, Act.LOOK)
    return [line for line in budgets.list_open(tx) if sees_all or line.scope.account_id == member.account_id]


def _known(turn: Turn, scope: Scope) -> Scope:
    """The scope with the account's id.

    Raises:
        NotFoundError: there is no such account.
        BadValueError: there is no such provider, or no campaign can have that name.
    """
    if scope.campaign not in ("", EACH):
        check_campaign(scope.campaign, what="--campaign")
    if scope.provider and scope.provider not in list_contracts():
        listed = ", ".join(list_contracts())
        raise BadValueError(f"There is no provider {shown(scope.provider)}: known are {listed}.")
    account_id = turn.account_for(scope.account_id, Act.BUDGET) if scope.account_id else ""
    return replace(scope, account_id=account_id)
