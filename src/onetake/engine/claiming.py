"""What a worker claims: ready steps of accounts and routes that are open, as many as it has free POST slots.

A step that our own program fails over is left with an alarm and a pause, and the others go on.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import structlog

from onetake.domain.errors import DatabaseError, OnetakeError
from onetake.engine import submitter
from onetake.engine.gatekeeper import park_unoffered, put_off_broken
from onetake.engine.gates import ProviderGates
from onetake.engine.limits import LimitGate
from onetake.engine.parts import Parts
from onetake.engine.routes import RouteGate
from onetake.engine.stopping import Stopped
from onetake.engine.submitter import Claim, Market
from onetake.engine.turn import Told
from onetake.engine.waiting import Bell
from onetake.store import leases
from onetake.store.database import Tx
from onetake.store.steps import Step

LOOKS_MAX = 100
"""Ready steps that are looked at once some were parked: a batch that fits no budget soon stands in nobody's way."""

_log = structlog.get_logger("onetake.claiming")


class Claimer:
    """One worker's claims."""

    def __init__(self, parts: Parts) -> None:
        self._parts, self._on_told = replace(parts, on_told=self._told), parts.on_told
        self._gates = ProviderGates(parts)
        self._has_parked = False  # the last claim parked steps: others stand behind them
        self._is_flowing = False  # the last claim filled all slots: more may be ready
        self._taken: set[str] = set()  # claims that we got back, until their outcome is recorded
        self._unanswered: set[str] = set()  # worker ids under which a claim may stand that we didn't get back

    @property
    def trouble(self) -> OnetakeError | None:
        """Why some account is closed, if a person has to know."""
        return self._gates.trouble

    def troubled(self) -> frozenset[str]:
        """The accounts that only a person can open again, as far as can be told."""
        return self._gates.troubled()

    async def refused(self, provider: str, code: str) -> None:
        """Send nothing to the account for a while: it refused our key."""
        await self._gates.refused(provider, code)

    def landed(self, claim: Claim) -> None:
        """The claim's outcome is recorded."""
        self._taken.discard(claim.attempt_id)

    async def claim(self, worker_id: str, free: int, stop: Bell) -> list[Claim]:
        """At most so many claims, each with its intent committed.

        Raises:
            DatabaseError: the database can't be used now; what it may have committed is withdrawn later.
        """
        await self._withdraw()
        if free <= 0:
            return []
        looks, self._has_parked = LOOKS_MAX if self._has_parked else free, False
        claims = await self._claim_on(worker_id, free, looks) if self._is_flowing else []
        if not claims and not stop.is_set():
            claims = await self._look_and_claim(worker_id, free, looks, stop)
        if self._has_parked:
            self._parts.wake.set()
        self._is_flowing = len(claims) == free
        self._taken.update(claim.attempt_id for claim in claims)
        return claims

    def _told(self, lines: Sequence[Told]) -> None:
        self._has_parked = self._has_parked or any(line.event == "step.parked" for line in lines)
        self._on_told(lines)

    async def _claim_on(self, worker_id: str, free: int, looks: int) -> list[Claim]:
        """Claims without a look before, of the accounts that were looked at a moment ago."""
        known = self._gates.known()
        offered = {name: known.get(name, ()) for name in self._parts.adapters}
        return await self._claim_all(worker_id, self._market(offered, free, looks), ()) if known else []

    async def _look_and_claim(self, worker_id: str, free: int, looks: int, stop: Bell) -> list[Claim]:
        """Claims after a look at what is ready, whether its account is open and whether its model is offered."""
        parts = self._parts
        ready = await parts.database.read(_list_ready, parts, limit=looks, closed=self._gates.closed())
        offered = {provider: await self._gates.offered(provider) for provider in {step.provider for step in ready}}
        for step in ready:
            if _is_unoffered(step, offered):
                await parts.act(worker_id, park_unoffered, step)
        if stop.is_set() or not any(step.model in offered[step.provider] for step in ready):
            return []
        return await self._claim_all(worker_id, self._market(offered, free, looks), ready)

    def _market(self, offered: Mapping[str, tuple[str, ...]], free: int, looks: int) -> Market:
        return Market(
            adapters=self._parts.adapters,
            offered=offered,
            limit=free,
            looks=looks,
            started_s=self._parts.clock.monotonic_s(),
            per_account=self._parts.settings.account.in_flight_max,
        )

    async def _claim_all(self, worker_id: str, market: Market, ready: Sequence[Step]) -> list[Claim]:
        """In one transaction; if one of the steps breaks us, one after the other without it."""
        try:
            return await self._act(worker_id, market)
        except DatabaseError:
            raise
        except Exception:  # noqa: BLE001 - a bug: told with the step that it is about, below
            claims: list[Claim] = []
            for step in ready:
                claims += await self._claim_one(worker_id, market, step)
            return claims

    async def _claim_one(self, worker_id: str, market: Market, step: Step) -> list[Claim]:
        market = replace(market, only=step.id, started_s=self._parts.clock.monotonic_s())
        try:
            return await self._act(worker_id, market)
        except DatabaseError as error:  # those that were claimed before are ours to send
            _log.error("claim.failed", worker=worker_id, step=step.id, error=error.sentence)
        except Exception as error:  # noqa: BLE001 - a bug, on which nobody else's step waits
            _log.exception("claim.broke", worker=worker_id, step=step.id)
            await self._put_off(worker_id, step, type(error).__name__)
        return []

    async def _put_off(self, worker_id: str, step: Step, error: str) -> None:
        try:
            await self._parts.act(worker_id, put_off_broken, step.id, error)
        except DatabaseError as failure:
            _log.error("claim.not_put_off", worker=worker_id, step=step.id, error=failure.sentence)

    async def _act(self, worker_id: str, market: Market) -> list[Claim]:
        try:
            return await self._parts.act(worker_id, submitter.claim, market)
        except DatabaseError:
            self._unanswered.add(worker_id)
            raise

    async def _withdraw(self) -> None:
        """Free the steps of claims whose commit went unanswered; between claims, so that none is on its way back."""
        for worker_id in list(self._unanswered):
            await self._parts.act(worker_id, submitter.withdraw, self._parts.adapters, frozenset(self._taken))
            self._unanswered.discard(worker_id)


def _list_ready(tx: Tx, parts: Parts, *, limit: int, closed: frozenset[str]) -> list[Step]:
    """The steps that may be claimed now, oldest first, without those of closed providers, routes and accounts."""
    limits = LimitGate(tx, parts.adapters, per_account=parts.settings.account.in_flight_max)
    stopped = Stopped.find(tx)
    return leases.list_ready(
        tx,
        limit=limit,
        closed=closed | limits.closed | stopped.providers,
        paused=RouteGate(tx).closed,
        full=limits.full | stopped.accounts,
        stopped=stopped.recipes,
    )


def _is_unoffered(step: Step, offered: Mapping[str, tuple[str, ...]]) -> bool:
    """Whether the account's models are known and the step's is not among them."""
    return bool(offered[step.provider]) and step.model not in offered[step.provider]
