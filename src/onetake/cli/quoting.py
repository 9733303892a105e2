"""`onetake quote`: what an order costs at most, before anything is held; and its acceptance."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from onetake.cli.orders import Inputs, Lot, make_order, read_inputs, read_menu
from onetake.cli.printing import Json, emit, run, say, when
from onetake.domain.amounts import told_micros

if TYPE_CHECKING:
    from onetake.engine.orders import Order, Quote, Taken
    from onetake.engine.parts import Parts
    from onetake.store.database import Row, Tx


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("quote")(quote)


def quote(
    recipe: Annotated[str, typer.Argument(metavar="RECIPE", help="A shipped recipe's name, or a TOML file.")],
    inputs: Inputs = None,
    *,
    is_json: Json = False,
) -> None:
    """Say what an order costs at most; nothing is held.

    One line per expected output: the highest price in credits, and the highest spend at the provider. Accept the
    quote with `onetake jobs create --quote QUOTE` while it stands. What it was made for is frozen with it: where
    prices, recipe, inputs or wording move, the acceptance answers with the differences and a new quote.
    """
    order = make_order(recipe, inputs or [], None)

    async def make() -> "Quote":
        from onetake.app import open_parts
        from onetake.engine import quoting
        from onetake.engine.ordering import check_orderable
        from onetake.opening import load_settings

        async with open_parts(load_settings()) as parts:
            await check_orderable(parts, order.recipe)
            return await parts.act(parts.settings.person, quoting.quote, order, valid_s=parts.settings.quote_s)

    made = run(make())
    if is_json:
        emit(told(made))
        return
    for line in lines_of(made):
        say(line)


def told(quote_: "Quote") -> dict[str, Any]:
    """The quote for programs."""
    return {
        "quote": quote_.id,
        "recipe": quote_.recipe,
        "recipe_hash": quote_.recipe_hash,
        "credits_max": quote_.credits_max,
        "price_version": quote_.price_version,
        "consent_version": quote_.consent_version,
        "consent_text": quote_.consent_text,
        "expires_at": quote_.expires_at,
        "lines": [
            {
                "step": line.step_name,
                "output": line.output_name,
                "credits_max": line.credits_max,
                "spend_micros_max": line.spend_micros_max,
                "currency": line.currency,
            }
            for line in quote_.lines
        ],
    }


def lines_of(quote_: "Quote") -> list[str]:
    """The quote for people."""
    lines = [
        f"{line.step_name}.{line.output_name}: up to {line.credits_max:,} credits;"
        f" at the provider up to {told_micros(line.spend_micros_max, line.currency)}"
        for line in quote_.lines
    ]
    consent = f" --consent '{quote_.consent_version}'" if quote_.consent_version else ""
    command = f"`onetake jobs create --quote {quote_.id}{consent}`"
    wording = [f"to agree to ({quote_.consent_version}): {quote_.consent_text}"] if quote_.consent_version else []
    return [
        *lines,
        f"in all: up to {quote_.credits_max:,} credits for {quote_.recipe}; nothing is held yet",
        *wording,
        f"{quote_.id}  stands until {when(quote_.expires_at)}; accept it with {command}",
    ]


async def accept(quote_id: str, recipe: str | None, given: list[str], key: str | None, lot: Lot) -> "Taken":
    """The job that the quote becomes.

    Without a recipe, the newest version of the quote's own is taken; without inputs, those that were quoted.

    Raises:
        QuoteMovedError: something moved since; names the differences and the new quote.
        QuoteExpiredError: its time is over; names the new quote.
    """
    from onetake.app import open_parts
    from onetake.engine.intake import accept_quote
    from onetake.engine.ordering import check_orderable
    from onetake.engine.orders import Requoted
    from onetake.opening import load_settings

    async with open_parts(load_settings()) as parts:
        row = await parts.database.read(_find, parts.settings.account.name, parts.settings.person, quote_id)
        order = await _order(parts, row, recipe, given, key=key, campaign=lot.campaign)
        await check_orderable(parts, order.recipe)
        found = await parts.act(parts.settings.person, accept_quote, order, quote_id, consent=lot.consent)
    if isinstance(found, Requoted):
        raise found.error()
    return found


async def _order(
    parts: "Parts", row: "Row", recipe: str | None, given: list[str], *, key: str | None, campaign: str | None
) -> "Order":
    """What the quote was made for, as it would be ordered now."""
    from onetake.domain.canonical import parse
    from onetake.domain.recipe_toml import parse_recipe
    from onetake.engine.orders import prepare
    from onetake.recipes import list_shipped, read_shipped
    from onetake.store import recipes

    name = row["recipe_name"]
    if recipe is not None:
        menu = read_menu(recipe)
        source, parsed = menu.source, menu.recipe
    else:
        source = read_shipped(name) if name in list_shipped() else await parts.database.read(recipes.get_newest, name)
        parsed = parse_recipe(source, f"{name}.toml")
    quoted: dict[str, object] = dict(parse(row["inputs"]))  # type: ignore[arg-type]  # an object, as it was written
    inputs = read_inputs(parsed, given) if given else quoted
    return prepare(parsed, source, inputs=inputs, key=key, campaign=campaign)


def _find(tx: "Tx", account: str, person: str, quote_id: str) -> "Row":
    from onetake.domain.roles import Act
    from onetake.engine.members import require
    from onetake.engine.quoting import found_quote
    from onetake.store import quotes

    return found_quote(quotes.find(tx, require(tx, account, person, Act.ORDER).account_id, quote_id), quote_id)
