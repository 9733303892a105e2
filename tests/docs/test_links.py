"""A dead link fails here."""

import re
from pathlib import Path

import pytest

from tests.docs.pages import ROOT

PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_no_link_is_dead(page: Path) -> None:
    targets = re.findall(r"(?:\]\(|src=\")(?!\w+:)([^)#\"\s]+)", page.read_text())
    assert [target for target in targets if not (page.parent / target).exists()] == []
