"""The command line: parse, call, print. Human words by default, one JSON object a line with `--json`.

Exit codes: 0 ok, 1 the surroundings fail, 2 usage or bad input, 4 not found, 10 outcome unknown, 11 too few credits
or dearer than accepted.
"""

import io
import itertools
import os
import sys
from typing import Annotated

import typer

from onetake import __version__
from onetake.cli import (
    accounts,
    books,
    checks,
    contracts,
    demo,
    fixture,
    jobs,
    journal,
    people,
    quoting,
    reconcile,
    sandbox,
    serving,
)
from onetake.cli.printing import fail, misused
from onetake.domain.errors import BadValueError, OnetakeError
from onetake.domain.jsonvalue import shown, text_fault

_WHO = ("--as", "--account")
"""Options of every command."""

app = typer.Typer(
    name="onetake",
    help="Runs paid, slow generation jobs: each paid request is sent once, and an unknown stays an honest unknown.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(*, wanted: bool) -> None:
    if wanted:
        typer.echo(f"onetake {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    *,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and leave.", callback=_version, is_eager=True)
    ] = False,
    person: Annotated[
        str | None, typer.Option("--as", metavar="PERSON", help="Who acts; else ONETAKE_PERSON, else the owner.")
    ] = None,
    account: Annotated[
        str | None,
        typer.Option("--account", metavar="NAME", help="In which account; else ONETAKE_ACCOUNT__NAME, else `default`."),
    ] = None,
) -> None:
    """Settings come from the environment (ONETAKE_…); none is needed. --as and --account may stand anywhere."""
    del version  # it has left by now
    for name, value in (("ONETAKE_PERSON", person), ("ONETAKE_ACCOUNT__NAME", account)):
        if value is not None:
            os.environ[name] = value  # for this process and those that it starts


for each in (
    demo,
    serving,
    quoting,
    jobs,
    people,
    journal,
    books,
    reconcile,
    accounts,
    fixture,
    checks,
    contracts,
    sandbox,
):
    each.register(app)


def main() -> None:
    """Run the program; errors end as one sentence and an exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # JSON is UTF-8 whatever the terminal's language (RFC 8259, 8.1)
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    try:
        sys.exit(_run(is_json="--json" in sys.argv))
    except typer.Exit as over:  # the output took no more, not even the error
        sys.exit(over.exit_code)


def hoisted(arguments: list[str]) -> list[str]:
    """The arguments with those that say who acts, and where, in front, wherever they stood before a `--`."""
    until = arguments.index("--") if "--" in arguments else len(arguments)
    front: list[str] = []
    rest: list[str] = []
    words = iter(arguments[:until])
    for word in words:
        name, equals, _ = word.partition("=")
        if name not in _WHO:
            rest.append(word)
        else:
            front += [word] if equals else [word, *itertools.islice(words, 1)]
    return [*front, *rest, *arguments[until:]]


def _run(*, is_json: bool) -> int:
    try:
        return int(app(hoisted(sys.argv[1:]), prog_name="onetake", standalone_mode=False) or 0)
    except OnetakeError as error:
        return fail(error, is_json=is_json)
    except typer.TyperException as error:
        return misused(error, is_json=is_json)
    except UnicodeEncodeError:  # a word came as far as the database, which keeps and finds no such text
        strange = next((word for word in sys.argv if text_fault(word)), None)
        if strange is None:
            raise
        sentence = f"{shown(strange)} isn't UTF-8, so nothing can have that name: nothing was changed."
        return fail(BadValueError(sentence), is_json=is_json)


__all__ = ["app", "main"]
