"""An open onetake on a fresh database, for measuring from inside."""

import contextlib
import tempfile
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from pydantic import SecretStr

from benchmarks.harness.peer import fresh_database
from onetake.app import open_parts
from onetake.config import ProviderSettings, Settings
from onetake.engine.parts import Parts


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where databases are made: below a folder, or on a PostgreSQL server.

    Attributes:
        origin: where the provider answers; by default nowhere.
    """

    folder: Path
    server_url: str | None = None
    origin: str = "http://127.0.0.1:9"
    poll_s: float = 60.0

    @property
    def database(self) -> str:
        """Its name in results."""
        return "PostgreSQL" if self.server_url else "SQLite"

    def fresh_settings(self) -> Settings:
        """Settings that name an empty database and an empty store."""
        folder = Path(tempfile.mkdtemp(dir=self.folder))
        url = f"sqlite:///{folder / 'onetake.db'}"
        if self.server_url:
            url = fresh_database(self.server_url, f"onetake_bench_{folder.name.lower()}")
        account = ProviderSettings(
            base_url=self.origin, api_key=SecretStr("bench"), poll_first_s=self.poll_s, poll_interval_s=self.poll_s
        )
        return Settings(database_url=url, storage_url=f"file://{folder / 'files'}", providers={"reapi": account})


@contextlib.asynccontextmanager
async def opened(place: Place) -> AsyncIterator[Parts]:
    """Onetake on an empty database."""
    async with open_parts(place.fresh_settings()) as parts:
        yield parts
