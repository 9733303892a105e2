"""The breaker of each route: after several unknown outcomes in a row it takes no more sends, for a while that grows.

A route is one operation of one provider account. Its count and its pause are a row, written in the transaction of the
outcome, so all workers see the same, and a restart forgets nothing. After a pause one probe is let through, by whoever
comes first; a clear answer, whatever it says, opens the route. What waits for it stays `ready`.
"""

import datetime

from onetake.domain.pacing import after_unknown
from onetake.domain.states import AlarmKind
from onetake.engine.turn import Turn
from onetake.store import alarms, routes
from onetake.store.attempts import Attempt
from onetake.store.database import Tx
from onetake.store.routes import Route
from onetake.store.steps import Step

_CLEAR = ("accepted", "later", "rejected")


def record_answer(turn: Turn, attempt: Attempt, outcome: str) -> None:
    """Count what a send came to, by the name that is stored with it; what never left says nothing of the route."""
    route = (attempt.provider, attempt.operation)
    if outcome in _CLEAR:
        routes.reopen(turn.tx, route)
        alarms.lower(turn.tx, routes.name_of(route), AlarmKind.ROUTE_PAUSED)
    elif outcome == "unknown":
        _count(turn, route, sent_at=attempt.created_at)


def _count(turn: Turn, route: Route, *, sent_at: int) -> None:
    pace = routes.get(turn.tx, route)
    after = after_unknown(pace, sent_at=sent_at, now_us=turn.tx.now_us)
    routes.put(turn.tx, route, after)
    if after.paused_until is None:
        return
    until = datetime.datetime.fromtimestamp(after.paused_until // 1_000_000, datetime.UTC)
    detail = (
        f"{after.unknowns} sends in a row have an unknown outcome, so nothing is sent there until"
        f" {until:%Y-%m-%d %H:%M:%S} UTC, and then one to try; its steps wait, nothing is lost"
    )
    subject = routes.name_of(route)
    alarms.raise_(turn.tx, turn.clock, AlarmKind.ROUTE_PAUSED, subject, job_id=None, detail=detail)
    alarms.restate(turn.tx, AlarmKind.ROUTE_PAUSED, subject, detail)


class RouteGate:
    """The routes as one transaction finds them."""

    def __init__(self, tx: Tx) -> None:
        self._tx, self._paused = tx, routes.list_paused(tx)

    @property
    def closed(self) -> frozenset[Route]:
        """Those that take nothing now: paused, or with a probe in the air."""
        return frozenset(route for route in self._paused if self._is_closed(route))

    def admits(self, step: Step) -> bool:
        """Whether the step's route takes it; one that is to be tried takes the first that is claimed."""
        route = (step.provider, step.operation)
        return route not in self._paused or (routes.take_turn(self._tx, route) and not self._is_closed(route))

    def _is_closed(self, route: Route) -> bool:
        return self._paused[route] > self._tx.now_us or routes.is_in_use(self._tx, route)
