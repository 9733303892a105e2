"""Rows 1, 2, 3, 7 and 9: the store's own operations, as the engine calls them, against plain updates of single rows."""

import asyncio
import contextlib
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, replace

from benchmarks import crowd
from benchmarks.baselines import PlainPostgres, PlainSqlite
from benchmarks.bench import Bench
from benchmarks.crowd import make_crowd
from benchmarks.measuring import Result, Target, result
from benchmarks.rig import Place
from onetake.app import open_parts
from onetake.domain.events import StepEvent
from onetake.domain.recipe_toml import parse_recipe
from onetake.domain.states import StepState, WaitReason
from onetake.engine import bookkeeping
from onetake.engine.intake import accept
from onetake.engine.orders import Terms, prepare
from onetake.engine.parts import Parts
from onetake.engine.turn import Turn
from onetake.store import attempts, steps
from onetake.store.accounts import OWNER_NAME
from onetake.store.database import Tx
from onetake.store.steps import Step

ALONE = 8
"""Callers of rows 1 and 7 with a commit each: every one has a connection of its own, as eight processes would."""
TOGETHER = 50
"""Callers that share one open database, and so its transactions."""
BATCH = 100
"""Outcomes of polls that come in at once."""
PRICE = 7
_PRICE = f"[steps.price]\ncredits = {PRICE}\nspend_micros_max = 40000\ncurrency = 'USD'\n[[steps.outputs]]"
STILL = crowd.STILL.replace("[[steps.outputs]]", _PRICE, 1).replace('name = "', 'name = "priced-', 1)
RECIPE = parse_recipe(STILL, "priced.toml")

Act = Callable[[], Awaitable[object]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """One of these rows.

    Attributes:
        databases: how many are open on the same data.
        callers: how many call at the same time through each.
        make: from an open onetake and a caller's number, what the caller does again and again.
    """

    row: str
    what: str
    target: Target
    databases: int
    callers: int
    make: Callable[[Parts, int], Awaitable[Act]]


async def transition(parts: Parts, caller: int) -> Act:
    """A guarded change of a step's state, with its line in the journal."""
    job = await order(parts, f"transition-{caller}")
    standing = (await parts.database.read(steps.list_of_job, job))[0]

    async def act() -> None:
        nonlocal standing
        standing = await parts.act(OWNER_NAME, move, standing)

    return act


async def order(parts: Parts, key: str) -> str:
    """The id of a job under that key; the same again if it is there."""
    inputs = {"image_prompt": f"a red bicycle chain={key}", "video_prompt": f"the wheel turns chain={key}"}
    order_ = prepare(RECIPE, STILL, inputs=inputs, key=key)
    taken = await parts.act(OWNER_NAME, accept, order_, Terms(accept_up_to=PRICE))
    return taken.job_id


async def fund(parts: Parts) -> None:
    """Let the embedded account pay with credits, so that each order really takes and holds some."""
    await parts.act(OWNER_NAME, bookkeeping.change_account, plan="credits", zone=None)
    await parts.act(OWNER_NAME, bookkeeping.grant, 10**12, reason="bench")


def move(turn: Turn, step: Step) -> Step:
    """The step in its other state: parked if it was ready, ready if it was parked."""
    event, waits = (StepEvent.PARKED, WaitReason.ADDRESS) if step.state is StepState.READY else (StepEvent.OPENED, None)
    to = steps.advance(turn.tx, step, event, {"waiting_for": waits})
    if to is None:
        raise AssertionError(f"{step.id} was moved by somebody else")
    turn.tell("bench.moved", step)
    return replace(step, state=to, waiting_for=waits, version=step.version + 1)


async def intake(parts: Parts, caller: int) -> Act:
    """A new job: key checked, quoted, held, written and told, in one transaction."""
    numbers = itertools.count()
    token = parts.clock.token(4).hex()
    await fund(parts)

    async def act() -> None:
        await order(parts, f"intake-{token}-{caller}-{next(numbers)}")

    return act


async def outcome(parts: Parts, caller: int) -> Act:
    """What a poll found: the provider's queue was left, or entered again."""
    found = await parts.database.read(lambda tx: tx.all("SELECT id, token FROM attempts ORDER BY id"))
    held = found[caller]
    turns = itertools.count()

    def note(tx: Tx) -> None:
        attempts.note_queued(tx, held["id"], held["token"], is_queued=next(turns) % 2 == 0)

    async def act() -> None:
        await parts.database.write(note)

    return act


ON_POSTGRES = (
    Measure(
        row="1", what="transition and journal line, a commit each", target=Target(">=", 0.35),
        databases=ALONE, callers=1, make=transition,
    ),
    Measure(
        row="2", what="transition and journal line, shared commits", target=Target(">=", 2.0),
        databases=1, callers=TOGETHER, make=transition,
    ),
    Measure(
        row="3", what="outcomes of polls, 100 at a time", target=Target(">=", 2.0),
        databases=1, callers=BATCH, make=outcome,
    ),
    Measure(
        row="7a", what="job accepted, a commit each", target=Target(">=", 0.25),
        databases=ALONE, callers=1, make=intake,
    ),
    Measure(
        row="7b", what="job accepted, shared commits", target=Target(">=", 1.0),
        databases=1, callers=TOGETHER, make=intake,
    ),
)  # fmt: skip

ON_SQLITE = (
    Measure(
        row="9a", what="transition and journal line, one caller", target=Target(">=", 0.4),
        databases=1, callers=1, make=transition,
    ),
    Measure(
        row="9b", what="transition and journal line, 50 callers", target=Target(">=", 2.5),
        databases=1, callers=TOGETHER, make=transition,
    ),
    Measure(
        row="9c", what="outcomes of polls, 100 at a time", target=Target(">=", 3.0),
        databases=1, callers=BATCH, make=outcome,
    ),
)  # fmt: skip


def measure(bench: Bench, *names: str) -> Iterator[Result]:
    """The rows that are named."""
    lite, *server = bench.places()
    chosen = [each for each in ON_SQLITE if each.row.rstrip("abc") in names]
    if chosen:
        plain = PlainSqlite(bench.folder)
        for each in chosen:
            yield asyncio.run(_ratio(bench, lite, each, plain))
    wanted = [each for each in ON_POSTGRES if each.row.rstrip("ab") in names]
    for place in server if wanted else ():
        base = PlainPostgres(str(place.server_url), bench.folder)
        for each in wanted:
            yield asyncio.run(_ratio(bench, place, each, base))


async def _ratio(bench: Bench, place: Place, chosen: Measure, base: PlainSqlite | PlainPostgres) -> Result:
    async with _callers(place, chosen) as acts:
        rounds = []
        for _ in range(bench.rounds):
            plain = await asyncio.to_thread(base.per_second, bench.seconds)
            rounds.append((await _per_second(acts, bench.seconds), plain))
    return result(
        rounds,
        row=chosen.row,
        what=chosen.what,
        baseline=base.words,
        unit="per second",
        target=chosen.target,
        database=place.database,
    )


@contextlib.asynccontextmanager
async def _callers(place: Place, chosen: Measure) -> AsyncIterator[list[Act]]:
    """What each caller does, on one fresh database."""
    settings = place.fresh_settings()
    async with contextlib.AsyncExitStack() as stack:
        opened = [await stack.enter_async_context(open_parts(settings)) for _ in range(chosen.databases)]
        if chosen.make is outcome:
            await make_crowd(opened[0], BATCH)
        pairs = list(itertools.product(enumerate(opened), range(chosen.callers)))
        yield [await chosen.make(parts, number * chosen.callers + caller) for (number, parts), caller in pairs]


async def _per_second(acts: list[Act], seconds: float) -> float:
    loop = asyncio.get_running_loop()
    began, done = loop.time(), 0

    async def call(act: Act) -> None:
        nonlocal done
        while loop.time() - began < seconds:
            await act()
            done += 1

    await asyncio.gather(*(call(act) for act in acts))
    return done / (loop.time() - began)
