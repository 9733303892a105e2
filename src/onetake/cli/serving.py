"""`onetake run`, `worker` and `migrate`: what works."""

from collections.abc import Iterator
from typing import Annotated, Any

import typer

from onetake.cli.jobs import alarm_lines
from onetake.cli.journal import print_line
from onetake.cli.orders import Accepted, Campaign, Consented, Inputs, Key, Lot, make_order
from onetake.cli.printing import Json, coloured, credits_word, emit, run, say, when
from onetake.domain.errors import JobEndedError, OutcomeUnknownError, StorageError, SurroundingsError


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("run")(run_recipe)
    app.command("worker")(worker)
    app.command("migrate")(migrate)


def run_recipe(  # noqa: PLR0917 - options, all of them named
    recipe: Annotated[str, typer.Argument(metavar="RECIPE", help="A shipped recipe's name, or a TOML file.")],
    inputs: Inputs = None,
    key: Key = None,
    accept_up_to: Accepted = None,
    consent: Consented = None,
    campaign: Campaign = None,
    *,
    is_json: Json = False,
) -> None:
    """Order one job and work until it ends or needs a person.

    Other open jobs go on meanwhile. The last lines are the paths of the files. Called again with the same order it
    goes on with the same job. Ctrl-C finishes what is in the air.
    """
    order = make_order(recipe, inputs or [], key, campaign)
    lot = Lot(accept_up_to=accept_up_to, consent=consent)
    from onetake.cli.running import run_to_the_end
    from onetake.telemetry import log_to_stderr

    log_to_stderr(is_json=is_json, is_quiet=True)
    job = run(run_to_the_end(order, lot, lambda line: print_line(line, is_json=is_json)))
    emit(job) if is_json else say(f"{job['id']}  {coloured(job['status'])}  {credits_word(job)}".rstrip())
    for output in [] if is_json else job["outputs"]:
        if output["path"] is not None:
            say(output["path"])
    _judge(job)


def _judge(job: dict[str, Any]) -> None:
    """Return if the job is complete.

    Raises:
        OutcomeUnknownError: something may have been bought, and a person must look.
        JobEndedError: it ended without what was ordered.
        StorageError: a file is gone from where it was stored.
        SurroundingsError: it was left before its end.
    """
    gone = [output["path"] for output in job["outputs"] if output["is_gone"]]
    if gone:
        raise StorageError(f"Job {job['id']} is complete, and {gone[0]} isn't there: put it back from a backup.")
    if job["status"] == "completed":
        return
    look = f"see `onetake jobs show {job['id']}`"
    if any(case["state"] == "open" and case["kind"] != "output_rejected" for case in job["cases"]):
        raise OutcomeUnknownError(f"Job {job['id']} is in doubt and needs a person: {look}.")
    ended = {"failed": "has failed", "cancelled": "was cancelled", "incomplete": "is incomplete"}.get(job["status"])
    why = f" ({job['last_error']})" if job["last_error"] else ""
    if ended is not None:
        raise JobEndedError(f"Job {job['id']} {ended}{why}: {look}; an intended new try is an order under another key.")
    raise SurroundingsError(f"Job {job['id']} stands and isn't at its end yet ({job['status']}{why}): {look}.")


def worker(
    *,
    until_idle: Annotated[
        bool,
        typer.Option("--until-idle", help="Leave once nothing remains but persons and waits of over a minute."),
    ] = False,
    is_json: Json = False,
) -> None:
    """Move jobs on: send, poll, fetch, check.

    Any number of workers may run. Ctrl-C or SIGTERM finishes what is in the air; a second one ends the process at once.
    Logs go to standard error, below them at a terminal how far the jobs are. Ends with 0 when it did its work, whatever
    became of the jobs; the last lines say what is put off, and what waits for a person.
    """
    from onetake.cli.working import work

    left = run(work(until_idle=until_idle, is_json=is_json))
    if is_json:
        emit(left)
        return
    for line in (*alarm_lines(left["alarms"]), *left_lines(left)):
        say(line)


def left_lines(left: dict[str, Any]) -> Iterator[str]:
    """What a worker leaves behind: its jobs, then what is put off, then what waits for a person."""
    yield "Jobs: " + (_list(left["jobs"]) or "none") + "."
    kinds = {"sends": "to be sent", "polls": "to be polled or fetched"}
    waits = [
        f"{each['count']} {kinds[kind]} (from {when(each['not_before'])})"
        for kind, each in left["put_off"].items()
        if each["count"]
    ]
    if waits:
        yield f"Put off: {', '.join(waits)}."
    people = _list({name.replace("_", " "): count for name, count in left["people"].items() if count})
    if people:
        yield f"Waiting for a person: {people}."
    if left["budgets"]:
        steps = "1 step" if left["budgets"] == 1 else f"{left['budgets']} steps"
        yield f"Waiting for a budget: {steps}; see `onetake budgets list`."
    for stop in left["stops"]:
        yield f"Stopped: {stop['kind']} {stop['subject']} ({stop['reason']}); `onetake stops lift` sends again."


def _list(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {what}" for what, count in sorted(counts.items()))


def migrate(*, is_json: Json = False) -> None:
    """Bring the database to this program's schema; a new one is made."""
    from onetake.opening import database_site, load_settings
    from onetake.store import migrate as migrations

    site = database_site(load_settings())
    changed = migrations.migrate(site)
    if is_json:
        emit({"database": site.place, "revision": migrations.HEAD, "changed": changed})
    else:
        say(f"{site.place} is at revision {migrations.HEAD}{'' if changed else ' already'}.")
