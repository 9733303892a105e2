"""Amounts as people and providers write them, taken exactly: `521.5`, `"8"`, `8.0`. Never a float."""

import re
from decimal import Decimal
from fractions import Fraction

from onetake.domain.errors import BadValueError
from onetake.domain.jsonvalue import shown
from onetake.domain.tables import WHOLE_MAX

_AMOUNT = re.compile(r"-?[0-9]{1,16}(\.[0-9]{1,12})?([eE][+-]?[0-9]{1,2})?")
"""More digits than any price has, few enough that no exponent makes a number of a million digits."""

_WHOLE = re.compile(r"[0-9]{1,16}")
MICROS = 1_000_000
"""Millionths of a unit of currency."""


def amount_of(text: str) -> Decimal | None:
    """The number that is written there; None where none is: NaN, infinity and other spellings aren't."""
    return Decimal(text.strip()) if _AMOUNT.fullmatch(text.strip()) else None


def rounded_up(amount: Fraction) -> int:
    """The next whole number: who sells never sells below the price, and never by more than one unit above."""
    return -(-amount.numerator // amount.denominator)


def whole_credits(text: str, *, what: str) -> int:
    """A positive whole number of credits.

    Raises:
        BadValueError: it is none: negative, zero, fractional, too large, or no number.
    """
    value = int(text) if _WHOLE.fullmatch(text) else 0
    if not 0 < value <= WHOLE_MAX:
        raise BadValueError(f"{what} must be a whole number of credits from 1 to {WHOLE_MAX}, not {shown(text)}.")
    return value


def whole_bound(text: str, *, what: str) -> int:
    """A whole number from 0.

    Raises:
        BadValueError: it is none: negative, fractional, too large, or no number.
    """
    if not _WHOLE.fullmatch(text.strip()) or int(text) > WHOLE_MAX:
        raise BadValueError(f"{what} must be a whole number from 0 to {WHOLE_MAX}, not {shown(text)!r}.")
    return int(text)


def micros_of(text: str, *, what: str) -> int:
    """An amount of money from 0, in millionths.

    Raises:
        BadValueError: it is none, is too large, or has more than six digits after the point.
    """
    amount = amount_of(text)
    exact = None if amount is None else Fraction(amount) * MICROS
    if exact is None or exact.denominator != 1 or not 0 <= exact <= WHOLE_MAX:
        raise BadValueError(
            f"{what} must be an amount from 0 to {told_micros(WHOLE_MAX, '')} with at most six digits after the point,"
            f" such as 12.50, not {shown(text)}."
        )
    return int(exact)


def told_micros(micros: int, currency: str) -> str:
    """An amount for people, exact: `12.50 USD`, `0.000125 USD`."""
    whole, rest = divmod(micros, MICROS)
    digits = f"{rest:06d}".rstrip("0").ljust(2, "0")
    return f"{whole}.{digits} {currency}".rstrip()
