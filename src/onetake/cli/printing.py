"""What commands print: tables and sentences for people, one JSON object a line for programs."""

import datetime
import json
import os
import sys
from collections.abc import Coroutine, Mapping
from typing import Annotated, Any, TypeVar

import typer

from onetake.domain.errors import OnetakeError

T = TypeVar("T")

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object a line.")]

_COLOURS = {
    "completed": typer.colors.GREEN,
    "failed": typer.colors.RED,
    "cancelled": typer.colors.BRIGHT_BLACK,
    "submission_unknown": typer.colors.YELLOW,
    "needs_review": typer.colors.YELLOW,
    "incomplete": typer.colors.YELLOW,
}


def run(work: Coroutine[Any, Any, T]) -> T:
    """The result of asynchronous work, on uvloop where there is one."""
    import asyncio
    import importlib.util

    has_uvloop = importlib.util.find_spec("uvloop") is not None
    factory = importlib.import_module("uvloop").new_event_loop if has_uvloop else None
    with asyncio.Runner(loop_factory=factory) as runner:
        return runner.run(work)


def say(text: str = "") -> None:
    """One line for a person, at once."""
    typer.echo(text)
    sys.stdout.flush()


def emit(value: Mapping[str, object]) -> None:
    """One JSON object on a line of its own, at once."""
    say(json.dumps(value, ensure_ascii=False, allow_nan=False))


def coloured(status: str) -> str:
    """A status in its colour, where colours are welcome; the word stays the same."""
    colour = _COLOURS.get(status)
    if colour is None or not sys.stdout.isatty() or "NO_COLOR" in os.environ:
        return status
    return typer.style(status, fg=colour)


def when(moment_us: int | None) -> str:
    """A time for people, in UTC; a dash for none."""
    if moment_us is None:
        return "-"
    return datetime.datetime.fromtimestamp(moment_us / 1e6, datetime.UTC).strftime("%Y-%m-%d %H:%M:%S")


def iso(moment_us: int | None) -> str | None:
    """A time for programs, ISO 8601 in UTC to the microsecond; None for none."""
    if moment_us is None:
        return None
    moment = datetime.datetime.fromtimestamp(moment_us // 1_000_000, datetime.UTC)
    return moment.replace(microsecond=moment_us % 1_000_000).isoformat().replace("+00:00", "Z")


def timed(value: object) -> object:
    """The value with each `..._at` and `..._until` in microseconds spelled in ISO 8601."""
    if isinstance(value, dict):
        return {
            key: iso(each)
            if isinstance(each, int) and key.endswith(("_at", "_until", "since", "not_before"))
            else timed(each)
            for key, each in value.items()
        }
    return [timed(each) for each in value] if isinstance(value, list) else value


def fail(error: OnetakeError, *, is_json: bool = False) -> int:
    """Tell an error, with what happened to the money and whether repeating is safe; the exit code."""
    if is_json:
        told = {
            "error": error.code,
            "message": error.sentence,
            "fields": error.fields,
            "money": error.money,
            "repeat_safe": error.repeat_safe,
        }
        emit(told)
    else:
        typer.echo(f"onetake: {error.sentence}", err=True)
        for place, reason in error.fields.items():
            typer.echo(f"  {place} {reason}", err=True)
    return error.exit_code
