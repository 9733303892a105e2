"""The paid POST: intent committed, one request, its outcome recorded as evidence.

`claim` commits, for each ready step, an attempt in `submitting` with the exact bytes. Only a claim that this
process got back may be sent, once. A submitting lease lasts as long as the POST may take plus a margin, by
the database's clock; the last check before the first byte refuses to send when less than the total timeout is
left. What the POST came to is recorded whether or not the lease still stands: it is evidence (L14). If something in
the answer can't be recorded, what it comes to is, without it; if even that can't, that there is a doubt.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import structlog

from onetake.clock import new_id
from onetake.domain.answers import Accepted, NotSent, Outcome, Unknown, bare, outcome_of
from onetake.domain.errors import DatabaseError
from onetake.domain.events import StepEvent
from onetake.domain.states import AlarmKind, AttemptState
from onetake.domain.wire import SendFault, SendPhase, SendReceipt, WireRequest, WireResult
from onetake.engine.addresses import park_if_old
from onetake.engine.limits import LimitGate
from onetake.engine.outcomes import record_outcome
from onetake.engine.parts import Parts
from onetake.engine.routes import RouteGate
from onetake.engine.settling import request_of
from onetake.engine.spending import SpendGate
from onetake.engine.stopping import Stopped
from onetake.engine.turn import Turn
from onetake.providers.adapter import Adapter
from onetake.providers.transport import LAST_WORDS_S
from onetake.store import alarms, attempts, leases, steps
from onetake.store.leases import Watched
from onetake.store.steps import Step

LEASE_MARGIN_S = 5.0
"""Beyond what the POST itself may take: time to be scheduled before the send and to record its answer after it."""

RECORD_PAUSE_S = 1.0
"""Between tries to record an answer while the database can't be written."""

_log = structlog.get_logger("onetake.submitter")

_RUNNING = (AttemptState.PROCESSING, AttemptState.COLLECTING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """An attempt whose intent is committed and which this process alone may send.

    Attributes:
        send_by_s: on the clock's monotonic seconds; a first byte after this moment could outlive the lease.
    """

    attempt_id: str
    provider: str
    wire: WireRequest
    timeout_s: float
    send_by_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Market:
    """What may be bought now, and where.

    Attributes:
        adapters: by provider.
        offered: the models that each provider account is offered; steps for others are left alone.
        limit: free POST slots; nothing is claimed for want of one.
        looks: ready steps that are looked at, in case some of them may not be sent; at least `limit` of them.
        started_s: monotonic seconds before the transaction began; the leases made in it are at least this old.
        only: the id of the one step that may be claimed; empty for any.
        per_account: most attempts of one account in flight; None for no bound.
    """

    adapters: Mapping[str, Adapter]
    offered: Mapping[str, tuple[str, ...]]
    limit: int
    looks: int = 0
    started_s: float
    only: str = ""
    per_account: int | None = None


def claim(turn: Turn, market: Market) -> list[Claim]:
    """The steps that are now the actor's to send, each with a committed attempt."""
    closed = frozenset(provider for provider, models in market.offered.items() if not models)
    claims: list[Claim] = []
    routes, stopped = RouteGate(turn.tx), Stopped.find(turn.tx)
    limits = LimitGate(turn.tx, market.adapters, per_account=market.per_account)
    ready = leases.list_ready(
        turn.tx,
        limit=max(market.limit, market.looks),
        closed=closed | limits.closed | stopped.providers,
        paused=routes.closed,
        full=limits.full | stopped.accounts,
        stopped=stopped.recipes,
    )
    spend = SpendGate(turn, ready)
    for step in ready:
        if len(claims) == market.limit:
            break
        if market.only not in ("", step.id) or step.model not in market.offered.get(step.provider, ()):
            continue
        siblings = attempts.list_of_step(turn.tx, step.id) if step.attempts else []
        running = next((each for each in siblings if each.ref and each.state in _RUNNING), None)
        if running is not None:  # an earlier buy turned out to be running: adopt it, buy nothing
            steps.advance(turn.tx, step, StepEvent.ADOPTED, {"current_attempt_id": running.id})
            continue
        if park_if_old(turn, step) or not (spend.admits(step) and routes.admits(step) and limits.admits(step)):
            continue
        made = _intend(turn, market.adapters[step.provider], step, market.started_s)
        if made is not None:
            claims.append(made)
    return claims


def _intend(turn: Turn, adapter: Adapter, step: Step, started_s: float) -> Claim | None:
    """Write the intent (L1); None if another worker was first."""
    attempt_id, no = new_id("att", turn.clock), step.attempts + 1
    if steps.advance(turn.tx, step, StepEvent.CLAIMED, {"current_attempt_id": attempt_id, "attempts": no}) is None:
        return None
    request = request_of(turn, turn.recipe_of(step.job_id).step(step.name), step.job_id)
    if request.hash != step.request_hash:
        raise AssertionError(f"the request of {step.id} is not the one that was frozen")
    key = turn.clock.token(24).hex() if adapter.takes_key else None
    wire = adapter.submit_request(step.operation, request.body, key=key)
    timeout_s = adapter.settings.submit_timeout_s
    attempt = attempts.insert(
        turn.tx,
        step,
        attempt_id=attempt_id,
        no=no,
        contract_version=adapter.contract.version,
        worker_id=turn.actor,
        lease_us=round((timeout_s + LAST_WORDS_S + LEASE_MARGIN_S) * 1e6),
    )
    if step.not_before is not None:  # put off before, perhaps because it broke us
        alarms.clear(turn.tx, step.id, AlarmKind.BROKEN)
    attempts.insert_wire(turn.tx, attempt_id, wire, idempotency_key=key, callback_token=turn.clock.token(24).hex())
    turn.tell("attempt.submitting", attempt, step.name)
    return Claim(
        attempt_id=attempt_id,
        provider=step.provider,
        wire=wire,
        timeout_s=timeout_s,
        send_by_s=started_s + LEASE_MARGIN_S,
    )


def withdraw(turn: Turn, adapters: Mapping[str, Adapter], taken: frozenset[str]) -> None:
    """Record that the actor's claims which it never got back were never sent, and never will be.

    For the owner alone, after a claim's commit went unanswered: it may stand, and only its owner may send it.
    """
    receipt = SendReceipt(
        phase=SendPhase.NOTHING, at_us={}, fault=SendFault.GIVEN_UP, detail="the claim's commit went unanswered"
    )
    for attempt_id in leases.list_submitting(turn.tx, turn.actor):
        if attempt_id not in taken:
            adapter = adapters[attempts.get(turn.tx, attempt_id).provider]
            unsent = WireResult(receipt=receipt, answer=None)
            record_outcome(turn, adapter, attempt_id, NotSent(fault=SendFault.GIVEN_UP), unsent)


async def submit(
    parts: Parts, claimed: Claim, *, worker_id: str, give_up: asyncio.Event, on_sending: Callable[[], None]
) -> tuple[Outcome, Watched | None]:
    """Send the claim once: what was recorded of it, and what has to be watched from now on.

    `on_sending` is called right before the first byte.

    Raises:
        DatabaseError: the worker is stopping and the answer can't be written; its lease will run out.
        Exception: not even a doubt can be recorded; its lease will run out.
    """
    adapter, clock = parts.adapters[claimed.provider], parts.clock

    def may_send() -> bool:
        on_sending()
        return clock.monotonic_s() <= claimed.send_by_s

    result = await parts.transport.post_once(
        claimed.wire,
        credential=adapter.credential(),
        timeout_s=claimed.timeout_s,
        may_send=may_send,
        give_up=give_up,
    )
    outcome = outcome_of(adapter.contract, result, now_s=clock.now_us() / 1e6)
    return await _record(parts, claimed, outcome, result, worker_id=worker_id, give_up=give_up)


async def _record(
    parts: Parts, claimed: Claim, outcome: Outcome, result: WireResult, *, worker_id: str, give_up: asyncio.Event
) -> tuple[Outcome, Watched | None]:
    """What was recorded: the outcome; without the provider's words if those can't be kept; or that it is in doubt."""
    adapter, ref = parts.adapters[claimed.provider], outcome.ref if isinstance(outcome, Accepted) else None
    in_doubt = f"the provider took it as {ref}, and that can't be recorded" if ref else "the answer can't be recorded"
    tellings = iter([(bare(outcome), result.bare()), (Unknown(reason=in_doubt), result.bare())])
    while True:
        try:
            held = await parts.act(worker_id, record_outcome, adapter, claimed.attempt_id, outcome, result)
        except DatabaseError as error:
            # The answer is in hand and must not be lost: tried until it is written or the worker has to go. Whoever
            # reads the log can attach the id then.
            _log.error("answer.not_recorded", attempt=claimed.attempt_id, ref=ref, error=error.sentence)
            if give_up.is_set():
                raise
            await parts.clock.sleep(RECORD_PAUSE_S)
        except Exception as error:
            # Something in the answer can't be kept, or breaks us. The error's own words may quote it: not one of them.
            _log.error("answer.not_recorded", attempt=claimed.attempt_id, ref=ref, error=type(error).__name__)
            less = next(tellings, None)
            if less is None:
                raise
            outcome, result = less
        else:
            return outcome, held
