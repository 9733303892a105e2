"""What a recipe is once it is read, its hash, and its way into the database and back."""

import tomllib
from decimal import Decimal

import pytest

from onetake.domain.canonical import parse, to_wire_json
from onetake.domain.recipe import (
    BooleanInput,
    ChoiceInput,
    Handoff,
    NumberInput,
    Output,
    Price,
    Recipe,
    Repeats,
    Replacement,
    TextInput,
)
from onetake.domain.recipe_toml import parse_recipe, recipe_from_content
from tests.domain.recipes import FULL, full, shipped


def test_everything_that_the_file_says_is_read() -> None:
    recipe = full()
    draw, join, move = recipe.steps
    assert (recipe.name, recipe.version, recipe.key, recipe.partial) == (
        "two-halves",
        3,
        ("order", "cut_s"),
        "incomplete",
    )
    assert recipe.inputs == (
        NumberInput(name="order", label="Order number", type="integer", min=1, max=9999),
        TextInput(name="words", label="words", chars_min=2, chars_max=100, bytes_max=300),
        NumberInput(name="strength", label="strength", type="number", min=0, max=1, default=Decimal("0.25")),
        BooleanInput(name="loud", label="loud", default=False),
        ChoiceInput(name="cut_s", label="cut_s", choices=(5, 12, 23)),
        ChoiceInput(name="ratio", label="ratio", choices=("16:9", "1:1"), default="1:1"),
    )
    assert (draw.kind, draw.provider, draw.operation, draw.model) == ("generate", "reapi", "image", "painter-2")
    assert (draw.deadline_s, draw.repeats) == (60, Repeats(count_max=3, elapsed_s_max=100))
    assert draw.replacement == Replacement(reasons=("provider_failed",), count_max=2)
    assert draw.price == Price(credits=4, spend_micros_max=40000, currency="USD")
    assert (join.kind, join.provider, join.model, join.request, join.needs) == ("process", "", "", {}, ("draw",))
    assert (move.deadline_s, move.repeats, move.replacement, move.price) == (900, Repeats(), None, None)
    assert move.handoffs == (
        Handoff(step="draw", output="left", way="upload"),
        Handoff(step="draw", output="right", way="provider_address"),
    )
    assert move.outputs == (
        Output(
            name="clip",
            spec={
                "kind": "video",
                "media_types": [],
                "ratio_tolerance": Decimal("0.05"),
                "size_bytes_max": 2_000_000_000,
                "duration_ms": 5000,
                "duration_tolerance_ms": 250,
                "fps": 24,
                "video_codecs": ["h264"],
                "audio_codecs": ["aac"],
                "audio": "required",
            },
        ),
    )


def test_a_step_is_found_by_name() -> None:
    recipe = full()
    assert recipe.step("join") is recipe.steps[1]
    with pytest.raises(KeyError):
        recipe.step("cut")


@pytest.mark.parametrize("recipe", [full(), shipped("still-to-clip")], ids=["full", "still-to-clip"])
def test_a_stored_recipe_reads_back_without_its_file(recipe: Recipe) -> None:
    content = to_wire_json(recipe.content())
    stored = parse(content)
    assert isinstance(stored, dict)
    again = recipe_from_content(stored, "the database")
    assert again == recipe
    assert to_wire_json(again.content()) == content


def test_c117_spelling_and_order_of_keys_do_not_change_the_hash() -> None:
    reordered = FULL.replace('name = "two-halves"\nversion = 3\n', 'version = 0x3\nname = "two\\u002dhalves" # same\n')
    reordered = reordered.replace("2.50", "25e-1").replace("min = 0.0", "min = -0")
    assert reordered != FULL
    assert parse_recipe(reordered, "other.toml").hash == full().hash


@pytest.mark.parametrize(
    "line",
    ["credits = 4\n", 'kind = "generate"\n', "ratio_tolerance = 0.05\n"],
)
def test_c117_a_missing_key_equals_its_default_written_out(line: str) -> None:
    written = line.replace("4", "0").replace("0.05", "0.02")
    assert parse_recipe(FULL.replace(line, written), "a").hash == parse_recipe(FULL.replace(line, ""), "b").hash


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("version = 3", "version = 4"),
        ("choices = [5, 12, 23]", "choices = [12, 5, 23]"),
        ('"as it is"', '"as it was"'),
        ("deadline_s = 60", "deadline_s = 61"),
        ('draw.left = "upload"', 'draw.left = "inline"'),
        ('label = "Order number"', 'label = "Number of the order"'),
    ],
)
def test_other_content_has_another_hash(old: str, new: str) -> None:
    assert parse_recipe(FULL.replace(old, new), "other.toml").hash != full().hash


def test_every_job_of_a_recipe_without_key_inputs_goes_by_all_inputs() -> None:
    assert parse_recipe(FULL.replace('key = ["order", "cut_s"]\n', ""), "x").key == tuple(tomllib.loads(FULL)["inputs"])


def test_the_shipped_recipe_is_frozen() -> None:
    """If this fails, either the recipe was changed (then raise its version too) or content() writes something new.

    A key that later versions of onetake add belongs into content() only where it says something else than its default:
    a file that hasn't changed keeps its hash.
    """
    recipe = shipped("still-to-clip")
    assert (recipe.name, recipe.version) == ("still-to-clip", 1)
    assert recipe.hash == "f0c3026696a6ab6c5033ce24de5114be0463d5c1a6cc8dccf88770708202b9c5"
