"""The eight ways in which a paid, slow job goes wrong, and what must come of each."""

from pathlib import Path

from tests.engine.rig import rigged


async def test_smoke(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        job = await rig.order(prompt="A lighthouse at dawn")
        await rig.work()
        print(await rig.events(job))
        assert await rig.state(job) == "complete"
        assert len(rig.bought()) == 2
