"""Writing one generated page, or checking that it is current."""

import sys
from pathlib import Path

REFERENCE = Path(__file__).parents[1] / "docs" / "reference"


def publish(name: str, text: str) -> None:
    """Write the page; with `--check` only say whether it would change, and exit 1 if so."""
    page = REFERENCE / name
    if "--check" not in sys.argv:
        page.write_text(text)
    elif not page.exists() or page.read_text() != text:
        sys.exit(f"docs/reference/{name} is out of date; ./dev docs writes it again")
