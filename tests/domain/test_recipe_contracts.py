"""A recipe held against the contracts of its providers: what doesn't fit is named by file and key."""

from dataclasses import replace

import pytest

from onetake.domain.contract import Contract
from onetake.domain.errors import RecipeError
from onetake.domain.recipe_contracts import check_contracts
from onetake.domain.recipe_toml import parse_recipe
from onetake.providers.catalogue import load_contract
from onetake.recipes import read_shipped

SHIPPED = read_shipped("still-to-clip")
CONTRACTS = {"reapi": load_contract("reapi")}


def check(old: str = "", new: str = "") -> tuple[str, ...]:
    assert old in SHIPPED
    return check_contracts(parse_recipe(SHIPPED.replace(old, new, 1), "mine.toml"), CONTRACTS, "mine.toml")


def test_what_no_contract_can_check_is_said_of_each_step() -> None:
    first, second = check()
    assert first.startswith("step image: whether gemini-3.1-flash-image-preview takes these fields")
    assert second.startswith("step video: whether wan3.0-video takes")


def test_a_field_that_the_contract_doesnt_know_is_named_and_sent_as_written() -> None:
    first, *_ = check("n = 1\n\n", "n = 1\nwatermark = false\n\n")
    assert first == "step image: reapi's contract doesn't know `watermark`; sent as written"


@pytest.mark.parametrize(
    ("old", "new", "place", "words"),
    [
        ('provider = "reapi"', 'provider = "reapl"', "/steps/0/provider", "is no provider (did you mean `reapi`?)"),
        ('operation = "video"', 'operation = "vido"', "/steps/1/operation", "is no operation of reapi"),
        ('resolution = "1k"', 'resolutoin = "1k"', "/steps/0/request/resolutoin", "isn't a field of reapi image"),
        ('prompt = { ref = "inputs.prompt" }\n', "", "/steps/0/request/prompt", "is missing: reapi image wants it"),
    ],
)
def test_what_doesnt_fit_is_refused(old: str, new: str, place: str, words: str) -> None:
    with pytest.raises(RecipeError) as caught:
        check(old, new)
    assert caught.value.sentence.startswith("mine.toml: ")
    assert words in caught.value.sentence
    assert list(caught.value.fields) == [place]


def test_a_contract_that_names_no_fields_lets_all_pass() -> None:
    image = replace(CONTRACTS["reapi"].operations["image"], required=(), known=())
    operations = {**CONTRACTS["reapi"].operations, "image": image}
    contracts = {"reapi": replace(CONTRACTS["reapi"], operations=operations)}
    recipe = parse_recipe(SHIPPED.replace('resolution = "1k"', 'resolutoin = "1k"'), "mine.toml")
    assert len(check_contracts(recipe, contracts, "mine.toml")) == 2


@pytest.mark.parametrize("name", ["image_with_roles", "prompt"])
def test_as_many_items_as_the_operation_takes_pass(name: str) -> None:
    recipe = parse_recipe(SHIPPED, "mine.toml")
    assert len(check_contracts(recipe, {"reapi": _bounded({name: 1})}, "mine.toml")) == 2


def test_more_items_than_the_operation_takes_are_refused() -> None:
    with pytest.raises(RecipeError, match="has 1 items; reapi video takes at most 0"):
        check_contracts(parse_recipe(SHIPPED, "mine.toml"), {"reapi": _bounded({"image_with_roles": 0})}, "mine.toml")


def _bounded(items_max: dict[str, int]) -> Contract:
    video = replace(CONTRACTS["reapi"].operations["video"], items_max=items_max)
    return replace(CONTRACTS["reapi"], operations={**CONTRACTS["reapi"].operations, "video": video})
