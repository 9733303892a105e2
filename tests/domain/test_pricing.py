"""Prices, exactly: what an order costs at most, in credits and at the provider."""

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onetake.domain.amounts import amount_of, micros_of, rounded_up, told_micros, whole_bound, whole_credits
from onetake.domain.billing import billing
from onetake.domain.errors import BadValueError, RecipeError
from onetake.domain.events import HoldEvent
from onetake.domain.inputs import resolve_inputs
from onetake.domain.money_story import tell_money
from onetake.domain.output_fields import expected_outputs
from onetake.domain.pricing import (
    exact_price,
    input_digests,
    price_version,
    quote_lines,
    worst_of,
)
from onetake.domain.recipe import Recipe
from onetake.domain.recipe_toml import parse_recipe, recipe_from_content
from onetake.domain.roles import MAY, TOLD, Act, may
from onetake.domain.states import Role

RECIPE = """
[recipe]
name = "cut"
version = 1
billing = "bill"
[consent]
version = "2026-12"
text = "My portrait may be used for this clip."
[inputs.seconds]
type = "choice"
choices = [5, 12, 23]
[inputs.exact]
type = "number"
min = 0.5
max = 30
default = 7.5
[[steps]]
name = "move"
provider = "reapi"
operation = "video"
model = "m"
[steps.request]
prompt = "x"
[steps.price]
credits = 10
credits_per_s = 4
percent = 150
seconds = { ref = "inputs.seconds" }
spend_micros_max = 100
spend_micros_per_s = 7
currency = "USD"
[steps.replacement]
reasons = ["provider_failed"]
count_max = 1
[[steps.outputs]]
name = "clip"
kind = "video"
[[steps.outputs]]
name = "spare"
kind = "video"
[[steps.outputs]]
name = "third"
kind = "video"
"""


def recipe(text: str = RECIPE) -> Recipe:
    return parse_recipe(text, "cut.toml")


def test_c052_prices_are_exact_before_they_are_rounded() -> None:
    assert exact_price(base=0, per_s=75_000, seconds=Decimal("7.5")) == 562_500
    assert exact_price(base=950, percent=211) == Fraction("2004.5")
    assert rounded_up(exact_price(base=950, percent=211)) == 2005
    assert rounded_up(Fraction(2004)) == 2004


@given(st.integers(0, 10**9), st.integers(0, 10**6), st.decimals(0, 10**4, places=3), st.integers(1, 10**4))
def test_c052_rounding_never_loses_and_adds_less_than_one(
    base: int, per_s: int, seconds: Decimal, percent: int
) -> None:
    exact = exact_price(base=base, per_s=per_s, seconds=seconds, percent=percent)
    assert exact <= rounded_up(exact) < exact + 1


def test_each_output_has_a_line_and_the_spend_of_its_step_is_shared() -> None:
    own = recipe()
    inputs = resolve_inputs(own, {"seconds": 5})
    lines = quote_lines(own, inputs, expected_outputs(own, inputs), plan="credits")
    assert [(line.output_name, line.credits_max) for line in lines] == [("clip", 45), ("spare", 45), ("third", 45)]
    worst = worst_of(own.step("move"), inputs)
    assert (worst.request_micros, worst.requests, worst.spend_micros) == (135, 2, 270)
    assert [line.spend_micros_max for line in lines] == [90, 90, 90]
    more = resolve_inputs(own, {"seconds": 12})
    assert [line.spend_micros_max for line in quote_lines(own, more, expected_outputs(own, more), plan="none")] == [
        124,
        122,
        122,
    ]
    assert {line.credits_max for line in quote_lines(own, more, expected_outputs(own, more), plan="none")} == {0}


def test_without_a_price_nothing_can_be_sold_and_nothing_is_said_of_the_spend() -> None:
    own = recipe(RECIPE[: RECIPE.index("[steps.price]")] + RECIPE[RECIPE.index("[steps.replacement]") :])
    inputs = resolve_inputs(own, {"seconds": 5})
    outputs = expected_outputs(own, inputs)
    with pytest.raises(BadValueError, match="no price for step 'move'"):
        quote_lines(own, inputs, outputs, plan="credits")
    assert {line.spend_micros_max for line in quote_lines(own, inputs, outputs, plan="none")} == {0}
    assert price_version(own) != price_version(recipe())


def test_a_price_for_each_output_needs_no_length() -> None:
    plain = RECIPE.replace("credits_per_s = 4\n", "").replace("spend_micros_per_s = 7\n", "")
    own = recipe(plain.replace('seconds = { ref = "inputs.seconds" }\n', ""))
    inputs = resolve_inputs(own, {"seconds": 5})
    assert {line.credits_max for line in quote_lines(own, inputs, expected_outputs(own, inputs), plan="credits")} == {
        15
    }


def test_more_than_anybody_counts_is_refused() -> None:
    huge = recipe(RECIPE.replace("credits_per_s = 4", f"credits_per_s = {2**53 - 1}"))
    inputs = resolve_inputs(huge, {"seconds": 23})
    with pytest.raises(BadValueError, match="more than 9007199254740991 in all"):
        quote_lines(huge, inputs, expected_outputs(huge, inputs), plan="credits")


def test_a_recipe_reads_back_with_its_price_billing_and_consent() -> None:
    own = recipe()
    assert (own.billing, own.consent.version if own.consent else "") == ("bill", "2026-12")
    again = recipe_from_content(own.content(), "stored")
    assert (again, again.hash) == (own, own.hash)
    plain = recipe(RECIPE.replace('billing = "bill"\n', ""))
    assert "billing" not in plain.canonical
    assert price_version(plain) == price_version(own)
    assert price_version(recipe(RECIPE.replace("credits = 10", "credits = 11"))) != price_version(own)


REFUSED = {
    'seconds = { ref = "inputs.seconds" }\n': ("", "`steps[0].price.seconds` must be given with a price per second"),
    "credits_per_s = 4\n": ("credits_per_s = -1\n", "credits_per_s"),
    "percent = 150": ("percent = 0", "must be a number above 0"),
    "percent = 150 ": ("percent = true", "must be a number above 0"),
    'ref = "inputs.seconds"': ('ref = "inputs.nothing"', "must refer to an input"),
    'seconds = { ref = "inputs.seconds" }': ("seconds = 0", "above 0"),
    "choices = [5, 12, 23]": ('choices = [5, "long"]', "all of whose values are numbers of seconds"),
    'billing = "bill"': ('billing = "free"', "must be one of: charged, bill, return"),
    'text = "My portrait may be used for this clip."': ('text = ""', "`consent.text`"),
    'currency = "USD"': ('currency = "usd"', "three capitals"),
}


@pytest.mark.parametrize("old", REFUSED)
def test_a_price_that_says_nothing_clear_is_refused(old: str) -> None:
    new, words = REFUSED[old]
    with pytest.raises(RecipeError) as caught:
        recipe(RECIPE.replace(old.strip() if old.endswith(" ") else old, new, 1))
    assert words in caught.value.sentence


def test_seconds_say_nothing_without_a_price_per_second_and_may_be_any_bounded_number() -> None:
    idle = RECIPE.replace("credits_per_s = 4\n", "").replace("spend_micros_per_s = 7\n", "")
    with pytest.raises(RecipeError, match="says nothing without credits_per_s"):
        recipe(idle)
    exact = recipe(RECIPE.replace('ref = "inputs.seconds"', 'ref = "inputs.exact"'))
    inputs = resolve_inputs(exact, {"seconds": 5})
    assert quote_lines(exact, inputs, expected_outputs(exact, inputs), plan="credits")[0].credits_max == 60
    assert recipe(RECIPE.replace('{ ref = "inputs.seconds" }', "2.5")).steps[0].price
    with pytest.raises(RecipeError, match="or to a number with min and max"):
        recipe(RECIPE.replace('ref = "inputs.seconds"', 'ref = "inputs.exact"').replace("max = 30\n", ""))
    with pytest.raises(RecipeError, match="must refer to an input"):
        recipe(RECIPE.replace('ref = "inputs.seconds"', 'ref = "step.model"'))


def test_the_digests_of_inputs_tell_only_what_moved() -> None:
    one, other = input_digests({"a": "x", "b": 1}), input_digests({"a": "y", "b": 1})
    assert (one["b"] == other["b"], one["a"] == other["a"], len(one["a"])) == (True, False, 64)


# --- amounts as people write them


@pytest.mark.parametrize(
    "text", ["-1", "0", "1.5", "1e3", "NaN", "inf", "", "9" * 17, str(2**53), "\uff11", "0x10", "1_000"]
)
def test_credits_that_are_no_positive_whole_number_are_refused(text: str) -> None:
    with pytest.raises(BadValueError, match="must be a whole number of credits from 1"):
        whole_credits(text, what="A grant")


def test_a_bound_is_a_whole_number_from_0() -> None:
    assert [whole_bound(text, what="x") for text in ("0", " 7 ", str(2**53 - 1))] == [0, 7, 2**53 - 1]
    for text in ("", "-1", "1.5", "NaN", "1e3", "1_0", str(2**53), "9" * 99):
        with pytest.raises(BadValueError, match="x must be a whole number from 0 to 9007199254740991, not"):
            whole_bound(text, what="x")


def test_amounts_are_exact() -> None:
    assert (whole_credits("12", what="x"), whole_credits(str(2**53 - 1), what="x")) == (12, 2**53 - 1)


@pytest.mark.parametrize("text", ["-1", "1.5", "", " ", "NaN", "1e3", str(2**53), chr(0x661)])
def test_what_is_no_bound_is_refused(text: str) -> None:
    with pytest.raises(BadValueError, match="--requests must be a whole number from 0 to"):
        whole_bound(text, what="--requests")


def test_a_bound_may_be_nothing() -> None:
    assert (whole_bound("0", what="x"), whole_bound(" 12 ", what="x")) == (0, 12)
    assert [micros_of(text, what="x") for text in ("0", "12.5", "0.000001", "1e1")] == [0, 12_500_000, 1, 10_000_000]
    for text in ("-1", "0.0000001", "NaN", "1e99", "ten", str(2**53)):
        with pytest.raises(BadValueError, match="must be an amount from 0"):
            micros_of(text, what="x")
    assert [told_micros(each, "USD") for each in (0, 1, 12_500_000)] == ["0.00 USD", "0.000001 USD", "12.50 USD"]
    assert amount_of("1e999") is None


# --- who may, and what becomes of a hold


def test_every_act_is_told_and_somebody_may_do_it() -> None:
    assert set(TOLD) == set(Act)
    assert set(MAY) == set(Role)
    assert all(may(frozenset({Role.OWNER}), act) for act in Act)
    assert not may(frozenset({Role.REVIEWER, Role.PUBLISHER}), Act.ORDER)
    assert not may(frozenset(), Act.LOOK)


@pytest.mark.parametrize(
    ("rule", "charged", "was_accepted", "event"),
    [
        ("charged", "no", False, HoldEvent.RELEASED),
        ("bill", "no", False, HoldEvent.RELEASED),
        ("bill", "yes", False, HoldEvent.CAPTURED),
        ("bill", "no", True, HoldEvent.CAPTURED),
        ("return", "yes", True, HoldEvent.RELEASED),
        ("charged", "yes", True, HoldEvent.CAPTURED),
        ("charged", "no", True, HoldEvent.RELEASED),
        ("charged", "unknown", True, None),
        ("charged", "unknown", False, None),
    ],
)
def test_a_hold_is_closed_by_the_rule_and_the_charge(
    rule: str,
    charged: str,
    was_accepted: bool,  # noqa: FBT001 - a parameter of the test
    event: HoldEvent | None,
) -> None:
    assert billing(rule, charged, was_accepted=was_accepted) is event  # type: ignore[arg-type]


# --- the story


Row = dict[str, object]


def hold(**changes: object) -> Row:
    row: Row = {
        "id": "hld_1",
        "amount": 40,
        "created_at": 0,
        "step_name": "draw",
        "output_name": "still",
        "captured": None,
        "released": None,
        "reason": None,
        "actor": None,
        "closed_at": None,
    }
    return {**row, **changes}


def allowance(**changes: object) -> Row:
    row: Row = {
        "step": "draw",
        "provider": "reapi",
        "amount_micros": 80_000,
        "currency": "USD",
        "requests": 1,
        "reserved_at": None,
        "settled_at": None,
        "settled_micros": None,
        "settled_requests": None,
    }
    return {**row, **changes}


CLOSED = {"reason": "delivered", "actor": "wrk_1", "closed_at": 1_000_000}
STORIES: list[tuple[list[Row], list[Row], list[Row], list[str], str]] = [
    (
        [hold()],
        [],
        [],
        [],
        "draw.still: 40 credits held on 1970-01-01 00:00:00 UTC; they stay held until it is delivered",
    ),
    ([hold()], [], [], ["draw"], "nobody knows whether the provider started, and they stay held until evidence"),
    ([hold(captured=40, released=0, **CLOSED)], [], [], [], "40 credits used on 1970-01-01 00:00:01 UTC by wrk_1"),
    ([hold(captured=1, released=39, **CLOSED)], [], [], [], "1 credit used and 39 credits returned on"),
    ([hold(captured=1, released=39, **CLOSED)], [], [], [], "In all: of 40 credits, 1 used, 39 returned, 0 held."),
    ([hold(amount=0)], [], [], [], "draw.still: no credits are counted for it; it is still open."),
    (
        [hold(amount=0, captured=0, released=0, **CLOSED)],
        [],
        [],
        [],
        "it was closed on 1970-01-01 00:00:01 UTC (delivered)",
    ),
    ([hold(amount=0)], [], [], [], "In all: no credits are counted for this job."),
    ([hold()], [], [allowance()], [], "Step draw at reapi: up to 0.08 USD for at most 1 request; nothing is reserved"),
    ([hold()], [], [allowance(requests=2, reserved_at=1)], [], "at most 2 requests; that much is reserved until"),
    ([hold()], [], [allowance(currency="")], [], "a cost nobody stated"),
    (
        [hold()],
        [],
        [allowance(settled_at=1, settled_micros=40_000, settled_requests=1)],
        [],
        "settled: 1 request, 0.04 USD.",
    ),
    (
        [hold()],
        [],
        [allowance(settled_at=1, settled_micros=0, settled_requests=0)],
        [],
        "settled: 0 requests, 0.00 USD.",
    ),
]


@pytest.mark.parametrize(("holds", "corrections", "spend", "unknown", "words"), STORIES)
def test_the_money_of_a_job_is_told(
    holds: list[dict[str, object]],
    corrections: list[dict[str, object]],
    spend: list[dict[str, object]],
    unknown: list[str],
    words: str,
) -> None:
    assert words in "\n".join(tell_money(holds, corrections, spend, unknown=unknown))


@pytest.mark.parametrize(("target", "told"), [("captured", "used after all"), ("available", "returned after all")])
def test_a_correction_is_told(target: str, told: str) -> None:
    entry = {
        "hold_id": "hld_1",
        "amount": 10,
        "target": target,
        "created_at": 0,
        "actor": "ada",
        "second_actor": "ben",
        "reason": "why",
    }
    (_, said, whole) = tell_money([hold(captured=20, released=20, **CLOSED)], [entry], [], unknown=[])
    assert said.endswith(f"by ada and ben: 10 credits {told} (why).")
    used = 30 if target == "captured" else 10
    assert whole == f"In all: of 40 credits, {used} used, {40 - used} returned, 0 held."
