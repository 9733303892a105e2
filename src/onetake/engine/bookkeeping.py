"""What people do with accounts and credits: make accounts, let people in, grant, correct. Each act is recorded."""

import zoneinfo

from onetake.domain.errors import BadValueError, NotAllowedError, NotFoundError
from onetake.domain.jsonvalue import shown
from onetake.domain.reasons import check_reason
from onetake.domain.roles import Act
from onetake.domain.states import Role
from onetake.domain.tables import WHOLE_MAX
from onetake.engine.finding import find_in
from onetake.engine.members import require_second
from onetake.engine.turn import Turn
from onetake.store import accounts, ledger
from onetake.store.database import Row

NAME_CHARS_MAX = 100
"""Longest name of an account or a person."""


def create_account(turn: Turn, name: str, *, plan: str, zone: str) -> str:
    """The id of a new account, of which the actor is an owner.

    Raises:
        RoleError: the actor has no role over the installation that permits it.
        BadValueError: the name or the zone can't be taken.
        NotAllowedError: the name is taken.
    """
    turn.check_over_all(Act.ACCOUNT)
    _check_name(name, "an account")
    _check_zone(zone)
    if accounts.find(turn.tx, name) is not None:
        raise NotAllowedError(f"There is an account {shown(name)} already: take another name.")
    account_id = accounts.insert(turn.tx, turn.clock, name=name, plan=plan, zone=zone)
    ledger.open_account(turn.tx, account_id)
    person_id = accounts.insert_person(turn.tx, turn.clock, turn.actor)
    accounts.join(turn.tx, account_id, person_id, Role.OWNER)
    _record(turn, "account", account_id, {"name": name, "plan": plan, "zone": zone})
    return account_id


def change_account(turn: Turn, *, plan: str | None, zone: str | None) -> Row:
    """The account that the actor acts in, under another plan or in another zone.

    Jobs keep the holds that they were ordered with.

    Raises:
        RoleError: the actor may not.
        BadValueError: there is no such zone.
    """
    account_id = _account_sold_to(turn, Act.ACCOUNT)
    if zone is not None:
        _check_zone(zone)
    stands = accounts.get(turn.tx, account_id)
    now: dict[str, str] = {"plan": plan or str(stands["plan"]), "zone": zone or str(stands["zone"])}
    accounts.change(turn.tx, account_id, plan=now["plan"], zone=now["zone"])
    ledger.open_account(turn.tx, account_id)
    _record(turn, "account", account_id, {**now})
    return accounts.get(turn.tx, account_id)


def add_person(turn: Turn, name: str, role: Role) -> None:
    """Let a person act in the account. Owners are made by owners only.

    Raises:
        RoleError: the actor may not let in anybody, or an owner.
        BadValueError: nobody can have such a name.
    """
    member = turn.member(_people_act(role))
    _check_name(name, "a person")
    accounts.join(turn.tx, member.account_id, accounts.insert_person(turn.tx, turn.clock, name), role)
    _record(turn, "person_added", member.account_id, {"name": name, "role": role})


def remove_person(turn: Turn, name: str, role: Role) -> None:
    """Take a role from a person; an account keeps one owner at least.

    Raises:
        RoleError: the actor may not.
        NotFoundError: the person hasn't got the role.
        NotAllowedError: nobody would be left who may do all.
    """
    member = turn.member(_people_act(role))
    if not accounts.leave(turn.tx, member.account_id, name, role):
        raise NotFoundError(f"{shown(name)} isn't {role} of this account.")
    if not any(row["role"] == Role.OWNER for row in accounts.list_people(turn.tx, member.account_id)):
        raise NotAllowedError("An account keeps one owner at least: let another one in first; nothing was changed.")
    _record(turn, "person_removed", member.account_id, {"name": name, "role": role})


def grant(turn: Turn, credits_: int, *, reason: str) -> Row:
    """The balance after so many credits were given to the account.

    Raises:
        RoleError: the actor may not grant.
        BadValueError: it has no reason, or the account would have more than can be counted.
    """
    check_reason(reason)
    account_id = _account_sold_to(turn, Act.GRANT)
    if ledger.get_balance(turn.tx, account_id)["granted"] + credits_ > WHOLE_MAX:
        raise BadValueError(f"An account can be granted {WHOLE_MAX} credits in all: nothing was granted.")
    ledger.grant(turn.tx, turn.clock, account_id, credits_, reason=reason, actor=turn.actor)
    _record(turn, "granted", account_id, {"credits": credits_, "reason": reason})
    return ledger.get_balance(turn.tx, account_id)


def correct(turn: Turn, job_name: str, hold_id: str, *, spent: int, reason: str, second: str | None) -> int:
    """How many credits moved, so that of a closed hold so many are spent in all. It takes two people.

    Raises:
        NotFoundError: there is no such job or hold.
        RoleError: one of the two may not correct.
        ForeignHoldError, ExceedsHoldError, NotAllowedError, NotEnoughCreditsError: see `ledger.correct`.
    """
    check_reason(reason)
    account_id = _account_sold_to(turn, Act.CORRECT)
    other = require_second(turn.tx, turn.actor, second, Act.CORRECT)
    job = find_in(turn.tx, account_id, job_name)
    moved = ledger.correct(
        turn.tx,
        turn.clock,
        hold_id,
        account_id=account_id,
        job_id=job["id"],
        spent=spent,
        reason=reason,
        actor=turn.actor,
        second_actor=other,
    )
    accounts.record_act(
        turn.tx,
        turn.clock,
        "corrected",
        hold_id,
        actor=turn.actor,
        second_actor=other,
        data={"job": job["id"], "spent": spent, "moved": moved, "reason": reason},
    )
    return moved


def _account_sold_to(turn: Turn, act: Act) -> str:
    """The id of the account that is acted in; who sells credits may do this there, its own people may not."""
    turn.check_over_all(act)
    return turn.account_for(turn.account, act)


def _people_act(role: Role) -> Act:
    """The act of giving or taking the role."""
    return Act.OWNERS if role is Role.OWNER else Act.PEOPLE


def _record(turn: Turn, act: str, subject: str, data: dict[str, object]) -> None:
    accounts.record_act(turn.tx, turn.clock, act, subject, actor=turn.actor, data=data)


def _check_name(name: str, whose: str) -> None:
    if not name.strip() or not name.isprintable() or len(name) > NAME_CHARS_MAX or name != name.strip():
        raise BadValueError(
            f"{shown(name)} can't be the name of {whose}: give one line of 1 to {NAME_CHARS_MAX} characters."
        )


def _check_zone(zone: str) -> None:
    try:
        zoneinfo.ZoneInfo(zone)
    except (ValueError, zoneinfo.ZoneInfoNotFoundError):
        raise BadValueError(f"There is no time zone {shown(zone)}: name one such as Europe/Berlin or UTC.") from None
