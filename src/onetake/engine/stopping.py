"""Stops: nothing is sent to a provider, for a recipe or for an account until a person says so.

A provider whose contract lists an answer as "our account can't buy" stops itself. Polling and collecting go on.
"""

from dataclasses import dataclass

from onetake.domain.errors import NotAllowedError, NotFoundError
from onetake.domain.jsonvalue import shown
from onetake.domain.reasons import check_reason
from onetake.domain.roles import Act
from onetake.domain.states import StopKind
from onetake.engine.members import is_over_all, require
from onetake.engine.turn import Turn
from onetake.providers.catalogue import list_contracts
from onetake.store import accounts, models, recipes, stops
from onetake.store.database import Row, Tx


@dataclass(frozen=True, slots=True)
class Stopped:
    """What may not be sent now, as one transaction finds it: provider accounts, recipes and accounts."""

    providers: frozenset[str]
    recipes: frozenset[str]
    accounts: frozenset[str]

    @classmethod
    def find(cls, tx: Tx) -> "Stopped":
        """The stops that stand."""
        rows = stops.list_open(tx)
        found = {kind: frozenset(row["subject"] for row in rows if row["kind"] == kind) for kind in StopKind}
        return cls(found[StopKind.PROVIDER], found[StopKind.RECIPE], found[StopKind.ACCOUNT])


def stop_provider(turn: Turn, provider: str, reason: str) -> None:
    """Send nothing more to a provider account that can't buy, until a person has looked at it."""
    stops.set_(turn.tx, turn.clock, StopKind.PROVIDER, provider, reason=reason, actor=turn.actor)


def stop(turn: Turn, kind: StopKind, name: str, reason: str) -> None:
    """Send nothing more for it.

    Raises:
        NotFoundError: there is no such account, provider or recipe.
        RoleError: the person may not: providers and recipes are stopped for every account.
        NotAllowedError: it is stopped already.
        BadValueError: no reason is given.
    """
    check_reason(reason)
    subject = _subject(turn, kind, name)
    if not stops.set_(turn.tx, turn.clock, kind, subject, reason=reason, actor=turn.actor):
        raise NotAllowedError(f"{kind} {name} is stopped already: `onetake stops list` says why.")
    accounts.record_act(turn.tx, turn.clock, "stop", f"{kind}/{subject}", actor=turn.actor, data={"reason": reason})


def lift(turn: Turn, kind: StopKind, name: str) -> None:
    """Send again.

    Raises:
        NotFoundError: there is no such account, provider or recipe.
        RoleError: the person may not: providers and recipes are stopped for every account.
        NotAllowedError: it isn't stopped.
    """
    subject = _subject(turn, kind, name)
    _check_setter(turn, kind, subject)
    if not stops.lift(turn.tx, kind, subject, actor=turn.actor):
        raise NotAllowedError(f"{kind} {name} isn't stopped: there is nothing to lift.")
    if kind is StopKind.PROVIDER:
        models.forget(turn.tx, subject)  # what it offers may have changed since
    accounts.record_act(turn.tx, turn.clock, "lift", f"{kind}/{subject}", actor=turn.actor)


def list_seen(tx: Tx, account: str, person: str, *, is_all: bool) -> list[Row]:
    """The stops that the person may see, those of other accounts left out; with `is_all` those that were lifted too."""
    member = require(tx, account, person, Act.LOOK)
    sees_all = is_over_all(tx, person, Act.LOOK)
    return [
        row
        for row in (stops.list_all(tx) if is_all else stops.list_open(tx))
        if sees_all or row["kind"] != StopKind.ACCOUNT or row["subject"] == member.account_id
    ]


def _check_setter(turn: Turn, kind: StopKind, subject: str) -> None:
    """What somebody set by a role over the installation isn't the account's own people's to lift."""
    setters = [row["actor"] for row in stops.list_open(turn.tx) if (row["kind"], row["subject"]) == (kind, subject)]
    if any(is_over_all(turn.tx, setter, Act.STOP) for setter in setters):
        turn.check_over_all(Act.STOP)


def _subject(turn: Turn, kind: StopKind, name: str) -> str:
    if kind is StopKind.ACCOUNT:
        return turn.account_for(name, Act.STOP)
    turn.check_over_all(Act.STOP)
    if kind is StopKind.RECIPE and not recipes.is_known(turn.tx, name):
        raise NotFoundError(f"No job was ever ordered by a recipe {shown(name)}.")
    if kind is StopKind.PROVIDER and name not in list_contracts():
        raise NotFoundError(f"There is no provider {shown(name)}: known are {', '.join(list_contracts())}.")
    return name
