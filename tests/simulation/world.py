"""One run of one schedule: processes, people, a provider, a disk and a database, on virtual time, until all is settled.

    result = simulate(drawn(17))
    assert not result.violations

The world counts every crossing of every place and hands out the schedule's faults. Workers that die are started
again. After `HEALTHY_S` nothing goes wrong any more; the run ends when every job is final or waits for a person, and
then the auditor looks at everything.
"""

import asyncio
import json
import random
import traceback
from collections import Counter
from functools import cache
from typing import Any

from pydantic import SecretStr

from onetake.config import ProviderSettings, Settings, WorkerSettings
from onetake.domain.errors import DatabaseError
from onetake.engine.parts import Fetching, Measuring
from onetake.media.blobs import Blobs
from onetake.providers.adapter import Adapter
from onetake.providers.transport import Transport
from tests.simulation import actors, logs
from tests.simulation.auditor import Auditor
from tests.simulation.database import ProcessDatabase, SharedDatabase
from tests.simulation.disk import Disk, ProcessBlobs, ProcessDecoder, ProcessFetcher
from tests.simulation.engines import REAL, Engine
from tests.simulation.fates import TASKS, TaskFate
from tests.simulation.laws import Truth
from tests.simulation.loop import VirtualLoop
from tests.simulation.orders import REPLACEMENTS_MAX
from tests.simulation.process import Process, SimulatedClock
from tests.simulation.provider import MODELS, ORIGIN, Arrival, Provider
from tests.simulation.results import Crossing, Death, Result
from tests.simulation.schedule import Schedule
from tests.simulation.wire import ProcessTransport

START_US = 1_767_225_600_000_000
"""The wall clock's beginning: 2026 began that second; `fates` names dates after it."""

HEALTHY_S = 1000.0
"""From here on nothing goes wrong: long after the last fault of most schedules has met something."""

HORIZON_S = 2 * 3600.0
"""By then all is settled, or something is stuck: the longest backoff is five minutes, clocks go back by twenty."""

_DISTURBING = frozenset({"error", "lost", "late", "freeze", "freeze_after", "freeze_1", "freeze_2", "database_down"})
"""Faults that may keep an answer in hand from its row."""

LOOK_S = 30.0
"""Between looks whether all is settled."""


def _settings() -> Settings:
    """Leases, timeouts and looks in such proportion that each can run out within a few of the others."""
    account = ProviderSettings(
        base_url=ORIGIN, api_key=SecretStr("rk_simulated"), submit_timeout_s=60, poll_first_s=10, poll_interval_s=20
    )
    worker = WorkerSettings(concurrency=4, lease_s=60, grace_s=20)
    return Settings(providers={"reapi": account}, worker=worker, person="ada")


SETTINGS = _settings()
ADAPTERS = {"reapi": Adapter.of("reapi", SETTINGS.provider("reapi"))}
_MODELS = json.dumps({"data": [{"id": name} for name in MODELS]}).encode()


class World:
    """Everything in one run."""

    models = _MODELS

    def __init__(self, schedule: Schedule, engine: Engine, shared: SharedDatabase) -> None:
        self.schedule, self.engine = schedule, engine
        self._chance = random.Random(schedule.seed)
        chance = random.Random(schedule.seed) if schedule.is_shuffled else None
        self.loop = VirtualLoop(chance=chance)  # type: ignore[abstract]  # it has what is asked of it, and no sockets
        self.set_s = 0.0
        self.is_healthy = False
        self.shared = shared
        self.auditor = Auditor(shared.rows)
        self.provider = Provider(now_s=self.loop.time, fate_of_task=self._fate_of_task, on_arrival=self._judge)
        self.disk = Disk()
        self.violations: list[str] = []
        self.bugs: list[BaseException] = []
        self.crossings: list[Crossing] = []
        self.deaths: list[Death] = []
        self._is_over = False
        self._stalled_until_s = 0.0
        self.workers: dict[int, Process] = {}
        self.stops: dict[int, asyncio.Event] = {}
        self._faults = {(where, nth): what for where, nth, what in schedule.faults}
        self._crossed: Counter[str] = Counter()
        self._down_until_s: dict[str, float] = {}

    def wall_us(self) -> int:
        """The wall clock, which may have been set."""
        return START_US + round((self.loop.time() + self.set_s) * 1e6)

    def delay_s(self, most_s: float) -> float:
        """A drawn delay."""
        return self._chance.random() * most_s

    def befalls(self, place: str, name: str) -> str:
        """What befalls whoever crosses this place now; empty: nothing."""
        if self.is_healthy or self.loop.time() >= HEALTHY_S:
            return ""
        what = self._fault_at(place)
        if name:
            what = self._fault_at(f"{place} {name}") or what
        self.crossings.append(Crossing(self.loop.time(), place, name, what))
        return what

    def _fault_at(self, place: str) -> str:
        self._crossed[place] += 1
        return self._faults.get((place, self._crossed[place]), "")

    def _fate_of_task(self, operation: str) -> TaskFate:
        return TASKS.get(self.befalls("task", operation), TaskFate())

    def _judge(self, arrival: Arrival) -> None:
        self.auditor.may_be_late = bool(self.set_s)
        self.auditor.arrived(arrival, self.provider.files)

    def take_down(self, what: str, seconds: float) -> None:
        """Let something fail for everybody for a while."""
        self._down_until_s[what] = self.loop.time() + seconds

    def is_down(self, what: str) -> bool:
        """Whether it fails now."""
        return self._down_until_s.get(what, 0.0) > self.loop.time() and not self.is_healthy

    def process(self, name: str) -> tuple[Process, Any]:
        """A new process, and the engine's parts in it."""
        process = Process(self, name)
        transport: Transport = ProcessTransport(process)
        fetcher: Fetching = ProcessFetcher(process)
        decoder: Measuring = ProcessDecoder(process)
        blobs: Blobs = ProcessBlobs(process)
        chance, book = random.Random(self._chance.random()), self.engine.RecipeBook()
        book._parsed = _parsed(self.engine)
        parts = self.engine.Parts(
            settings=SETTINGS,
            clock=SimulatedClock(self, chance, skew_us=round((self._chance.random() - 0.5) * 2e6)),
            database=ProcessDatabase(process, self.shared),
            adapters=ADAPTERS,
            transport=transport,
            fetcher=fetcher,
            decoder=decoder,
            blobs=blobs,
            book=book,
        )
        return process, parts

    def note_stall(self, seconds: float) -> None:
        """Somebody is late for so long, and may know what nobody else does."""
        self._stalled_until_s = max(self._stalled_until_s, self.loop.time() + seconds)

    def note_death(self, name: str) -> None:
        """Keep what a process left behind that died before the end of the world."""
        if not self._is_over:
            lines = self.shared.rows("SELECT count(*) AS n FROM journal")[0]["n"]
            self.deaths.append(Death(self.loop.time(), name, self.auditor.standing(), lines))

    def note_trouble(self, trouble: BaseException) -> None:
        """Keep an error with which a process ended, unless it couldn't even start for want of a database."""
        if not isinstance(trouble, DatabaseError):
            self.bugs += _leaves(trouble)

    async def live(self) -> None:
        """Order, work and suffer until all is settled; then let a person do what a person can, and settle again."""
        schedule = self.schedule
        lasting = [asyncio.create_task(actors.keep_working(self, number)) for number in range(1, schedule.workers + 1)]
        passing = [asyncio.create_task(actors.order_job(self, number)) for number in range(1, schedule.jobs + 1)]
        passing += [
            asyncio.create_task(actors.befall(self, fault.nth, fault.what))
            for fault in schedule.faults
            if fault.where == "second"
        ]
        try:
            await self._settle(passing)
            self.is_healthy = True
            if self.auditor.waits_for_person():
                self.violations += await actors.attach_all(self)
                await actors.lift_all(self)
                await actors.resume(self)
                await self._settle([])
        finally:
            self._is_over = True
            for task in (*lasting, *passing):
                task.cancel()
            await asyncio.wait([*lasting, *passing, *(process.end() for process in self.workers.values())])

    async def _settle(self, passing: list["asyncio.Task[None]"]) -> None:
        """Come back when the schedule's events and stalls are over and every job is final or waits for a person."""
        if passing:
            await asyncio.wait(passing)
        end_s = self.loop.time() + HORIZON_S
        seen, stuck = -1, [""]
        while True:
            if seen != self.shared.commits:  # what nobody wrote to is as it was
                seen, stuck = self.shared.commits, self.auditor.unsettled()
            if not stuck and self.loop.time() > self._stalled_until_s:
                break
            if self.loop.time() > end_s:
                self.violations += [f"nothing stuck: {each}" for each in stuck]
                return
            await asyncio.sleep(LOOK_S)
        truth = Truth(
            tasks=self.provider.tasks,
            kept=self.disk.kept,
            replacements_max=REPLACEMENTS_MAX[self.schedule.recipe],
            is_disturbed=any(fault.what in _DISTURBING for fault in self.schedule.faults),
        )
        self.violations += self.auditor.look(truth)


def _leaves(trouble: BaseException) -> list[BaseException]:
    """The errors in a group of groups."""
    if isinstance(trouble, BaseExceptionGroup):
        return [leaf for each in trouble.exceptions for leaf in _leaves(each)]
    return [trouble]


@cache
def _shared(engine: Engine) -> SharedDatabase:
    """One database for all of an engine's schedules in this real process."""
    return SharedDatabase(engine.InlineDatabase)


@cache
def _parsed(_: Engine) -> dict[str, object]:
    """Recipes by their hash, parsed once for all: nothing that a process could lose."""
    return {}


def simulate(schedule: Schedule, engine: Engine = REAL) -> Result:
    """Run it to its end and have everything audited."""
    shared = _shared(engine)
    world = World(schedule, engine, shared)
    shared.begin(world.wall_us)
    with logs.watched(world.bugs):
        world.loop.run(world.live())
    bugs = [f"a bug: {''.join(traceback.format_exception(bug))}" for bug in world.bugs]
    bugs += [f"a bug: {trouble}" for trouble in world.loop.troubles]
    return Result(
        violations=[*dict.fromkeys(world.violations), *bugs],
        virtual_s=world.loop.time(),
        crossings=world.crossings,
        deaths=world.deaths,
        posts=dict(Counter(arrival.operation for arrival in world.provider.arrivals)),
        ending=world.auditor.standing(),
    )


def journal(engine: Engine = REAL) -> list[dict[str, Any]]:
    """The journal lines of the last run, in the order in which they were written."""
    lines = _shared(engine).rows("SELECT * FROM journal ORDER BY at, rowid")
    return [{**line, "data": json.loads(line["data"])} for line in lines]
