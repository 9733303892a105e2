"""What every database promises about operations: whole or not at all, each for itself, committed when answered."""

import asyncio

import pytest

from onetake.domain.errors import DatabaseError
from onetake.store import accounts, jobs, journal, models
from onetake.store.database import ConstraintError, Tx
from tests.store.shop import Shop


def make_account(tx: Tx, name: str) -> int:
    made = tx.do(
        "INSERT INTO accounts (id, name, created_at) VALUES (:id, :name, :now)",
        {"id": f"acc_{name}", "name": name, "now": tx.now_us},
    )
    return made * len(name)


def make_two(tx: Tx, first: str, second: str) -> None:
    make_account(tx, first)
    make_account(tx, second)


def names(tx: Tx) -> list[str]:
    return [row["name"] for row in tx.all("SELECT name FROM accounts ORDER BY name")]


async def test_what_write_answers_is_committed(shop: Shop) -> None:
    assert await shop.do(make_account, "ada") == 3
    assert await shop.see(names) == ["ada"]


async def test_an_operation_that_is_refused_leaves_nothing_of_itself(shop: Shop) -> None:
    await shop.do(make_account, "ada")
    with pytest.raises(ConstraintError, match="accounts"):
        await shop.do(make_two, "bob", "ada")
    assert await shop.see(names) == ["ada"]


async def test_an_operation_that_raises_leaves_nothing_of_itself(shop: Shop) -> None:
    def break_off(tx: Tx) -> None:
        make_account(tx, "ada")
        raise LookupError("of its own")

    with pytest.raises(LookupError, match="of its own"):
        await shop.do(break_off)
    assert await shop.see(names) == []


async def test_of_operations_at_once_only_the_refused_ones_are_lost(shop: Shop) -> None:
    wanted = [f"n{n % 40:02}" for n in range(80)]  # each name twice: the second of each is refused
    results = await asyncio.gather(*(shop.do(make_account, name) for name in wanted), return_exceptions=True)
    assert sum(isinstance(result, ConstraintError) for result in results) == 40
    assert sum(result == 3 for result in results) == 40
    assert await shop.see(names) == sorted(set(wanted))


async def test_operations_are_done_in_the_order_in_which_they_were_handed_in(shop: Shop) -> None:
    order = await shop.order()
    writes = [shop.do(journal.record, order.job, f"e.{n}", actor="ada") for n in range(100)]
    await asyncio.gather(*writes)
    lines = await shop.see(journal.list_lines, order.job, after=1)
    assert [line["event"] for line in lines] == [f"e.{n}" for n in range(100)]


async def test_arguments_and_results_pass_through(shop: Shop) -> None:
    await shop.do(models.record, "reapi", ("a", "é", "🎬"))
    assert await shop.see(models.find, "reapi", age_us_max=1) == ("a", "é", "🎬")
    assert await shop.see(lambda tx: tx.one("SELECT 1 AS n WHERE 1 = 0")) is None


async def test_text_and_bytes_come_back_as_they_went_in(shop: Shop) -> None:
    odd = "'; DROP TABLE jobs; -- \"é\u202e🎬\n\t" * 100
    body = bytes(range(256)) * 300

    def insert(tx: Tx) -> None:
        tx.do(
            "INSERT INTO inbox (id, provider, dedupe_key, body, verified, received_at)"
            " VALUES (:id, 'p', :odd, :body, 'signed', :now)",
            {"id": "i1", "odd": odd, "body": body, "now": tx.now_us},
        )

    await shop.do(insert)
    (row,) = await shop.rows("SELECT dedupe_key, body, received_at, attempt_id FROM inbox")
    assert row == {"dedupe_key": odd, "body": body, "received_at": shop.clock.now_us(), "attempt_id": None}


async def test_the_databases_clock_is_read_once_a_transaction(shop: Shop) -> None:
    def twice(tx: Tx) -> tuple[int, int]:
        first = tx.now_us
        shop.clock.advance(5)
        return first, tx.now_us

    before = shop.clock.now_us()
    assert await shop.do(twice) == (before, before)
    assert await shop.see(twice) == (before + 5_000_000, before + 5_000_000)


async def test_a_read_changes_nothing(shop: Shop) -> None:
    await shop.do(make_account, "ada")
    with pytest.raises(DatabaseError, match="can't be written"):
        await shop.see(make_account, "bob")
    assert await shop.see(names) == ["ada"]


async def test_asking_for_what_is_not_there_is_a_bug_that_is_named(shop: Shop) -> None:
    for ask in (jobs.get, jobs.get_inputs):
        with pytest.raises(LookupError, match="job_0"):
            await shop.see(ask, "job_0")
    with pytest.raises(ConstraintError):
        await shop.do(journal.record, "job_0", "e", actor="ada")


async def test_the_embedded_account_is_made_once(shop: Shop) -> None:
    made = await asyncio.gather(*(shop.do(accounts.ensure_embedded) for _ in range(10)))
    assert set(made) == {accounts.EMBEDDED}
    assert await shop.see(names) == ["default"]
