r"""JSON in and out: a strict reader, the canonical form with its digest, and the form that goes to a provider.

Rules of the canonical form, version 1 (docs/reference/canonical-json.md). They never change: other rules would be
another version beside this one, with a digest prefix of its own, and what is stored keeps the digest it has.

1. Objects: keys sorted by code point, each key once. Lists keep their order. No blanks.
2. Numbers by exact decimal value, written out without exponent, plus sign or needless zeros: 5, 5.0 and 5e0 are `5`,
   -0 is `0`. Size and digits are bounded (`jsonvalue`).
3. Text as its decoded code points, in UTF-8, without normalisation: the escape for é equals é, and the composed
   letter differs from the one with a combining accent. Only `"`, backslash and U+0000 to U+001F are escaped, by the
   two-character escapes where JSON has them, else as `\u00xx` in lower case.
4. NaN, infinities, NUL and lone surrogates don't exist.
"""

import hashlib
import json
from decimal import Decimal
from typing import assert_never

from onetake.domain.jsonvalue import Json, bad_value, normal, number_from, shown

_DIGEST_PREFIX = b"onetake/canonical-json/1\n"
_quoted = json.JSONEncoder(ensure_ascii=False).encode

# Python's own writer, in C, spells as we do, by the key `is_sorted`; it only knows no exact decimals.
_quickly = {
    is_sorted: json.JSONEncoder(ensure_ascii=False, sort_keys=is_sorted, separators=(",", ":")).encode
    for is_sorted in (True, False)
}


def parse(text: str | bytes) -> Json:
    """The value that a JSON text stands for, numbers exact, keys in the text's order.

    Raises:
        BadValueError: not UTF-8, not JSON, a key twice in one object, NaN or an infinity, a number or nesting out of
            bounds, NUL or a lone surrogate; `fields` has the place as a JSON Pointer, as far as there is one.
    """
    try:
        value = json.loads(
            decoded(text),
            parse_int=number_from,
            parse_float=number_from,
            parse_constant=number_from,
            object_pairs_hook=_object,
        )
    except json.JSONDecodeError as error:
        raise bad_value((), f"isn't JSON: {error.msg} at line {error.lineno}, column {error.colno}") from None
    except RecursionError:
        raise bad_value((), "is nested too deep") from None
    return normal(value)


def decoded(text: str | bytes) -> str:
    """The text, from UTF-8 where it is bytes.

    Raises:
        BadValueError: the bytes aren't UTF-8; the sentence says where.
    """
    if isinstance(text, str):
        return text.removeprefix("\ufeff")
    try:
        return text.decode().removeprefix("\ufeff")  # some editors begin a file with this mark
    except UnicodeDecodeError as error:
        line = text.count(b"\n", 0, error.start) + 1
        where = f"byte {error.start + 1}" if line == 1 else f"byte {error.start + 1} (line {line})"
        raise bad_value((), f"isn't UTF-8: {where} can't be decoded") from None


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    result: dict[str, object] = {}
    for key, value in pairs:
        if key in result:
            raise bad_value((), f"has the key `{shown(key)}` twice in one object")
        result[key] = value
    return result


def encode(value: object) -> bytes:
    """The one spelling of the value: equal values give equal bytes.

    Raises:
        BadValueError: the value has no canonical form (see `jsonvalue.normal`).
    """
    return _spelled(normal(value), is_sorted=True).encode()


def digest(value: object) -> str:
    """The value's fingerprint: SHA-256 over the version line and the canonical form, 64 hexadecimal digits.

    Raises:
        BadValueError: the value has no canonical form.
    """
    return digest_of(encode(value))


def digest_of(canonical: bytes) -> str:
    """The fingerprint of the value that `encode` gave these bytes for."""
    return hashlib.sha256(_DIGEST_PREFIX + canonical).hexdigest()


def to_wire_json(value: object) -> bytes:
    """The value for a provider: as canonical, but with the keys in the order they have.

    Text stands in it unescaped, as UTF-8, so a prompt goes out with the bytes that it was stored with.

    Raises:
        BadValueError: the value has no form in JSON.
    """
    return _spelled(normal(value), is_sorted=False).encode()


def _spelled(value: Json, *, is_sorted: bool) -> str:
    try:
        return _quickly[is_sorted](value)
    except TypeError:  # a decimal is in it
        return _spelled_exactly(value, is_sorted=is_sorted)


def _spelled_exactly(value: Json, *, is_sorted: bool) -> str:
    match value:
        case None | bool() | str():
            return _quoted(value)
        case int():
            return str(value)
        case Decimal():
            return format(value, "f")
        case list():
            return "[" + ",".join(_spelled_exactly(item, is_sorted=is_sorted) for item in value) + "]"
        case dict():
            keys = sorted(value) if is_sorted else value
            items = (f"{_quoted(key)}:{_spelled_exactly(value[key], is_sorted=is_sorted)}" for key in keys)
            return "{" + ",".join(items) + "}"
        case _:
            assert_never(value)
