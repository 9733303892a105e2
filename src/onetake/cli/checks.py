"""`onetake doctor` and `onetake recipe check`: is everything as it should be?"""

import sys
from collections.abc import Callable
from typing import Annotated

import typer

from onetake.cli.printing import Json, emit, run, say

Hashed = Annotated[bool, typer.Option("--hash", help="Read and hash every file too.")]

group = typer.Typer(help="Look at recipe files.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.add_typer(group, name="recipe")
    app.command("doctor")(doctor)


@group.command("check")
def recipe_check(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A TOML file, or a shipped recipe's name.")],
    *,
    is_json: Json = False,
) -> None:
    """Say what a recipe orders, or what is wrong with it.

    A fault is named by file, line or key, and reason. Checked are keys, references, providers, operations, and the
    fields of each request as far as the provider's contract names them; what can't be checked is said.
    """
    from onetake.cli.orders import read_menu

    menu = read_menu(file)
    recipe = menu.recipe
    if is_json:
        told = {"recipe": recipe.name, "version": recipe.version, "hash": recipe.hash, "steps": len(recipe.steps)}
        emit({**told, "unchecked": menu.unchecked})
        return
    say(f"{recipe.name} {recipe.version} fits together  ({recipe.hash})")
    for step in recipe.steps:
        needs = f" after {', '.join(step.needs)}" if step.needs else ""
        outputs = ", ".join(output.name for output in step.outputs)
        say(f"  {step.name}{needs}: {step.model or 'local'} makes {outputs}")
    for sentence in menu.unchecked:
        say(f"  not checked: {sentence}")


def doctor(
    *,
    is_hashed: Annotated[bool, typer.Option("--hash", help="Read and hash every file.")] = False,
    is_json: Json = False,
) -> None:
    """Check what jobs need: database, files, keys, models.

    Of each file that fills an output, it is checked that it is there with its size; with --hash, every byte. Buys
    nothing, changes no job. Ends with 1 if something stands in the way of jobs. Jobs and files are those of every
    account, and take a role in the account default.
    """
    from onetake.diagnosis.everything import examine
    from onetake.opening import load_settings

    is_well = True
    for finding in run(examine(load_settings(), is_hashed=is_hashed, on_progress=_progress())):
        is_well = is_well and finding.is_well
        if is_json:
            emit({"what": finding.what, "ok": finding.is_well, "finding": finding.says})
        else:
            say(f"{'ok  ' if finding.is_well else 'FAIL'}  {finding.what:<12} {finding.says}")
    if not is_well:
        raise typer.Exit(1)


def _progress() -> Callable[[int, int], None]:
    """Tells a person at a terminal how many files were looked at, on one line that is cleared at the end."""

    def tell(seen: int, total: int) -> None:
        if sys.stderr.isatty():
            line = f"\r{seen:,} of {total:,} files" if seen < total else "\r\x1b[K"
            typer.echo(line, nl=False, err=True)

    return tell
