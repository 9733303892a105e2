"""`onetake demo`: the whole story on this machine, told by the journal and the bill alone."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from onetake.cli.printing import Json, run

if TYPE_CHECKING:
    from onetake.cli.stage import Stage


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("demo")(demo)


def demo(
    folder: Annotated[
        Path, typer.Option("--folder", metavar="FOLDER", help="Where each run makes a numbered folder of its own.")
    ] = Path("onetake-demo"),
    *,
    stay: Annotated[bool, typer.Option("--stay", help="Keep sandbox and worker running until Ctrl-C.")] = False,
    is_json: Json = False,
) -> None:
    """Show the whole story on this machine.

    Two orders at a simulated provider: a paid answer is lost, the worker is killed, and both jobs come to their end
    without a second purchase. Needs no key and no network. Each line is a command that was run, with a comment on what
    it does to whom, a line of the journal, or a line of the provider's bill; the last line is the path of the clip.
    """
    from onetake.cli.stage import Stage

    run(_perform(Stage(folder, is_json=is_json), is_to_stay=stay))


async def _perform(stage: "Stage", *, is_to_stay: bool) -> None:
    """Play, stay if asked, and leave no process behind, whatever ends it."""
    import asyncio

    from onetake.cli.running import stop_on_signals
    from onetake.cli.theatre import Theatre

    stop = stop_on_signals()
    playing, stopping = asyncio.create_task(Theatre(stage).play()), asyncio.create_task(stop.wait())
    try:
        await asyncio.wait([playing, stopping], return_when=asyncio.FIRST_COMPLETED)
        if not playing.done():
            raise typer.Exit(130)
        clip = playing.result()
        if is_to_stay:
            for name, value in stage.settings.items():
                stage.show("command", f"export {name}={shlex.quote(value)}")
            await stop.wait()
        stage.show("file", str(clip))
    finally:
        playing.cancel()
        stopping.cancel()
        await asyncio.gather(playing, stopping, return_exceptions=True)
        await stage.strike()
