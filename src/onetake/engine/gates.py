"""Which provider accounts may be bought from now: their key is taken and their models are known.

A closed account takes no submits; polling and collecting go on. A refused or missing key closes it at once for a
minute; a model list that can't be had closes it for a while that doubles, so that a short outage costs little.
"""

import structlog

from onetake.domain.errors import OnetakeError, ProviderError
from onetake.domain.states import AlarmKind
from onetake.engine import models
from onetake.engine.parts import Parts
from onetake.store import alarms
from onetake.store import models as kept_models

CLOSED_S_MAX = 60.0
"""Longest pause before an account is asked again."""

KNOWN_S = 1.0
"""How long a list is used without another look at the database, where another worker may have doubted it."""

OUTAGE_FAILURES = 5
"""Failed questions in a row, half a minute in all, after which an outage counts as trouble and not as weather."""

_log = structlog.get_logger("onetake.gates")


class ProviderGates:
    """The accounts as one worker knows them."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._closed_until_s: dict[str, float] = {}
        self._failures: dict[str, int] = {}
        self._troubles: dict[str, OnetakeError] = {}
        self._known: dict[str, tuple[float, tuple[str, ...]]] = {}  # until when, and what

    def closed(self) -> frozenset[str]:
        """The accounts that take no submits now."""
        now_s = self._parts.clock.monotonic_s()
        return frozenset(name for name, until_s in self._closed_until_s.items() if until_s > now_s)

    def troubled(self) -> frozenset[str]:
        """The accounts that only a person can open again, as far as can be told."""
        return frozenset(self._troubles)

    @property
    def trouble(self) -> OnetakeError | None:
        """Why some account is closed, if a person has to know."""
        return next(iter(self._troubles.values()), None)

    async def doubt(self, provider: str) -> None:
        """Don't believe what is kept about the account, which was refused something: ask before the next submit."""
        self._known.pop(provider, None)
        await self._parts.database.write(kept_models.forget, provider)

    async def refused(self, provider: str, code: str) -> None:
        """Send nothing there for a while: it refused our key for a send, whatever it says of its models."""
        await self.doubt(provider)
        detail = f"{provider} refuses our key ({code}), so nothing is sent there for {CLOSED_S_MAX:.0f} s"
        await self._close(provider, CLOSED_S_MAX, AlarmKind.KEY_REFUSED, detail)

    def known(self) -> dict[str, tuple[str, ...]]:
        """The models of each account that is open and was asked for within the last second."""
        now_s = self._parts.clock.monotonic_s()
        return {name: models for name, (until_s, models) in self._known.items() if until_s > now_s}

    async def offered(self, provider: str) -> tuple[str, ...]:
        """The models that the account is offered; none while it is closed, so that nothing is bought."""
        if provider in self.closed():
            return ()
        try:
            found = await models.offered(self._parts, provider)
        except ProviderError as error:
            self._troubles[provider] = error
            await self.doubt(provider)
            await self._close(provider, CLOSED_S_MAX, AlarmKind.KEY_REFUSED, error.sentence)
            return ()
        if found is None:
            await self._wait(provider)
            return ()
        for trouble in (self._closed_until_s, self._failures, self._troubles):
            trouble.pop(provider, None)
        self._known[provider] = (self._parts.clock.monotonic_s() + KNOWN_S, found)
        return found

    async def _wait(self, provider: str) -> None:
        failures = self._failures[provider] = self._failures.get(provider, 0) + 1
        detail = f"{provider} can't be asked which models our key is offered, so nothing is sent to it"
        if failures >= OUTAGE_FAILURES:
            self._troubles[provider] = ProviderError(
                f"{detail[0].upper()}{detail[1:]}: check its address and the network."
            )
        await self._close(provider, min(CLOSED_S_MAX, 2.0 ** (failures - 1)), AlarmKind.MODEL_LIST, detail)

    async def _close(self, provider: str, for_s: float, kind: AlarmKind, detail: str) -> None:
        self._known.pop(provider, None)
        self._closed_until_s[provider] = self._parts.clock.monotonic_s() + for_s
        clock = self._parts.clock
        _log.warning("provider.closed", provider=provider, why=detail, for_s=for_s)
        await self._parts.database.write(alarms.raise_, clock, kind, provider, job_id=None, detail=detail)
