"""How two requests differ, for refusing one without telling what stands in it."""

from decimal import Decimal
from typing import assert_never

from onetake.domain.canonical import encode
from onetake.domain.jsonvalue import Json, Path, pointer


def differences(old: Json, new: Json, *, path: Path = ()) -> dict[str, str]:
    """What differs, by JSON Pointer; empty for equal values.

    Numbers and truth values are named; of a text only its length in code points is, since it may be a prompt.
    """
    if isinstance(old, dict) and isinstance(new, dict):
        return _by_part(dict(old.items()), dict(new.items()), path)
    if isinstance(old, list) and isinstance(new, list):
        return _by_part(dict(enumerate(old)), dict(enumerate(new)), path)
    return {} if encode(old) == encode(new) else {pointer(path): _change(old, new)}


def _by_part(old: dict[str | int, Json], new: dict[str | int, Json], path: Path) -> dict[str, str]:
    found: dict[str, str] = {}
    for key in old | new:
        here = (*path, key)
        if key not in old:
            found[pointer(here)] = "is new"
        elif key not in new:
            found[pointer(here)] = "is missing"
        else:
            found |= differences(old[key], new[key], path=here)
    return found


def _change(old: Json, new: Json) -> str:
    if isinstance(old, str) and isinstance(new, str):
        return f"differs ({len(new)} characters, was {len(old)})"
    return f"is {_named(new)}, was {_named(old)}"


def _named(value: Json) -> str:
    match value:
        case None | bool() | int() | Decimal():
            return encode(value).decode()
        case str():
            return "text"
        case list():
            return "a list"
        case dict():
            return "an object"
        case _:
            assert_never(value)
