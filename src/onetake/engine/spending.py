"""Provider spend: a job is let through once, whole, at worst; each step is settled by what it did cost.

Where no line is set, nothing is counted and only the moment is kept, until `put_days`. Day lines count an allowance
on the day of the account on which its step was dispatched; what crosses a line is not sent: its step waits with the
line named.
"""

import asyncio
import datetime
import zoneinfo
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain

import structlog

from onetake.domain.amounts import told_micros
from onetake.domain.errors import DatabaseError
from onetake.domain.events import StepEvent
from onetake.domain.states import Period, WaitReason
from onetake.engine.parts import Parts
from onetake.engine.turn import Turn
from onetake.engine.waiting import Bell, first_of
from onetake.store import accounts, allowances, budgets, steps
from onetake.store.budgets import EACH, Amount, Line, Place
from onetake.store.database import Row, Tx
from onetake.store.steps import Step

REOPEN_MAX = 100
"""Waiting steps that are looked at in one transaction, oldest first."""

_log = structlog.get_logger("onetake.spending")


class SpendGate:
    """The budget lines as one transaction finds them, for the steps that it looks at.

    The lines that bind any of the steps are locked at once, always in the same order, and each sum is read once.
    """

    def __init__(self, turn: Turn, looked_at: Sequence[Step]) -> None:
        self._turn, self._lines = turn, budgets.list_open(turn.tx)
        self._rows: dict[str, list[Row]] = defaultdict(list)
        self._uses: dict[Place, Amount] = {}
        if self._lines:
            for row in allowances.list_whole(turn.tx, job_ids=[step.job_id for step in looked_at]):
                self._rows[row["job_id"]].append(row)
            rows = [row for each in self._rows.values() for row in each]
            budgets.lock(turn.tx, (line.id for line in self._lines if any(binds(line, row) for row in rows)))

    def admits(self, step: Step) -> bool:
        """Whether the step may be sent; one that may not is parked, with the line that it waits for."""
        crossed = self.find_crossed(step)
        if crossed is None:
            return True
        changes = {"waiting_for": WaitReason.BUDGET, "waiting_on": crossed.id}
        if steps.advance(self._turn.tx, step, StepEvent.PARKED, changes):
            why = f"it would cross the budget line {crossed.id} ({told(crossed)}), so it isn't sent"
            data = {"waiting_for": WaitReason.BUDGET, "line": crossed.id, "why": why}
            self._turn.tell("step.parked", step, data=data)
        return False

    def find_crossed(self, step: Step) -> Line | None:
        """The first line that the step's job would cross; None where it fits, and then it is reserved."""
        tx, rows = self._turn.tx, self._rows[step.job_id]
        if not self._lines:
            allowances.reserve(tx, step.job_id)
            return None
        open_ = [{**row, "day": day_of(row["zone"], tx.now_us)} for row in rows if row["reserved_at"] is None]
        if not open_:
            self._move_day(step)
            return None
        lines = [line for line in self._lines if any(binds(line, row) for row in open_)]
        wanted, by_id = _amounts(lines, open_), {line.id: line for line in lines}
        foreign = (line for line in lines if any(is_foreign(line, row) for row in open_))
        full = (by_id[place.line_id] for place in wanted if self._is_full(by_id[place.line_id], place, wanted[place]))
        if (crossed := next(chain(foreign, full), None)) is not None:
            return crossed
        for place, amount in wanted.items():
            self._add(place, amount)
        for row in open_:
            allowances.put_day(tx, row["id"], row["day"])
        allowances.reserve(tx, step.job_id)
        through = {row["id"]: {**row, "reserved_at": tx.now_us} for row in open_}
        self._rows[step.job_id] = [through.get(row["id"], row) for row in rows]
        return None

    def _move_day(self, step: Step) -> None:
        """Count a step that is dispatched on a later day there; it is never stranded for that day's line."""
        tx = self._turn.tx
        row = next((row for row in self._rows[step.job_id] if row["step_id"] == step.id), None)
        today = day_of(row["zone"], tx.now_us) if row else ""
        if row is None or row["day"] in (None, today) or row["settled_at"] is not None:
            return
        lines = [line for line in self._lines if line.scope.period is Period.DAY and binds(line, row)]
        for place, amount in _amounts(lines, [row]).items():
            self._add(place, _negative(amount))
        for place, amount in _amounts(lines, [{**row, "day": today}]).items():
            self._add(place, amount)
        allowances.put_day(tx, row["id"], today)
        row["day"] = today

    def _is_full(self, line: Line, place: Place, more: Amount) -> bool:
        """Whether there is no room for so much more there."""
        use = self._uses.get(place) or budgets.get_use(self._turn.tx, place)
        self._uses[place] = use
        is_over_spend = (
            line.spend_micros_max is not None and use.spend_micros + more.spend_micros > line.spend_micros_max
        )
        return is_over_spend or (line.requests_max is not None and use.requests + more.requests > line.requests_max)

    def _add(self, place: Place, amount: Amount) -> None:
        budgets.add(self._turn.tx, place, amount)
        self._uses.pop(place, None)


def reopen(turn: Turn, after: str) -> tuple[int, str]:
    """How many steps that waited for a budget are ready again, and the last that was looked at; none: "".

    They are those whose whole job fits now, oldest first, from the step after the one with that id. The others name
    the line that holds them up now.
    """
    waiting = steps.list_without_budget(turn.tx, limit=REOPEN_MAX, after=after)
    gate, opened = SpendGate(turn, waiting), 0
    for step in waiting:
        crossed = gate.find_crossed(step)
        if crossed is not None:
            steps.wait_on(turn.tx, step, crossed.id)
        elif steps.advance(turn.tx, step, StepEvent.OPENED):
            turn.tell("step.admitted", step)
            opened += 1
    return opened, waiting[-1].id if waiting else ""


class Admissions:
    """Lets through what waits for a budget as soon as it fits; one pass at a time in each worker."""

    def __init__(self, parts: Parts) -> None:
        self._parts, self._pass = parts, asyncio.Lock()

    async def keep(self, worker_id: Callable[[], str], stop: Bell, *, pace_s: float) -> None:
        """Look again and again, until told to stop."""
        while not stop.is_set():
            try:
                if await self.look(worker_id(), stop):
                    self._parts.wake.set()
            except DatabaseError as error:
                _log.error("budgets.not_asked", error=error.sentence)
            await first_of(pace_s, self._parts.clock, stop)

    async def look(self, worker_id: str, stop: Bell) -> bool:
        """Whether a step that waited for a budget is ready again; every one is looked at, unless told to stop.

        After a pass that is under way: what that one has in hand is left out by others.
        """
        async with self._pass:
            if not await self._parts.database.read(steps.is_any_without_budget):
                return False
            total, last = await self._parts.act(worker_id, reopen, "")
            while last and not stop.is_set():
                opened, last = await self._parts.act(worker_id, reopen, last)
                total += opened
            return total > 0


def settle(turn: Turn, step_id: str) -> None:
    """Count a step that has ended by what it did cost, unless something bought for it is still in doubt."""
    row = allowances.find_spent(turn.tx, step_id)
    if row is None or row["in_doubt"]:
        return
    spent, billed = int(row["spent"]), int(row["billed"])
    if (row["settled_micros"], row["settled_requests"]) == (spent, billed):
        return
    if row["has_lines"] and row["reserved_at"] is not None:
        now = {**row, "settled_micros": spent, "settled_requests": billed, "settled_at": turn.tx.now_us}
        _replace(turn.tx, row, now)
    allowances.settle(turn.tx, row["id"], spend_micros=spent, requests=billed)


def _replace(tx: Tx, old: Row, new: Mapping[str, object]) -> None:
    """Let a settled allowance stand against its lines by what it did cost."""
    lines = [line for line in budgets.list_open(tx) if binds(line, old)]
    budgets.lock(tx, (line.id for line in lines))
    for place, amount in _amounts(lines, [old]).items():
        budgets.add(tx, place, _negative(amount))
    for place, amount in _amounts(lines, [new]).items():
        budgets.add(tx, place, amount)


def put_days(tx: Tx) -> None:
    """Give a day to what was reserved while no line stood: the day of its account on which that was."""
    for row in allowances.list_whole(tx):
        if row["day"] is None:
            allowances.put_day(tx, row["id"], day_of(row["zone"], row["reserved_at"]))


def recount(tx: Tx, line: Line) -> dict[tuple[str, str], Amount]:
    """What must stand against the line, from the allowances themselves, by day and campaign."""
    rows = [row for row in allowances.list_whole(tx) if binds(line, row)]
    return {(place.day, place.campaign): amount for place, amount in _amounts([line], rows).items()}


def list_running(tx: Tx, line: Line) -> list[Row]:
    """What stands against the line now: `day`, `campaign`, `spend_micros`, `requests`, and the `zones` of the day.

    For a day line each day that runs in one of its accounts, used or not; of several zones there can be three.
    """
    uses = [row for row in budgets.list_uses(tx, line.id) if row["spend_micros"] or row["requests"]]
    if line.scope.period is Period.TOTAL:
        return [{**row, "zones": []} for row in uses]
    zones = defaultdict(list)
    for zone in accounts.list_zones(tx, line.scope.account_id):
        zones[day_of(zone, tx.now_us)].append(zone)
    unused = {"campaign": "", "spend_micros": 0, "requests": 0}
    return [
        {**row, "zones": zones[day]}
        for day in sorted(zones)
        for row in [use for use in uses if use["day"] == day] or [{"day": day, **unused}]
    ]


def binds(line: Line, allowance: Mapping[str, object]) -> bool:
    """Whether the allowance stands against the line."""
    scope = line.scope
    return (
        scope.account_id in ("", allowance["account_id"])
        and scope.provider in ("", allowance["provider"])
        and (scope.campaign in ("", allowance["campaign"]) or (scope.campaign == EACH and bool(allowance["campaign"])))
    )


def is_foreign(line: Line, allowance: Mapping[str, object]) -> bool:
    """Whether the line bounds its spend in another currency, so that nobody can say whether the allowance fits."""
    is_spend_bound = bool(line.currency and allowance["amount_micros"]) and binds(line, allowance)
    return is_spend_bound and allowance["currency"] != line.currency


def day_of(zone: str, moment_us: int) -> str:
    """The day of the zone on which the moment lies, as YYYY-MM-DD."""
    moment = datetime.datetime.fromtimestamp(moment_us / 1e6, zoneinfo.ZoneInfo(zone))
    return moment.date().isoformat()


def told_requests(count: int) -> str:
    """A number of requests for people."""
    return f"{count:,} request{'' if count == 1 else 's'}"


def told(line: Line) -> str:
    """The line for people: whom it binds, and to what."""
    scope = line.scope
    whom = [
        f"account {scope.account_id}" if scope.account_id else "",
        "each campaign" if scope.campaign == EACH else f"campaign {scope.campaign}" if scope.campaign else "",
        f"provider {scope.provider}" if scope.provider else "",
    ]
    bounds = [
        "" if line.spend_micros_max is None else told_micros(line.spend_micros_max, line.currency),
        "" if line.requests_max is None else told_requests(line.requests_max),
    ]
    period = "a day" if scope.period is Period.DAY else "in all"
    return f"{', '.join(filter(None, whom)) or 'everything'}: {' and '.join(filter(None, bounds))} {period}"


def _amounts(lines: Iterable[Line], rows: Iterable[Mapping[str, object]]) -> dict[Place, Amount]:
    """What the allowances come to against each line, in the order of the lines."""
    found: dict[Place, list[int]] = defaultdict(lambda: [0, 0])
    standing: Sequence[Mapping[str, object]] = list(rows)
    for line in lines:
        for row in standing:
            if not binds(line, row):
                continue
            place = Place(
                line_id=line.id,
                day=str(row["day"] or "") if line.scope.period is Period.DAY else "",
                campaign=str(row["campaign"]) if line.scope.campaign == EACH else "",
            )
            is_settled = row["settled_at"] is not None
            spend = row["settled_micros" if is_settled else "amount_micros"]
            requests = row["settled_requests" if is_settled else "requests"]
            found[place][0] += int(str(spend)) if row["currency"] == line.currency else 0
            found[place][1] += int(str(requests))
    return {place: Amount(spend_micros=spend, requests=requests) for place, (spend, requests) in found.items()}


def _negative(amount: Amount) -> Amount:
    return Amount(spend_micros=-amount.spend_micros, requests=-amount.requests)
