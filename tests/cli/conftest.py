"""A sandbox for the session, and a folder with a new database for each test."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.shell import KEY, Shell

TINY = ("sandbox", "--port", "0", "--tiny", "--queue-s", "0", "--render-s", "0", "--key", KEY)


@contextmanager
def sandboxed(folder: Path) -> Iterator[str]:
    """A tiny, quick sandbox in a process of its own; where it answers."""
    with Shell(folder=folder).running(*TINY) as process:
        assert process.stdout is not None
        yield process.stdout.readline().removeprefix("ready ").strip()


@pytest.fixture(scope="session")
def origin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where the session's sandbox answers."""
    with sandboxed(tmp_path_factory.mktemp("sandbox")) as origin:
        yield origin


@pytest.fixture(scope="session")
def new_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database at the program's schema, to be copied: making one takes a second."""
    shell = Shell(folder=tmp_path_factory.mktemp("database"))
    assert shell.run("migrate").code == 0
    return shell.folder / "onetake.db"


@pytest.fixture
def shell(tmp_path: Path, new_database: Path, origin: str) -> Shell:
    """A folder of one's own with an empty database, beside the session's sandbox."""
    shutil.copy(new_database, tmp_path)
    return Shell(folder=tmp_path, origin=origin)
