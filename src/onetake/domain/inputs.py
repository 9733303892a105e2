"""What a job brings: inputs checked against their recipe, and the key that the job goes by."""

import hashlib
import re
import unicodedata
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, assert_never

from onetake.domain.canonical import digest, encode
from onetake.domain.errors import BadValueError
from onetake.domain.jsonvalue import Json, bad_value, normal, pointer, shown
from onetake.domain.recipe import BooleanInput, ChoiceInput, Input, NumberInput, Recipe, TextInput
from onetake.domain.tables import hint

KEY_CHARS_MAX = 255  # fits an index entry of every database, at four bytes each
_READABLE_KEY_CHARS_MAX = 200  # longer keys are hashed: nobody reads them, and 255 must hold
_JOB_ID = re.compile(r"job_[0-9a-z]{26}")  # as `clock.new_id` makes them: a name must not mean two jobs
_LINE_BREAKERS = {"Cc", "Cs", "Zl", "Zp"}  # Unicode categories that break a log line or can't be written


def resolve_inputs(recipe: Recipe, raw: object) -> dict[str, Json]:
    """The job's inputs in the recipe's order, declared defaults filled in, values exactly as given.

    Args:
        recipe: declares the inputs.
        raw: the object that the caller sent.

    Raises:
        BadValueError: all faults at once in `fields`, as JSON Pointers from the request's root (`/inputs/prompt`); no
            value of a text is told.
    """
    if not isinstance(raw, Mapping):
        raise bad_value(("inputs",), "must be an object")
    taken: dict[str, Json] = {}
    faults: dict[str, str] = {}
    for declared in recipe.inputs:
        try:
            taken[declared.name] = _take(declared, raw)
        except BadValueError as error:
            faults |= error.fields
    faults |= _strangers(recipe, raw)
    if faults:
        raise _all_faults(faults)
    return taken


def _take(declared: Input, raw: Mapping[object, object]) -> Json:
    path = ("inputs", declared.name)
    if declared.name not in raw:
        if declared.default is None:
            raise bad_value(path, "is missing")
        return declared.default
    value = normal(raw[declared.name], path=path)
    if fault := fault_of(declared, value):
        raise bad_value(path, fault)
    return value


def _strangers(recipe: Recipe, raw: Mapping[object, object]) -> dict[str, str]:
    known = [declared.name for declared in recipe.inputs]
    names = [shown(str(name)) for name in raw if name not in known]
    return {pointer(("inputs", name)): f"isn't an input of {recipe.name}{hint(name, known)}" for name in names}


def _all_faults(faults: dict[str, str]) -> BadValueError:
    place, reason = next(iter(faults.items()))
    more = len(faults) - 1
    rest = "" if not more else "; one more is at fault" if more == 1 else f"; {more} more are at fault"
    return BadValueError(f"{place} {reason}{rest}.", fields=faults)


def fault_of(declared: Input, value: Json) -> str | None:
    """What is wrong with the value, without telling it; None if it fits.

    Types are strict: true is not 1 and "5" is not 5, but 5.0 is the whole number 5.
    """
    match declared:
        case TextInput():
            return _text_fault(declared, value)
        case NumberInput():
            return _number_fault(declared, value)
        case BooleanInput():
            return None if isinstance(value, bool) else "must be true or false"
        case ChoiceInput():
            is_choice = encode(value) in [encode(choice) for choice in declared.choices]
            return None if is_choice else "must be one of: " + ", ".join(map(_spelled, declared.choices))
        case _:
            assert_never(declared)


def _text_fault(declared: TextInput, value: Json) -> str | None:
    if not isinstance(value, str):
        return "must be text"
    chars, size_bytes = len(value), len(value.encode())
    if chars < declared.chars_min:
        return f"is too short: {chars} of at least {declared.chars_min} characters"
    if chars > declared.chars_max:
        return f"is too long: {chars} of at most {declared.chars_max} characters (Unicode code points)"
    if declared.bytes_max is not None and size_bytes > declared.bytes_max:
        return f"is too long: {size_bytes} of at most {declared.bytes_max} bytes in UTF-8"
    return None


def _number_fault(declared: NumberInput, value: Json) -> str | None:
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        return "must be a number"
    if declared.type == "integer" and isinstance(value, Decimal):
        return "must be a whole number"
    if declared.min is not None and value < declared.min:
        return f"must be at least {_spelled(declared.min)}"
    if declared.max is not None and value > declared.max:
        return f"must be at most {_spelled(declared.max)}"
    return None


def _spelled(value: str | int | Decimal) -> str:
    return value if isinstance(value, str) else encode(value).decode()


def told_inputs(content: Mapping[str, Any], inputs: Mapping[str, Json]) -> dict[str, object]:
    """A job's inputs as they may be shown: a text may be a prompt, so of it only its length and its SHA-256 are.

    Whoever has the text can compare: the SHA-256 is of its bytes in UTF-8.

    Args:
        content: the recipe's, as JSON.
        inputs: the job's.
    """
    return {name: _told(content["inputs"][name]["type"], value) for name, value in inputs.items()}


def _told(kind: str, value: Json) -> object:
    if kind == TextInput.type and isinstance(value, str):
        return {"chars": len(value), "sha256": hashlib.sha256(value.encode()).hexdigest()}
    return float(value) if isinstance(value, Decimal) else value


def derive_key(recipe: Recipe, inputs: Mapping[str, Json]) -> str:
    """The key of a job that was given none: the same for the same recipe name and key inputs, never time or chance.

    Readable (`name:{"ratio":"16:9"}`) while it is short and no text stands in it; a text may be a prompt, which has no
    place in lists and logs, so such a key is `name:sha256:` and the digest of the key inputs.
    """
    values = {name: inputs[name] for name in recipe.key}
    readable = f"{recipe.name}:{encode(values).decode()}"
    has_text = any(isinstance(declared, TextInput) and declared.name in values for declared in recipe.inputs)
    if has_text or len(readable) > _READABLE_KEY_CHARS_MAX:
        return f"{recipe.name}:sha256:{digest(values)}"
    return readable


def validate_key(key: object) -> str:
    """The caller's own key, exactly as given.

    Raises:
        BadValueError: not a text of 1 to 255 code points in one line, or one that looks like a job's id.
    """
    if not isinstance(key, str):
        raise bad_value(("key",), "must be text")
    if not 1 <= len(key) <= KEY_CHARS_MAX:
        raise bad_value(("key",), f"must have 1 to {KEY_CHARS_MAX} characters, not {len(key)}")
    if _JOB_ID.fullmatch(key):
        raise bad_value(("key",), "looks like a job's id, and jobs are found by either: choose another")
    for index, char in enumerate(key, start=1):
        if unicodedata.category(char) in _LINE_BREAKERS:
            raise bad_value(
                ("key",), f"holds U+{ord(char):04X} at character {index}; a key is one line of writable text"
            )
    return key
