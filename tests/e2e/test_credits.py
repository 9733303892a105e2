"""A thousand orders at once against credit for a hundred: exactly a hundred are taken, and the books are right."""

import asyncio
import contextlib
from pathlib import Path

import pytest

from onetake.domain.errors import NotEnoughCreditsError
from onetake.domain.recipe_toml import parse_recipe
from onetake.engine.auditing import find_faults
from onetake.engine.intake import accept
from onetake.engine.orders import Order, Taken, Terms, prepare
from onetake.engine.turn import Turn
from onetake.opening import database_site
from onetake.store.database import Database, Tx
from tests.engine.recipes import still
from tests.engine.rig import Rig, rigged

PRICE = "[steps.price]\ncredits = 7\nspend_micros_max = 80000\ncurrency = 'USD'\n"
SOURCE = still(PRICE)
WRITERS = {"sqlite": 4, "postgres": 16}
"""Each with connections of its own, as in a process of its own."""


@pytest.mark.parametrize("kind", WRITERS)
async def test_of_a_thousand_orders_at_once_a_hundred_are_taken(kind: str, tmp_path: Path) -> None:
    async with rigged(tmp_path, kind=kind) as rig, contextlib.AsyncExitStack() as opened:
        await rig.fund(706)  # for a hundred, and not for one more
        writers = [await _open(rig, opened) for _ in range(WRITERS[kind])]
        orders = [_order(number) for number in range(1000)]
        tries = [_take(rig, writers[number % len(writers)], order) for number, order in enumerate(orders)]
        found = await asyncio.gather(*tries)
        assert sum(isinstance(each, Taken) for each in found) == 100
        assert sum(isinstance(each, NotEnoughCreditsError) for each in found) == 900
        rows = rig.look()
        assert len(rows["jobs"]) == len(rows["holds"]) == 100
        balance = await rig.balance()
        assert balance == {"granted": 706, "available": 6, "held": 700, "captured": 0}
        assert await rig.parts.database.read(lambda tx: list(find_faults(tx))) == []
        again = await asyncio.gather(*(_take(rig, writers[0], order) for order in orders))
        assert [each.job_id for each in again if isinstance(each, Taken) and not each.is_new] == [
            each.job_id for each in found if isinstance(each, Taken)
        ]
        assert await rig.balance() == balance


def _order(number: int) -> Order:
    return prepare(parse_recipe(SOURCE, "t"), SOURCE, inputs={"prompt": f"A tide pool, number {number}"})


async def _open(rig: Rig, opened: contextlib.AsyncExitStack) -> Database:
    database = database_site(rig.settings).open(rig.clock)
    opened.push_async_callback(database.aclose)
    return database


async def _take(rig: Rig, database: Database, order: Order) -> Taken | NotEnoughCreditsError:
    def take(tx: Tx) -> Taken:
        return accept(Turn(tx, rig.clock, rig.parts.book, "ada"), order, Terms(accept_up_to=7))

    try:
        return await database.write(take)
    except NotEnoughCreditsError as error:
        return error
