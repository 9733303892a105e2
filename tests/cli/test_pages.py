"""The pages' own words: each command in a code block parses, and each recipe and order in one can be taken."""

import json
import re
import shlex
from pathlib import Path

import pytest

from onetake.cli import app
from onetake.domain.inputs import resolve_inputs
from onetake.domain.recipe_toml import parse_recipe
from onetake.recipes import read_shipped
from tests.cli.shell import ROOT

PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
PROGRAM = re.compile(r"(?:^|[\s(])(?:onetake|\./dev run)(?=\s)([^|&;>)]*)")


def blocks(page: Path, language: str) -> list[str]:
    """The page's code blocks in that language."""
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)


def commands(page: Path) -> list[list[str]]:
    """The arguments of each of our commands in the page's shell blocks."""
    lines = [line for block in blocks(page, "sh") for line in block.splitlines()]
    found = [match[1] for line in lines for match in PROGRAM.finditer(line.partition(" #")[0])]
    return [shlex.split(each) for each in found]


def test_the_pages_hold_commands() -> None:
    assert sum(len(commands(page)) for page in PAGES) > 30


@pytest.mark.parametrize("page", [page for page in PAGES if commands(page)], ids=lambda page: page.name)
def test_each_command_of_the_page_parses(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in commands(page):
        assert app([*arguments, "--help"], prog_name="onetake", standalone_mode=False) in (None, 0), arguments
        assert capsys.readouterr().out.startswith("Usage: onetake")


def test_the_how_tos_recipe_is_sound() -> None:
    [recipe] = blocks(ROOT / "docs" / "how-to" / "write-a-recipe.md", "toml")
    assert parse_recipe(recipe, "the page").name == "house-still"


def test_the_how_tos_batch_can_be_ordered() -> None:
    recipe = parse_recipe(read_shipped("still-to-clip"), "still-to-clip.toml")
    [lines] = blocks(ROOT / "docs" / "how-to" / "batch.md", "json")
    for line in lines.splitlines():
        order = json.loads(line)
        assert resolve_inputs(recipe, order["inputs"])["prompt"] == order["inputs"]["prompt"]
