"""The reference pages, for the tests to look things up in."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "docs" / "reference"


def text_of(page: str) -> str:
    """A reference page as it is written."""
    return (REFERENCE / page).read_text()


def sections(page: str) -> dict[str, str]:
    """A reference page's texts by heading, backticks aside."""
    parts = re.split(r"^##+ (.*)$", text_of(page), flags=re.MULTILINE)[1:]
    return {title.replace("`", "").strip(): text for title, text in zip(parts[::2], parts[1::2], strict=True)}
