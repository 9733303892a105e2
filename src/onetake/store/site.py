"""Where a database is: what can be asked before it is open. `sites.site_of` knows each kind."""

from typing import TYPE_CHECKING, Protocol

from onetake.clock import Clock
from onetake.store.database import Database, Reader

if TYPE_CHECKING:
    import sqlalchemy


class Site(Protocol):
    """One place of a database. Blocking: call it from a thread where a loop runs."""

    @property
    def place(self) -> str:
        """Its path or address, without a password."""
        ...

    def describe(self) -> str:
        """The program that keeps it and how it may be shared, for `onetake doctor`.

        Raises:
            DatabaseError: it can't be asked.
        """
        ...

    def revision(self) -> str | None:
        """The revision of its schema; None if there is none yet.

        Raises:
            DatabaseError: it can't be read, or holds the tables of something else.
        """
        ...

    def engine(self) -> "sqlalchemy.Engine":
        """For migrations only: an engine that makes what is needed for a first connection.

        Raises:
            DatabaseError: that can't be made.
        """
        ...

    def open(self, clock: Clock) -> Database:
        """The database, open.

        Raises:
            DatabaseError: it can't be opened.
        """
        ...

    def open_reader(self, clock: Clock) -> Reader:
        """The database, open for looking only.

        Raises:
            DatabaseError: it can't be opened.
        """
        ...
