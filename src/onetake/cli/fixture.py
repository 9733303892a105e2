"""`onetake fixture freeze` and `verify`: an approved job in one file, and its chain through a crash and a restart."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from onetake.cli.files import read_whole
from onetake.cli.printing import ANY_NAME, JobName, Json, emit, run, say
from onetake.domain.errors import BadValueError

if TYPE_CHECKING:
    from onetake.domain.fixture import Fixture
    from onetake.domain.rehearsal import Answer, Evidence

FIXTURE_BYTES_MAX = 268_435_456
"""Largest fixture: its still is written in base 64, and the largest that is decoded stays below half of it."""

group = typer.Typer(help="Freeze an approved job as a regression fixture, and verify one.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.add_typer(group, name="fixture")


@group.command("freeze", context_settings=ANY_NAME)
def freeze(
    job: JobName,
    approved_by: Annotated[
        str, typer.Option("--approved-by", metavar="NAME", help="The person who approved the still.")
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="Where to write it; if not given, JOB.fixture.json in this folder."),
    ] = None,
    *,
    is_json: Json = False,
) -> None:
    """Freeze a complete job as a regression fixture.

    One file holds the approved still with its digest, the prompts, the ratio, the recipe and the checksum of the clip's
    first frame. The approval is kept in the job's journal; it publishes nothing.
    """
    from onetake.app import open_parts
    from onetake.domain.fixture import to_text
    from onetake.engine import fixtures
    from onetake.opening import load_settings

    async def act() -> "tuple[Fixture, Path]":
        settings = load_settings()
        async with open_parts(settings) as parts:
            fixture = await fixtures.freeze(parts, job, approved_by=approved_by)
            path = out or Path(f"{fixture.job_id}.fixture.json")
            with _new_file(path, to_text(fixture)):
                await parts.act(settings.person, fixtures.record_frozen, fixture)
            return fixture, path

    fixture, path = run(act())
    told = {"file": str(path), "job": fixture.job_id, "still": fixture.still_digest, "seal": fixture.seal}
    emit(told) if is_json else say(f"{path}  still {fixture.still_digest[:16]}  seal {fixture.seal[:16]}")


@group.command("verify")
def verify(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What `fixture freeze` wrote.")],
    *,
    is_json: Json = False,
) -> None:
    """Run a fixture's chain through a crash and a restart.

    PASS or FAIL, with the evidence. Buys nothing and touches no job: it brings a simulated provider that hands out the
    approved still, a database and storage of its own, and kills a worker with SIGKILL after each saved id. Exit code 0
    for PASS, 1 for FAIL; 2 for a file that isn't as it was approved.
    """
    from onetake.domain.rehearsal import judge

    fixture = _read(file)
    answers = judge(_rehearse(fixture))
    has_passed = all(answer.is_yes for answer in answers)
    if is_json:
        emit(_told(fixture, answers, has_passed=has_passed))
    else:
        for answer in answers:
            say("\n".join(_lines(answer)))
        say("PASS" if has_passed else "FAIL")
    if not has_passed:
        raise typer.Exit(1)


def _read(file: Path) -> "Fixture":
    from onetake.domain.fixture import from_text

    try:
        return from_text(read_whole(file, size_bytes_max=FIXTURE_BYTES_MAX))
    except OSError as error:
        raise BadValueError(f"{file} can't be read ({error.strerror}): name a file of `fixture freeze`.") from None


def _rehearse(fixture: "Fixture") -> "Evidence":
    """The evidence, after the still was found to show what was approved."""
    import tempfile

    from onetake.cli.rehearsal import rehearse
    from onetake.engine.fixtures import check_first_frame

    with tempfile.TemporaryDirectory(prefix="onetake-fixture-") as folder:
        still = Path(folder) / "still"
        still.write_bytes(fixture.still)
        run(check_first_frame(fixture, still))
        return run(rehearse(fixture, Path(folder)))


@contextlib.contextmanager
def _new_file(path: Path, text: str) -> Iterator[None]:
    """A file that wasn't there before, and that stays only if all goes well."""
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise BadValueError(
            f"{path} is there already, and an approved fixture isn't written over: name another."
        ) from None
    except OSError as error:
        raise BadValueError(f"{path} can't be written ({error.strerror}): name another with --out.") from None
    try:
        yield
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def _told(fixture: "Fixture", answers: "tuple[Answer, ...]", *, has_passed: bool) -> dict[str, object]:
    return {
        "verdict": "PASS" if has_passed else "FAIL",
        "still": fixture.still_digest,
        "seal": fixture.seal,
        "answers": [
            {
                "question": answer.question,
                "yes": answer.is_yes,
                "evidence": [{"holds": finding.holds, "says": finding.says} for finding in answer.findings],
            }
            for answer in answers
        ],
    }


def _lines(answer: "Answer") -> Iterator[str]:
    yield f"{'yes' if answer.is_yes else 'NO ':<4} {answer.question}"
    for finding in answer.findings:
        yield f"       {'ok ' if finding.holds else 'NOT'}  {finding.says}"
