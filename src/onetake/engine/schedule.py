"""When each leased attempt is due, in memory: waiting jobs are rows and heap entries, not coroutines."""

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field

from onetake.domain.states import AlarmKind
from onetake.store.leases import Watched


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
        must_renew: the saved addresses are dead; the saved ref is asked for fresh ones.
    """

    held: Watched
    failures: int = 0
    empty: int = 0
    missing: int = 0
    seen: dict[int, str] = field(default_factory=dict)
    raised: set[AlarmKind] = field(default_factory=set)
    must_renew: bool = False


class Schedule:
    """A heap of watches by due time, in the clock's monotonic seconds."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Watch]] = []
        self._count = 0

    def __len__(self) -> int:
        return len(self._heap)

    def add(self, watch: Watch, due_s: float) -> None:
        """Visit the watch at that moment; among equals, first come first served."""
        self._count += 1
        heapq.heappush(self._heap, (due_s, self._count, watch))

    def due(self, now_s: float) -> Iterator[Watch]:
        """Take out what is due, earliest first."""
        while self._heap and self._heap[0][0] <= now_s:
            yield heapq.heappop(self._heap)[2]

    def next_due_s(self) -> float | None:
        """When the next one is due; None if there is none."""
        return self._heap[0][0] if self._heap else None

    def clear(self) -> list[Watch]:
        """Take out everything."""
        watches = [watch for _, _, watch in self._heap]
        self._heap.clear()
        return watches
