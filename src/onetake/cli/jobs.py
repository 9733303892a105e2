"""`onetake jobs …`, `run`, `attach` and `explain`."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from onetake.cli.orders import create_from_lines, create_one, read_inputs
from onetake.cli.printing import Json, coloured, emit, run, say, timed, when
from onetake.domain.errors import BadValueError, OutcomeUnknownError, SurroundingsError

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from onetake.store.database import Database

JobName = Annotated[str, typer.Argument(metavar="JOB", help="The job's id or key.")]
RecipeName = Annotated[str, typer.Option("--recipe", help="A shipped recipe's name, or a TOML file.")]
Inputs = Annotated[list[str] | None, typer.Option("--input", "-i", metavar="NAME=VALUE", help="An input; repeatable.")]
Key = Annotated[str | None, typer.Option("--key", help="Your own key for this order; else the recipe derives one.")]

TAIL_S = 0.25
"""How often a followed journal is read: quick enough to feel live, too slow to matter to the database."""

group = typer.Typer(help="Make jobs, look at them, and move them on.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.add_typer(group, name="jobs")
    app.command("run")(run_recipe)
    app.command("attach")(attach)
    app.command("explain")(explain)


@group.command("create")
def create(
    recipe: RecipeName,
    inputs: Inputs = None,
    key: Key = None,
    source: Annotated[
        Path | None,
        typer.Option(
            "--from", metavar="FILE", help='A job a line: {"key": "…", "inputs": {…}}; - reads standard input.'
        ),
    ] = None,
    *,
    is_json: Json = False,
) -> None:
    """Order jobs. The same key with the same request is the same job; another request under it is refused."""
    if source is not None and (inputs or key):
        raise BadValueError("Give either --from or --input and --key, not both.")
    if source is None:
        taken = run(create_one(recipe, read_inputs(recipe, inputs or []), key))
        told = {"job": taken.job_id, "key": taken.key, "new": taken.is_new}
        emit(told) if is_json else say(f"{taken.job_id}  {'new' if taken.is_new else 'stood already'}  {taken.key}")
        return
    if not run(create_from_lines(recipe, source, is_json=is_json)):
        raise typer.Exit(2)


@group.command("list")
def list_(
    state: Annotated[str | None, typer.Option("--state", help="Only jobs in this state.")] = None,
    status: Annotated[str | None, typer.Option("--status", help="Only jobs of this status.")] = None,
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="At most so many, newest first.")] = None,
    *,
    is_json: Json = False,
) -> None:
    """List jobs, newest first, and the alarms that stand."""
    from onetake.store import alarms, views

    async def read() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        async with _store() as database:
            found = await database.read(views.list_jobs, state=state, status=status, limit=limit)
            return found, await database.read(alarms.list_open)

    found, standing = run(read())
    if is_json:
        for job in found:
            emit(_object(timed(job)))
        return
    for job in found:
        told = f"{coloured(job['status']):<18}  {job['state']:<24}  {when(job['updated_at'])}"
        say(f"{job['id']}  {told}  {job['key'][:60]}")
    for alarm in standing:
        about = alarm["job_id"] or alarm["subject"]
        say(f"alarm  {alarm['kind']}  since {when(alarm['since'])}  {about}: {alarm['detail']}")
    if not found:
        say("No jobs.")


@group.command("show")
def show(job: JobName, *, is_json: Json = False) -> None:
    """Show one job whole: its steps, attempts, money, cases, alarms and files."""
    from onetake.cli.sheet import lines_of
    from onetake.engine.people import find_job
    from onetake.store import views

    async def read() -> dict[str, Any]:
        async with _store() as database:
            return await database.read(lambda tx: views.get_job(tx, find_job(tx, job)))

    found = run(read())
    if is_json:
        emit(_object(timed(found)))
        return
    for line in lines_of(found):
        say(line)


@group.command("tail")
def tail(job: JobName, *, is_json: Json = False) -> None:
    """Follow a job's journal until the job ends or needs a person."""

    async def follow() -> None:
        async with _store() as database:
            async for line in journal_lines(database, job):
                _print_line(line, is_json=is_json)

    run(follow())


@group.command("resume")
def resume(job: JobName, *, is_json: Json = False) -> None:
    """Poll the saved ids now, fetch again, and release steps that wait for a person. Free: buys nothing."""
    from onetake.app import open_parts
    from onetake.config import Settings
    from onetake.engine import people

    async def act() -> people.Resumed:
        settings = Settings.load()
        async with open_parts(settings) as parts:
            return await parts.act(settings.person, people.resume, job)

    done = run(act())
    told = {"polls": done.polls, "steps": done.steps}
    emit(told) if is_json else say(f"{done.polls} saved ids will be polled now, {done.steps} steps were released.")


@group.command("cancel")
def cancel(job: JobName, *, is_json: Json = False) -> None:
    """Cancel what was not sent. What was sent goes on to the provider's final word; its money stays held."""
    from onetake.app import open_parts
    from onetake.config import Settings
    from onetake.engine import people

    async def act() -> str:
        settings = Settings.load()
        async with open_parts(settings) as parts:
            return str(await parts.act(settings.person, people.cancel, job))

    state = run(act())
    words = (
        "Cancelled."
        if state == "cancelled"
        else f"Cancel requested; the job is {state} until the provider's last word."
    )
    emit({"state": state}) if is_json else say(words)


def attach(
    job: JobName,
    provider_id: Annotated[str, typer.Argument(metavar="PROVIDER_ID", help="The provider's id, as you found it.")],
    step: Annotated[str | None, typer.Option("--step", help="Which step, where several are unknown.")] = None,
    *,
    is_json: Json = False,
) -> None:
    """Give an unknown attempt the provider's id that you found; it is looked at live first."""
    from onetake.app import open_parts
    from onetake.config import Settings
    from onetake.engine import people

    async def act() -> int:
        async with open_parts(Settings.load()) as parts:
            return (await people.attach(parts, job, provider_id, step_name=step)).no

    no = run(act())
    told = {"attached": provider_id, "attempt": no}
    emit(told) if is_json else say(
        f"{provider_id} was looked at and attached to attempt {no}; a worker polls it from now on."
    )


def explain(job: JobName, *, is_json: Json = False) -> None:
    """Tell a job's life in sentences, from its journal."""
    from onetake.engine.people import find_job
    from onetake.store import views

    async def read() -> list[dict[str, Any]]:
        async with _store() as database:
            return await database.read(lambda tx: views.list_journal(tx, find_job(tx, job)["id"]))

    for line in run(read()):
        _print_line(line, is_json=is_json)


def run_recipe(
    recipe: Annotated[str, typer.Argument(metavar="RECIPE", help="A shipped recipe's name, or a TOML file.")],
    inputs: Inputs = None,
    key: Key = None,
    *,
    is_json: Json = False,
) -> None:
    """Order one job and work until it ends or needs a person; other open jobs go on meanwhile."""
    from onetake.cli.running import run_to_the_end

    given = read_inputs(recipe, inputs or [])
    job = run(run_to_the_end(recipe, given, key, lambda line: _print_line(line, is_json=is_json)))
    emit(_object(timed(job))) if is_json else say(f"{job['id']}  {coloured(job['status'])}")
    for output in [] if is_json else job["files"]:
        say(output)
    if job["status"] in ("submission_unknown", "needs_review"):
        raise OutcomeUnknownError(f"Job {job['id']} needs a person: see `onetake jobs show {job['id']}`.")
    if job["status"] != "completed":
        raise SurroundingsError(f"Job {job['id']} is {job['status']}: {job['last_error'] or 'see `onetake explain`'}.")


async def journal_lines(database: "Database", job: str) -> AsyncIterator[dict[str, Any]]:
    """The job's journal lines as they are written, until the job ends or needs a person."""
    from onetake.engine.people import find_job
    from onetake.store import views

    seen = 0
    while True:
        found = await database.read(lambda tx: views.get_job(tx, find_job(tx, job)))
        for line in await database.read(views.list_journal, found["id"], after=seen):
            seen = line["seq"]
            yield line
        if found["status"] in ("completed", "failed", "cancelled", "incomplete", "submission_unknown", "needs_review"):
            return
        from onetake.clock import SystemClock

        await SystemClock().sleep(TAIL_S)


def _print_line(line: dict[str, Any], *, is_json: bool) -> None:
    from onetake.domain.story import sentence

    if is_json:
        emit(_object(timed({**line, "at": None, "recorded_at": line["at"], "sentence": sentence(line)})))
    else:
        say(f"{when(line['at'])}  {sentence(line)}")


def _object(value: object) -> dict[str, object]:
    if not isinstance(value, dict):
        raise TypeError(type(value))
    return value


def _store() -> "AbstractAsyncContextManager[Database]":
    from onetake.app import open_store
    from onetake.config import Settings

    return open_store(Settings.load())
