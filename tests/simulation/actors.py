"""Who acts in a world besides the engine: customers who order, supervisors who restart workers, people, and fate."""

import asyncio
import functools
from typing import TYPE_CHECKING, Any

from onetake.domain.errors import DatabaseError, OnetakeError
from onetake.domain.states import StopKind
from tests.simulation.orders import TERMS, order

if TYPE_CHECKING:
    from tests.simulation.world import World

RESTART_S = 10.0
"""From a worker's end to its next start, as by a service manager."""

ORDERS_WITHIN_S = 60.0
"""Later orders come while earlier ones are under way."""

AGAIN_S = 10.0
"""How long a customer waits before ordering again what wasn't confirmed."""

DOWN_S = {"database_down": 70.0, "provider_down": 150.0, "key_refused": 100.0, "storage_full": 100.0}
JUMP_S = {"clock_forward_200": 200, "clock_forward_4000": 4000, "clock_back_200": -200, "clock_back_1000": -1000}


async def order_job(world: "World", number: int) -> None:
    """Order until the order is confirmed; a client that dies is run again with the same inputs."""
    wanted = order(world.schedule.recipe, number)
    await asyncio.sleep(world.delay_s(ORDERS_WITHIN_S) if number > 1 else 0.0)
    is_confirmed = False
    while not is_confirmed:
        is_confirmed = await _ran(world, "customer", lambda parts: parts.act("ada", world.engine.accept, wanted, TERMS))
        await asyncio.sleep(0.0 if is_confirmed else AGAIN_S)


async def keep_working(world: "World", number: int) -> None:
    """A worker, started again whenever it ends."""
    pace = world.engine.Pace(ready_s=world.schedule.look_s, sweep_s=world.schedule.look_s)
    while True:
        process, parts = world.process(f"worker {number}")
        stop = asyncio.Event()
        world.workers[number], world.stops[number] = process, stop
        worker = world.engine.Worker(parts, name=process.name, pace=pace)
        task = process.start(functools.partial(worker.run, stop))
        await asyncio.wait([task])
        if not task.cancelled() and (trouble := task.exception()) is not None:
            world.note_trouble(trouble)
        await asyncio.sleep(RESTART_S)


async def _ran(world: "World", name: str, call: Any) -> bool:  # noqa: ANN401 - a function of the engine under test
    """Whether a short-lived process came to its end, with a result or a refusal that stands."""
    process, parts = world.process(name)
    task = process.start(lambda: call(parts))
    await asyncio.wait([task])
    if task.cancelled():
        return False
    trouble = task.exception()
    if trouble is not None and not isinstance(trouble, OnetakeError):
        world.note_trouble(trouble)
    return not isinstance(trouble, DatabaseError)


async def befall(world: "World", second: int, what: str) -> None:
    """Let an event of the schedule happen at its second."""
    await asyncio.sleep(second)
    name, _, number = what.rpartition("_")
    worker = world.workers.get(int(number)) if number.isdigit() else None
    if what in DOWN_S:
        world.take_down(name, DOWN_S[what])
    elif what in JUMP_S:
        world.set_s += JUMP_S[what]
    elif name == "kill" and worker:
        worker.kill()
    elif name == "freeze" and worker:
        worker.freeze()
    elif name == "stop" and worker:
        world.stops[int(number)].set()
    elif what == "order_again":
        await order_job(world, 1)
    elif what in _PEOPLE:
        await _PEOPLE[what](world)


async def attach_all(world: "World") -> list[str]:
    """Attach what the bill shows to what is unknown, as a person with the dashboard would; whatever was refused."""
    refused = []
    for row in world.auditor.unknown():
        task = world.auditor.task_of(row["id"])
        if task is None or not world.provider.knows(task):
            continue
        is_done = await _attach(world, row["job_id"], row["step"], task.id)
        if not is_done and row in world.auditor.unknown():  # else its owner woke up and was first
            refused.append(f"{task.id} could not be attached to {row['id']}")
    return refused


async def attach_wrong(world: "World") -> None:
    """Try to attach ids that are not of this order: unknown ones, and those of others."""
    for row in world.auditor.unknown():
        others = [task.id for task in world.provider.tasks.values() if task.operation != row["operation"]]
        for ref in ("task_of_nobody", *others):
            await _attach(world, row["job_id"], row["step"], ref)


async def _attach(world: "World", job_id: str, step: str, ref: str) -> bool:
    done: list[object] = []

    async def attach(parts: Any) -> None:  # noqa: ANN401 - the parts of the engine under test
        done.append(await world.engine.attach(parts, job_id, ref, step_name=step, is_sure=True))

    await _ran(world, "person", attach)
    return bool(done)


async def resume(world: "World") -> None:
    """Resume every job."""
    for row in world.shared.rows("SELECT id FROM jobs"):
        await _act(world, world.engine.resume, row["id"])


async def lift_all(world: "World") -> None:
    """Let sends go on after a refusal of the whole account, as a person who paid the provider's bill would."""
    for row in world.shared.rows("SELECT kind, subject FROM stops WHERE lifted_at IS NULL"):
        kind, name = StopKind(row["kind"]), row["subject"]
        await _ran(world, "person", lambda parts, kind=kind, name=name: parts.act("ada", world.engine.lift, kind, name))


async def cancel(world: "World") -> None:
    """Cancel the first job, if it was ordered by now."""
    for row in world.shared.rows("SELECT id FROM jobs ORDER BY created_at LIMIT 1"):
        await _act(world, world.engine.cancel, row["id"])


async def _act(world: "World", op: Any, job_id: str) -> None:  # noqa: ANN401 - an operation of the engine under test
    await _ran(world, "person", lambda parts: parts.act("ada", op, job_id))


async def _attach_all(world: "World") -> None:
    await attach_all(world)


_PEOPLE = {"attach": _attach_all, "attach_wrong": attach_wrong, "resume": resume, "cancel": cancel}
