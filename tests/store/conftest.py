"""The databases that the store's tests run on: each test of the conformance suite runs once on each of them.

Another database joins by a row in `OPENERS`; its tests are the ones that stand in `conformance/`.
"""

import asyncio
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from onetake.clock import ManualClock
from onetake.store.database import Database
from onetake.store.migrate import migrate
from onetake.store.sqlite import InlineDatabase, SqliteDatabase
from tests.store.shop import Shop
from tests.store.world import World, populate

OPENERS: dict[str, Callable[[Path, ManualClock], Database]] = {"sqlite": SqliteDatabase, "inline": InlineDatabase}


@pytest.fixture(scope="session")
def empty_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty database at this program's schema, made once: Alembic takes a second."""
    path = tmp_path_factory.mktemp("empty") / "onetake.db"
    migrate(path)
    return path


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder in memory, where the machine has such: these tests commit by the thousand and aren't about disks."""
    memory = "/dev/shm"  # noqa: S108 - a folder of its own is made in it
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as made:
        yield Path(made)


@pytest.fixture
def file(empty_file: Path, tmp_path: Path) -> Path:
    """An empty database file on disk."""
    return Path(shutil.copy(empty_file, tmp_path / "onetake.db"))


@pytest.fixture(params=OPENERS)
async def shop(request: pytest.FixtureRequest, empty_file: Path, folder: Path) -> AsyncIterator[Shop]:
    """An open, empty database of each kind, with a clock that moves when told to."""
    clock = ManualClock()
    database = OPENERS[request.param](Path(shutil.copy(empty_file, folder / "onetake.db")), clock)
    yield Shop(database, clock)
    await database.aclose()


@pytest.fixture(scope="session")
def world_file(empty_file: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, object]]:
    """A database with a row of every kind, made once, and the ids in it."""
    path = Path(shutil.copy(empty_file, tmp_path_factory.mktemp("world") / "onetake.db"))

    async def make() -> dict[str, object]:
        database = InlineDatabase(path, clock := ManualClock())
        ids = await populate(Shop(database, clock))
        await database.aclose()
        return ids

    return path, asyncio.run(make())


@pytest.fixture(params=OPENERS)
async def world(
    request: pytest.FixtureRequest, world_file: tuple[Path, dict[str, object]], folder: Path
) -> AsyncIterator[World]:
    """An open database of each kind with a row of every kind."""
    template, ids = world_file
    clock = ManualClock(start_us=int(str(ids["now"])), seed=2)
    database = OPENERS[request.param](Path(shutil.copy(template, folder / "world.db")), clock)
    yield World(Shop(database, clock), ids)
    await database.aclose()
