"""`onetake sandbox`: a provider simulator on this machine."""

from pathlib import Path
from typing import Annotated

import typer

from onetake.cli.printing import Json, emit, run, say
from onetake.domain.errors import BadValueError, SurroundingsError


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("sandbox")(sandbox)


def sandbox(  # noqa: PLR0917 - typer fills them by name
    port: Annotated[
        int, typer.Option("--port", metavar="N", min=0, max=65535, help="Where to listen; 0 takes a free port.")
    ] = 8093,
    seed: Annotated[str, typer.Option("--seed", metavar="TEXT", help="Decides every fault, wait and picture.")] = "1",
    fault: Annotated[
        list[str] | None,
        typer.Option("--fault", metavar="NAME=RATE", help="Seeded fault, rate 0 to 1; repeatable; see --list-faults."),
    ] = None,
    queue_s: Annotated[str, typer.Option("--queue-s", metavar="LO:HI", help="Seconds in the queue.")] = "0.5:1.5",
    render_s: Annotated[str, typer.Option("--render-s", metavar="LO:HI", help="Seconds of rendering.")] = "1:3",
    key: Annotated[
        list[str] | None, typer.Option("--key", metavar="KEY", help="A key to accept; none: any is; repeatable.")
    ] = None,
    state: Annotated[
        Path | None, typer.Option("--state", metavar="FOLDER", help="Keep tasks and files there over restarts.")
    ] = None,
    *,
    tiny: Annotated[bool, typer.Option("--tiny", help="Tiny pictures and clips, for tests.")] = False,
    list_faults: Annotated[bool, typer.Option("--list-faults", help="List the faults and leave.")] = False,
    is_json: Json = False,
) -> None:
    """Run a provider simulator on this machine until Ctrl-C.

    It speaks reAPI's wire, draws real pictures and clips, fails in the ways it is told to, and keeps a truthful bill at
    /_bill. Its first line is `ready ORIGIN`.
    """
    from onetake.sandbox import FAULTS, SandboxOptions, Span, serve

    if list_faults:
        for each in FAULTS.values():
            emit({"fault": each.name, "does": each.doc}) if is_json else say(f"{each.name:<24}{each.doc}")
        return
    try:
        options = SandboxOptions(
            port=port,
            seed=seed,
            rates=dict(_rate(each) for each in fault or []),
            queue_s=Span.parse(queue_s),
            render_s=Span.parse(render_s),
            keys=tuple(key or ()),
            folder=state,
            tiny=tiny,
        )
    except ValueError as error:
        raise BadValueError(f"The sandbox can't start like that: {error}.") from None

    def announce(line: str) -> None:
        emit({"ready": line.removeprefix("ready ")}) if is_json else say(line)

    try:
        run(serve(options, announce))
    except OSError as error:
        place = f"in {error.filename}" if error.filename else f"on port {port}"
        reason = error.strerror if error.filename else "it is taken, or not ours to take"
        raise SurroundingsError(f"The sandbox can't start {place} ({reason}): name another.") from None


def _rate(option: str) -> tuple[str, float]:
    name, _, rate = option.partition("=")
    try:
        return name, float(rate)
    except ValueError:
        raise BadValueError(f"--fault {option[:60]!r} isn't NAME=RATE, such as accept_then_drop=0.1.") from None
