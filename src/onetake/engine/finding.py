"""Which job is meant: a person names it by its id or its key, within an account that is the person's own."""

from onetake.domain.errors import NotFoundError
from onetake.domain.jsonvalue import shown, text_fault
from onetake.domain.roles import Act
from onetake.engine.members import Who, require
from onetake.store import jobs
from onetake.store.database import Row, Tx


def find_job(tx: Tx, name: str, who: Who) -> Row:
    """The account's job of that id or key; one of another account isn't there (L11).

    Raises:
        NotFoundError: there is none, or no such account for that person.
    """
    return find_in(tx, require(tx, who.account, who.person, Act.LOOK).account_id, name)


def find_in(tx: Tx, account_id: str, name: str) -> Row:
    """The account's job of that id or key.

    Raises:
        NotFoundError: there is none.
    """
    job = None if text_fault(name) else jobs.find(tx, account_id, name)
    if job is None:
        raise NotFoundError(f"There is no job with the id or key {shown(name)!r}.")
    return job
