"""The engine as it really is, against the sandbox, in a folder of a test: ordered, worked, stopped, looked at.

    async with rigged(tmp_path) as rig:
        job = await rig.order(still(), prompt="A fox")
        await rig.work()
        assert (await rig.view(job))["state"] == "complete"

Time is virtual (`tests.fakes.virtual_time`), everything else is real. The auditor looks after every `work` and at
the end.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from pydantic import SecretStr

from onetake.app import open_parts
from onetake.clock import SystemClock
from onetake.config import ProviderSettings, Settings, WorkerSettings
from onetake.domain.recipe_toml import parse_recipe
from onetake.domain.states import Role
from onetake.engine import bookkeeping
from onetake.engine.finding import find_job
from onetake.engine.intake import accept
from onetake.engine.members import Who
from onetake.engine.ordering import check_orderable
from onetake.engine.orders import Taken, Terms, prepare
from onetake.engine.parts import Parts
from onetake.engine.turn import Turn
from onetake.engine.worker import Worker
from onetake.recipes import read_shipped
from onetake.sandbox import Sandbox, SandboxOptions
from onetake.store import accounts, ledger, views
from onetake.store.database import Database, Tx
from tests.engine.audit import Auditor
from tests.engine.keeping import Row, Tables, kept
from tests.fakes.virtual_time import VirtualClock, counted

CHAIN = read_shipped("still-to-clip")
TINY = SandboxOptions(tiny=True)
HOUR_S = 3600.0
_LOOKS_MAX = 1000
"""Looks before a test gives up; five or ten are usual."""

_MOMENTS_MAX = 6000
"""Hundredths of a second: a minute, in which the slowest machine has started a process and drawn a still."""

P = ParamSpec("P")
T = TypeVar("T")


def settings_for(
    folder: Path,
    database_url: str,
    origin: str,
    *,
    submit_timeout_s: float = 5.0,
    contract: str = "",
    **worker: float,
) -> Settings:
    """Settings that keep rows in the database and files in the folder, and buy from the origin."""
    provider = ProviderSettings(
        base_url=origin,
        api_key=SecretStr("rk_test"),
        submit_timeout_s=submit_timeout_s,
        contract=contract,
        poll_first_s=1.0,
        poll_interval_s=5.0,
    )
    return Settings(
        database_url=database_url,
        storage_url=f"file://{folder / 'files'}",
        providers={"reapi": provider},
        worker=WorkerSettings.model_validate(worker),
        person="ada",
    )


@contextlib.asynccontextmanager
async def paced(
    settings: Settings, clock: VirtualClock, *, around: Callable[[Database], Database] = lambda database: database
) -> AsyncIterator[Parts]:
    """The engine's parts under virtual time; `around` may put something the matter with the database."""
    async with open_parts(settings, clock=clock) as parts:
        yield replace(
            parts,
            database=counted(around(parts.database), clock),
            transport=counted(parts.transport, clock),
            fetcher=counted(parts.fetcher, clock),
            decoder=counted(parts.decoder, clock),
            blobs=counted(parts.blobs, clock),
        )


@dataclass(slots=True, kw_only=True)
class Rig:
    """One engine with its provider.

    Attributes:
        parts: the open engine; another one after `restart`.
    """

    folder: Path
    sandbox: Sandbox
    clock: VirtualClock
    settings: Settings
    auditor: Auditor
    parts: Parts
    stack: contextlib.AsyncExitStack
    around: Callable[[Database], Database] = field(default=lambda database: database)

    async def restart(self, settings: Settings | None = None) -> None:
        """Close the engine and open it again over the same files, as after the end of a process."""
        await self.stack.aclose()
        self.settings = settings or self.settings
        self.parts = await self.stack.enter_async_context(paced(self.settings, self.clock, around=self.around))

    @contextlib.asynccontextmanager
    async def beside(self) -> AsyncIterator[Parts]:
        """Another engine over the same files, as in another process."""
        async with paced(self.settings, self.clock) as parts:
            yield parts

    async def order(self, source: str = CHAIN, key: str | None = None, **inputs: object) -> str:
        """The id of the job for an order, checked as the command line does."""
        return (await self.take(source, key, **inputs)).job_id

    async def take(self, source: str = CHAIN, key: str | None = None, **inputs: object) -> Taken:
        """What intake says to an order."""
        recipe = parse_recipe(source, "test.toml")
        order = prepare(recipe, source, inputs=inputs, key=key)
        await check_orderable(self.parts, recipe)
        return await self.parts.act("ada", accept, order)

    async def work(self, parts: Parts | None = None) -> Tables:
        """All rows, after a worker did whatever it could within a minute's wait of each other."""
        await Worker(parts or self.parts, name="test").run(asyncio.Event(), until_idle=True)
        return self.look()

    @contextlib.asynccontextmanager
    async def working(self, parts: Parts | None = None) -> AsyncIterator[asyncio.Event]:
        """A worker that works during the block; setting the event is a polite stop."""
        stop = asyncio.Event()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(Worker(parts or self.parts, name="test").run(stop))
            try:
                yield stop
            finally:
                stop.set()

    @contextlib.asynccontextmanager
    async def crashing(self) -> AsyncIterator[None]:
        """A worker that is cut off at the end of the block, with nothing of its end written; then a restart."""
        worker = asyncio.create_task(Worker(self.parts, name="test").run(asyncio.Event()))
        try:
            yield
        finally:
            worker.cancel()
            await asyncio.gather(worker, return_exceptions=True)
        self.look()
        await self.restart()

    def look(self) -> Tables:
        """All rows, after the auditor checked every law."""
        return self.auditor.look(self.bill)

    async def view(self, job: str) -> Row:
        """The job as `jobs show --json` has it."""
        return await self.parts.database.read(lambda tx: views.get_job(tx, find_job(tx, job, Who())))

    async def state(self, job: str) -> str:
        """The job's evidence word."""
        return str((await self.view(job))["state"])

    async def events(self, job: str) -> list[str]:
        """The job's journal, as its events."""
        return [line["event"] for line in await self.journal(job)]

    async def journal(self, job: str) -> list[Row]:
        """The job's journal."""
        return await self.parts.database.read(views.list_journal, job)

    async def until(self, job: str, state: str, *, every_s: float = 0.2) -> None:
        """Come back when the job is in this state, which a worker must be bringing about."""
        for _ in range(_LOOKS_MAX):
            if await self.state(job) == state:
                return
            await self.clock.sleep(every_s)
        raise AssertionError(f"not {state}: {await self.events(job)}")

    async def until_told(self, job: str, event: str, times: int = 1, *, every_s: float = 0.2) -> None:
        """Come back when the journal holds the event so many times."""
        for _ in range(_LOOKS_MAX):
            if (await self.events(job)).count(event) >= times:
                return
            await self.clock.sleep(every_s)
        raise AssertionError(f"no {event}: {await self.events(job)}")

    async def fund(self, credits_: int) -> None:
        """Let the embedded account pay with credits, and give it so many."""
        await self.act(bookkeeping.change_account, plan="credits", zone=None)
        if credits_:
            await self.act(bookkeeping.grant, credits_, reason="for the test")

    async def buy(self, source: str, key: str | None = None, *, up_to: int = 1000, **inputs: object) -> str:
        """The id of the job for an order that may hold so many credits."""
        order = prepare(parse_recipe(source, "test.toml"), source, inputs=inputs, key=key)
        return (await self.act(accept, order, Terms(accept_up_to=up_to))).job_id

    async def balance(self) -> Row:
        """Where the embedded account's credits are."""
        return await self.parts.database.read(ledger.get_balance, accounts.EMBEDDED)

    async def act(self, op: Callable[Concatenate[Turn, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """What an operation of the engine gives, done by the person `ada`."""
        return await self.parts.act("ada", op, *args, **kwargs)

    @contextlib.contextmanager
    def unchanged(self) -> Iterator[None]:
        """Fails if the block changes any row, the rows of workers aside."""
        before = {**self.look(), "workers": []}
        yield
        assert {**self.look(), "workers": []} == before

    def let_finish(self) -> None:
        """Let the provider's tasks that never end, or name no addresses, come to their end now."""
        for task in self.sandbox._provider.bill.tasks.values():
            fault, task.task_fault = task.task_fault, None
            if fault == "task_never_finishes":
                self.sandbox._provider.studio.begin(task)

    async def meanwhile(self, check: Callable[[], Awaitable[bool]]) -> None:
        """Come back when the check holds, in real time: for what happens while a request is held in the air."""
        for _ in range(_MOMENTS_MAX):
            if await check():
                return
            await asyncio.sleep(0.01)
        raise AssertionError("it never came about")

    @property
    def bill(self) -> dict[str, Any]:
        """What the provider says that was bought."""
        return self.sandbox.bill()

    def bought(self, route: str | None = None) -> list[Row]:
        """The bill's tasks."""
        return [task for task in self.bill["tasks"] if route in (None, task["route"])]


@contextlib.asynccontextmanager
async def rigged(
    folder: Path,
    options: SandboxOptions = TINY,
    *,
    kind: str = "",
    url: str = "",
    keeps_time: bool = False,
    around: Callable[[Database], Database] = lambda database: database,
    submit_timeout_s: float = 5.0,
    contract: str = "",
    **worker: float,
) -> AsyncIterator[Rig]:
    """An engine and a tiny sandbox; the laws are checked at the end, whatever the test itself looked at."""
    clock = VirtualClock()
    async with contextlib.AsyncExitStack() as stack:
        database = stack.enter_context(kept(folder, clock.now_us(), kind=kind, url=url, keeps_time=keeps_time))
        clock.on_move = database.tell
        sandbox = await stack.enter_async_context(Sandbox(options))
        await stack.enter_async_context(clock.running())
        engine = await stack.enter_async_context(contextlib.AsyncExitStack())
        settings = settings_for(
            folder, database.url, sandbox.base_url, submit_timeout_s=submit_timeout_s, contract=contract, **worker
        )
        rig = Rig(
            folder=folder,
            sandbox=sandbox,
            clock=clock,
            settings=settings,
            auditor=Auditor(database.tables, folder / "files"),
            parts=await engine.enter_async_context(paced(settings, clock, around=around)),
            stack=engine,
            around=around,
        )
        await rig.parts.database.write(_let_in, "ada")
        yield rig
        rig.look()


def _let_in(tx: Tx, name: str) -> None:
    """The person is an owner of the embedded account."""
    account_id = accounts.ensure_embedded(tx)
    accounts.join(tx, account_id, accounts.insert_person(tx, SystemClock(), name), Role.OWNER)
