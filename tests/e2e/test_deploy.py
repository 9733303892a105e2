"""C069: SIGTERM while a paid request is in the air, as at every deployment."""

import signal
from pathlib import Path

import pytest

from onetake.sandbox import SandboxOptions
from tests.e2e.site import Site, site
from tests.engine.recipes import still

SLOW = SandboxOptions(tiny=True, slow_s=1.5)


@pytest.mark.parametrize(("grace_s", "state"), [(30.0, "draw_processing"), (0.1, "draw_submit_unknown")])
async def test_c069_sigterm_in_the_middle_of_a_post(tmp_path: Path, grace_s: float, state: str) -> None:
    async with site(tmp_path, SLOW) as here:
        here.rig.sandbox.script("accept_slow", times=2)
        job = await here.rig.order(still(), prompt="The one in the air")
        waiting = await here.rig.order(still(), prompt="The one that waits for the only slot")
        worker = await here.start("worker", WORKER__GRACE_S=str(grace_s), WORKER__CONCURRENCY="1")
        await here.rig.meanwhile(lambda: _is_bought(here))
        worker.send_signal(signal.SIGTERM)
        await worker.communicate()
        assert worker.returncode == 0, here.errors.read_text()
        assert await here.rig.state(job) == state
        assert await here.rig.state(waiting) == "draw_ready"  # nothing is claimed after the signal
        assert here.rig.bill["totals"]["posts"] == 1
        await here.rig.work()  # at once: the stopped worker's lease ended with it
        assert await here.rig.state(job) == ("complete" if grace_s > 1 else "draw_submit_unknown")
        assert await here.rig.state(waiting) == "complete"
        assert here.rig.bill["totals"]["posts"] == 2


async def _is_bought(here: Site) -> bool:
    return bool(here.rig.bought())
