"""C062: a worker process is killed with -9 at each point of a paid job, and what the next one may make of it."""

import hashlib
from pathlib import Path

import psutil

from onetake.sandbox import SandboxOptions
from tests.e2e.site import Site, site
from tests.engine.recipes import still
from tests.providers.fault_server import deaf_port

PROMPT = "A tram on its last round"
HELD = SandboxOptions(tiny=True, slow_s=600)
SLOW = SandboxOptions(tiny=True, slow_s=0.5)


async def test_c062a_claimed_and_not_sent_is_unknown(tmp_path: Path) -> None:
    """No durable mark proves that nothing left, so it isn't sent again."""
    with deaf_port() as port:
        async with site(tmp_path) as here:
            job = await here.rig.order(still(), prompt=PROMPT)
            worker = await here.start("worker", PROVIDERS__REAPI__BASE_URL=f"http://127.0.0.1:{port}")
            await here.rig.meanwhile(lambda: _is(here, job, "draw_submitting"))
            await here.kill(worker)
            await here.reap()
            assert await here.rig.state(job) == "draw_submit_unknown"
            assert here.rig.bill["totals"]["posts"] == 0


async def test_c062b_sent_and_no_answer_is_unknown(tmp_path: Path) -> None:
    async with site(tmp_path) as here:
        here.rig.sandbox.script("accept_then_silence")
        job = await here.rig.order(still(), prompt=PROMPT)
        worker = await here.start("worker")
        await here.rig.meanwhile(lambda: _has(here, polls=0))
        await here.kill(worker)
        await _is_unknown_and_bought_once(here, job)


async def test_c062c_answer_read_and_not_committed_is_unknown(tmp_path: Path) -> None:
    async with site(tmp_path, SLOW) as here:
        here.rig.sandbox.script("accept_slow")
        job = await here.rig.order(still(), prompt=PROMPT)
        worker = await here.start("worker")
        await here.rig.meanwhile(lambda: _has(here, polls=0))
        with here.locked():
            await here.rig.meanwhile(lambda: _is_told(here))
            await here.kill(worker)
        await _is_unknown_and_bought_once(here, job)


async def test_c062d_killed_while_downloading_goes_on_from_the_saved_address(tmp_path: Path) -> None:
    async with site(tmp_path, HELD) as here:
        here.rig.sandbox.script("file_slow")
        job = await here.rig.order(still(), prompt=PROMPT)
        worker = await here.start("worker")
        await here.rig.meanwhile(lambda: _has(here, downloads=1))
        await here.kill(worker)
        await _is_complete_and_bought_once(here, job)


async def test_c062e_killed_while_validating_goes_on(tmp_path: Path) -> None:
    async with site(tmp_path) as here:
        first = await here.rig.order(still(), prompt="The first one, which starts the decoder")
        worker = await here.start("worker")
        await here.rig.meanwhile(lambda: _is(here, first, "complete"))
        (decoder,) = [each for each in psutil.Process(worker.pid).children() if "onetake.media" in str(each.cmdline())]
        decoder.suspend()
        job = await here.rig.order(still(), prompt=PROMPT)
        await here.rig.meanwhile(lambda: _is_whole_and_incoming(here))
        await here.kill(worker)
        decoder.kill()
        await here.reap()
        assert await here.rig.state(job) == "complete"
        assert here.rig.bill["totals"]["posts"] == 2


async def test_c062f_killed_while_storing_goes_on(tmp_path: Path) -> None:
    async with site(tmp_path, SLOW) as here:
        here.rig.sandbox.script("file_slow")
        job = await here.rig.order(still(), prompt=PROMPT)
        worker = await here.start("worker")
        await here.rig.meanwhile(lambda: _has(here, downloads=1))
        with here.locked():
            await here.rig.meanwhile(lambda: _is_stored(here))
            await here.kill(worker)
        assert await here.rig.state(job) == "draw_collecting"
        await _is_complete_and_bought_once(here, job)


async def _is_unknown_and_bought_once(here: Site, job: str) -> None:
    await here.reap()
    view = await here.rig.view(job)
    assert (view["state"], view["money"]["open"]) == ("draw_submit_unknown", 1)
    assert here.rig.bill["totals"]["posts"] == 1


async def _is_complete_and_bought_once(here: Site, job: str) -> None:
    await here.reap()
    assert await here.rig.state(job) == "complete"
    assert here.rig.bill["totals"]["posts"] == 1


async def _is(here: Site, job: str, state: str) -> bool:
    return await here.rig.state(job) == state


async def _has(here: Site, **counts: int) -> bool:
    """Whether the provider made a task that was asked for as often."""
    return any(all(task[name] == count for name, count in counts.items()) for task in here.rig.bought())


async def _is_told(here: Site) -> bool:
    return bool(here.rig.bought()[0]["told_id"])


async def _is_stored(here: Site) -> bool:
    digest: str = here.rig.bought()[0]["sha256"][0]
    return (here.rig.folder / "files" / "sha256" / digest[:2] / digest[2:]).exists()


async def _is_whole_and_incoming(here: Site) -> bool:
    wanted = {digest for task in here.rig.bought() for digest in task["sha256"]}
    files = (here.rig.folder / "files" / "incoming").iterdir()
    return any(hashlib.sha256(path.read_bytes()).hexdigest() in wanted for path in files)
