"""What a command opens before it knows whether it needs the engine: settings, and the database for looking.

Apart from `app`, because the libraries of the engine take most of a second to load and a look at a job needs none.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

from onetake.clock import SystemClock
from onetake.config import Settings
from onetake.domain.errors import BadValueError, DatabaseError
from onetake.media.blobs import blob_path
from onetake.providers.catalogue import list_contracts
from onetake.store.database import Reader
from onetake.store.migrate import check, migrate, revision_of
from onetake.store.sqlite import SqliteReader


def load_settings() -> Settings:
    """The settings of this process.

    Raises:
        BadValueError: one can't be used; names it and says why.
    """
    settings = Settings.load()
    known = list_contracts()
    for name in settings.providers:
        if name not in known:
            listed = ", ".join(known)
            raise BadValueError(f"ONETAKE_PROVIDERS__{name.upper()}__… names no provider: known are {listed}.")
    return settings


def file_path(settings: Settings, digest: str) -> Path:
    """Where the file with this digest stands."""
    return blob_path(settings.storage_path, digest)


def prepare_database(path: Path) -> Path:
    """The path, once a database at this program's schema is there: a new one is made, an older one isn't touched.

    Raises:
        DatabaseError: it can't be used; says why and what to do.
    """
    if revision_of(path) is None:
        migrate(path)
    elif not check(path):
        raise DatabaseError(f"The database {path} is older than this program: run `onetake migrate`.")
    return path


@contextlib.asynccontextmanager
async def open_store(settings: Settings) -> AsyncIterator[Reader]:
    """The database for looking only, which is possible beside whatever else has it open.

    Raises:
        DatabaseError: the database can't be used.
    """
    path = await asyncio.to_thread(prepare_database, settings.database_path)
    reader = SqliteReader(path, SystemClock())
    try:
        yield reader
    finally:
        await reader.aclose()
