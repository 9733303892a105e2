"""The values that requests and recipes are made of: JSON's, with exact numbers and writable text.

`normal` is the one door into this value space. Behind it a number is an `int` when it is whole and otherwise a
`Decimal` without trailing zeros, never a `float`; text and keys hold no NUL and no lone surrogate; nothing is
nested deeper than `DEPTH_MAX`. What it refuses, it names by place.
"""

import re
import sys
from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from functools import partial
from typing import TypeAlias

from onetake.domain.errors import BadValueError, InputError

Json: TypeAlias = "bool | int | Decimal | str | list[Json] | dict[str, Json] | None"
Path: TypeAlias = tuple[str | int, ...]
Refuse: TypeAlias = Callable[[Path, str], InputError]

DEPTH_MAX = 64  # public request bodies nest fewer than ten deep; Python's own readers give up near a thousand
NUMBER_MAX = int(sys.float_info.max)  # beyond it readers that use doubles see infinity (RFC 8259, section 6)
DECIMALS_MAX = 324  # every double has a shortest spelling with at most so many digits after the point

# PostgreSQL's text has no NUL, UTF-8 has no lone surrogate (RFC 3629, section 3).
_UNWRITABLE = re.compile("[\0\ud800-\udfff]")


def normal(value: object, *, refuse: Refuse | None = None, path: Path = ()) -> Json:
    """The value as JSON has it: own copies of lists and objects, exact numbers, checked text.

    Args:
        value: None, bool, int, float, Decimal, str, and lists, tuples and mappings of them. A float counts by its
            shortest spelling, so 0.1 is one tenth.
        refuse: makes the error from the place and the reason; without it a `BadValueError`.
        path: where the value stands.

    Raises:
        InputError: the value has no form in JSON that every reader understands alike.
    """
    return _normal(value, refuse or bad_value, path)


def _normal(value: object, refuse: Refuse, path: Path) -> Json:
    """The frequent kinds first: every prompt and every stored request passes here several times."""
    match value:
        case str():
            if fault := text_fault(value):
                raise refuse(path, fault)
            return value
        case None | bool():
            return value
        case float():
            return _number(Decimal(float.__repr__(value)), partial(refuse, path))
        case int() | Decimal():
            return _number(value, partial(refuse, path))
        case dict() | list() | tuple() | Mapping() if len(path) == DEPTH_MAX:
            raise refuse(path[:1], f"is nested more than {DEPTH_MAX} deep")
        case dict() | Mapping():
            return {_key(key, refuse, path): _normal(item, refuse, (*path, key)) for key, item in value.items()}
        case list() | tuple():
            return [_normal(item, refuse, (*path, index)) for index, item in enumerate(value)]
        case _:
            raise refuse(path, f"is of type {type(value).__name__}, which has no form in JSON")


def _key(value: object, refuse: Refuse, path: Path) -> str:
    if not isinstance(value, str):
        raise refuse(path, f"has a key of type {type(value).__name__}; keys are text")
    if fault := text_fault(value):
        raise refuse(path, f"has a key that {fault}")
    return value


def text_fault(text: str) -> str | None:
    """What makes the text unwritable, with the place as a character count from 1; None for writable text."""
    found = _UNWRITABLE.search(text)
    if not found:
        return None
    what = "NUL" if found[0] == "\0" else f"a lone surrogate (\\u{ord(found[0]):04x})"
    return f"holds {what} at character {found.start() + 1}"


def _number(value: int | Decimal, refuse: Callable[[str], InputError]) -> int | Decimal:
    if isinstance(value, Decimal) and not value.is_finite():
        raise refuse("is not a finite number")
    if not -NUMBER_MAX <= value <= NUMBER_MAX:
        raise refuse("is too large a number: its size is more than 1.7976931348623157e308")
    return _shortest(value, refuse) if isinstance(value, Decimal) else int(value)


def _shortest(exact: Decimal, refuse: Callable[[str], InputError]) -> int | Decimal:
    # By spelling: Decimal's arithmetic would round to the thread's precision.
    if not exact:
        return 0
    if exact.adjusted() >= -DECIMALS_MAX:
        whole, _, decimals = format(exact, "f").partition(".")
        decimals = decimals.rstrip("0")
        if not decimals:
            return int(whole)
        if len(decimals) <= DECIMALS_MAX:
            return Decimal(f"{whole}.{decimals}")
    raise refuse(f"has more than {DECIMALS_MAX} digits after the point")


def number_from(spelling: str) -> Decimal:
    """The exact value of a JSON or TOML number, or a NaN for `normal` to refuse if its exponent is beyond `Decimal`."""
    try:
        return Decimal(spelling)
    except InvalidOperation:
        return Decimal("NaN")


def bad_value(path: Path, reason: str) -> BadValueError:
    """The error for one value, by its JSON Pointer."""
    place = pointer(path)
    return BadValueError(f"{shown(place) or 'the value'} {reason}.", fields={place: reason})


def pointer(path: Path) -> str:
    """The path as a JSON Pointer (RFC 6901); the whole value is the empty text."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)


def shown(text: str, chars_max: int = 80) -> str:
    """The text fit for one line of a log or a terminal: escaped where unprintable, cut where long."""
    cut = text if len(text) <= chars_max else text[: chars_max - 1] + "…"
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in cut)
