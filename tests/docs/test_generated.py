"""A generated page that no longer says what the code says fails here."""

import subprocess
import sys

import pytest

from tests.docs.pages import ROOT

SCRIPTS = sorted(path.stem for path in ROOT.glob("tools/docs/*.py"))


@pytest.mark.parametrize("script", SCRIPTS)
def test_the_page_is_current(script: str) -> None:
    command = [sys.executable, "-m", f"tools.docs.{script}", "--check"]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
