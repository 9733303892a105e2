"""`onetake jobs tail` and `explain`: a job's journal, as it grows or whole."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from onetake.cli.asking import read_job
from onetake.cli.jobs import group
from onetake.cli.printing import ANY_NAME, JobName, Json, emit, run, say, when
from onetake.domain.states import JobStatus

if TYPE_CHECKING:
    from onetake.engine.members import Who
    from onetake.store.database import Reader

TAIL_S = 0.25
"""How often a followed journal is read: quick enough to feel live, too slow to matter to the database."""

_AT_REST = frozenset(JobStatus) - {
    JobStatus.PREPARING,
    JobStatus.UPLOADING,
    JobStatus.SUBMITTING,
    JobStatus.QUEUED,
    JobStatus.IN_PROGRESS,
    JobStatus.PROCESSING,
}


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("explain", context_settings=ANY_NAME)(explain)


@group.command("tail", context_settings=ANY_NAME)
def tail(job: JobName, *, is_json: Json = False) -> None:
    """Follow a job's journal until the job ends or needs a person."""
    from onetake.engine.members import who_of
    from onetake.opening import load_settings, open_store

    settings = load_settings()

    async def follow() -> None:
        async with open_store(settings) as database:
            async for line in journal_lines(database, job, who_of(settings)):
                print_line(line, is_json=is_json)

    run(follow())


def explain(
    job: JobName,
    svg: Annotated[
        Path | None, typer.Option("--svg", metavar="FILE", help="Draw it instead, as a picture in this file.")
    ] = None,
    *,
    is_json: Json = False,
) -> None:
    """Tell a job's life in sentences, or draw it.

    Both are made from the job's journal alone.
    """
    from onetake.store import views

    if svg is not None:
        from onetake.cli.timeline import draw

        draw(job, svg)
        emit({"file": str(svg)}) if is_json else say(str(svg))
        return
    for line in read_job(job, lambda tx, row: views.list_journal(tx, row["id"])):
        print_line(line, is_json=is_json)


async def journal_lines(database: "Reader", job: str, who: "Who") -> AsyncIterator[dict[str, Any]]:
    """The job's journal lines as they are written, until the job ends or needs a person."""
    from onetake.clock import SystemClock
    from onetake.engine.finding import find_job
    from onetake.store import views

    seen, clock = 0, SystemClock()
    while True:
        found = await database.read(lambda tx: views.get_job(tx, find_job(tx, job, who)))
        for line in await database.read(views.list_journal, found["id"], after=seen):
            seen = line["seq"]
            yield line
        if found["status"] in _AT_REST:
            return
        await clock.sleep(TAIL_S)


def print_line(line: dict[str, Any], *, is_json: bool) -> None:
    """One journal line, as a sentence or as an object with its facts and the sentence."""
    from onetake.domain.story import sentence

    emit({**line, "sentence": sentence(line)}) if is_json else say(f"{when(line['at'])}  {sentence(line)}")
