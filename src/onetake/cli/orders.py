"""Making jobs from the command line: one from options, or many from a file of JSON lines."""

import contextlib
import itertools
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from onetake.cli.files import numbered_lines, read_whole
from onetake.cli.printing import details, emit, say
from onetake.domain.errors import BadValueError, InputError, RecipeError, SurroundingsError

if TYPE_CHECKING:
    from onetake.domain.jsonvalue import Json
    from onetake.domain.recipe import Recipe
    from onetake.engine.orders import Order, Taken, Terms
    from onetake.engine.parts import Parts

Inputs = Annotated[list[str] | None, typer.Option("--input", "-i", metavar="NAME=VALUE", help="An input; repeatable.")]
Key = Annotated[
    str | None,
    typer.Option("--key", metavar="KEY", help="Your own key for this order; else the recipe derives one."),
]

Campaign = Annotated[
    str | None, typer.Option("--campaign", metavar="NAME", help="What the jobs belong to, for budgets and lists.")
]
Accepted = Annotated[
    int | None,
    typer.Option("--accept-up-to", metavar="CREDITS", min=0, help="Most credits that may be held for a job."),
]
Consented = Annotated[
    str | None, typer.Option("--consent", metavar="VERSION", help="The wording that the customer agreed to.")
]

RECIPE_BYTES_MAX = 1_048_576
"""Largest recipe file: the one that ships has two thousand bytes."""

AT_ONCE = 200
"""Lines in the air at once: enough to fill group commits, few enough to hold in memory with long prompts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lot:
    """What holds for every job of a command: how much is accepted, what was agreed to, what they belong to."""

    accept_up_to: int | None = None
    consent: str | None = None
    campaign: str | None = None

    def terms(self) -> "Terms":
        """As intake wants them."""
        from onetake.engine.orders import Terms

        return Terms(accept_up_to=self.accept_up_to, consent=self.consent)


NO_TERMS = Lot()


@dataclass(frozen=True, slots=True)
class Menu:
    """A recipe with its TOML, which is kept with each job.

    Attributes:
        unchecked: what can't be checked before it is ordered, in sentences.
    """

    recipe: "Recipe"
    source: str
    unchecked: tuple[str, ...]


def read_menu(name_or_file: str) -> Menu:
    """The recipe that ships under that name, or that stands in that file.

    Raises:
        RecipeError: there is none, or it is wrong; names file, line or key, and reason.
    """
    from onetake.domain.recipe_contracts import check_contracts
    from onetake.domain.recipe_toml import parse_recipe
    from onetake.providers.catalogue import list_contracts, load_contract
    from onetake.recipes import list_shipped, read_shipped

    if name_or_file in list_shipped():
        source, name = read_shipped(name_or_file), f"{name_or_file}.toml"
    else:
        source, name = _read_recipe(name_or_file), Path(name_or_file).name
    recipe = parse_recipe(source, name)
    contracts = {provider: load_contract(provider) for provider in list_contracts()}
    return Menu(recipe, source, check_contracts(recipe, contracts, name))


def _read_recipe(name: str) -> str:
    from onetake.domain.jsonvalue import shown
    from onetake.recipes import list_shipped

    try:
        return read_whole(Path(name), size_bytes_max=RECIPE_BYTES_MAX).decode()
    except UnicodeDecodeError as error:
        raise RecipeError(f"{Path(name).name} isn't UTF-8: byte {error.start + 1} can't be decoded.") from None
    except (FileNotFoundError, ValueError):  # ValueError: a NUL in the name
        listed = ", ".join(list_shipped())
        raise RecipeError(f"There is no recipe {shown(name)!r}; shipped: {listed}, or name a file.") from None
    except OSError as error:
        raise RecipeError(f"The recipe file {shown(name)} can't be read ({error.strerror}).") from None


def read_inputs(recipe: "Recipe", given: list[str]) -> dict[str, object]:
    """The inputs of `--input NAME=VALUE` options; numbers and booleans where the recipe wants them.

    Raises:
        BadValueError: an option isn't NAME=VALUE, or a name is given twice.
    """
    texts = {each.name for each in recipe.inputs if each.type == "text"}
    values: dict[str, object] = {}
    for option in given:
        name, equals, value = option.partition("=")
        if not equals:
            raise BadValueError(f"--input {name[:40]!r} isn't NAME=VALUE, such as --input prompt='A fox in the snow'.")
        if name in values:
            raise BadValueError(f"--input {name[:40]!r} is given twice: an input has one value.")
        values[name] = value if name in texts else _plain(value)
    return values


def _plain(value: str) -> object:
    """A number or boolean where the text is one; else the text."""
    from onetake.domain.canonical import parse

    try:
        found = parse(value)
    except BadValueError:
        return value
    return value if isinstance(found, dict | list) or found is None else found


def make_order(name_or_file: str, given: list[str], key: str | None, campaign: str | None = None) -> "Order":
    """The order that these options make, checked.

    Raises:
        InputError: the recipe, an input or the key can't be taken.
    """
    from onetake.engine.orders import prepare

    menu = read_menu(name_or_file)
    return prepare(menu.recipe, menu.source, inputs=read_inputs(menu.recipe, given), key=key, campaign=campaign)


async def create_one(order: "Order", lot: Lot) -> "Taken":
    """The job for one order."""
    from onetake.app import open_parts
    from onetake.opening import load_settings

    async with open_parts(load_settings()) as parts:
        return await take(parts, order, lot)


async def take(parts: "Parts", order: "Order", lot: Lot = NO_TERMS) -> "Taken":
    """Ask whether it can be ordered here, then write."""
    from onetake.engine.intake import accept
    from onetake.engine.ordering import check_orderable

    await check_orderable(parts, order.recipe)
    return await parts.act(parts.settings.person, accept, order, lot.terms())


async def create_from_lines(name_or_file: str, file: Path, lot: Lot, *, is_json: bool) -> bool:
    """Whether every line of the file was taken. Each stands alone and is reported by its number, in order.

    Raises:
        SurroundingsError: the database can't be written; says from which line on nothing was taken.
    """
    from onetake.app import open_parts
    from onetake.engine.ordering import check_orderable
    from onetake.opening import load_settings

    menu = read_menu(name_or_file)
    counts, held = {"new": 0, "standing": 0, "refused": 0}, 0
    with _opened(file) as stream:
        async with open_parts(load_settings()) as parts:
            await check_orderable(parts, menu.recipe)
            lines = numbered_lines(stream)
            while some := _some(file, lines):
                for no, found in await _take_lines(parts, menu, some, lot):
                    counts[_report(no, found, is_json=is_json)] += 1
                    held += 0 if isinstance(found, Exception) else found.held
    if not is_json:
        money = f"; {held:,} credits held" if held else ""
        say(f"{counts['new']} new, {counts['standing']} stood already, {counts['refused']} refused{money}.")
    return counts["refused"] == 0


def _opened(file: Path) -> contextlib.AbstractContextManager[BinaryIO]:
    """The file's bytes; a pipe does as well.

    Raises:
        BadValueError: it can't be opened.
    """
    if str(file) == "-":
        return contextlib.nullcontext(sys.stdin.buffer)
    with _readable(file):
        return file.open("rb")


@contextlib.contextmanager
def _readable(file: Path) -> Iterator[None]:
    """Turns what keeps the file from being read into a sentence."""
    try:
        yield
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        why = error.strerror if isinstance(error, OSError) else "no file has such a name"
        raise BadValueError(f"{file} can't be read ({why}): name a file of JSON lines.") from None


def _some(file: Path, lines: Iterator[tuple[int, bytes | str]]) -> list[tuple[int, bytes | str]]:
    with _readable(file):
        return list(itertools.islice(lines, AT_ONCE))


async def _take_lines(
    parts: "Parts", menu: Menu, lines: list[tuple[int, bytes | str]], lot: Lot
) -> "list[tuple[int, Taken | InputError | SurroundingsError]]":
    """What became of each line, in order."""
    import asyncio

    found = await asyncio.gather(*(_take_line(parts, menu, line, lot) for _, line in lines))
    return [(no, each) for (no, _), each in zip(lines, found, strict=True)]


async def _take_line(
    parts: "Parts", menu: Menu, line: bytes | str, lot: Lot
) -> "Taken | InputError | SurroundingsError":
    from onetake.engine.intake import accept
    from onetake.engine.orders import prepare

    if isinstance(line, str):
        return BadValueError(line)
    try:
        inputs, key, campaign = _parse(line)
        named = lot.campaign if campaign is None else campaign
        order = prepare(menu.recipe, menu.source, inputs=inputs, key=key, campaign=named)
        return await parts.act(parts.settings.person, accept, order, lot.terms())
    except (InputError, SurroundingsError) as error:
        return error


def _parse(line: bytes) -> "tuple[dict[str, Json], Json, Json]":
    from onetake.domain.canonical import parse

    try:
        value = parse(line.strip())
    except BadValueError as error:
        if reason := error.fields.get(""):  # about the line as a whole, whose number the reader is told
            raise BadValueError(f"The line {reason.replace('line 1, ', '')}.") from None
        raise
    if not isinstance(value, dict):
        raise BadValueError('The line must be an object such as {"key": "…", "inputs": {…}}.')
    if unknown := sorted(set(value) - {"key", "inputs", "campaign"}):
        raise BadValueError(f"The line has {unknown[0][:40]!r}, which is neither key, inputs nor campaign.")
    inputs = value.get("inputs", {})
    if not isinstance(inputs, dict):
        raise BadValueError("/inputs must be an object.", fields={"/inputs": "must be an object"})
    return inputs, value.get("key"), value.get("campaign")


def _report(no: int, found: "Taken | InputError | SurroundingsError", *, is_json: bool) -> str:
    """Tell what became of a line; the word it counts under."""
    if isinstance(found, SurroundingsError):
        why = found.sentence.removesuffix(".")
        raise type(found)(
            f"Line {no} and perhaps later ones were not taken ({why}): mend that and give the same file again,"
            " nothing is made twice."
        )
    if isinstance(found, InputError):
        refusal = {"line": no, "error": found.code, "message": found.sentence, "fields": found.fields}
        emit(refusal) if is_json else say("\n  ".join([f"line {no}: refused: {found.sentence}", *details(found)]))
        return "refused"
    told = {"line": no, "job": found.job_id, "key": found.key, "new": found.is_new, "held": found.held}
    emit(told) if is_json else say(
        f"line {no}: {found.job_id}  {'new' if found.is_new else 'stood already'}  {found.key}"
    )
    return "new" if found.is_new else "standing"
