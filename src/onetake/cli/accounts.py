"""`onetake accounts`, `people` and `stops`: who may do what where, and what isn't sent until somebody says so."""

import enum
from typing import TYPE_CHECKING, Annotated

import typer

from onetake.cli.asking import act, read, read_account
from onetake.cli.printing import Json, emit, say, when
from onetake.domain.states import Role, StopKind

if TYPE_CHECKING:
    from onetake.engine.members import Member
    from onetake.store.database import Row, Tx


class Plan(enum.StrEnum):
    """What an account's orders are paid with."""

    NONE = "none"
    CREDITS = "credits"


AccountName = Annotated[str, typer.Argument(metavar="NAME", help="The account's name.")]
PersonName = Annotated[str, typer.Argument(metavar="PERSON", help="The person's name, as ONETAKE_PERSON has it.")]
RoleName = Annotated[
    Role, typer.Option("--role", metavar="ROLE", help="owner, operator, reviewer, publisher or admin.")
]
Zone = Annotated[
    str | None, typer.Option("--zone", metavar="ZONE", help="Its days, for budgets: such as Europe/Berlin.")
]

accounts_group = typer.Typer(help="Accounts own jobs, credits and files.", no_args_is_help=True)
people_group = typer.Typer(help="Who may act in an account, and as what.", no_args_is_help=True)
stops_group = typer.Typer(help="What isn't sent until a person says so.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.add_typer(accounts_group, name="accounts")
    app.add_typer(people_group, name="people")
    app.add_typer(stops_group, name="stops")


@accounts_group.command("create")
def create(
    name: AccountName,
    plan: Annotated[Plan, typer.Option("--plan", metavar="PLAN", help="none or credits.")] = Plan.CREDITS,
    zone: Zone = None,
    *,
    is_json: Json = False,
) -> None:
    """Make an account, of which you are the owner.

    Under plan `credits` an order holds what it may cost, and is refused where too few credits are available; under
    plan `none` nothing is counted. Act in it with --account NAME or ONETAKE_ACCOUNT__NAME.
    """
    from onetake.engine import bookkeeping

    account_id = act(bookkeeping.create_account, name, plan=str(plan), zone=zone or "UTC")
    told = {"account": account_id, "name": name, "plan": str(plan), "zone": zone or "UTC"}
    emit(told) if is_json else say(f"{account_id}  {name}  plan {plan}, days of {zone or 'UTC'}")


@accounts_group.command("set")
def change(
    plan: Annotated[Plan | None, typer.Option("--plan", metavar="PLAN", help="none or credits.")] = None,
    zone: Zone = None,
    *,
    is_json: Json = False,
) -> None:
    """Give the account that you act in another plan or another zone.

    Jobs keep what is held for them.
    """
    from onetake.engine import bookkeeping

    found = act(bookkeeping.change_account, plan=None if plan is None else str(plan), zone=zone)
    told = {"account": found["id"], "name": found["name"], "plan": found["plan"], "zone": found["zone"]}
    emit(told) if is_json else say(f"{found['id']}  {found['name']}  plan {found['plan']}, days of {found['zone']}")


@accounts_group.command("list")
def list_(*, is_json: Json = False) -> None:
    """List the accounts in which you may act, with their credits."""
    from onetake.opening import load_settings
    from onetake.store import accounts

    person = load_settings().person

    def look(tx: "Tx") -> "list[Row]":
        return [row for row in accounts.list_all(tx) if accounts.roles_of(tx, row["id"], person)]

    found = read(look)
    for row in found:
        if is_json:
            emit(row)
            continue
        money = (
            "no credits are counted"
            if row["plan"] == "none"
            else f"{row['available']:,} available, {row['held']:,} held, {row['captured']:,} used"
        )
        say(f"{row['id']}  {row['name']}  plan {row['plan']}, days of {row['zone']}: {money}")
    if not found and not is_json:
        say("No accounts yet: the embedded one, `default`, is made with the first order.")


@people_group.command("add")
def add(name: PersonName, role: RoleName, *, is_json: Json = False) -> None:
    """Let a person act in the account that you act in."""
    from onetake.engine import bookkeeping

    act(bookkeeping.add_person, name, role)
    emit({"person": name, "role": str(role)}) if is_json else say(f"{name} is {role} now.")


@people_group.command("remove")
def remove(name: PersonName, role: RoleName, *, is_json: Json = False) -> None:
    """Take a role from a person.

    An account keeps one owner at least; what the person did stays recorded.
    """
    from onetake.engine import bookkeeping

    act(bookkeeping.remove_person, name, role)
    emit({"person": name, "role": str(role), "removed": True}) if is_json else say(f"{name} isn't {role} any more.")


@people_group.command("list")
def people(*, is_json: Json = False) -> None:
    """List who may act in the account."""
    from onetake.store import accounts

    def look(tx: "Tx", member: "Member") -> "list[Row]":
        return accounts.list_people(tx, member.account_id)

    for row in read_account(look):
        emit(row) if is_json else say(f"{row['name']}  {row['role']}  since {when(row['created_at'])}")


KindName = Annotated[StopKind, typer.Argument(metavar="KIND", help="provider, recipe or account.")]
Subject = Annotated[str, typer.Argument(metavar="NAME", help="Which one.")]


@stops_group.command("set")
def stop(
    kind: KindName,
    name: Subject,
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why, for whoever lifts it.")],
    *,
    is_json: Json = False,
) -> None:
    """Send nothing more to a provider, for a recipe or for an account.

    What is in the air, polls and downloads go on; nothing that waits is lost.
    """
    from onetake.engine import stopping

    act(stopping.stop, kind, name, reason)
    emit({"kind": str(kind), "subject": name, "stopped": True}) if is_json else say(
        f"Nothing more is sent for {kind} {name}; `onetake stops lift {kind} {name}` sends again."
    )


@stops_group.command("lift")
def lift(kind: KindName, name: Subject, *, is_json: Json = False) -> None:
    """Send again."""
    from onetake.engine import stopping

    act(stopping.lift, kind, name)
    emit({"kind": str(kind), "subject": name, "stopped": False}) if is_json else say(
        f"{kind} {name} is sent for again."
    )


@stops_group.command("list")
def stops(
    *, is_all: Annotated[bool, typer.Option("--all", help="Those that were lifted too.")] = False, is_json: Json = False
) -> None:
    """List what is stopped, by whom and why."""
    from onetake.engine import stopping
    from onetake.opening import load_settings

    settings = load_settings()
    found = read(lambda tx: stopping.list_seen(tx, settings.account.name, settings.person, is_all=is_all))
    for row in found:
        if is_json:
            emit(row)
            continue
        lifted = f", lifted {when(row['lifted_at'])} by {row['lifted_by']}" if row.get("lifted_at") else ""
        say(f"{row['kind']} {row['subject']}  since {when(row['since'])} by {row['actor']}{lifted}: {row['reason']}")
    if not found and not is_json:
        say("Nothing is stopped.")
