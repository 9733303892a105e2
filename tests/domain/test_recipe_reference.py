"""A key of the recipe file that its reference doesn't explain fails here."""

import re
from dataclasses import fields

import pytest

from onetake.domain.output_fields import FIELDS_BY_KIND
from onetake.domain.outputs import OutputSpec
from onetake.domain.recipe import (
    HANDOFF_WAYS,
    BooleanInput,
    ChoiceInput,
    Consent,
    NumberInput,
    Price,
    Recipe,
    Repeats,
    Replacement,
    Step,
    TextInput,
)
from onetake.domain.recipe_steps import REPLACEMENT_REASONS
from onetake.domain.recipe_toml import parse_recipe
from tests.docs.pages import sections, text_of

PARTS = [
    ("[recipe]", Recipe, {"canonical", "hash", "inputs", "steps", "consent"}),
    ("[consent]", Consent, set()),
    ("[inputs.NAME]", TextInput, {"name"}),
    ("[inputs.NAME]", NumberInput, {"name"}),
    ("[inputs.NAME]", BooleanInput, {"name"}),
    ("[inputs.NAME]", ChoiceInput, {"name"}),
    ("[[steps]]", Step, {"request", "handoffs", "repeats", "replacement", "price", "outputs"}),
    ("[steps.repeats]", Repeats, set()),
    ("[steps.replacement]", Replacement, set()),
    ("[steps.price]", Price, set()),
    ("[[steps.outputs]]", OutputSpec, set()),
]


@pytest.mark.parametrize(("section", "kind", "elsewhere"), PARTS, ids=[kind.__name__ for _, kind, _ in PARTS])
def test_every_key_is_explained(section: str, kind: type, elsewhere: set[str]) -> None:
    text = sections("recipes.md")[section]
    names = {field.name for field in fields(kind)} - elsewhere
    assert sorted(name for name in names if f"`{name}`" not in text) == []


def test_every_word_is_explained() -> None:
    text = text_of("recipes.md")
    words = [*HANDOFF_WAYS, *REPLACEMENT_REASONS, *FIELDS_BY_KIND]
    assert [word for word in words if f'`"{word}"`' not in text] == []


def test_every_kind_has_the_keys_that_the_page_gives_it() -> None:
    rows = re.findall(r"^\| (`[^|]+) \| ([a-z, ]+) \|", sections("recipes.md")["[[steps.outputs]]"], flags=re.MULTILINE)
    said = {name: kinds for names, kinds in rows for name in re.findall(r"`(\w+)`", names)}
    for kind, names in FIELDS_BY_KIND.items():
        assert {name for name, kinds in said.items() if kind in kinds or kinds == "all"} - {"name"} == set(names)


def test_the_example_is_a_recipe() -> None:
    example = re.findall(r"^```toml\n(.*?)^```", text_of("recipes.md"), re.DOTALL | re.MULTILINE)
    assert [parse_recipe(text, "recipes.md").name for text in example] == ["poster"]
