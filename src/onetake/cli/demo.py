"""`onetake demo`: the whole story on this machine, told by the journal and the bill alone."""

from pathlib import Path
from typing import Annotated

import typer

from onetake.cli.printing import Json, run


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("demo")(demo)


def demo(
    folder: Annotated[Path, typer.Option("--folder", help="Where each run makes a numbered folder of its own.")] = Path(
        "onetake-demo"
    ),
    *,
    stay: Annotated[bool, typer.Option("--stay", help="Keep the sandbox and a worker running until Ctrl-C.")] = False,
    is_json: Json = False,
) -> None:
    """Two jobs against a simulated provider: a worker is killed in the middle, a paid answer is lost and found.

    Needs no key and no network. Each line is a command that was run, a line of the journal, or a line of the
    provider's bill; the last line is the path of the clip.
    """
    from onetake.cli.theatre import Theatre

    run(Theatre(folder, is_json=is_json).play(stay=stay))
