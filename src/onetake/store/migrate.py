"""Bring a database to this program's schema, or say in one sentence why that can't be done.

Opening compares one row (`alembic_version`) with `HEAD`; Alembic itself is imported only when there is
something to do, because that costs more than a second. A migration is one transaction: it stands whole or not at all.
"""

from importlib.resources import files

from onetake.domain.errors import DatabaseError
from onetake.store.site import Site

HEAD = "0003"
"""The newest revision that this program knows; a test holds it against the migrations folder."""

_HISTORY = ("0001", "0002", "0003")


def check(site: Site) -> bool:
    """Whether the database is at this program's schema; False: it is new or older and can be migrated.

    Raises:
        DatabaseError: it is newer than this program.
    """
    found = site.revision()
    if found is not None and found not in _HISTORY:
        raise DatabaseError(
            f"The database {site.place} is newer than this program (revision {found}, this program knows {HEAD}):"
            " install the newer onetake; nothing was changed."
        )
    return found == HEAD


def migrate(site: Site) -> bool:
    """Bring the database to `HEAD`, whole or not at all; whether there was anything to do.

    Raises:
        DatabaseError: it can't be written, or it is newer than this program.
    """
    if check(site):
        return False
    try:
        _upgrade(site)
    except DatabaseError:
        if not check(site):
            raise
        return False  # another process did it at the same time, and its transaction was first
    return True


def _upgrade(site: Site) -> None:
    import sqlalchemy  # noqa: PLC0415 - costs half a second, needed here only
    from alembic import command  # noqa: PLC0415 - likewise
    from alembic.config import Config  # noqa: PLC0415 - likewise

    config = Config()
    config.set_main_option("script_location", str(files("onetake.store") / "migrations").replace("%", "%%"))
    engine = site.engine()
    try:
        with engine.connect() as connection:
            config.attributes["connection"] = connection
            command.upgrade(config, "head")
            connection.commit()
    except sqlalchemy.exc.DBAPIError as error:
        reason = str(error.orig).strip().splitlines()[0]
        raise DatabaseError(
            f"The database {site.place} can't be migrated ({reason}): check its disk and permissions."
        ) from error
    finally:
        engine.dispose()
