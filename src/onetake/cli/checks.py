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
    """Read a recipe and say what it orders, or what is wrong with it: file, line or key, and reason."""
    from onetake.app import recipe_source
    from onetake.domain.recipe_toml import parse_recipe
    from onetake.providers.adapter import load_contract

    text, name = recipe_source(file)
    recipe = parse_recipe(text, name)
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
    """Check database, storage, decoders, provider keys, model lists and standing alarms."""
    from onetake.config import Settings
    from onetake.diagnosis import examine

    is_well = True
    for finding in run(examine(Settings.load())):
        is_well = is_well and finding.is_well
        if is_json:
            emit({"what": finding.what, "ok": finding.is_well, "finding": finding.says})
        else:
            say(f"{'ok  ' if finding.is_well else 'FAIL'}  {finding.what:<12} {finding.says}")
    if not is_well:
        raise typer.Exit(1)
