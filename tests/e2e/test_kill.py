"""Worker processes are killed with -9 at random while a batch runs: each step is bought once, and nothing is lost."""

import json
import random
from collections import Counter
from pathlib import Path

from onetake.engine import people
from onetake.sandbox import SandboxOptions, Span
from onetake.store.database import Tx
from tests.e2e.site import site
from tests.engine.rig import Rig

JOBS = 12
KILLS = 6
SLOWISH = SandboxOptions(
    tiny=True,
    slow_s=0.2,
    queue_s=Span(low_s=0.0, high_s=0.5),
    rates={"accept_slow": 0.2, "poll_slow": 0.1, "file_slow": 0.3, "file_truncated": 0.1},
)
"""Slow enough that the batch lives through six kills, and that kills hit requests in the air."""


async def test_a_batch_survives_six_kills(tmp_path: Path) -> None:
    chance = random.Random(7)
    lines = tmp_path / "jobs.jsonl"
    lines.write_text("".join(_line(number) for number in range(JOBS)))
    async with site(tmp_path, SLOWISH) as here:
        created = await here.run("jobs", "create", "--recipe", "still-to-clip", "--from", str(lines))
        assert f"{JOBS} new" in created
        for _ in range(KILLS):
            worker = await here.start("worker", WORKER__LEASE_S="1", WORKER__CONCURRENCY="2")
            await _until_told(here.rig, chance.randint(4, 24))
            await here.kill(worker)
            here.rig.look()
        await here.reap()
        await _attach_what_arrived(here.rig)
        again = await here.run("jobs", "create", "--recipe", "still-to-clip", "--from", str(lines))
        assert f"0 new, {JOBS} stood already" in again
        await here.rig.work()
        tables = here.rig.look()
        orders = Counter((task["route"], task["prompt"]) for task in here.rig.bought())
        assert max(orders.values()) == 1
        assert max(Counter(row["step_id"] for row in tables["attempts"]).values()) == 1
        lost = [row for row in tables["attempts"] if row["state"] == "submit_unknown"]  # killed before they arrived
        assert Counter(row["state"] for row in tables["jobs"]) == Counter(complete=JOBS - len(lost), open=len(lost))
        assert here.rig.bill["totals"]["posts"] == orders.total() == len(tables["attempts"]) - len(lost)


async def _attach_what_arrived(rig: Rig) -> None:
    """Do what a person does: look each unknown up in the provider's books, and attach what is there."""
    for number in range(JOBS):
        view = await rig.view(f"corner-{number}")
        tasks = {task["prompt"]: task["id"] for task in rig.bought()}
        for step, prompt in zip(view["steps"], _texts(number), strict=True):
            if view["state"] == f"{step['name']}_submit_unknown" and prompt in tasks:
                await people.attach(rig.parts, view["id"], tasks[prompt], is_sure=True)
    await rig.work()


def _texts(number: int) -> tuple[str, str]:
    return f"Street corner number {number} in the rain", f"Umbrella {number} passes by"


def _line(number: int) -> str:
    inputs = dict(zip(("prompt", "motion"), _texts(number), strict=True))
    return json.dumps({"key": f"corner-{number}", "inputs": inputs}) + "\n"


async def _until_told(rig: Rig, lines: int) -> None:
    """Come back when the journals have grown by so many lines, or can't grow any more without a person."""
    goal = (await rig.parts.database.read(_told_and_running))[0] + lines

    async def is_told() -> bool:
        told, running = await rig.parts.database.read(_told_and_running)
        return told >= goal or not running

    await rig.meanwhile(is_told)


def _told_and_running(tx: Tx) -> tuple[int, int]:
    (row,) = tx.all(
        "SELECT (SELECT count(*) FROM journal) AS told, (SELECT count(*) FROM steps WHERE state = 'ready')"
        " + (SELECT count(*) FROM attempts WHERE state IN ('processing', 'collecting')) AS running"
    )
    return row["told"], row["running"]
