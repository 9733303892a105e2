"""What an order costs at most: credits for the customer, spend at the provider. Exact, and rounded up once, at the end.

    price = (credits + credits_per_s x seconds) x percent / 100, rounded up to whole credits

Nothing here is a float: amounts are whole numbers, seconds and percentages exact decimals, sums exact fractions.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import cast

from onetake.domain.amounts import rounded_up
from onetake.domain.canonical import digest
from onetake.domain.errors import BadValueError
from onetake.domain.jsonvalue import Json, normal
from onetake.domain.output_fields import ExpectedOutput
from onetake.domain.recipe import Price, Recipe, Step, given
from onetake.domain.references import InputRef, replace_refs
from onetake.domain.tables import WHOLE_MAX

NO_CREDITS = "none"
"""The plan under which nothing is charged: the same path, with holds of nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuoteLine:
    """The highest price of one expected output.

    Attributes:
        credits_max: whole credits; 0 under plan `none`.
        spend_micros_max: its share of what its step may cost at the provider at worst, in millionths of `currency`.
    """

    step_name: str
    output_name: str
    ordinal: int
    credits_max: int
    spend_micros_max: int
    currency: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Worst:
    """What a step may cost at the provider at worst, permitted replacements included.

    Attributes:
        request_micros: of one request.
        requests: how many may be bought.
    """

    request_micros: int
    requests: int
    currency: str

    @property
    def spend_micros(self) -> int:
        """Of all of them."""
        return self.request_micros * self.requests


def exact_price(*, base: int, per_s: int = 0, seconds: Decimal | int = 0, percent: Decimal | int = 100) -> Fraction:
    """The price before it is rounded."""
    return (base + per_s * Fraction(seconds)) * Fraction(percent) / 100


def quote_lines(
    recipe: Recipe, inputs: Mapping[str, Json], outputs: tuple[ExpectedOutput, ...], *, plan: str
) -> list[QuoteLine]:
    """One line per expected output; a step's spend is shared over its lines, the remainder on the first.

    Raises:
        BadValueError: credits are charged, and a step has no price; or it is more than can be counted.
    """
    lines: list[QuoteLine] = []
    for step in recipe.steps:
        own = [output for output in outputs if output.step == step.name]
        worst = worst_of(step, inputs)
        share, rest = divmod(worst.spend_micros, len(own)) if own else (0, 0)
        for place, output in enumerate(own):
            lines.append(
                QuoteLine(
                    step_name=step.name,
                    output_name=output.name,
                    ordinal=output.ordinal,
                    credits_max=0 if plan == NO_CREDITS else credits_of(recipe, step, inputs),
                    spend_micros_max=share + (rest if place == 0 else 0),
                    currency=worst.currency,
                )
            )
    if max(sum(line.credits_max for line in lines), sum(line.spend_micros_max for line in lines)) > WHOLE_MAX:
        raise BadValueError(f"The price of this order is more than {WHOLE_MAX} in all, which nobody counts exactly.")
    return lines


def credits_of(recipe: Recipe, step: Step, inputs: Mapping[str, Json]) -> int:
    """What each output of the step costs the customer, in whole credits.

    Raises:
        BadValueError: the recipe doesn't say, or it is more than can be counted.
    """
    price = step.price
    if price is None:
        raise BadValueError(
            f"Recipe {recipe.name} has no price for step {step.name!r}, so it can't be sold for credits:"
            " give the step a [steps.price]."
        )
    exact = exact_price(
        base=price.credits,
        per_s=price.credits_per_s or 0,
        seconds=_seconds(price, inputs),
        percent=100 if price.percent is None else price.percent,
    )
    return rounded_up(exact)


def worst_of(step: Step, inputs: Mapping[str, Json]) -> Worst:
    """What the step may cost at the provider at worst; nothing where the recipe doesn't say."""
    price = step.price
    if price is None:
        return Worst(request_micros=0, requests=step.buys_max, currency="")
    exact = exact_price(
        base=price.spend_micros_max, per_s=price.spend_micros_per_s or 0, seconds=_seconds(price, inputs)
    )
    return Worst(request_micros=rounded_up(exact), requests=step.buys_max, currency=price.currency)


def price_version(recipe: Recipe) -> str:
    """Names the recipe's prices: another one as soon as any of them changes."""
    return digest({step.name: normal(given(step.price)) if step.price else None for step in recipe.steps})[:16]


def input_digests(inputs: Mapping[str, Json]) -> dict[str, str]:
    """The digest of each input: enough to see that one moved, too little to read it."""
    return {name: digest(value) for name, value in inputs.items()}


def _seconds(price: Price, inputs: Mapping[str, Json]) -> Decimal | int:
    if price.seconds is None:
        return 0
    found = replace_refs(price.seconds, lambda ref: inputs[cast("InputRef", ref).name])
    return cast("Decimal | int", found)
