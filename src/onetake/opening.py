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
from onetake.store.database import Reader, Row
from onetake.store.migrate import check, migrate
from onetake.store.site import Site
from onetake.store.sites import site_of


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
    return blob_path(settings.storage_path.absolute(), digest)


def with_paths(job: Row, settings: Settings) -> Row:
    """The job, each file with its `path`, None while an output is missing, and whether it `is_gone` from there."""
    outputs = [_with_path(output, settings) for output in job["outputs"]]
    rejected = [_with_path(file, settings) for file in job["rejected_files"]]
    return {**job, "outputs": outputs, "rejected_files": rejected}


def _with_path(file: Row, settings: Settings) -> Row:
    path = file_path(settings, file["digest"]) if file["digest"] else None
    return {**file, "path": None if path is None else str(path), "is_gone": path is not None and not path.is_file()}


def database_site(settings: Settings) -> Site:
    """Where the database of the settings is.

    Raises:
        DatabaseError: the address can't be read, or what speaks to that kind of database isn't installed.
    """
    return site_of(settings.database_url, prepare=settings.postgres.prepare, lanes=settings.postgres.lanes)


def prepare_database(settings: Settings) -> Site:
    """The place, once a database at this program's schema is there: a new one is made, an older one isn't touched.

    Raises:
        DatabaseError: it can't be used; says why and what to do.
    """
    site = database_site(settings)
    if site.revision() is None:
        migrate(site)
    elif not check(site):
        raise DatabaseError(f"The database {site.place} is older than this program: run `onetake migrate`.")
    return site


@contextlib.asynccontextmanager
async def open_store(settings: Settings) -> AsyncIterator[Reader]:
    """The database for looking only, which is possible beside whatever else has it open.

    Raises:
        DatabaseError: there is no database yet (looking never makes one), or it can't be used.
    """
    site = database_site(settings)
    if await asyncio.to_thread(site.revision) is None:
        raise DatabaseError(
            f"There is no database at {site.place} yet: the first order makes one; if it should be there,"
            " check ONETAKE_DATABASE_URL."
        )
    reader = (await asyncio.to_thread(prepare_database, settings)).open_reader(SystemClock())
    try:
        yield reader
    finally:
        await reader.aclose()
