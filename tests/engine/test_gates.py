"""Which models an account is offered: believed for a second, and not after it refused something."""

from pathlib import Path

from onetake.engine.gates import CLOSED_S_MAX, KNOWN_S, ProviderGates
from tests.engine.recipes import still
from tests.engine.rig import rigged

ACCOUNT = "reapi"


async def test_a_list_is_known_for_a_second_and_not_after_a_doubt(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        gates = ProviderGates(rig.parts)
        assert gates.known() == {}
        offered = await gates.offered(ACCOUNT)
        assert gates.known() == {ACCOUNT: offered}
        await gates.doubt(ACCOUNT)
        assert gates.known() == {}
        assert gates.closed() == frozenset()
        await gates.offered(ACCOUNT)
        rig.clock.leap(KNOWN_S)
        assert gates.known() == {}


async def test_an_account_that_refused_our_key_is_closed_for_a_minute(tmp_path: Path) -> None:
    """Whatever it says of its models meanwhile: else the same request is refused again and again."""
    async with rigged(tmp_path, concurrency=1) as rig:
        rig.sandbox.script("refuse_401", times=2)
        job = await rig.order(still(), prompt="A lock")
        async with rig.crashing():
            await rig.until_told(job, "attempt.refused")
            [alarm] = [row for row in rig.look()["alarms"] if row["kind"] == "key_refused"]
            assert (alarm["subject"], alarm["cleared_at"]) == (ACCOUNT, None)
            assert "refuses our key (invalid_api_key)" in alarm["detail"]
            await rig.clock.sleep(CLOSED_S_MAX / 2)
            assert rig.bill["totals"]["posts"] == 1
            await rig.until_told(job, "attempt.delivered", every_s=5.0)
        assert rig.bill["totals"]["posts"] == 3
        first, second, _ = sorted(row["created_at"] for row in rig.look()["attempts"])
        assert second - first >= CLOSED_S_MAX * 1e6
