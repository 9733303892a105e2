"""Which job is meant: a person names it by its id or its key."""

from onetake.domain.errors import NotFoundError
from onetake.domain.jsonvalue import shown, text_fault
from onetake.store import accounts, jobs
from onetake.store.database import Row, Tx


def find_job(tx: Tx, name: str) -> Row:
    """The job of that id or key.

    Raises:
        NotFoundError: there is none.
    """
    job = None if text_fault(name) else jobs.find(tx, accounts.EMBEDDED, name)
    if job is None:
        raise NotFoundError(f"There is no job with the id or key {shown(name)!r}.")
    return job
