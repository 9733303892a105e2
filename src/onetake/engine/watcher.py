"""Visits leased attempts when they are due: polls those that are processing, collects what is finished.

Memory holds the schedule; the database holds the facts. A visit never waits behind a submit: polls and
downloads have limits of their own, and what is due beyond them waits in a row, not as a task.
"""

import asyncio
from collections import deque
from dataclasses import dataclass, field, replace
from functools import partial

import structlog

from onetake.domain.errors import DatabaseError, OnetakeError, ProviderError
from onetake.domain.pacing import POLL_BACKOFF_S_MAX, backoff_s
from onetake.domain.states import AlarmKind, AttemptState
from onetake.engine import collector, poller
from onetake.engine.parts import Parts
from onetake.engine.poller import Again, Over
from onetake.engine.schedule import Schedule, Watch
from onetake.engine.waiting import Bell, first_of
from onetake.store import attempts
from onetake.store.leases import Watched

LONG_WAIT_S = 60.0
"""A backoff beyond this is written down, so that a restart honours it and `--until-idle` can tell it from work."""

BROKEN_MAX = 3
"""Failures in a row before an unexpected one raises an alarm: the first may come of something that passes."""

_log = structlog.get_logger("onetake.watcher")


@dataclass(slots=True)
class _Counter:
    """Visits of one kind: how many more may be under way, and who waits for one of them to end."""

    free: int
    row: deque[Watch] = field(default_factory=deque)


def _is_poll(watch: Watch) -> bool:
    """Whether the provider is asked, rather than files fetched."""
    return watch.held.state == AttemptState.PROCESSING or watch.must_renew


class Watcher:
    """The attempts that one worker has leased."""

    def __init__(self, parts: Parts, tasks: asyncio.TaskGroup) -> None:
        self._parts, self._tasks = parts, tasks
        self._schedule = Schedule()
        self._latest: dict[str, Watch] = {}
        self._polls = _Counter(parts.settings.worker.polls)
        self._downloads = _Counter(parts.settings.worker.downloads)
        self._changed = Bell()
        self._visiting: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return len(self._latest)

    def add(self, held: Watched, *, is_resumed: bool) -> None:
        """Watch a leased attempt; one that was resumed is visited soon, spread over an interval."""
        clock, adapter = self._parts.clock, self._parts.adapters[held.provider]
        settings = adapter.settings
        if held.locator == adapter.usual_locator(held.ref):  # not worth a hundred bytes of memory: made for each poll
            held = replace(held, locator="")
        wait_s = settings.poll_first_s
        if held.state == AttemptState.COLLECTING:
            wait_s = 0.0
        elif is_resumed:
            wait_s = clock.uniform(0, min(settings.poll_interval_s, wait_s + 1.0))
        if held.not_before is not None:
            wait_s = max(wait_s, (held.not_before - clock.now_us()) / 1e6)
        watch = self._latest[held.attempt_id] = Watch(held=held)
        self._schedule.add(watch, clock.monotonic_s() + wait_s)
        self._changed.set()

    def knows(self, attempt_id: str, token: int) -> bool:
        """Whether the attempt is watched under this lease."""
        watch = self._latest.get(attempt_id)
        return watch is not None and watch.held.token == token

    async def leave(self) -> None:
        """Stop the visits under way: polls and downloads are free to repeat, from saved ids."""
        for counter in (self._polls, self._downloads):
            counter.row.clear()
        visits = list(self._visiting)
        for visit in visits:
            visit.cancel()
        await asyncio.gather(*visits, return_exceptions=True)

    def forget(self) -> None:
        """Drop everything: the lease on it is gone."""
        for waiting in (self._schedule, self._polls.row, self._downloads.row, self._latest):
            waiting.clear()

    async def run(self, stop: Bell) -> None:
        """Visit what is due until told to stop; `leave` then ends the visits under way."""
        while not stop.is_set():
            for watch in self._schedule.due(self._parts.clock.monotonic_s()):
                counter = self._polls if _is_poll(watch) else self._downloads
                counter.row.append(watch)
                self._serve(counter)
            await self._pause(stop)

    def _serve(self, counter: "_Counter") -> None:
        """Begin visits as long as there is room."""
        while counter.free and counter.row:
            watch = counter.row.popleft()
            if self._latest.get(watch.held.attempt_id) is not watch:
                continue  # leased anew since: the newer watch goes on
            counter.free -= 1
            task = self._tasks.create_task(self._visit(watch))
            self._visiting.add(task)
            task.add_done_callback(partial(self._visited, counter))

    def _visited(self, counter: "_Counter", task: asyncio.Task[None]) -> None:
        self._visiting.discard(task)
        counter.free += 1
        if not task.cancelled():  # else the worker ends
            self._serve(counter)

    async def _pause(self, stop: Bell) -> None:
        """Wait until the next one is due, something is added, or the worker stops."""
        due_s = self._schedule.next_due_s()
        wait_s = LONG_WAIT_S if due_s is None else max(0.0, due_s - self._parts.clock.monotonic_s())
        self._changed.clear()
        await first_of(wait_s, self._parts.clock, self._changed, stop)

    async def _visit(self, watch: Watch) -> None:
        visit_once = poller.poll if _is_poll(watch) else collector.collect
        try:
            visit = await visit_once(self._parts, watch)
            if isinstance(visit, Again) and visit.is_backoff and visit.after_s > LONG_WAIT_S:
                visit = visit if await self._keep_wait(watch, visit.after_s) else Over()
        except OnetakeError as error:
            visit = Again(self._wait_s(watch))
            _log.warning("visit.failed", attempt=watch.held.attempt_id, error=error.sentence)
            if isinstance(error, ProviderError):  # there is no key to ask with
                await self._alarm(watch, AlarmKind.KEY_REFUSED, error.sentence)
            elif watch.failures >= BROKEN_MAX and not isinstance(error, DatabaseError):  # which couldn't be told there
                await self._alarm(watch, AlarmKind.BROKEN, error.sentence)
        except Exception as error:  # noqa: BLE001 - a bug: one attempt's trouble must not end the others
            # It is visited again. The error's own words may quote what is secret: the alarm names its type alone.
            visit = Again(self._wait_s(watch))
            _log.exception("visit.broke", attempt=watch.held.attempt_id)
            if watch.failures >= BROKEN_MAX:
                detail = f"our own program fails over it ({type(error).__name__}, see the log); it is tried on"
                await self._alarm(watch, AlarmKind.BROKEN, detail)
        if self._latest.get(watch.held.attempt_id) is not watch:
            return  # leased anew meanwhile: the newer watch goes on
        if isinstance(visit, Over):
            del self._latest[watch.held.attempt_id]
        else:
            self._schedule.add(watch, self._parts.clock.monotonic_s() + visit.after_s)
            self._changed.set()

    async def _alarm(self, watch: Watch, kind: AlarmKind, detail: str) -> None:
        """Raise it once; where even that fails, the next visit tries again."""
        if kind in watch.raised:
            return
        try:
            await self._parts.act(watch.held.worker_id, poller.record_alarm, watch.held, kind, detail)
        except Exception:  # noqa: BLE001 - as above
            _log.exception("alarm.not_raised", attempt=watch.held.attempt_id, kind=kind)
            return
        watch.raised |= {kind}
        watch.held = replace(watch.held, has_alarms=True)

    def _wait_s(self, watch: Watch) -> float:
        watch.failures += 1
        return backoff_s(watch.failures, base_s=1.0, cap_s=POLL_BACKOFF_S_MAX, chance=self._parts.clock.uniform(0, 1))

    async def _keep_wait(self, watch: Watch, after_s: float) -> bool:
        """Whether the wait is kept; if not, the lease is gone or the attempt has ended."""
        until = self._parts.clock.now_us() + round(after_s * 1e6)
        return await self._parts.database.write(attempts.postpone, watch.held.attempt_id, watch.held.token, until)
