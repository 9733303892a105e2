"""`onetake jobs create`, `list` and `show`: make jobs and look at them."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from onetake.cli.asking import read_account, read_job
from onetake.cli.orders import (
    Accepted,
    Campaign,
    Consented,
    Inputs,
    Key,
    Lot,
    create_from_lines,
    create_one,
    make_order,
)
from onetake.cli.printing import ANY_NAME, JobName, Json, coloured, credits_word, emit, run, say, when
from onetake.domain.errors import BadValueError
from onetake.domain.jsonvalue import shown as escaped
from onetake.domain.states import JobStatus

if TYPE_CHECKING:
    from onetake.engine.members import Member
    from onetake.store.database import Row, Tx

RecipeName = Annotated[
    str | None, typer.Option("--recipe", metavar="NAME|FILE", help="A shipped recipe's name, or a TOML file.")
]
LIMIT_MAX = 1_000_000
"""Longest list: nobody reads more, and every database can count it."""

ALARMS_TOLD_MAX = 20
"""Alarms told one by one where they come after something else: more would push that off the screen."""

Lines = Annotated[
    Path | None,
    typer.Option("--from", metavar="FILE", help='A job a line: {"key": "…", "inputs": {…}}; - is standard input.'),
]

group = typer.Typer(help="Make jobs, look at them, and move them on.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.add_typer(group, name="jobs")


@group.command("create")
def create(  # noqa: PLR0917 - options, all of them named
    recipe: RecipeName = None,
    inputs: Inputs = None,
    key: Key = None,
    source: Lines = None,
    quote: Annotated[
        str | None, typer.Option("--quote", metavar="QUOTE", help="Accept this quote; its recipe and inputs stand.")
    ] = None,
    accept_up_to: Accepted = None,
    consent: Consented = None,
    campaign: Campaign = None,
    *,
    is_json: Json = False,
) -> None:
    """Order jobs; nothing is sent yet.

    The same key with the same request is the same job, however often it is ordered; another request under that key
    is refused. With --from each line stands alone: it is taken or refused by its number, and one that was refused
    makes the exit code 2. Credits are held with the order, up to what was accepted: by --accept-up-to or by --quote.
    """
    if source is not None and (inputs or key or quote):
        raise BadValueError("Give either --from or --input, --key and --quote, not both.")
    if recipe is None and quote is None:
        raise BadValueError("Name a recipe with --recipe, or a quote with --quote.")
    if quote is not None and accept_up_to is not None:
        raise BadValueError("Give either --quote or --accept-up-to: a quote says by itself how much is accepted.")
    lot = Lot(accept_up_to=accept_up_to, consent=consent, campaign=campaign)
    if source is not None and recipe is not None:
        raise typer.Exit(0 if run(create_from_lines(recipe, source, lot, is_json=is_json)) else 2)
    if quote is not None:
        from onetake.cli.quoting import accept

        taken = run(accept(quote, recipe, inputs or [], key, lot))
    else:
        taken = run(create_one(make_order(str(recipe), inputs or [], key, campaign), lot))
    told = {"job": taken.job_id, "key": taken.key, "new": taken.is_new, "held": taken.held}
    held = f"  {taken.held} credits held" if taken.held else ""
    emit(told) if is_json else say(f"{taken.job_id}  {'new' if taken.is_new else 'stood already'}  {taken.key}{held}")


@group.command("list")
def list_(
    state: Annotated[
        str | None, typer.Option("--state", metavar="WORD", help="Only jobs in this state, such as STEP_ready.")
    ] = None,
    status: Annotated[
        JobStatus | None,
        typer.Option("--status", metavar="WORD", help="Only jobs of this status, such as submission_unknown."),
    ] = None,
    campaign: Annotated[
        str | None, typer.Option("--campaign", metavar="NAME", help="Only jobs of this campaign.")
    ] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", metavar="N", min=1, max=LIMIT_MAX, help="At most so many.")
    ] = None,
    *,
    is_json: Json = False,
) -> None:
    """List jobs, newest first, then the alarms that stand.

    Those of the account, each with what became of its credits.
    """
    from onetake.store import alarms, recipes, views

    def look(tx: "Tx", member: "Member") -> "tuple[list[Row], list[Row]]":
        if state is not None:
            _check_state(state, recipes.list_step_names(tx))
        account = member.account_id
        found = views.list_jobs(tx, account_id=account, campaign=campaign, state=state, status=status, limit=limit)
        return found, alarms.list_open(tx, account_id=account)

    found, standing = read_account(look)
    if is_json:
        for job in found:
            emit(job)
        return
    for job in found:
        told = f"{coloured(job['status'], 18)}  {job['state']:<24}  {when(job['updated_at'])}"
        money = f"  {word}" if (word := credits_word(job)) else ""
        warned = f"  [{', '.join(job['alarms'])}]" if job["alarms"] else ""
        say(f"{job['id']}  {told}{money}  {job['key']}{warned}")
    for line in alarm_lines(standing):
        say(line)
    if not found:
        say("No jobs.")


def _check_state(word: str, ordered_steps: list[str]) -> None:
    """Return if jobs with such steps, or those of a recipe that ships, can be in that state.

    Raises:
        BadValueError: no job can; lists the words.
    """
    from onetake.cli.orders import read_menu
    from onetake.domain.projection import job_words, step_words
    from onetake.domain.tables import hint
    from onetake.recipes import list_shipped

    shipped = [step.name for name in list_shipped() for step in read_menu(name).recipe.steps]
    steps = list(dict.fromkeys([*shipped, *ordered_steps]))
    if word in (known := job_words(steps)):
        return
    if word in [str(status) for status in JobStatus]:
        raise BadValueError(f"{word} is a status, the coarser word: use --status {word}.")
    ended = ", ".join(job_words([]))
    raise BadValueError(
        f"No job can be in the state {escaped(word)!r}{hint(word, known)}: known are {ended}, and STEP_WORD with a step"
        f" ({', '.join(steps)}) and a word ({', '.join(step_words())})."
    )


@group.command("show", context_settings=ANY_NAME)
def show(job: JobName, *, is_json: Json = False) -> None:
    """Show one job whole: steps, sends, money, doubts and files."""
    from onetake.cli.sheet import lines_of
    from onetake.opening import load_settings, with_paths
    from onetake.store import views

    found = with_paths(read_job(job, views.get_job), load_settings())
    if is_json:
        emit(found)
        return
    for line in lines_of(found):
        say(line)


def alarm_lines(standing: list[dict[str, Any]]) -> Iterator[str]:
    """The oldest alarms, each as a line: what, since when, about what; and of each kind how many more there are."""
    for alarm in standing[:ALARMS_TOLD_MAX]:
        about = alarm["job_id"] or alarm["subject"]
        yield f"alarm  {alarm['kind']}  since {when(alarm['since'])}  {about}: {alarm['detail']}"
    for kind, count in sorted(Counter(alarm["kind"] for alarm in standing[ALARMS_TOLD_MAX:]).items()):
        yield f"alarm  {kind}  {count} more; `onetake doctor` lists them all"
