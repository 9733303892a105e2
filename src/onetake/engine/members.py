"""Who acts, in which account, and whether that is permitted; what is somebody else's looks as if it weren't there."""

from dataclasses import dataclass
from typing import NamedTuple

from onetake.config import Settings
from onetake.domain.errors import NotFoundError, RoleError
from onetake.domain.jsonvalue import shown
from onetake.domain.pricing import NO_CREDITS
from onetake.domain.roles import TOLD, Act, may
from onetake.domain.states import Role
from onetake.store import accounts
from onetake.store.database import Tx


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A person in an account.

    Attributes:
        plan: `none` or `credits`.
        zone: the IANA time zone of the account's days.
    """

    account_id: str
    plan: str
    zone: str
    person: str
    roles: frozenset[Role]


class Who(NamedTuple):
    """In which account, by name or id, and as which person."""

    account: str = accounts.EMBEDDED_NAME
    person: str = accounts.OWNER_NAME


def who_of(settings: Settings) -> Who:
    """Who acts in this process."""
    return Who(account=settings.account.name, person=settings.person)


EMBEDDED = Member(
    account_id=accounts.EMBEDDED,
    plan=NO_CREDITS,
    zone="UTC",
    person=accounts.OWNER_NAME,
    roles=frozenset({Role.OWNER}),
)
"""The embedded owner in the embedded account, whether or not they were made yet."""


def require(tx: Tx, account: str, person: str, act: Act) -> Member:
    """The person as a member of the account, who may do this.

    Args:
        tx: a transaction, or a snapshot.
        account: its name or id.
        person: the name.
        act: what is to be done.

    Raises:
        NotFoundError: there is no such account, or the person has no part in it.
        RoleError: the person's roles don't permit the act.
    """
    found = accounts.find_member(tx, account, person)
    if not found and account in accounts.EMBEDDED_NAMES and person == accounts.OWNER_NAME:
        return EMBEDDED  # made with the first order
    roles = frozenset(Role(row["role"]) for row in found if row["role"])
    if not roles:
        raise NotFoundError(
            f"There is no account {shown(account)!r} in which {shown(person)!r} may act: check ONETAKE_ACCOUNT__NAME"
            " and ONETAKE_PERSON, or let an owner add the person with `onetake people add`."
        )
    if not may(roles, act):
        told = " and ".join(sorted(roles))
        raise RoleError(f"{person} is {told} of {found[0]['name']}, and may not {TOLD[act]} there.")
    row = found[0]
    return Member(account_id=row["id"], plan=row["plan"], zone=row["zone"], person=person, roles=roles)


def is_over_all(tx: Tx, person: str, act: Act) -> bool:
    """Whether the person may do this for all accounts: a role in the embedded account holds over the installation."""
    return may(_roles_over_all(tx, person), act)


def check_over_all(tx: Tx, person: str, act: Act) -> None:
    """Return if the person may do this for all accounts together.

    Raises:
        RoleError: the person's roles over the installation don't permit the act.
    """
    if not is_over_all(tx, person, act):
        raise RoleError(
            f"{shown(person)} may not {TOLD[act]}: it concerns every account, and takes a role in the account"
            f" {accounts.EMBEDDED_NAME}."
        )


def account_for(tx: Tx, name: str, person: str, act: Act) -> str:
    """The id of the account of that name or id, for which the person may do this: by a role in it, or over all.

    Raises:
        NotFoundError: there is no such account, or the person has no part in it.
        RoleError: the person's roles don't permit the act.
    """
    found = accounts.find_member(tx, name, person)
    roles = frozenset(Role(row["role"]) for row in found if row["role"]) | _roles_over_all(tx, person)
    if not found or not roles:
        raise NotFoundError(f"There is no account {shown(name)} for which {shown(person)} may act.")
    if not may(roles, act):
        raise RoleError(f"{shown(person)} may not {TOLD[act]} for account {shown(name)}.")
    return str(found[0]["id"])


def _roles_over_all(tx: Tx, person: str) -> frozenset[Role]:
    if person == accounts.OWNER_NAME and accounts.find(tx, accounts.EMBEDDED) is None:
        return EMBEDDED.roles
    return accounts.roles_of(tx, accounts.EMBEDDED, person)


def require_second(tx: Tx, first: str, second: str | None, act: Act) -> str:
    """The name of the second person that an act takes which concerns more than one account's own people.

    Raises:
        RoleError: nobody is named, it is the same person, or one whose roles don't permit the act.
    """
    if second is None or second == first:
        raise RoleError(f"It takes two people to {TOLD[act]}: name another one with --second.")
    if not is_over_all(tx, second, act):
        raise RoleError(f"{shown(second)} may not {TOLD[act]}: name another person with --second.")
    return second
