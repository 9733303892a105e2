"""What a person may do with a job: `jobs resume`, `jobs cancel` and `attach`. None of it buys by itself."""

from typing import Annotated

import typer

from onetake.cli.asking import act
from onetake.cli.jobs import group
from onetake.cli.printing import ANY_NAME, JobName, Json, emit, run, say


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("attach", context_settings=ANY_NAME)(attach)


def attach(
    job: JobName,
    provider_id: Annotated[str, typer.Argument(metavar="PROVIDER_ID", help="The provider's id, as you found it.")],
    step: Annotated[
        str | None, typer.Option("--step", metavar="NAME", help="Which step, where several are unknown.")
    ] = None,
    *,
    is_sure: Annotated[
        bool, typer.Option("--yes", help="It is this job's, though other unknown requests may have made it.")
    ] = False,
    is_json: Json = False,
) -> None:
    """Give an unknown attempt the provider's id that you found.

    The provider is asked about the id first: one that it doesn't know, that belongs to another attempt, that runs
    another model, or that was made at another time than this request was sent, is refused. One that may be another
    unknown request's as well wants --yes. Buys nothing.
    """
    from onetake.app import open_parts
    from onetake.engine import people
    from onetake.opening import load_settings

    async def look_and_attach() -> int:
        async with open_parts(load_settings()) as parts:
            return (await people.attach(parts, job, provider_id, step_name=step, is_sure=is_sure)).no

    no = run(look_and_attach())
    told = {"attached": provider_id, "attempt": no}
    emit(told) if is_json else say(
        f"{provider_id} was looked at and attached to attempt {no}; a worker polls it from now on."
    )


@group.command("resume", context_settings=ANY_NAME)
def resume(job: JobName, *, is_json: Json = False) -> None:
    """Poll saved ids and fetch files now; release what waits.

    What is finished is fetched from fresh addresses; steps that wait for a person are released. Free: a step that is
    released is sent again only because its last sends provably were not accepted.
    """
    from onetake.engine import people

    done = act(people.resume, job)
    told = {"polls": done.polls, "files": done.files, "steps": done.steps}
    ids = "1 saved id" if done.polls == 1 else f"{done.polls} saved ids"
    steps = "1 step was" if done.steps == 1 else f"{done.steps} steps were"
    if is_json:
        emit(told)
    elif done.polls or done.files or done.steps:
        say(f"{ids} will be polled now{_files(done.files)}, {steps} released.")
    else:
        say(f"Nothing of it can be looked at again for free: `onetake jobs show {job}` says what it waits for.")


def _files(count: int) -> str:
    """What becomes of files that are still to be fetched."""
    files = "1 file" if count == 1 else f"{count} files"
    return f", {files} fetched anew from fresh addresses" if count else ""


@group.command("cancel", context_settings=ANY_NAME)
def cancel(job: JobName, *, is_json: Json = False) -> None:
    """Cancel what was not sent yet.

    What was sent goes on to the provider's final word, and its money stays held until then.
    """
    from onetake.engine import people

    state = str(act(people.cancel, job))
    words = {
        "cancelled": "Cancelled: nothing more is sent.",
        "open": "Cancel requested; what was sent goes on to the provider's final word.",
    }
    emit({"state": state}) if is_json else say(words.get(state, f"The job is {state}."))
