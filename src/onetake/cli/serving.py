"""`onetake run`, `worker` and `migrate`: what works."""

from collections.abc import Iterator
from typing import Annotated, Any

import typer

from onetake.cli.jobs import alarm_lines
from onetake.cli.journal import print_line
from onetake.cli.orders import Inputs, Key, make_order
from onetake.cli.printing import Json, coloured, emit, run, say, when
from onetake.domain.errors import OutcomeUnknownError, StorageError, SurroundingsError


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("run")(run_recipe)
    app.command("worker")(worker)
    app.command("migrate")(migrate)


def run_recipe(
    recipe: Annotated[str, typer.Argument(metavar="RECIPE", help="A shipped recipe's name, or a TOML file.")],
    inputs: Inputs = None,
    key: Key = None,
    *,
    is_json: Json = False,
) -> None:
    """Order one job and work until it ends or needs a person.

    Other open jobs go on meanwhile. The last lines are the paths of the files. Called again with the same order it
    goes on with the same job. Ctrl-C finishes what is in the air.
    """
    order = make_order(recipe, inputs or [], key)
    from onetake.cli.running import run_to_the_end
    from onetake.telemetry import log_to_stderr

    log_to_stderr(is_json=is_json, is_quiet=True)
    job = run(run_to_the_end(order, lambda line: print_line(line, is_json=is_json)))
    emit(job) if is_json else say(f"{job['id']}  {coloured(job['status'])}")
    for output in [] if is_json else job["outputs"]:
        if output["path"] is not None:
            say(output["path"])
    _judge(job)


def _judge(job: dict[str, Any]) -> None:
    """Return if the job is complete.

    Raises:
        OutcomeUnknownError: something may have been bought, and a person must look.
        SurroundingsError: it ended otherwise, or was left before its end.
    """
    gone = [output["path"] for output in job["outputs"] if output["is_gone"]]
    if gone:
        raise StorageError(f"Job {job['id']} is complete, and {gone[0]} isn't there: put it back from a backup.")
    if job["status"] == "completed":
        return
    look = f"see `onetake jobs show {job['id']}`"
    if any(case["state"] == "open" and case["kind"] != "output_rejected" for case in job["cases"]):
        raise OutcomeUnknownError(f"Job {job['id']} is in doubt and needs a person: {look}.")
    raise SurroundingsError(f"Job {job['id']} is {job['status']} ({job['last_error'] or 'not at its end'}): {look}.")


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
