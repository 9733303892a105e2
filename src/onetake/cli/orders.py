"""Making jobs from the command line: one from options, or many from a file of JSON lines."""

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from onetake.cli.printing import emit, say
from onetake.domain.errors import BadValueError, OnetakeError

if TYPE_CHECKING:
    from onetake.domain.jsonvalue import Json
    from onetake.domain.recipe import Recipe
    from onetake.engine.intake import Taken
    from onetake.engine.parts import Parts

AT_ONCE = 200
"""Lines in the air at once: enough to fill group commits, few enough to hold in memory with long prompts."""


def read_inputs(recipe: str, given: list[str]) -> dict[str, object]:
    """The inputs of `--input NAME=VALUE` options; numbers and booleans where the recipe wants them.

    Raises:
        BadValueError: an option isn't NAME=VALUE, or a name is given twice.
    """
    from onetake.app import recipe_source
    from onetake.domain.recipe_toml import parse_recipe

    text, name = recipe_source(recipe)
    texts = {each.name for each in parse_recipe(text, name).inputs if each.type == "text"}
    values: dict[str, object] = {}
    for option in given:
        key, equals, value = option.partition("=")
        if not equals or key in values:
            raise BadValueError(f"--input {key[:40]!r} must be NAME=VALUE, each name once.")
        values[key] = value if key in texts else _plain(value)
    return values


def _plain(value: str) -> object:
    """A number or boolean where the text is one; else the text."""
    from onetake.domain.canonical import parse

    try:
        found = parse(value)
    except BadValueError:
        return value
    return value if isinstance(found, dict | list) or found is None else found


async def create_one(recipe: str, inputs: dict[str, object], key: str | None) -> "Taken":
    """The job for one order."""
    from onetake.app import open_parts, recipe_source
    from onetake.config import Settings
    from onetake.domain.recipe_toml import parse_recipe

    text, name = recipe_source(recipe)
    parsed = parse_recipe(text, name)
    async with open_parts(Settings.load()) as parts:
        return await take(parts, parsed, text, inputs, key)


async def take(parts: "Parts", recipe: "Recipe", source: str, inputs: dict[str, object], key: object) -> "Taken":
    """Check, then write."""
    from onetake.engine.intake import accept, prepare
    from onetake.engine.ordering import check_orderable

    order = prepare(recipe, source, inputs=inputs, key=key)
    await check_orderable(parts, recipe)
    return await parts.act(parts.settings.person, accept, order)


async def create_from_lines(recipe: str, source: Path, *, is_json: bool) -> bool:
    """Whether every line of the file was taken. Each stands alone and is reported by its number, in order."""
    from onetake.app import open_parts, recipe_source
    from onetake.config import Settings
    from onetake.domain.recipe_toml import parse_recipe
    from onetake.engine.ordering import check_orderable

    text, name = recipe_source(recipe)
    parsed = parse_recipe(text, name)
    lines = [(no, line) for no, line in enumerate(_read(source), start=1) if line.strip()]
    counts = {"new": 0, "standing": 0, "refused": 0}
    async with open_parts(Settings.load()) as parts:
        await check_orderable(parts, parsed)
        for start in range(0, len(lines), AT_ONCE):
            batch = lines[start : start + AT_ONCE]
            found = await asyncio.gather(*(_take_line(parts, parsed, text, line) for _, line in batch))
            for (no, _), each in zip(batch, found, strict=True):
                counts[_report(no, each, is_json=is_json)] += 1
    if not is_json:
        say(f"{counts['new']} new, {counts['standing']} stood already, {counts['refused']} refused.")
    return counts["refused"] == 0


def _read(source: Path) -> list[bytes]:
    """The lines as bytes; only a line feed ends one, because prompts may hold every other separator."""
    try:
        data = sys.stdin.buffer.read() if str(source) == "-" else source.read_bytes()
    except OSError as error:
        raise BadValueError(f"{source} can't be read ({error.strerror}): name a file of JSON lines.") from None
    return data.split(b"\n")


async def _take_line(parts: "Parts", recipe: "Recipe", source: str, line: bytes) -> "Taken | OnetakeError":
    from onetake.engine.intake import accept, prepare

    try:
        inputs, key = _parse(line)
        return await parts.act(parts.settings.person, accept, prepare(recipe, source, inputs=inputs, key=key))
    except OnetakeError as error:
        return error


def _parse(line: bytes) -> "tuple[dict[str, Json], Json]":
    from onetake.domain.canonical import parse

    value = parse(line.strip())
    if not isinstance(value, dict):
        raise BadValueError('The line must be an object such as {"key": "…", "inputs": {…}}.')
    unknown = sorted(set(value) - {"key", "inputs"})
    if unknown:
        raise BadValueError(f"The line has {unknown[0][:40]!r}, which is neither key nor inputs.")
    inputs = value.get("inputs", {})
    if not isinstance(inputs, dict):
        raise BadValueError("inputs must be an object.")
    return inputs, value.get("key")


def _report(no: int, found: "Taken | OnetakeError", *, is_json: bool) -> str:
    """Tell what became of a line; the word it counts under."""
    if isinstance(found, OnetakeError):
        refusal = {"line": no, "error": found.code, "message": found.sentence, "fields": found.fields}
        emit(refusal) if is_json else say(f"line {no}: refused: {found.sentence}")
        return "refused"
    told = {"line": no, "job": found.job_id, "key": found.key, "new": found.is_new}
    emit(told) if is_json else say(f"line {no}: {found.job_id}  {'new' if found.is_new else 'stood already'}")
    return "new" if found.is_new else "standing"
