"""C061: many workers look at one ready step at the same time; one of them may send it."""

import asyncio
import contextlib
import random
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from onetake.domain.pacing import ROUTE_PAUSE_S, ROUTE_UNKNOWNS_MAX, RoutePace
from onetake.domain.recipe_toml import parse_recipe
from onetake.engine.intake import accept
from onetake.engine.orders import prepare
from onetake.engine.submitter import Claim, Market, claim, submit
from onetake.engine.turn import Turn
from onetake.opening import database_site
from onetake.sandbox import SandboxOptions
from onetake.store import leases, routes, workers
from onetake.store.database import Database, Tx
from tests.engine.recipes import still
from tests.engine.rig import Rig, rigged
from tests.fakes.databases import PausingDatabase

WORKERS = 32
CONNECTIONS = {"sqlite": 4, "postgres": 32}
"""Writers, each in its own thread as in a process of its own; SQLite lets 32 wait for one another so long that a round
would take a tenth of a second."""

ROUNDS = 300
ALLOWED = 5
ROUTE = ("reapi", "image")
MODELS = {"reapi": ("gemini-3.1-flash-image-preview",)}
UNSEEN = SandboxOptions(tiny=True, rates={"task_never_finishes": 1.0})  # what is drawn doesn't matter here


@pytest.mark.parametrize("kind", CONNECTIONS)
async def test_c061_32_workers_and_one_job_300_times(kind: str, tmp_path: Path) -> None:
    async with rigged(tmp_path, UNSEEN, kind=kind) as rig, contextlib.AsyncExitStack() as opened:
        racers = await _racers(rig, kind, opened)
        winners = set()
        for round_ in range(ROUNDS):
            await _order(rig, round_)
            reached = await asyncio.gather(*(_look_then_claim(rig, who, database) for who, database in racers))
            ((who, claimed),) = [
                (who, each) for (who, _), claims in zip(racers, reached, strict=True) for each in claims
            ]
            await submit(rig.parts, claimed, worker_id=who, give_up=asyncio.Event(), on_sending=lambda: None)
            winners.add(who)
        assert len(winners) > 1  # it was a race
        assert len(rig.look()["attempts"]) == ROUNDS
        assert rig.bill["totals"]["posts"] == len(rig.bought()) == ROUNDS


@pytest.mark.parametrize("kind", CONNECTIONS)
@pytest.mark.parametrize("limit", ["in_flight_max", "sends_per_minute", "per_account"])
async def test_no_limit_is_passed_by_32_workers_that_claim_at_once(limit: str, kind: str, tmp_path: Path) -> None:
    async with rigged(tmp_path, UNSEEN, kind=kind) as rig, contextlib.AsyncExitStack() as opened:
        if limit != "per_account":
            provider = rig.settings.providers["reapi"].model_copy(update={limit: ALLOWED})
            await rig.restart(rig.settings.model_copy(update={"providers": {"reapi": provider}}))
        per_account = ALLOWED if limit == "per_account" else None
        racers = await _racers(rig, kind, opened)
        for number in range(WORKERS):
            await _order(rig, number)
        for _ in range(2):  # the second time nothing is left to claim
            await asyncio.gather(*(_claim(rig, who, database, per_account, limit=1) for who, database in racers))
        # Twelve seconds lie between the sends of such a rate, and no time goes by here.
        assert len(rig.look()["attempts"]) == (1 if limit == "sends_per_minute" else ALLOWED)


@pytest.mark.parametrize("kind", CONNECTIONS)
async def test_a_paused_route_is_tried_by_one_of_32_workers_that_claim_at_once(kind: str, tmp_path: Path) -> None:
    async with rigged(tmp_path, UNSEEN, kind=kind) as rig, contextlib.AsyncExitStack() as opened:
        racers = await _racers(rig, kind, opened)
        for number in range(WORKERS):
            await _order(rig, number)
        await rig.parts.database.write(_pause_until_now)
        claims = await asyncio.gather(*(_claim(rig, who, database, None, limit=4) for who, database in racers))
        assert sum(map(len, claims)) == len(rig.look()["attempts"]) == 1


def _pause_until_now(tx: Tx) -> None:
    routes.get(tx, ROUTE)  # makes its row
    routes.put(tx, ROUTE, RoutePace(unknowns=ROUTE_UNKNOWNS_MAX, pause_s=ROUTE_PAUSE_S, paused_until=tx.now_us))


async def _racers(rig: Rig, kind: str, opened: contextlib.AsyncExitStack) -> list[tuple[str, Database]]:
    databases = [await _open(rig, seed, opened) for seed in range(CONNECTIONS[kind])]
    racers = [(f"wrk_{number}", databases[number % len(databases)]) for number in range(WORKERS)]
    for who, database in racers:
        await database.write(workers.insert, who, "racer", lease_us=3_600_000_000)
    return racers


async def _open(rig: Rig, seed: int, opened: contextlib.AsyncExitStack) -> Database:
    database = database_site(rig.settings).open(rig.clock)
    opened.push_async_callback(database.aclose)
    return PausingDatabase(database, _pauses(seed))


async def _order(rig: Rig, round_: int) -> None:
    order = prepare(parse_recipe(still(), "test.toml"), still(), inputs={"prompt": f"Round {round_}"})
    await rig.act(accept, order)


async def _look_then_claim(rig: Rig, who: str, database: Database) -> list[Claim]:
    """What the worker got: it looks first, as workers do, and claims in a second transaction."""
    if not await database.read(leases.list_ready, limit=1, closed=frozenset()):
        return []
    return await _claim(rig, who, database, None, limit=4)


async def _claim(rig: Rig, who: str, database: Database, per_account: int | None, *, limit: int) -> list[Claim]:
    market = Market(
        adapters=rig.parts.adapters,
        offered=MODELS,
        limit=limit,
        started_s=rig.parts.clock.monotonic_s(),
        per_account=per_account,
    )

    def reach(tx: Tx) -> list[Claim]:
        return claim(Turn(tx, rig.clock, rig.parts.book, who), market)

    return await database.write(reach)


def _pauses(seed: int) -> Callable[[], None]:
    """A pause between two statements: none, or up to a fifth of a millisecond, in which other threads run."""
    chance, never = random.Random(seed), threading.Event()

    def pause() -> None:
        if chance.random() < 0.25:
            never.wait(chance.uniform(0, 0.000_2))

    return pause
