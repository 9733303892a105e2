"""The worker: claims and submits, polls and collects, sweeps, and keeps its lease; stops without losing anything.

Four loops under one task group. Claims never exceed the free POST slots, so nothing sits in `submitting` for
want of a connection. On a stop no more is claimed; POSTs in the air are awaited for the grace period and then
given up, which records them as unknown; polls and downloads are simply left, they are free to repeat. The lease
ends with the worker, so another one takes over at once.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

import structlog

from onetake.clock import new_id
from onetake.domain.answers import NotSent, Refused
from onetake.domain.errors import DatabaseError, OnetakeError
from onetake.domain.states import ErrorCategory
from onetake.engine import recovery, submitter
from onetake.engine.addresses import keep_fresh
from onetake.engine.claiming import Claimer
from onetake.engine.parts import Parts
from onetake.engine.recoverer import keep_recovering
from onetake.engine.spending import Admissions
from onetake.engine.turn import Told
from onetake.engine.waiting import Bell, first_of, pass_on
from onetake.engine.watcher import Watcher
from onetake.store import leases, views, workers

PAGE = 250
"""Attempts read at once: some milliseconds, in which the loop of a worker that takes over many stands still."""

UNSENT_MAX = 2
"""Claims that have not begun to send: few, so that a crash leaves few that might have been sent and weren't."""

RENEWALS = 3
"""In a lease's length: two may fail or come late before it is lost. When all fail, `--until-idle` gives up."""

DATABASE_FAILURES_MAX = 10
"""Failed looks in a row, half a second apart, after which `--until-idle` gives up on the database."""

LEFTOVER_AGE_S = 3600.0
"""Files half written for longer than this are a dead process's: no download takes an hour without a byte."""

LOGGED = frozenset(
    {
        *("attempt.accepted", "attempt.delivered", "attempt.failed"),
        *("attempt.unknown", "attempt.refused", "attempt.later", "attempt.not_sent"),
        *("alarm.raised", "alarm.cleared", "case.opened", "case.closed", "step.parked"),
    }
)
"""Lines of the journal that a worker logs as well: what each attempt came to, and what a person should know."""

_log = structlog.get_logger("onetake.worker")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How often a worker looks for what nobody tells it, in seconds.

    Attributes:
        ready_s: what other processes made ready; what it makes ready itself it sees at once.
        sweep_s: what dead ones left.
    """

    ready_s: float = 0.5
    sweep_s: float = 1.0


class Worker:
    """One worker of this process."""

    def __init__(self, parts: Parts, *, name: str, pace: Pace | None = None) -> None:
        self._parts, self._name, self._pace = replace(parts, on_told=_log_told), name, pace or Pace()
        self._id = ""
        self._submits: set[asyncio.Task[None]] = set()
        self._unsent: set[str] = set()
        self._claimer, self._admissions = Claimer(self._parts), Admissions(self._parts)
        self._trouble: DatabaseError | None = None
        self._is_unsure = False  # the database failed: some lease may be ours without our knowing
        self._give_up = asyncio.Event()

    @property
    def trouble(self) -> OnetakeError | None:
        """Why nothing can be sent: a key is missing or refused, or the database is gone; None while all is well."""
        return self._trouble or self._claimer.trouble

    async def run(self, stop: asyncio.Event, *, until_idle: bool = False) -> None:
        """Work until told to stop, or until nothing remains but persons and long waits.

        Raises:
            ProviderError: with `until_idle`, when nothing can go on because a key is missing or refused.
            DatabaseError: the database can't be used at the start or, with `until_idle`, for too long.
        """
        await self._register()
        now_us = self._parts.clock.now_us()
        await self._parts.blobs.sweep_incoming(before_us=now_us - round(LEFTOVER_AGE_S * 1e6))
        async with asyncio.TaskGroup() as tasks:
            watcher, stopping = Watcher(self._parts, tasks), Bell()
            loops = [
                tasks.create_task(pass_on(stop, stopping)),
                tasks.create_task(self._renew(stopping, watcher)),
                tasks.create_task(self._sweep(stopping, watcher)),
                tasks.create_task(keep_fresh(self._parts, lambda: self._id, stopping, pace_s=self._pace.sweep_s)),
                tasks.create_task(keep_recovering(self._parts, lambda: self._id, stopping, self._give_up)),
                tasks.create_task(self._admissions.keep(lambda: self._id, stopping, pace_s=self._pace.sweep_s)),
                tasks.create_task(watcher.run(stopping)),
            ]
            await self._claim(stopping, tasks, watcher, until_idle=until_idle)
            _log.info("worker.stopping", worker=self._id, why=self._why(is_told=stop.is_set()))
            stop.set()
            await self._land()
            await asyncio.wait(loops)
            await watcher.leave()
        try:
            await self._parts.database.write(workers.stop, self._id)
        except DatabaseError as error:  # the lease then runs out by itself
            _log.warning("lease.not_ended", worker=self._id, error=error.sentence)
        if until_idle and self.trouble is not None:
            raise self.trouble

    async def _register(self) -> None:
        worker_id, lease_us = new_id("wrk", self._parts.clock), round(self._parts.settings.worker.lease_s * 1e6)
        await self._parts.database.write(workers.insert, worker_id, self._name, lease_us=lease_us)
        self._id = worker_id  # not before its row is there: other loops write with it meanwhile
        _log.info("worker.started", worker=worker_id, name=self._name)

    async def _renew(self, stop: Bell, watcher: Watcher) -> None:
        """Renew the lease some times in its length. One that ran out is not revived: start again with a new one."""
        lease_s, failures = self._parts.settings.worker.lease_s, 0
        while not stop.is_set():
            await first_of(lease_s / RENEWALS, self._parts.clock, stop)
            try:
                stands = await self._parts.database.write(workers.renew, self._id, lease_us=round(lease_s * 1e6))
                if not stands:
                    _log.warning("lease.lost", worker=self._id)
                    watcher.forget()
                    await self._register()
                failures, self._trouble = 0, None
            except DatabaseError as error:
                failures += 1
                _log.error("lease.not_renewed", worker=self._id, error=error.sentence)
                if failures >= RENEWALS:  # the lease ran out meanwhile
                    self._trouble = error

    async def _sweep(self, stop: Bell, watcher: Watcher) -> None:
        while not stop.is_set():
            try:
                if self._is_unsure:
                    await self._recollect(watcher)
                while await self._parts.database.read(leases.is_any_orphan, self._id):
                    taken = await self._parts.act(self._id, recovery.sweep, self._parts.adapters)
                    await self._watch(taken, watcher)
            except OnetakeError as error:
                self._is_unsure = True
                _log.error("sweep.failed", error=error.sentence)
            except Exception:  # noqa: BLE001 - a bug: what the worker holds goes on; it is swept again
                self._is_unsure = True
                _log.exception("sweep.broke", worker=self._id)
            await first_of(self._pace.sweep_s, self._parts.clock, stop)

    async def _recollect(self, watcher: Watcher) -> None:
        """Watch what the database says is ours and we don't know of: the answer to a commit may have been lost."""
        self._is_unsure = False
        tokens = await self._parts.database.read(leases.tokens_held, self._id)
        unknown = [attempt_id for attempt_id, token in tokens.items() if not watcher.knows(attempt_id, token)]
        await self._watch(unknown, watcher)

    async def _watch(self, attempt_ids: Sequence[str], watcher: Watcher) -> None:
        for first in range(0, len(attempt_ids), PAGE):
            page = attempt_ids[first : first + PAGE]
            for held in await self._parts.database.read(leases.list_held, self._id, page):
                watcher.add(held, is_resumed=True)

    async def _claim(self, stop: Bell, tasks: asyncio.TaskGroup, watcher: Watcher, *, until_idle: bool) -> None:
        """Claim as many ready steps as there are free POST slots, and send each once."""
        parts, failures = self._parts, 0
        while not stop.is_set():
            parts.wake.clear()
            try:
                claimed = await self._claimer.claim(self._id, self._free_slots(), stop)
                if until_idle and not claimed and (self._trouble or (not self._submits and await self._is_idle(stop))):
                    return
                failures = 0
            except DatabaseError as error:
                failures += 1
                _log.error("claim.failed", worker=self._id, error=error.sentence, times=failures)
                if until_idle and failures >= DATABASE_FAILURES_MAX:
                    self._trouble = error
                    return
                claimed = []
            except Exception:  # a bug: what is in the air goes on, and others may be claimed next time
                failures += 1
                _log.exception("claim.broke", worker=self._id, times=failures)
                if until_idle and failures >= DATABASE_FAILURES_MAX:
                    raise
                claimed = []
            for each in claimed:
                self._unsent.add(each.attempt_id)
                task = tasks.create_task(self._submit(each, watcher))
                self._submits.add(task)
                task.add_done_callback(self._landed)
            if not claimed:
                await first_of(self._pace.ready_s, parts.clock, parts.wake, stop)

    def _landed(self, task: asyncio.Task[None]) -> None:
        self._submits.discard(task)
        self._parts.wake.set()

    def _free_slots(self) -> int:
        concurrency = self._parts.settings.worker.concurrency
        return min(concurrency - len(self._submits), UNSENT_MAX - len(self._unsent))

    async def _submit(self, claimed: submitter.Claim, watcher: Watcher) -> None:
        parts = self._parts
        try:
            outcome, held = await submitter.submit(
                parts,
                claimed,
                worker_id=self._id,
                give_up=self._give_up,
                on_sending=lambda: self._sending(claimed.attempt_id),
            )
            if isinstance(outcome, Refused) and outcome.category is ErrorCategory.AUTH:
                await self._claimer.refused(claimed.provider, outcome.code)
        except Exception:  # noqa: BLE001 - see below
            # Stopping without a database, or a bug: one attempt's trouble must not end the others. Its own lease
            # runs out, and a sweep names it unknown.
            _log.exception("submit.broke", attempt=claimed.attempt_id)
            return
        finally:
            self._unsent.discard(claimed.attempt_id)
        self._claimer.landed(claimed)
        if held is not None:
            watcher.add(held, is_resumed=False)
        elif isinstance(outcome, NotSent | Refused):
            parts.wake.set()

    def _sending(self, attempt_id: str) -> None:
        self._unsent.discard(attempt_id)
        self._parts.wake.set()

    async def _is_idle(self, stop: Bell) -> bool:
        """Whether nothing is left; what waits for a budget is asked only then, and what it opened is looked for."""
        if await self._is_work_left() or await self._admissions.look(self._id, stop):
            return False
        return not await self._is_work_left()

    async def _is_work_left(self) -> bool:
        return await self._parts.database.read(views.is_work_left, closed=self._claimer.troubled())

    async def _land(self) -> None:
        """Await the POSTs in the air for the grace period, then give them up; each records what it came to."""
        if self._submits:
            await asyncio.wait(self._submits, timeout=self._parts.settings.worker.grace_s)
        self._give_up.set()
        if self._submits:
            await asyncio.wait(self._submits)

    def _why(self, *, is_told: bool) -> str:
        """Why the worker stops, in a word."""
        return "told" if is_told else self.trouble.code if self.trouble else "idle"


def _log_told(lines: Sequence[Told]) -> None:
    """Log what was committed, by ids alone: what a line's data says may be for the journal's readers only."""
    for line in lines:
        if line.event in LOGGED:
            _log.info(line.event, job=line.job_id, step=line.step, attempt=line.attempt_no)
