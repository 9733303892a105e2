"""What holds for every test: where real processes belong, and that CI runs all of them."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).parent.parent
NOT_RUN = ("skipped", "xfailed", "xpassed", "deselected")

settings.register_profile("onetake", deadline=None, print_blob=True)  # a deadline would assert a time
settings.load_profile("onetake")


WHOLE_CHAINS = ("e2e", "engine", "simulation", "cli")
"""Folders whose tests run jobs from end to end, in this process or in others."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything in a folder of whole chains carries the marker `e2e`; elsewhere it is written on the test."""
    folders = tuple(ROOT / "tests" / name for name in WHOLE_CHAINS)
    for item in items:
        if any(item.path.is_relative_to(folder) for folder in folders):
            item.add_marker("e2e")


def pytest_sessionfinish(session: pytest.Session) -> None:
    """In CI a test that didn't run is a failure."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if os.environ.get("CI") == "true" and reporter and any(reporter.stats.get(kind) for kind in NOT_RUN):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say why a run without failures failed all the same."""
    kinds = [kind for kind in NOT_RUN if terminalreporter.stats.get(kind)]
    if os.environ.get("CI") == "true" and kinds:
        terminalreporter.write_line(f"CI runs every test, so this run failed: some were {', '.join(kinds)}.")
