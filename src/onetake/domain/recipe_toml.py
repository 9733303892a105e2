"""From a recipe's TOML, or from a stored recipe's content, to a `Recipe`; the one place that refuses a recipe.

Every refusal is one sentence with the file, the key's path (or TOML's line and column) and the reason.
"""

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Literal, cast

from onetake.domain.canonical import encode
from onetake.domain.inputs import fault_of
from onetake.domain.jsonvalue import Json
from onetake.domain.recipe import (
    BILLINGS,
    Billing,
    BooleanInput,
    ChoiceInput,
    Consent,
    Input,
    NumberInput,
    Partial,
    Recipe,
    TextInput,
)
from onetake.domain.recipe_steps import COUNT_MAX, read_steps
from onetake.domain.tables import Table, hint, parse_toml, root_table

_RECIPE_NAME = r"[a-z][a-z0-9_-]{0,39}"
_LINE = r"[^\x00-\x1f\x7f-\x9f\u2028\u2029]{1,200}"
_CHARS_MAX = 10_000  # a few pages: a bound for the database; the recipe states the model's own
_CHOICE_CHARS_MAX = 200  # a choice is a word or two; anything longer is a text


def parse_recipe(text: str | bytes, file: str) -> Recipe:
    """The recipe that a TOML file describes.

    Args:
        text: the file's text; bytes are read as UTF-8.
        file: its name, for messages.

    Raises:
        RecipeError: names the file, the line or key, and what is wrong there.
    """
    return recipe_from_content(parse_toml(text, file), file)


def recipe_from_content(content: Mapping[str, object], source: str) -> Recipe:
    """The recipe whose `content()` this is, or whose file's table; `parse_recipe(...).content()` gives it back equal.

    Args:
        content: in the shape of the file.
        source: the file's name or the place that it was stored in, for messages.

    Raises:
        RecipeError: names the source, the key and what is wrong there.
    """
    root = root_table(content, source)
    head, declared = root.table("recipe"), root.table("inputs")
    consent = _consent(root)
    root.end("steps")
    inputs = _inputs(declared)
    recipe = Recipe(
        name=head.text("name", pattern=_RECIPE_NAME, what="a name: a-z, 0-9, - and _, a letter first, at most 40"),
        version=head.whole("version", at_least=1, at_most=COUNT_MAX),
        title=head.text("title", head.text("name"), pattern=_LINE, what="one line of at most 200 characters"),
        summary=head.text("summary", "", pattern=r"(?s).*"),
        key=_key(head, inputs),
        partial=cast("Partial", head.one_of("partial", ("failed", "incomplete"), "failed")),
        billing=cast("Billing", head.one_of("billing", BILLINGS, "charged")),
        consent=consent,
        inputs=tuple(inputs.values()),
        steps=read_steps(root, inputs),
    )
    head.end()
    return recipe


def _consent(root: Table) -> Consent | None:
    if not root.has("consent"):
        return None
    table = root.table("consent")
    consent = Consent(
        version=table.text("version", pattern=_LINE, what="one line of at most 200 characters"),
        text=table.text("text", pattern=r"(?s).{1,20000}", what="a text of at most 20000 characters"),
    )
    table.end()
    return consent


def _key(head: Table, inputs: Mapping[str, Input]) -> tuple[str, ...]:
    names = head.names("key", tuple(inputs))
    for index, name in enumerate(names):
        if name not in inputs:
            raise head.refuse(f"names no input of this recipe{hint(name, inputs)}", "key", index)
    if inputs and not names:
        raise head.refuse("must name an input, or all jobs would have one key", "key")
    return names


def _inputs(tables: Table) -> dict[str, Input]:
    readers = {"text": _text, "integer": _number, "number": _number, "boolean": _boolean, "choice": _choice}
    inputs: dict[str, Input] = {}
    for name, table in tables.tables_by_name().items():
        declared = readers[table.one_of("type", tuple(readers))](name, table)
        inputs[name] = _with_default(declared, table)
        table.end()
    return inputs


def _with_default(declared: Input, table: Table) -> Input:
    if not table.has("default"):
        return declared
    default = table.value("default")
    if fault := fault_of(declared, default):
        raise table.refuse(fault, "default")
    return replace(declared, default=default)  # type: ignore[arg-type]  # fault_of has checked it


def _label(name: str, table: Table) -> str:
    return table.text("label", name, pattern=_LINE, what="one line of at most 200 characters")


def _text(name: str, table: Table) -> Input:
    declared = TextInput(
        name=name,
        label=_label(name, table),
        # An empty text buys a picture of nothing: who wants it says so.
        chars_min=table.whole("chars_min", 1),
        chars_max=table.whole("chars_max", _CHARS_MAX, at_least=1),
        bytes_max=table.whole("bytes_max", at_least=1) if table.has("bytes_max") else None,
    )
    if declared.chars_min > declared.chars_max:
        raise table.refuse("is more than chars_max", "chars_min")
    return declared


def _number(name: str, table: Table) -> Input:
    kind = cast("Literal['integer', 'number']", table.text("type"))
    unbounded = NumberInput(name=name, label=_label(name, table), type=kind)
    bounds = {}
    for bound in ("min", "max"):
        if table.has(bound):
            bounds[bound] = table.value(bound)
            if fault := fault_of(unbounded, bounds[bound]):
                raise table.refuse(fault, bound)
    declared = replace(unbounded, **bounds)  # type: ignore[arg-type]
    if declared.min is not None and declared.max is not None and declared.min > declared.max:
        raise table.refuse("is more than max", "min")
    return declared


def _boolean(name: str, table: Table) -> Input:
    return BooleanInput(name=name, label=_label(name, table))


def _choice(name: str, table: Table) -> Input:
    choices = table.entries("choices")
    if not choices:
        raise table.refuse("must have at least one entry", "choices")
    for index, choice in enumerate(choices):
        if not _is_choice(choice):
            reason = f"must be a number, or one line of at most {_CHOICE_CHARS_MAX} characters"
            raise table.refuse(reason, "choices", index)
        if encode(choice) in map(encode, choices[:index]):
            raise table.refuse("is there twice", "choices", index)
    return ChoiceInput(name=name, label=_label(name, table), choices=tuple(choices))  # type: ignore[arg-type]


def _is_choice(value: Json) -> bool:
    if isinstance(value, str):
        return value.isprintable() and 1 <= len(value) <= _CHOICE_CHARS_MAX
    return isinstance(value, int | Decimal) and not isinstance(value, bool)
