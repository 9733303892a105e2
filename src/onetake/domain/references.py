"""References in a recipe: a table whose only key is `ref` stands for something that a job brings.

`inputs.NAME` is an input's value, `step.model` the step's own model, `steps.NAME.outputs.NAME` what an earlier
step delivered.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from onetake.domain.jsonvalue import Json, Path

_INPUT = re.compile(r"inputs\.(\w+)", re.ASCII)
_OUTPUT = re.compile(r"steps\.(\w+)\.outputs\.(\w+)", re.ASCII)
_MODEL = "step.model"


@dataclass(frozen=True, slots=True, kw_only=True)
class InputRef:
    """An input's value."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRef:
    """The model of the step itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputRef:
    """What an earlier step delivered."""

    step: str
    output: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BadRef:
    """A reference that can't be read."""

    reason: str


Ref = InputRef | ModelRef | OutputRef


def read_ref(value: Json) -> Ref | BadRef | None:
    """The reference that the value is; None for a value that stands for itself."""
    if not isinstance(value, dict) or "ref" not in value:
        return None
    word = value["ref"]
    if len(value) > 1:
        return BadRef(reason="has other keys beside `ref`; a reference is replaced whole")
    if not isinstance(word, str):
        return BadRef(reason="must be a reference written as text")
    if word == _MODEL:
        return ModelRef()
    if found := _INPUT.fullmatch(word):
        return InputRef(name=found[1])
    if found := _OUTPUT.fullmatch(word):
        return OutputRef(step=found[1], output=found[2])
    return BadRef(reason="refers to nothing: write inputs.NAME, step.model or steps.NAME.outputs.NAME")


def list_refs(value: Json, path: Path = ()) -> Iterator[tuple[Path, Ref | BadRef]]:
    """Every reference within the value, with its place."""
    if ref := read_ref(value):
        yield path, ref
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from list_refs(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from list_refs(item, (*path, index))


def replace_refs(value: Json, look_up: Callable[[Ref], Json]) -> Json:
    """The value with each reference replaced by what it stands for.

    Args:
        value: holds no `BadRef`; recipes with one are refused when they are read.
        look_up: gives the value of one reference.
    """
    ref = read_ref(value)
    if ref and not isinstance(ref, BadRef):
        return look_up(ref)
    match value:
        case dict():
            return {key: replace_refs(item, look_up) for key, item in value.items()}
        case list():
            return [replace_refs(item, look_up) for item in value]
        case _:
            return value
