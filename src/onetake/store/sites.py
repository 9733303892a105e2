"""Which kind of database an address names."""

from pathlib import Path
from typing import Literal

from onetake.domain.errors import DatabaseError
from onetake.store.site import Site
from onetake.store.sqlite_site import SqliteSite

SQLITE = "sqlite:///"


def site_of(url: str, *, prepare: Literal["auto", "always", "never"] = "auto", lanes: int = 1) -> Site:
    """The place that the address names.

    Args:
        url: `sqlite:///PATH` or `postgresql://…`.
        prepare: for PostgreSQL: whether statements are prepared (auto, always, never).
        lanes: for PostgreSQL: connections that write.

    Raises:
        DatabaseError: the address can't be read, or what speaks to that kind of database isn't installed.
    """
    if url.startswith(SQLITE):
        return SqliteSite(Path(url.removeprefix(SQLITE)))
    try:
        from onetake.store.postgres_site import PostgresSite  # noqa: PLC0415 - an extra: psycopg may be missing
    except ImportError as error:
        raise DatabaseError(
            f"PostgreSQL needs psycopg, which can't be loaded here ({error}): pip install 'onetake[postgres]'."
        ) from error
    return PostgresSite(url, prepare=prepare, lanes=lanes)
