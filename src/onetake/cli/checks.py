"""`onetake doctor` and `onetake recipe check`: is everything as it should be?"""

from typing import Annotated

import typer

from onetake.cli.printing import Json, emit, run, say

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

    A fault is named by file, line or key, and reason.
    """
    from onetake.cli.orders import read_menu
    from onetake.providers.adapter import load_contract

    recipe = read_menu(file).recipe
    for step in recipe.steps:
        if step.kind == "generate":
            load_contract(step.provider).operation(step.operation)
    if is_json:
        emit({"recipe": recipe.name, "version": recipe.version, "hash": recipe.hash, "steps": len(recipe.steps)})
        return
    say(f"{recipe.name} {recipe.version} is sound  ({recipe.hash})")
    for step in recipe.steps:
        needs = f" after {', '.join(step.needs)}" if step.needs else ""
        outputs = ", ".join(output.name for output in step.outputs)
        say(f"  {step.name}{needs}: {step.model or 'local'} makes {outputs}")


def doctor(*, is_json: Json = False) -> None:
    """Check database, storage, decoders, keys, models and alarms.

    Buys nothing. Ends with 1 if something stands in the way of jobs.
    """
    from onetake.diagnosis import examine
    from onetake.opening import load_settings

    is_well = True
    for finding in run(examine(load_settings())):
        is_well = is_well and finding.is_well
        if is_json:
            emit({"what": finding.what, "ok": finding.is_well, "finding": finding.says})
        else:
            say(f"{'ok  ' if finding.is_well else 'FAIL'}  {finding.what:<12} {finding.says}")
    if not is_well:
        raise typer.Exit(1)
