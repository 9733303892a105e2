"""`onetake ledger`, `balance` and `budgets`: where the credits are, what may be spent, whether the sums are right."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from onetake.cli.asking import act, read_account, read_job, read_over_all
from onetake.cli.printing import ANY_NAME, JobName, Json, emit, say, when
from onetake.domain.amounts import micros_of, told_micros, whole_bound, whole_credits
from onetake.domain.errors import BadValueError, SurroundingsError
from onetake.domain.jsonvalue import shown
from onetake.domain.states import Period

if TYPE_CHECKING:
    from onetake.engine.members import Member
    from onetake.store.budgets import Line
    from onetake.store.database import Row, Tx

FAULTS_TOLD_MAX = 20
"""Wrong rows that are told: the first is where to look, more than a screen of them says nothing more."""

Reason = Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why; it stays with the entry.")]

ledger_group = typer.Typer(help="Where the credits are, and why.", no_args_is_help=True)
budgets_group = typer.Typer(help="How much may be spent at providers.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.add_typer(ledger_group, name="ledger")
    app.command("balance")(balance)
    app.add_typer(budgets_group, name="budgets")


def balance(*, is_json: Json = False) -> None:
    """Say how many credits the account has, and where they are."""
    from onetake.store import accounts, ledger

    def look(tx: "Tx", member: "Member") -> "Row":
        found = accounts.find(tx, member.account_id)
        name = found["name"] if found else "default"
        return {"account": name, "plan": member.plan, **ledger.get_balance(tx, member.account_id)}

    found = read_account(look)
    emit(found) if is_json else say(_balance(found))


def _balance(found: "Row") -> str:
    sums = f"{found['available']:,} available, {found['held']:,} held, {found['captured']:,} used"
    plan = "" if found["plan"] == "credits" else " (plan none: orders count no credits)"
    return f"{found['account']}: {sums}, of {found['granted']:,} granted{plan}"


@ledger_group.command("list")
def entries(
    job: Annotated[str | None, typer.Option("--job", metavar="JOB", help="Only those of this job.")] = None,
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=1, max=1_000_000, help="At most so many.")] = 100,
    *,
    is_json: Json = False,
) -> None:
    """List the account's entries, newest first.

    Each takes an amount out of one bucket (granted, available, held, captured) and puts it into another.
    """
    from onetake.engine.finding import find_in
    from onetake.store import ledger

    def look(tx: "Tx", member: "Member") -> "list[Row]":
        job_id = None if job is None else find_in(tx, member.account_id, job)["id"]
        return ledger.list_entries(tx, member.account_id, job_id=job_id, limit=limit)

    found = read_account(look)
    for row in found:
        if is_json:
            emit(row)
            continue
        way = f"{row['source']} -> {row['target']}"
        about = f"  {row['job_id']}" if row["job_id"] else ""
        second = f" and {row['second_actor']}" if row["second_actor"] else ""
        told = f"{row['kind']:<10} {row['amount']:>12,}  {way:<22}{about}  by {row['actor']}{second}: {row['reason']}"
        say(f"{when(row['created_at'])}  {told}")
    if not found and not is_json:
        say("No entries.")


@ledger_group.command("grant")
def grant(
    credits_: Annotated[str, typer.Argument(metavar="CREDITS", help="A whole number above 0.")],
    reason: Reason,
    *,
    is_json: Json = False,
) -> None:
    """Give the account credits."""
    from onetake.engine import bookkeeping

    amount = whole_credits(credits_, what="A grant")
    found = act(bookkeeping.grant, amount, reason=reason)
    emit({"granted": amount, "balance": found}) if is_json else say(
        f"{amount:,} credits granted: {found['available']:,} available, {found['held']:,} held,"
        f" {found['captured']:,} used, of {found['granted']:,} granted."
    )


@ledger_group.command("correct")
def correct(
    job: JobName,
    hold: Annotated[str, typer.Argument(metavar="HOLD", help="A closed hold, as `ledger explain` names it.")],
    spent: Annotated[
        int, typer.Option("--spent", metavar="CREDITS", min=0, help="How much of the hold is to be spent in all.")
    ],
    reason: Reason,
    second: Annotated[
        str | None, typer.Option("--second", metavar="PERSON", help="The other person who agrees.")
    ] = None,
    *,
    is_json: Json = False,
) -> None:
    """Correct what was captured or released of a closed hold.

    It takes two people who may. The hold and its closing stay; the correction is an entry of its own.
    """
    from onetake.engine import bookkeeping

    moved = act(bookkeeping.correct, job, hold, spent=spent, reason=reason, second=second)
    emit({"hold": hold, "spent": spent, "moved": moved}) if is_json else say(
        f"{hold}: {spent:,} credits are spent in all; {moved:,} moved."
    )


@ledger_group.command("explain", context_settings=ANY_NAME)
def explain(job: JobName, *, is_json: Json = False) -> None:
    """Tell a job's money in sentences.

    What was held, what became of it, and what the job costs at the provider: whether credits were used or returned.
    """
    from onetake.domain.money_story import tell_money
    from onetake.store import allowances, ledger, views

    def look(tx: "Tx", row: "Row") -> "dict[str, Any]":
        entries = ledger.list_entries(tx, row["account_id"], job_id=row["id"])
        whole = views.get_job(tx, row)
        unknown = [
            step["name"]
            for step in whole["steps"]
            if any(attempt["state"] in ("submitting", "submit_unknown") for attempt in step["attempts"])
        ]
        return {
            "job": row["id"],
            "money": whole["money"],
            "holds": ledger.list_holds(tx, row["id"]),
            "corrections": [entry for entry in reversed(entries) if entry["kind"] == "correction"],
            "spend": allowances.list_of_job(tx, row["id"]),
            "unknown": unknown,
        }

    found = read_job(job, look)
    lines = list(tell_money(found["holds"], found["corrections"], found["spend"], unknown=found["unknown"]))
    if is_json:
        emit({**found, "sentences": lines})
        return
    for hold in found["holds"]:
        say(f"{hold['id']}  {hold['step_name']}.{hold['output_name']}")
    for line in lines:
        say(line)


@ledger_group.command("check")
def check(*, is_json: Json = False) -> None:
    """Make every sum again from the rows under it.

    Of all accounts; reads only, on a live database as well. Ends with 1 if something is wrong, and names the first
    wrong rows.
    """
    from itertools import islice

    from onetake.engine.auditing import find_faults
    from onetake.store import ledger_check

    def look(tx: "Tx") -> "tuple[Row, list[tuple[str, str, str]]]":
        return ledger_check.count(tx), list(islice(find_faults(tx), FAULTS_TOLD_MAX))

    counts, faults = read_over_all(look)
    if is_json:
        found = [{"table": table, "row": row, "fault": fault} for table, row, fault in faults]
        emit({"is_right": not faults, "faults": found, "checked": counts})
    else:
        for table, row, fault in faults:
            say(f"{table} {row} {fault}")
        checked = ", ".join(f"{count:,} {name}" for name, count in counts.items())
        say(f"The books are {'wrong' if faults else 'right'}: {checked} were checked.")
    if faults:
        raise SurroundingsError(
            f"The books are wrong, first in {faults[0][0]} at {faults[0][1]}: keep a copy of it all."
        )


@budgets_group.command("set")
def set_(  # noqa: PLR0917 - options, all of them named
    account: Annotated[
        str | None, typer.Option("--for-account", metavar="NAME", help="Only this account's jobs.")
    ] = None,
    campaign: Annotated[
        str | None,
        typer.Option("--campaign", metavar="NAME", help="Only this campaign's jobs; * is each campaign by itself."),
    ] = None,
    provider: Annotated[
        str | None, typer.Option("--provider", metavar="NAME", help="Only this provider account.")
    ] = None,
    period: Annotated[
        Period, typer.Option("--period", metavar="PERIOD", help="day: of the account's zone; total: for ever.")
    ] = Period.TOTAL,
    spend: Annotated[
        str | None, typer.Option("--spend", metavar="AMOUNT", help='Most spend, with its currency: "12.50 USD".')
    ] = None,
    requests: Annotated[str | None, typer.Option("--requests", metavar="N", help="Most paid requests.")] = None,
    *,
    is_without_spend: Annotated[bool, typer.Option("--no-spend", help="Bound spend no more.")] = False,
    is_without_requests: Annotated[bool, typer.Option("--no-requests", help="Bound requests no more.")] = False,
    is_json: Json = False,
) -> None:
    """Set a budget line: most spend at providers, most requests, or both.

    A job counts at worst, its whole chain and permitted replacements included, from before its first send, and at what
    it did cost once that is known. What would cross a line isn't sent: it waits, with the line named, until there is
    room. Setting a line again changes the bound that is given; the other one stays until it is taken away.
    """
    from onetake.engine import budgeting
    from onetake.store.budgets import Scope

    if (spend is not None and is_without_spend) or (requests is not None and is_without_requests):
        raise BadValueError("A bound can't be set and taken away at once: leave out one of the two options.")
    micros, currency = _spend(spend)
    scope = Scope(
        account_id=_name(account, "--for-account"),
        campaign=_name(campaign, "--campaign"),
        provider=_name(provider, "--provider"),
        period=period,
    )
    line, is_new = act(
        budgeting.set_line,
        scope,
        currency=currency,
        spend_micros_max=micros,
        requests_max=None if requests is None else whole_bound(requests, what="--requests"),
        keeps_spend=not is_without_spend,
        keeps_requests=not is_without_requests,
    )
    emit({**_told(line), "new": is_new}) if is_json else say(f"{line.id}  {_words(line)}")


def _name(text: str | None, option: str) -> str:
    """The name; empty for anybody, which only an option that is left out says."""
    if text is None:
        return ""
    if not text.strip():
        raise BadValueError(f"{option} is blank, which names nobody: leave it out to bound everybody's.")
    return text


def _spend(text: str | None) -> tuple[int | None, str]:
    if text is None:
        return None, ""
    amount, _, currency = text.strip().partition(" ")
    if len(currency) != 3 or not currency.isascii() or not currency.isupper() or not currency.isalpha():
        raise BadValueError(f'--spend must be an amount with its currency, such as "12.50 USD", not {shown(text)!r}.')
    return micros_of(amount, what="--spend"), currency


@budgets_group.command("end")
def end(
    line: Annotated[str, typer.Argument(metavar="LINE", help="As `budgets list` names it.")], *, is_json: Json = False
) -> None:
    """Let a budget line bound nothing any more."""
    from onetake.engine import budgeting

    act(budgeting.end_line, line)
    emit({"line": line, "ended": True}) if is_json else say(f"{line} bounds nothing any more.")


@budgets_group.command("list")
def list_(*, is_json: Json = False) -> None:
    """List the budget lines, with what stands against each now and how many jobs wait for it."""
    from onetake.engine import budgeting, spending
    from onetake.store import budgets

    def look(tx: "Tx", member: "Member") -> "list[tuple[Line, list[Row], int]]":
        return [
            (line, spending.list_running(tx, line), budgets.count_waiting(tx, line.id))
            for line in budgeting.list_seen(tx, member.account_id, member.person)
        ]

    found = read_account(look)
    for line, uses, waiting in found:
        if is_json:
            emit({**_told(line), "uses": uses, "waiting": waiting})
            continue
        steps = "1 step waits" if waiting == 1 else f"{waiting} steps wait"
        waits = f"; {steps} for it" if waiting else ""
        say(f"{line.id}  {_words(line)}{waits}")
        for use in uses:
            zone = f"in {', '.join(use['zones'])}" if len({each["day"] for each in uses}) > 1 else ""
            where = " ".join(filter(None, (use["day"], zone, use["campaign"]))) or "in all"
            spent = f"{told_micros(use['spend_micros'], line.currency)}, " if line.currency else ""
            say(f"    {where}: {spent}{spending.told_requests(use['requests'])}")
    if not found and not is_json:
        say("No budget lines: nothing is bounded.")


def _words(line: "Line") -> str:
    from onetake.engine import spending

    return spending.told(line)


def _told(line: "Line") -> dict[str, object]:
    return {
        "line": line.id,
        "account_id": line.scope.account_id,
        "campaign": line.scope.campaign,
        "provider": line.scope.provider,
        "period": str(line.scope.period),
        "currency": line.currency,
        "spend_micros_max": line.spend_micros_max,
        "requests_max": line.requests_max,
    }
