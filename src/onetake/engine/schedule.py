"""When each leased attempt is due, in memory: waiting jobs are rows and list entries, not coroutines."""

import heapq
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from onetake.domain.states import AlarmKind, CaseKind
from onetake.store.leases import Watched

INSTANT_S = 1 / 128
"""What counts as the same moment: far below any interval, far above the time between two jobs of a hundred thousand."""

_NOTHING: Mapping[int, str] = MappingProxyType({})


@dataclass(slots=True, kw_only=True)
class Watch:
    """A leased attempt and what this worker remembers of it between visits; none of it is needed after a crash.

    Attributes:
        held: the lease and what it is on.
        failures: visits in a row that learnt nothing.
        empty: answers in a row that said finished and named no output.
        missing: answers in a row that said that there is no such task.
        seen: per place in the provider's list, the digest of the last download that was not what was ordered.
        raised: alarms raised since the last good answer.
        asked: what a person was asked about since, by the kinds of the cases.
        must_renew: the saved addresses are dead; the saved ref is asked for fresh ones.
        refusal: with what words an address was refused last, for good; empty if it wasn't.
        renewals: how often the provider named addresses anew since it was refused with these words first.
    """

    held: Watched
    failures: int = 0
    empty: int = 0
    missing: int = 0
    seen: Mapping[int, str] = field(default_factory=lambda: _NOTHING)
    raised: frozenset[AlarmKind] = frozenset()
    asked: frozenset[CaseKind] = frozenset()
    must_renew: bool = False
    refusal: str = ""
    renewals: int = 0


class Schedule:
    """Watches by due time, in the clock's monotonic seconds: those due in the same instant stand in one list.

    A list entry is an eighth of what an entry of a heap takes, and a hundred thousand wait.
    """

    def __init__(self) -> None:
        self._instants: dict[int, list[Watch]] = {}
        self._order: list[int] = []  # a heap
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, watch: Watch, due_s: float) -> None:
        """Visit the watch at that moment, or an instant later; among equals, first come first served."""
        instant = math.ceil(due_s / INSTANT_S)
        if instant not in self._instants:
            self._instants[instant] = []
            heapq.heappush(self._order, instant)
        self._instants[instant].append(watch)
        self._count += 1

    def due(self, now_s: float) -> Iterator[Watch]:
        """Take out what is due, earliest first."""
        while self._order and self._order[0] * INSTANT_S <= now_s:
            watches = self._instants.pop(heapq.heappop(self._order))
            self._count -= len(watches)
            yield from watches

    def next_due_s(self) -> float | None:
        """When the next one is due; None if there is none."""
        return self._order[0] * INSTANT_S if self._order else None

    def clear(self) -> None:
        """Take out everything."""
        self._instants.clear()
        self._order.clear()
        self._count = 0
