"""Fresh addresses for what the next provider is handed: renewed by polling the saved ref, or waited for visibly.

A provider's output address may die before the next step is sent (a long queue, a night of 429). A step whose
handed-over address is older than the provider's promise, or than an hour where it promises nothing, is parked
under `address` instead of being sent with it. Asking the saved ref again is free; its answer renews the address and
the step is ready again. The order stays the same: its hash is made of digests.
"""

from onetake.domain.answers import Finished, reading_of
from onetake.domain.events import StepEvent
from onetake.domain.states import StepState, WaitReason
from onetake.engine.parts import Parts
from onetake.engine.poller import POLL_TIMEOUT_S
from onetake.engine.turn import Turn
from onetake.store import artifacts, jobs, leases, steps
from onetake.store.leases import Watched
from onetake.store.steps import Step

ADDRESS_AGE_S_MAX = 3600.0
"""How old an address may be where the contract doesn't say: signed addresses seldom live shorter than an hour."""

AGAIN_S = 60.0
"""Between tries to renew one."""


def park_if_old(turn: Turn, step: Step) -> bool:
    """Whether the step would be sent with an address that may be dead; it then waits for a fresh one."""
    wanted = turn.recipe_of(step.job_id).step(step.name)
    since = turn.tx.now_us - round(ADDRESS_AGE_S_MAX * 1e6)
    needed = {(handoff.step, handoff.output) for handoff in wanted.handoffs}
    if not needed.intersection(artifacts.list_old_addresses(turn.tx, step.job_id, before=since)):
        return False
    changes = {"waiting_for": WaitReason.ADDRESS, "not_before": turn.tx.now_us}
    if steps.advance(turn.tx, step, StepEvent.PARKED, changes):
        turn.tell(
            "step.parked", step, data={"waiting_for": WaitReason.ADDRESS, "why": "it renews an old address first"}
        )
    return True


async def renew_all(parts: Parts, worker_id: str) -> None:
    """Ask for fresh addresses for each step that waits for one and is due."""
    for step in await parts.database.read(steps.list_without_address):
        sources = await parts.database.read(leases.list_sources, step.job_id)
        found = {held.attempt_id: await _ask(parts, held) for held in sources}
        await parts.act(worker_id, record_renewed, step, found)


async def _ask(parts: Parts, held: Watched) -> tuple[str, ...]:
    """The fresh addresses of a finished attempt; none when the provider doesn't name them now."""
    adapter = parts.adapters[held.provider]
    result = await parts.transport.get(
        adapter.poll_request(held.locator), credential=adapter.credential(), timeout_s=POLL_TIMEOUT_S
    )
    operation = adapter.contract.operation(held.operation)
    reading = reading_of(adapter.contract, operation, held.ref, result, now_s=parts.clock.now_us() / 1e6)
    return reading.addresses if isinstance(reading, Finished) else ()


def record_renewed(turn: Turn, step: Step, found: dict[str, tuple[str, ...]]) -> None:
    """Keep fresh addresses and open the step, or put the next try off."""
    jobs.get(turn.tx, step.job_id)
    standing = steps.get(turn.tx, step.id)
    if standing.state is not StepState.WAITING or standing.waiting_for is not WaitReason.ADDRESS:
        return
    for attempt_id, addresses in found.items():
        artifacts.renew(turn.tx, attempt_id, addresses)
    if all(found.values()):
        steps.advance(turn.tx, standing, StepEvent.OPENED)
        turn.tell("step.renewed", standing)
    else:
        steps.postpone(turn.tx, standing, turn.tx.now_us + round(AGAIN_S * 1e6))
