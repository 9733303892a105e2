"""Writing one generated page or picture, or checking that it is current."""

import sys
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"
REFERENCE = DOCS / "reference"
PICTURES = DOCS / "pictures"


def publish(name: str, text: str, *, folder: Path = REFERENCE) -> None:
    """Write the file; with `--check` only say whether it would change, and exit 1 if so."""
    page = folder / name
    if "--check" not in sys.argv:
        page.write_text(text)
    elif not page.exists() or page.read_text() != text:
        sys.exit(f"docs/{folder.name}/{name} is out of date; ./dev docs writes it again")
