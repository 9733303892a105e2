"""`onetake worker`, `migrate` and `sandbox`: what runs."""

from pathlib import Path
from typing import Annotated

import typer

from onetake.cli.printing import Json, emit, run, say
from onetake.domain.errors import BadValueError, SurroundingsError


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("worker")(worker)
    app.command("migrate")(migrate)
    app.command("sandbox")(sandbox)


def worker(
    *,
    until_idle: Annotated[
        bool,
        typer.Option("--until-idle", help="Leave once nothing remains but persons and waits of over a minute."),
    ] = False,
    is_json: Json = False,
) -> None:
    """Move jobs on: send, poll, fetch, check. Any number of workers may run; Ctrl-C finishes what is in the air."""
    from onetake.app import open_parts
    from onetake.cli.running import stop_on_signals, worker_name
    from onetake.config import Settings
    from onetake.engine.worker import Worker
    from onetake.store import views
    from onetake.telemetry import log_to_stderr

    async def work() -> dict[str, int]:
        log_to_stderr(is_json=is_json)
        async with open_parts(Settings.load()) as parts:
            await Worker(parts, name=worker_name()).run(stop_on_signals(), until_idle=until_idle)
            return await parts.database.read(views.count_by_status)

    counts = run(work())
    if is_json:
        emit({"jobs": counts})
    else:
        say("Jobs: " + (", ".join(f"{count} {status}" for status, count in sorted(counts.items())) or "none") + ".")


def migrate(*, is_json: Json = False) -> None:
    """Bring the database to this program's schema; a new one is made."""
    from onetake.config import Settings
    from onetake.store import migrate as migrations

    path = Settings.load().database_path
    changed = migrations.migrate(path)
    if is_json:
        emit({"database": str(path), "revision": migrations.HEAD, "changed": changed})
    else:
        say(f"{path} is at revision {migrations.HEAD}{'' if changed else ' already'}.")


def sandbox(
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Where to listen; 0 takes a free port.")] = 8093,
    seed: Annotated[str, typer.Option("--seed", help="Decides every fault, wait and picture.")] = "1",
    fault: Annotated[
        list[str] | None,
        typer.Option("--fault", metavar="NAME=RATE", help="Seeded fault; repeatable; see --list-faults."),
    ] = None,
    queue_s: Annotated[str, typer.Option("--queue-s", metavar="LO:HI", help="Seconds in the queue.")] = "0.5:1.5",
    render_s: Annotated[str, typer.Option("--render-s", metavar="LO:HI", help="Seconds of rendering.")] = "1:3",
    key: Annotated[list[str] | None, typer.Option("--key", help="A key to accept; none: any is.")] = None,
    state: Annotated[
        Path | None, typer.Option("--state", metavar="FOLDER", help="Keep tasks and files there over restarts.")
    ] = None,
    *,
    tiny: Annotated[bool, typer.Option("--tiny", help="Tiny pictures and clips, for tests.")] = False,
    list_faults: Annotated[bool, typer.Option("--list-faults", help="List the faults and leave.")] = False,
    is_json: Json = False,
) -> None:
    """Run a provider simulator on this machine: reAPI's wire, real pictures and clips, faults, a truthful bill."""
    from onetake.sandbox import FAULTS, SandboxOptions, Span, serve

    if list_faults:
        for each in FAULTS.values():
            emit({"fault": each.name, "does": each.doc}) if is_json else say(f"{each.name:<24}{each.doc}")
        return
    try:
        options = SandboxOptions(
            port=port,
            seed=seed,
            rates={name: float(rate) for name, _, rate in (each.partition("=") for each in fault or [])},
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
        raise SurroundingsError(f"The sandbox can't listen on port {port}: {error.strerror or error}.") from None
    except KeyboardInterrupt:
        return
