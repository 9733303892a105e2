"""The keys of an expected output in a recipe: which kinds have them, what may stand there, and the spec for a job."""

import re
from collections.abc import Callable, Mapping
from dataclasses import fields
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple, cast

from onetake.domain.jsonvalue import Json, normal
from onetake.domain.outputs import OutputSpec
from onetake.domain.recipe import ChoiceInput, Input, NumberInput, Recipe
from onetake.domain.references import InputRef, Ref, read_ref, replace_refs
from onetake.domain.tables import WHOLE_MAX

_FPS_MAX = 1000  # no container carries more, and a slip of the unit shows
_RATIO = re.compile(r"[1-9]\d{0,4}:[1-9]\d{0,4}", re.ASCII)
_CODEC = r"[a-z0-9_]+"  # as FFmpeg spells them

_ANY = ("media_types", "size_bytes_max")
_PICTURE = ("width_px", "height_px", "ratio", "ratio_tolerance", "short_side_px_min")
_TIMED = ("duration_ms", "duration_s", "duration_tolerance_ms", "audio_codecs")
FIELDS_BY_KIND: dict[str, tuple[str, ...]] = {
    "image": (*_ANY, *_PICTURE),
    "video": (*_ANY, *_PICTURE, *_TIMED, "fps", "video_codecs", "audio"),
    "audio": (*_ANY, *_TIMED),
}


def _is_number(value: Json) -> bool:
    return isinstance(value, int | Decimal) and not isinstance(value, bool)


def _whole(at_least: int) -> Callable[[Json], str | None]:
    def fault(value: Json) -> str | None:
        fits = type(value) is int and at_least <= value <= WHOLE_MAX
        return None if fits else f"must be a whole number from {at_least} to {WHOLE_MAX}"

    return fault


def _ratio(value: Json) -> str | None:
    return None if isinstance(value, str) and _RATIO.fullmatch(value) else 'must be a ratio such as "16:9"'


def _share(value: Json) -> str | None:
    fits = _is_number(value) and 0 <= cast("Decimal", value) <= 1
    return None if fits else "must be a number from 0 to 1"


def _rate(value: Json) -> str | None:
    fits = _is_number(value) and 0 < cast("Decimal", value) <= _FPS_MAX
    return None if fits else f"must be a number above 0, at most {_FPS_MAX}"


def _seconds(value: Json) -> str | None:
    fits = _is_number(value) and 0 < (_milliseconds(value) or 0) <= WHOLE_MAX
    return None if fits else "must be a number above 0 with at most three digits after the point"


def _milliseconds(value: Json) -> int | None:
    """Exact, or None; a Fraction, since a Decimal's product is rounded to the thread's precision."""
    exact = Fraction(cast("Decimal", value)) * 1000
    return int(exact) if exact.denominator == 1 else None


def _list_of(pattern: str, example: str) -> Callable[[Json], str | None]:
    def fault(value: Json) -> str | None:
        fits = isinstance(value, list) and all(isinstance(item, str) and re.fullmatch(pattern, item) for item in value)
        return None if fits else f'must be a list such as ["{example}"]'

    return fault


def _audio(value: Json) -> str | None:
    return None if value in ("required", "forbidden", "any") else "must be one of: required, forbidden, any"


_FAULTS: dict[str, Callable[[Json], str | None]] = {
    "media_types": _list_of(r"[a-z]+/[a-z0-9.+-]+", "image/png"),
    "size_bytes_max": _whole(1),
    "width_px": _whole(1),
    "height_px": _whole(1),
    "ratio": _ratio,
    "ratio_tolerance": _share,
    "short_side_px_min": _whole(1),
    "duration_ms": _whole(1),
    "duration_s": _seconds,
    "duration_tolerance_ms": _whole(0),
    "fps": _rate,
    "video_codecs": _list_of(_CODEC, "h264"),
    "audio_codecs": _list_of(_CODEC, "aac"),
    "audio": _audio,
}


def field_fault(name: str, value: Json, inputs: Mapping[str, Input]) -> str | None:
    """What is wrong with the value of a key, or None.

    A reference must lead to a choice or to a bounded integer, every value of which fits: so no job's spec can fail.
    """
    match read_ref(value):
        case None:
            return _FAULTS[name](value)
        case InputRef(name=source) if source in inputs:
            candidates = _candidates(inputs[source])
            if not candidates:
                return "must refer to a choice, or to an integer with min and max"
            faults = (_FAULTS[name](candidate) for candidate in candidates)
            return next((f"{fault}; `{source}` allows others" for fault in faults if fault), None)
        case _:
            return "must refer to an input"


def length_fault(value: Json, inputs: Mapping[str, Input]) -> str | None:
    """What is wrong with a length in seconds that a price goes by, or None: a number, or an input that is one."""
    match read_ref(value):
        case None:
            return _seconds(value)
        case InputRef(name=source) if source in inputs:
            declared = inputs[source]
            if isinstance(declared, NumberInput) and declared.min is not None and declared.max is not None:
                return next(filter(None, map(_seconds_of_input, (declared.min, declared.max))), None)
            if isinstance(declared, ChoiceInput):
                return next(filter(None, map(_seconds_of_input, declared.choices)), None)
            return "must refer to a choice of numbers, or to a number with min and max"
        case _:
            return "must refer to an input"


def _seconds_of_input(value: Json) -> str | None:
    fits = _is_number(value) and 0 <= cast("Decimal", value) <= WHOLE_MAX // 1000
    return None if fits else "must refer to an input all of whose values are numbers of seconds from 0"


def _candidates(declared: Input) -> tuple[Json, ...]:
    """The values to try: all choices, or both ends of a range, since what fits both ends fits between."""
    match declared:
        case ChoiceInput():
            return declared.choices
        case NumberInput(type="integer", min=int(low), max=int(high)):
            return (low, high)
        case _:
            return ()


def with_defaults(spec: Mapping[str, Json]) -> dict[str, Json]:
    """The keys of one output with every default of its kind filled in."""
    allowed = FIELDS_BY_KIND[str(spec["kind"])]
    defaults = {each.name: each.default for each in fields(OutputSpec) if each.name in allowed}
    known = {name: value for name, value in defaults.items() if value is not None}
    return cast("dict[str, Json]", normal({"kind": spec["kind"], **known, **spec}))


class ExpectedOutput(NamedTuple):
    """One row of a job from its creation: what must be delivered.

    Attributes:
        ordinal: its place among the step's outputs from 0, which is its place in the provider's list.
    """

    step: str
    name: str
    ordinal: int
    spec: OutputSpec


def expected_outputs(recipe: Recipe, inputs: Mapping[str, Json]) -> tuple[ExpectedOutput, ...]:
    """All that a job must deliver, in the recipe's order, with its own sizes and durations."""
    return tuple(
        ExpectedOutput(step.name, output.name, ordinal, _spec(output.spec, inputs))
        for step in recipe.steps
        for ordinal, output in enumerate(step.outputs)
    )


def _spec(written: dict[str, Json], inputs: Mapping[str, Json]) -> OutputSpec:
    def look_up(ref: Ref) -> Json:
        return inputs[cast("InputRef", ref).name]

    values = cast("dict[str, Json]", replace_refs(written, look_up))
    if "duration_s" in values:
        values["duration_ms"] = _milliseconds(values.pop("duration_s"))
    return OutputSpec(**{name: _plain(name, value) for name, value in values.items()})  # type: ignore[arg-type]


def _plain(name: str, value: Json) -> object:
    if isinstance(value, list):
        return tuple(value)
    return float(cast("Decimal", value)) if name in ("ratio_tolerance", "fps") else value
