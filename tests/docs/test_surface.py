"""A command or option that says nothing about itself fails here; the reference page is made from what they say."""

from collections.abc import Iterator

import typer

from onetake.cli import app
from tests.docs.pages import sections


def commands(command: object, path: str) -> Iterator[tuple[str, typer.core.TyperCommand]]:
    """Each command, by the words a person types."""
    if isinstance(command, typer.core.TyperGroup):
        for name, inner in command.commands.items():
            yield from commands(inner, f"{path} {name}")
    elif isinstance(command, typer.core.TyperCommand):
        yield path, command


def test_every_command_and_option_says_what_it_does() -> None:
    known = dict(commands(typer.main.get_command(app), "onetake"))
    silent = [path for path, command in known.items() if not command.help]
    for path, command in known.items():
        silent += [f"{path} {parameter.name}" for parameter in command.params if not getattr(parameter, "help", None)]
    assert silent == []
    assert set(known) == set(sections("cli.md"))
