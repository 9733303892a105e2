"""Fresh addresses for what the next provider is handed: renewed by polling the saved ref, or waited for visibly.

A provider's output address may die before the next step is sent (a long queue, a night of 429). A step whose
handed-over address is older than the provider's promise, or than an hour where it promises nothing, is parked
under `address` instead of being sent with it. Asking the saved ref again is free; its answer renews the address and
the step is ready again. The order stays the same: its hash is made of digests.
"""

import asyncio
from collections.abc import Callable, Mapping

import structlog

from onetake.domain.answers import Finished, reading_of
from onetake.domain.errors import DatabaseError, OnetakeError, ProviderError
from onetake.domain.events import StepEvent
from onetake.domain.states import StepState, WaitReason
from onetake.engine.parts import Parts
from onetake.engine.poller import POLL_TIMEOUT_S
from onetake.engine.turn import RecipeBook, Turn
from onetake.engine.waiting import Bell, first_of
from onetake.store import artifacts, jobs, leases, steps
from onetake.store.database import Tx
from onetake.store.leases import Watched
from onetake.store.steps import Step

ADDRESS_AGE_S_MAX = 3600.0
"""How old an address may be where the contract doesn't say: signed addresses seldom live shorter than an hour."""

AGAIN_S = 60.0
"""Between tries to renew one."""


ASKS_MAX = 16
"""Steps for which a provider is asked at once: each may wait for as long as a poll may take."""

_log = structlog.get_logger("onetake.addresses")


def park_if_old(turn: Turn, step: Step) -> bool:
    """Whether the step would be sent with an address that may be dead; it then waits for a fresh one."""
    if not _sources_to_renew(turn.tx, turn.book, step):
        return False
    changes = {"waiting_for": WaitReason.ADDRESS, "not_before": turn.tx.now_us}
    if steps.advance(turn.tx, step, StepEvent.PARKED, changes):
        turn.tell(
            "step.parked", step, data={"waiting_for": WaitReason.ADDRESS, "why": "it renews an old address first"}
        )
    return True


def _sources_to_renew(tx: Tx, book: RecipeBook, step: Step) -> list[str]:
    """The attempts whose files the step is handed under addresses that may be dead."""
    since = tx.now_us - round(ADDRESS_AGE_S_MAX * 1e6)
    old = artifacts.list_old_addresses(tx, step.job_id, before=since)
    handed = [(each.step, each.output) for each in book.of(tx, step.job_id).step(step.name).handoffs]
    return sorted({old[output] for output in handed if output in old})


async def keep_fresh(parts: Parts, worker_id: Callable[[], str], stop: Bell, *, pace_s: float) -> None:
    """Renew the address of each step that waits for one and is due, until told to stop; none waits for another."""
    asking: dict[str, asyncio.Task[None]] = {}
    async with asyncio.TaskGroup() as tasks:
        while not stop.is_set():
            asking = {step_id: task for step_id, task in asking.items() if not task.done()}
            for step in await _list_due(parts):
                if step.id not in asking and len(asking) < ASKS_MAX:
                    asking[step.id] = tasks.create_task(_renew(parts, worker_id(), step))
            await first_of(pace_s, parts.clock, stop)
        for task in asking.values():  # free to ask again
            task.cancel()


async def _list_due(parts: Parts) -> list[Step]:
    try:
        return await parts.database.read(steps.list_without_address)
    except DatabaseError as error:
        _log.error("renewals.not_found", error=error.sentence)
        return []


async def _renew(parts: Parts, worker_id: str, step: Step) -> None:
    """Ask for each old address that the step is handed, side by side, and keep what was named."""
    try:
        sources = await parts.database.read(_list_sources, parts.book, step)
        answers = await asyncio.gather(*(_ask(parts, held) for held in sources))
        found = {held.attempt_id: addresses for held, addresses in zip(sources, answers, strict=True)}
        await parts.act(worker_id, record_renewed, step, found)
    except OnetakeError as error:
        _log.warning("renewal.failed", step=step.id, error=error.sentence)
    except Exception:  # noqa: BLE001 - a bug: one step's trouble must not end the others; it is asked for again
        _log.exception("renewal.broke", step=step.id)


def _list_sources(tx: Tx, book: RecipeBook, step: Step) -> list[Watched]:
    return leases.list_watched(tx, _sources_to_renew(tx, book, step))


async def _ask(parts: Parts, held: Watched) -> tuple[str, ...]:
    """The fresh addresses of a finished attempt; none when the provider doesn't name them now."""
    adapter = parts.adapters[held.provider]
    try:
        request, credential = adapter.poll_request(held.locator), adapter.credential()
    except ProviderError as error:
        _log.warning("renewal.not_asked", attempt=held.attempt_id, error=error.sentence)
        return ()
    result = await parts.transport.get(request, credential=credential, timeout_s=POLL_TIMEOUT_S)
    operation = adapter.contract.operation(held.operation)
    reading = reading_of(adapter.contract, operation, held.ref, result, now_s=parts.clock.now_us() / 1e6)
    return reading.addresses if isinstance(reading, Finished) else ()


def record_renewed(turn: Turn, step: Step, found: Mapping[str, tuple[str, ...]]) -> None:
    """Keep fresh addresses; open the step once none that it is handed is old, or put the next try off."""
    jobs.get(turn.tx, step.job_id)
    standing = steps.get(turn.tx, step.id)
    if standing.state is not StepState.WAITING or standing.waiting_for is not WaitReason.ADDRESS:
        return
    for attempt_id, addresses in found.items():
        artifacts.renew(turn.tx, attempt_id, addresses)
    if _sources_to_renew(turn.tx, turn.book, standing):
        steps.postpone(turn.tx, standing, turn.tx.now_us + round(AGAIN_S * 1e6))
    else:
        steps.advance(turn.tx, standing, StepEvent.OPENED)
        turn.tell("step.renewed", standing)
