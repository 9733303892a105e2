"""docs/reference/cli.md, from the commands themselves."""

from collections.abc import Iterator

import typer

from onetake.cli import app
from tools.page import publish

INTRODUCTION = """\
# Command line

<!-- written by tools/docs/cli.py -->

Exit codes: 0 the command did its work, whatever became of the jobs; 1 the surroundings fail (database, storage, key,
provider); 2 usage or bad input; 4 not found; 10 a paid request's outcome is unknown. [Errors](errors.md) says more.
In this folder, `./dev run` stands for `onetake`.
"""


def pages(command: object, path: str) -> Iterator[str]:
    """A section for each command, under the words a person types."""
    if isinstance(command, typer.core.TyperGroup):
        for name, inner in command.commands.items():
            yield from pages(inner, f"{path} {name}")
    elif isinstance(command, typer.core.TyperCommand):
        yield f"\n## `{path}`\n\n{prose(command.help)}\n"
        records = [parameter.get_help_record(typer.Context(command)) for parameter in command.params]
        rows = [f"| `{escape(record[0])}` | {escape(prose(record[1]))} |\n" for record in records if record]
        yield "\n| argument or option | what it is |\n|---|---|\n" + "".join(rows) if rows else ""


def escape(cell: str) -> str:
    """Text that doesn't end its table cell."""
    return cell.replace("|", "\\|")


def prose(text: str | None) -> str:
    """A help text, its paragraphs kept and their lines joined."""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in (text or "").split("\n\n"))


publish("cli.md", INTRODUCTION + "".join(pages(typer.main.get_command(app), "onetake")))
