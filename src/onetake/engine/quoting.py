"""Quotes: computed here, frozen with what they were made for, and compared with what stands when they are accepted."""

from collections.abc import Sequence

from onetake.clock import new_id
from onetake.domain.canonical import encode, parse
from onetake.domain.differences import differences
from onetake.domain.errors import ConsentError, NotFoundError, QuoteUsedError
from onetake.domain.jsonvalue import shown
from onetake.domain.output_fields import expected_outputs
from onetake.domain.pricing import QuoteLine, input_digests, price_version, quote_lines
from onetake.domain.recipe import Recipe
from onetake.domain.roles import Act
from onetake.engine.members import Member
from onetake.engine.orders import Order, Quote, Requoted
from onetake.engine.turn import Turn
from onetake.recipes import list_shipped, read_shipped
from onetake.store import quotes, recipes
from onetake.store.database import Row, Tx


def quote(turn: Turn, order: Order, *, valid_s: int) -> Quote:
    """A quote for the order, which stands for so many seconds; nothing is held and nothing is ordered.

    Raises:
        NotFoundError: there is no such account.
        RoleError: the person may not order there.
        RecipeError: the recipe's name and version stand for other content.
        BadValueError: credits are charged, and the recipe has no price.
    """
    member = turn.member(Act.ORDER)
    record_recipe(turn, order)
    outputs = expected_outputs(order.recipe, order.inputs)
    lines = quote_lines(order.recipe, order.inputs, outputs, plan=member.plan)
    return _keep(turn, order, member, lines, valid_s=valid_s)


def record_recipe(turn: Turn, order: Order) -> None:
    """Keep the recipe of an order. Recipes say what things cost, so that not everybody may bring in one.

    Raises:
        RecipeError: its name and version stand for other content.
        RoleError: it is new here, doesn't ship, and the person has no role over the installation.
    """
    recipe = order.recipe
    if recipes.is_kept(turn.tx, recipe.hash):
        return
    if recipe.name not in list_shipped() or order.source != read_shipped(recipe.name):
        turn.check_over_all(Act.RECIPE)
    recipes.record(
        turn.tx,
        name=recipe.name,
        version=recipe.version,
        digest=recipe.hash,
        content=recipe.canonical,
        source=order.source,
    )


def check_consent(recipe: Recipe, given: str | None) -> None:
    """Return if the customer agreed to the wording that the recipe asks for.

    Raises:
        ConsentError: nothing was agreed to, or another wording.
    """
    wanted = recipe.consent.version if recipe.consent else None
    if wanted is None or given == wanted:
        return
    what = "nothing was agreed to" if given is None else f"{shown(given)} was agreed to"
    raise ConsentError(
        f"Recipe {recipe.name} asks for consent to the wording {wanted}, and {what}: show it and give --consent"
        f" {wanted}; nothing is held.",
        fields={"/consent": f"must be {wanted}"},
    )


def quoted_as(order: Order, member: Member, *, consent_version: str, expires_at: int | None = None) -> quotes.Quoted:
    """What a quote for the order freezes."""
    return quotes.Quoted(
        account_id=member.account_id,
        recipe_hash=order.recipe.hash,
        request_hash=order.request_hash,
        price_version=price_version(order.recipe),
        consent_version=consent_version,
        expires_at=expires_at,
    )


def found_quote(row: Row | None, quote_id: str) -> Row:
    """The quote, if there is one that waits or waited.

    Raises:
        NotFoundError: there is none, or it was accepted as it was made, by an order without a quote.
    """
    if row is None or row["recipe_name"] is None:
        raise NotFoundError(f"There is no quote {shown(quote_id)}.")
    return row


def check_quote(turn: Turn, member: Member, order: Order, lines: Sequence[QuoteLine], found: Row) -> Requoted | None:
    """None if the quote stands and says what holds now; else what moved, with a new quote.

    Raises:
        QuoteUsedError: it was accepted before.
    """
    quote_id = found["id"]
    if found["accepted_at"] is not None:
        whose = f", for job {found['job_id']}" if found["job_id"] else ""
        raise QuoteUsedError(
            f"Quote {quote_id} was accepted before{whose}: make a new one for another job; nothing was ordered."
        )
    is_expired, fields = found["expires_at"] <= turn.tx.now_us, _moved(turn.tx, found, order, lines)
    if not (is_expired or fields):
        return None
    valid_s = (found["expires_at"] - found["created_at"]) // 1_000_000
    return Requoted(
        old_id=quote_id,
        quote=_keep(turn, order, member, lines, valid_s=valid_s),
        fields=fields,
        expired_at=found["expires_at"] if is_expired else None,
    )


def _moved(tx: Tx, found: Row, order: Order, lines: Sequence[QuoteLine]) -> dict[str, str]:
    """What differs between the quote and what holds now, by JSON Pointer."""
    recipe = order.recipe
    fields = {f"/inputs{place}": change for place, change in differences(parse(found["inputs"]), order.inputs).items()}
    if found["recipe_hash"] != recipe.hash:
        before = f"{found['recipe_name']} {found['recipe_version']}"
        fields["/recipe"] = f"is {recipe.name} {recipe.version} ({recipe.hash[:12]}), was {before}"
    if found["consent_version"] != (recipe.consent.version if recipe.consent else ""):
        now = recipe.consent.version if recipe.consent else "none"
        fields["/consent"] = f"is {now}, was {found['consent_version'] or 'none'}"
    old = {
        (row["step_name"], row["output_name"], row["ordinal"]): int(row["credits_max"])
        for row in quotes.list_lines(tx, found["id"])
    }
    new = {(line.step_name, line.output_name, line.ordinal): line.credits_max for line in lines}
    if old != new:
        fields["/credits"] = f"is {sum(new.values())}, was {sum(old.values())}"
    return fields


def _keep(turn: Turn, order: Order, member: Member, lines: Sequence[QuoteLine], *, valid_s: int) -> Quote:
    recipe, consent = order.recipe, order.recipe.consent
    quote_id, expires_at = new_id("qte", turn.clock), turn.tx.now_us + valid_s * 1_000_000
    consent_version = consent.version if consent else ""
    quoted = quoted_as(order, member, consent_version=consent_version, expires_at=expires_at)
    quotes.insert(turn.tx, quote_id, quoted, is_accepted=False)
    quotes.insert_request(
        turn.tx,
        quote_id,
        recipe=(recipe.name, recipe.version),
        inputs=encode(order.inputs).decode(),
        input_digests=encode(dict(input_digests(order.inputs))).decode(),
        actor=turn.actor,
    )
    quotes.insert_lines(turn.tx, turn.clock, quote_id, lines)
    return Quote(
        id=quote_id,
        recipe=f"{recipe.name} {recipe.version}",
        recipe_hash=recipe.hash,
        price_version=quoted.price_version,
        consent_version=consent_version,
        consent_text=consent.text if consent else "",
        lines=tuple(lines),
        expires_at=expires_at,
    )
