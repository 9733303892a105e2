"""Budget lines as people set them: checked against one another, counted from what stands already, recorded."""

from onetake.domain.errors import BadValueError, NotFoundError
from onetake.domain.jsonvalue import shown
from onetake.domain.roles import Act
from onetake.engine import spending
from onetake.engine.members import is_over_all, require
from onetake.engine.turn import Turn
from onetake.providers.catalogue import list_contracts
from onetake.store import accounts, budgets
from onetake.store.budgets import EACH, Line, Scope
from onetake.store.database import Tx


def set_line(
    turn: Turn, scope: Scope, *, currency: str, spend_micros_max: int | None, requests_max: int | None
) -> tuple[Line, bool]:
    """The line that now stands for the scope, and whether it is new; what stands against it is counted.

    Args:
        turn: whose act it is.
        scope: whom it binds; the account by its name or id.
        currency: of the spend; empty where only requests are bounded.
        spend_micros_max: most spend at providers; None: no bound.
        requests_max: most requests; None: no bound.

    Raises:
        RoleError: the person may not.
        NotFoundError: there is no such account.
        BadValueError: it bounds nothing, or overlaps with a line in another currency.
    """
    if spend_micros_max is None and requests_max is None:
        raise BadValueError("A budget line bounds spend, requests or both: give --spend or --requests.")
    budgets.lock_all(turn.tx)
    scope = _known(turn, scope)
    for other in budgets.list_open(turn.tx) if currency else ():
        if other.currency and other.currency != currency and overlap(other.scope, scope):
            raise BadValueError(
                f"Line {other.id} ({spending.told(other)}) bounds some of the same spend in {other.currency}, so"
                f" {currency} can't be added up with it: end that line, or give the amount in {other.currency};"
                " nothing was changed."
            )
    found = budgets.find(turn.tx, scope)
    if found is not None and found.currency != currency:
        budgets.end(turn.tx, found.id)  # other bounds of the same line: its currency can't be changed in place
        found = None
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
        budgets.change(turn.tx, found, spend_micros_max=spend_micros_max, requests_max=requests_max)
        line = Line(
            id=found.id,
            scope=scope,
            currency=currency,
            spend_micros_max=spend_micros_max,
            requests_max=requests_max,
        )
    spending.put_days(turn.tx)
    budgets.put_uses(turn.tx, line.id, spending.recount(turn.tx, line))
    accounts.record_act(
        turn.tx, turn.clock, "budget_set", line.id, actor=turn.actor, data={"line": spending.told(line)}
    )
    return line, found is None


def end_line(turn: Turn, line_id: str) -> None:
    """Let a line bound nothing any more.

    Raises:
        RoleError: the person may not.
        NotFoundError: no such line stands.
    """
    line = next((line for line in list_seen(turn.tx, turn.account, turn.actor) if line.id == line_id), None)
    if line is None:
        raise NotFoundError(f"There is no budget line {shown(line_id)}: `onetake budgets list` names them.")
    _check(turn, line.scope)
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


def _check(turn: Turn, scope: Scope) -> str:
    """The id of the scope's account, empty for all; the actor may set budgets for it."""
    if scope.account_id:
        return turn.account_for(scope.account_id, Act.BUDGET)
    turn.check_over_all(Act.BUDGET)
    return ""


def _known(turn: Turn, scope: Scope) -> Scope:
    """The scope with the account's id.

    Raises:
        NotFoundError: there is no such account.
        RoleError: the actor may not set budgets for it.
        BadValueError: there is no such provider.
    """
    if scope.provider and scope.provider not in list_contracts():
        listed = ", ".join(list_contracts())
        raise BadValueError(f"There is no provider {shown(scope.provider)}: known are {listed}.")
    return Scope(account_id=_check(turn, scope), campaign=scope.campaign, provider=scope.provider, period=scope.period)
