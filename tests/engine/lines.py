"""Budget lines that a person sets, orders with prices, and what stands against a line."""

from onetake.domain.recipe_toml import parse_recipe
from onetake.engine import budgeting
from onetake.engine.auditing import find_faults
from onetake.engine.intake import accept
from onetake.engine.orders import prepare
from onetake.store import budgets
from onetake.store.budgets import Line, Scope
from tests.engine.recipes import still
from tests.engine.rig import Rig

PRICE = "[steps.price]\nspend_micros_max = 100\ncurrency = 'USD'\n"
SOURCE = still(PRICE)
TOTAL = Scope()


async def bound(
    rig: Rig, scope: Scope = TOTAL, *, spend: int | None = None, requests: int | None = None, without: str = ""
) -> Line:
    """A line, set by a person; `without` names the bound that is taken away."""
    line, _ = await rig.act(
        budgeting.set_line,
        scope,
        currency="" if spend is None else "USD",
        spend_micros_max=spend,
        requests_max=requests,
        keeps_spend=without != "spend",
        keeps_requests=without != "requests",
    )
    return line


async def order(rig: Rig, number: int, source: str = SOURCE, campaign: str | None = None) -> str:
    """The id of a job."""
    made = prepare(parse_recipe(source, "t"), source, inputs={"prompt": f"Dune {number}"}, campaign=campaign)
    return (await rig.act(accept, made)).job_id


async def used(rig: Rig, line: Line) -> list[tuple[str, int, int]]:
    """What stands against the line: the day or the campaign, spend and requests."""
    assert await rig.parts.database.read(lambda tx: list(find_faults(tx))) == []
    rows = await rig.parts.database.read(budgets.list_uses, line.id)
    found = [(row["day"] or row["campaign"], row["spend_micros"], row["requests"]) for row in rows]
    return [each for each in found if each[1:] != (0, 0)]
