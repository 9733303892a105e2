"""How much may be in flight and how fast it may be sent: per provider account, and per account of ours.

All workers together keep them, because what is counted are rows, each under a lock until the claim is committed. A step
that has to wait for its turn stays `ready`; others behind it, of other providers and accounts, go first.
"""

from collections.abc import Mapping

from onetake.domain.pacing import next_send_at
from onetake.providers.adapter import Adapter
from onetake.store import limits
from onetake.store.database import Tx
from onetake.store.steps import Step


class LimitGate:
    """The limits as one transaction finds them."""

    def __init__(self, tx: Tx, adapters: Mapping[str, Adapter], *, per_account: int | None) -> None:
        self._tx, self._adapters, self._per_account = tx, adapters, per_account

    @property
    def closed(self) -> frozenset[str]:
        """The provider accounts that take nothing now."""
        return frozenset(name for name in self._adapters if not self._has_room(name))

    @property
    def full(self) -> frozenset[str]:
        """The accounts that have as much in flight as they may."""
        if self._per_account is None:
            return frozenset()
        return frozenset(
            account for account, count in limits.count_by_account(self._tx).items() if count >= self._per_account
        )

    def admits(self, step: Step) -> bool:
        """Whether the step may be sent now; if so its turn is taken."""
        if self._per_account is not None and limits.take_account_of(self._tx, step.job_id) in self.full:
            return False
        settings = self._adapters[step.provider].settings
        if settings.in_flight_max is None and settings.sends_per_minute is None:
            return True
        limits.take_provider(self._tx, step.provider)
        if not self._has_room(step.provider):
            return False
        if settings.sends_per_minute is not None:
            paced = limits.get_next_send_at(self._tx, step.provider)
            after = next_send_at(paced, now_us=self._tx.now_us, per_minute=settings.sends_per_minute)
            limits.put_next_send_at(self._tx, step.provider, after or 0)
        return True

    def _has_room(self, name: str) -> bool:
        settings = self._adapters[name].settings
        if settings.in_flight_max is not None and limits.count_of_provider(self._tx, name) >= settings.in_flight_max:
            return False
        if settings.sends_per_minute is None:
            return True
        paced = limits.get_next_send_at(self._tx, name)
        return next_send_at(paced, now_us=self._tx.now_us, per_minute=settings.sends_per_minute) is not None
