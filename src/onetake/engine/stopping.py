"""Stops: nothing is sent to a provider, for a recipe or for an account until a person says so.

A provider whose contract lists an answer as "our account can't buy" stops itself. Polling and collecting go on.
"""

from dataclasses import dataclass

from onetake.domain.errors import NotAllowedError, NotFoundError
from onetake.domain.jsonvalue import shown
from onetake.domain.roles import Act
from onetake.domain.states import StopKind
from onetake.engine.turn import Turn
from onetake.store import accounts, models, recipes, stops
from onetake.store.database import Tx


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
        NotFoundError: there is no such account or recipe.
        RoleError: the person may not.
        NotAllowedError: it is stopped already.
    """
    member = turn.member(Act.STOP)
    subject = _subject(turn.tx, kind, name)
    if not stops.set_(turn.tx, turn.clock, kind, subject, reason=reason, actor=member.person):
        raise NotAllowedError(f"{kind} {name} is stopped already: `onetake stops list` says why.")
    accounts.record_act(turn.tx, turn.clock, "stop", f"{kind}/{subject}", actor=member.person, data={"reason": reason})


def lift(turn: Turn, kind: StopKind, name: str) -> None:
    """Send again.

    Raises:
        NotFoundError: there is no such account or recipe.
        RoleError: the person may not.
        NotAllowedError: it isn't stopped.
    """
    member = turn.member(Act.STOP)
    subject = _subject(turn.tx, kind, name)
    if not stops.lift(turn.tx, kind, subject, actor=member.person):
        raise NotAllowedError(f"{kind} {name} isn't stopped: there is nothing to lift.")
    if kind is StopKind.PROVIDER:
        models.forget(turn.tx, subject)  # what it offers may have changed since
    accounts.record_act(turn.tx, turn.clock, "lift", f"{kind}/{subject}", actor=member.person)


def _subject(tx: Tx, kind: StopKind, name: str) -> str:
    if kind is StopKind.ACCOUNT:
        found = accounts.find(tx, name)
        if found is None:
            raise NotFoundError(f"There is no account {shown(name)}.")
        return str(found["id"])
    if kind is StopKind.RECIPE and not recipes.is_known(tx, name):
        raise NotFoundError(f"No job was ever ordered by a recipe {shown(name)}.")
    return name
