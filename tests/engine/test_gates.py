"""Which models an account is offered: believed for a second, and not after it refused something."""

from pathlib import Path

from onetake.engine.gates import KNOWN_S, ProviderGates
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
        await gates.offered(ACCOUNT)
        rig.clock.leap(KNOWN_S)
        assert gates.known() == {}
