"""Databases for the store's tests; each test of the conformance suite runs once on each of `kinds.KINDS`."""

import asyncio
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from onetake.store.migrate import migrate
from onetake.store.sqlite_site import SqliteSite
from tests.store.kinds import KINDS, Kind
from tests.store.shop import Shop
from tests.store.world import World, populate


@pytest.fixture(scope="session")
def empty_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty database at this program's schema, made once: Alembic takes a second."""
    path = tmp_path_factory.mktemp("empty") / "onetake.db"
    migrate(SqliteSite(path))
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


@pytest.fixture(scope="session", params=KINDS)
def kind(request: pytest.FixtureRequest) -> Kind:
    """Each kind of database in turn."""
    return KINDS[request.param]


@pytest.fixture
async def shop(kind: Kind, folder: Path) -> AsyncIterator[Shop]:
    """An open, empty database of each kind, with a clock that moves when told to."""
    with kind.made(folder) as address, kind.clock(address) as clock:
        database = kind.open(address, clock)
        yield Shop(database, clock)
        await database.aclose()


@pytest.fixture(scope="session")
def whole_world(kind: Kind, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, dict[str, object]]]:
    """The address of a database with a row of every kind, made once, and the ids in it."""

    async def make(address: str) -> dict[str, object]:
        with kind.clock(address) as clock:
            database = kind.open(address, clock)
            ids = await populate(Shop(database, clock))
            await database.aclose()
            return ids

    with kind.made(tmp_path_factory.mktemp("world")) as address:
        yield address, asyncio.run(make(address))


@pytest.fixture
async def world(kind: Kind, whole_world: tuple[str, dict[str, object]], folder: Path) -> AsyncIterator[World]:
    """An open database of each kind with a row of every kind."""
    template, ids = whole_world
    start_us = int(str(ids["now"]))
    with kind.made(folder, template) as address, kind.clock(address, start_us=start_us, seed=2) as clock:
        database = kind.open(address, clock)
        yield World(Shop(database, clock), ids)
        await database.aclose()
