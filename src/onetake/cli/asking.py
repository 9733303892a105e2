"""From a command to the engine: open what the settings name, do one thing, close it."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

from onetake.cli.printing import run

if TYPE_CHECKING:
    from onetake.domain.roles import Act
    from onetake.engine.members import Member
    from onetake.engine.turn import Turn
    from onetake.store.database import Row, Tx

P = ParamSpec("P")
T = TypeVar("T")


def read(op: "Callable[[Tx], T]") -> T:
    """What the operation reads, from one consistent snapshot."""
    from onetake.opening import load_settings, open_store

    async def work() -> T:
        async with open_store(load_settings()) as database:
            return await database.read(op)

    return run(work())


def read_job(job: str, op: "Callable[[Tx, Row], T]") -> T:
    """What the operation reads about the job of that id or key."""
    from onetake.engine.finding import find_job
    from onetake.engine.members import who_of
    from onetake.opening import load_settings

    who = who_of(load_settings())
    return read(lambda tx: op(tx, find_job(tx, job, who)))


def read_account(op: "Callable[[Tx, Member], T]", act: "Act | None" = None) -> T:
    """What the operation reads about the account that the person acts in."""
    from onetake.domain.roles import Act
    from onetake.engine.members import require
    from onetake.opening import load_settings

    settings = load_settings()
    return read(lambda tx: op(tx, require(tx, settings.account.name, settings.person, act or Act.LOOK)))


def read_over_all(op: "Callable[[Tx], T]", act: "Act | None" = None) -> T:
    """What the operation reads about all accounts together."""
    from onetake.domain.roles import Act
    from onetake.engine.members import check_over_all
    from onetake.opening import load_settings

    person = load_settings().person

    def look(tx: "Tx") -> T:
        check_over_all(tx, person, act or Act.LOOK)
        return op(tx)

    return read(look)


def act(op: "Callable[Concatenate[Turn, P], T]", *args: P.args, **kwargs: P.kwargs) -> T:
    """What a person's act came to, committed."""
    from onetake.app import open_parts
    from onetake.opening import load_settings

    async def work() -> T:
        async with open_parts(load_settings()) as parts:
            return await parts.act(parts.settings.person, op, *args, **kwargs)

    return run(work())
