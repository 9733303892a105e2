"""What commands print: tables and sentences for people, one JSON object a line for programs."""

import datetime
import errno
import json
import os
import re
import sys
from collections.abc import Coroutine, Mapping
from typing import Annotated, Any, TypeVar

import typer

from onetake.domain.errors import BadValueError, OnetakeError
from onetake.domain.moments import utc

T = TypeVar("T")

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object a line.")]
JobName = Annotated[str, typer.Argument(metavar="JOB", help="The job's id or key.")]

ANY_NAME = {"ignore_unknown_options": True}
"""For commands that take keys and provider ids: one that begins with a dash can be pasted as it is."""

_COLOURS = {
    "completed": typer.colors.GREEN,
    "failed": typer.colors.RED,
    "cancelled": typer.colors.BRIGHT_BLACK,
    "submission_unknown": typer.colors.YELLOW,
    "needs_review": typer.colors.YELLOW,
    "incomplete": typer.colors.YELLOW,
}

_OURS = re.compile(r"(\n|\x1b\[(?:[39][0-7]|0)m)")
"""What may be printed though it can't be seen: the end of a line, and a colour of `coloured` with its end."""

_MONEY = {
    "held": "what was held stays held",
    "spent": "it is spent",
    "unknown": "nobody knows yet; what was held stays held",
}

_MOMENTS = ("_at", "_until", "since", "not_before")


def run(work: Coroutine[Any, Any, T]) -> T:
    """The result of asynchronous work, on uvloop where there is one."""
    import asyncio
    import importlib.util

    has_uvloop = importlib.util.find_spec("uvloop") is not None
    factory = importlib.import_module("uvloop").new_event_loop if has_uvloop else None
    with asyncio.Runner(loop_factory=factory) as runner:
        return runner.run(work)


def visible(text: str) -> str:
    """The text for a terminal: what can't be seen is escaped, such as controls and marks that turn the direction."""
    return text if text.isprintable() else "".join(map(_seen, _OURS.split(text)))


def _seen(part: str) -> str:
    if _OURS.fullmatch(part):
        return part
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in part)


def say(text: str = "") -> None:
    """One line for a person, at once. An output that takes nothing more ends the program with 1."""
    try:
        typer.echo(visible(text))
        sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else Python's own flush at the end fails too
        if error.errno != errno.EPIPE:  # a reader that has seen enough, such as `head`, needs no telling
            typer.echo(f"onetake: The output can't be written ({error.strerror}).", err=True)
        raise typer.Exit(1) from None


def emit(value: Mapping[str, object]) -> None:
    """One JSON object on a line of its own, at once; moments in ISO 8601, what can't be seen as JSON escapes it."""
    line = json.dumps(timed(value), ensure_ascii=False, allow_nan=False)
    say("".join(char if char.isprintable() else json.dumps(char)[1:-1] for char in line))


def coloured(status: str, width: int = 0) -> str:
    """A status in its colour, where colours are welcome; the word stays the same."""
    colour = _COLOURS.get(status)
    if colour is None or not sys.stdout.isatty() or os.environ.get("NO_COLOR"):
        return status.ljust(width)
    return typer.style(status, fg=colour) + " " * (width - len(status))


def credits_word(job: Mapping[str, Any]) -> str:
    """What became of a job's credits, in a word or two; nothing where none are counted."""
    money = job["money"]
    parts = {"held": money["held"], "used": money["captured"], "returned": money["released"]}
    return ", ".join(f"{amount:,} {word}" for word, amount in parts.items() if amount)


def when(moment_us: int | None) -> str:
    """A time for people, marked as UTC; a dash for none."""
    return "-" if moment_us is None else utc(moment_us)


def iso(moment_us: int) -> str:
    """A time for programs: ISO 8601 in UTC, to the microsecond."""
    moment = datetime.datetime.fromtimestamp(moment_us // 1_000_000, datetime.UTC)
    return moment.replace(microsecond=moment_us % 1_000_000).isoformat().replace("+00:00", "Z")


def timed(value: object) -> object:
    """The value with each moment, known by its name and kept in microseconds, spelled in ISO 8601."""
    if isinstance(value, Mapping):
        return {key: _spelled(str(key), each) for key, each in value.items()}
    return [timed(each) for each in value] if isinstance(value, list | tuple) else value


def _spelled(name: str, value: object) -> object:
    is_moment = isinstance(value, int) and (name == "at" or name.endswith(_MOMENTS))
    return iso(value) if is_moment and isinstance(value, int) else timed(value)


def fail(error: OnetakeError, *, is_json: bool) -> int:
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
        return error.exit_code
    typer.echo(visible(f"onetake: {error.sentence}"), err=True)
    for detail in details(error):
        typer.echo(visible(f"  {detail}"), err=True)
    if error.money != "none":
        again = "may be repeated" if error.repeat_safe else "must not be repeated"
        typer.echo(f"  money: {_MONEY[error.money]}; the command {again}", err=True)
    return error.exit_code


def details(error: OnetakeError) -> list[str]:
    """What the fields add to the sentence: nothing where it says it all."""
    lines = [f"{place} {reason}" for place, reason in error.fields.items()]
    return [] if all(reason in error.sentence for reason in error.fields.values()) else lines


def misused(error: typer.TyperException, *, is_json: bool) -> int:
    """Tell a wrong use of the command line in one sentence, and where its help is; the exit code."""
    message = error.format_message()
    if "\n" in message:  # no command at all: the help itself
        typer.echo(message, err=True)
        return BadValueError.exit_code
    plain = message.replace("Value error, ", "").rstrip(".")
    told = BadValueError(re.sub(r"\.? Did you mean (.*)\?$", r" (did you mean \1?)", plain) + ".")
    code = fail(told, is_json=is_json)
    if not is_json:
        context = getattr(error, "ctx", None)  # the command that was meant, as far as it was understood
        typer.echo(f"  see `{context.command_path if context else 'onetake'} --help`", err=True)
    return code
