"""A polite stop: nothing more is claimed, what is in the air lands or is named unknown, the rest is simply left."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from onetake.domain.recipe_toml import parse_recipe
from onetake.engine.intake import accept
from onetake.engine.orders import prepare
from onetake.engine.worker import Worker
from onetake.providers.transport import LAST_WORDS_S
from onetake.sandbox import SandboxOptions
from tests.engine.recipes import still
from tests.engine.rig import Rig, rigged
from tests.fakes.transports import NoticedTransport

PROMPT = "A bicycle against a yellow wall"


@pytest.mark.parametrize(
    ("answer_s", "grace_s", "state"),
    [(0.4, 30, "draw_processing"), (LAST_WORDS_S + 2, 0, "draw_submit_unknown")],
)
async def test_c069_a_post_in_the_air_lands_in_the_grace_period_or_is_named_unknown(
    tmp_path: Path, answer_s: float, grace_s: float, state: str
) -> None:
    async with rigged(tmp_path, SandboxOptions(tiny=True, slow_s=answer_s), grace_s=grace_s, concurrency=1) as rig:
        rig.sandbox.script("accept_slow")
        job = await rig.order(still(), prompt=PROMPT)
        waiting = await rig.order(still(), prompt="Another, which waits for the only slot")
        async with rig.working() as stop:
            await rig.meanwhile(lambda: _is_bought(rig))
            stop.set()
        assert await rig.state(job) == state
        assert await rig.state(waiting) == "draw_ready"
        assert rig.bill["totals"]["posts"] == 1


async def test_nothing_is_claimed_when_the_stop_comes_while_models_are_asked_for(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        order = prepare(parse_recipe(still(), "test.toml"), still(), inputs={"prompt": PROMPT})
        job = (await rig.act(accept, order)).job_id  # without the question that a creation asks
        stop = asyncio.Event()
        parts = replace(rig.parts, transport=NoticedTransport(rig.parts.transport, stop.set))
        await Worker(parts, name="test").run(stop)
        assert await rig.state(job) == "draw_ready"
        assert rig.bill["totals"]["posts"] == 0


async def test_a_download_is_left_and_taken_up_again(tmp_path: Path) -> None:
    async with rigged(tmp_path, SandboxOptions(tiny=True, slow_s=3600)) as rig:
        rig.sandbox.script("file_slow")
        job = await rig.order(still(), prompt=PROMPT)
        async with rig.working() as stop:
            await rig.meanwhile(lambda: _is_downloading(rig))
            stop.set()  # and the worker ends, an hour before the answer
        assert await rig.state(job) == "draw_collecting"
        await rig.work()
        assert await rig.state(job) == "complete"
        assert rig.bill["totals"]["posts"] == 1


async def _is_bought(rig: Rig) -> bool:
    return bool(rig.bought())


async def _is_downloading(rig: Rig) -> bool:
    return bool(rig.bought()) and rig.bought()[0]["downloads"] > 0
