"""The command line: parse, call, print. Human words by default, one JSON object a line with `--json`.

Exit codes: 0 ok, 1 the surroundings fail, 2 usage or bad input, 4 not found, 10 outcome unknown.
"""

import sys
from typing import Annotated

import typer

from onetake import __version__
from onetake.cli import checks, demo, jobs, serving
from onetake.cli.printing import fail
from onetake.domain.errors import OnetakeError

app = typer.Typer(
    name="onetake",
    help="Runs paid, slow generation jobs: each paid request is sent once, and an unknown stays an honest unknown.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
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
) -> None:
    """Settings come from the environment (ONETAKE_…); none is needed."""


jobs.register(app)
serving.register(app)
checks.register(app)
demo.register(app)


def main() -> None:
    """Run the program; errors end as one sentence and an exit code."""
    try:
        app()
    except OnetakeError as error:
        sys.exit(fail(error, is_json="--json" in sys.argv))
    except BrokenPipeError:
        sys.exit(0)


__all__ = ["app", "main"]
