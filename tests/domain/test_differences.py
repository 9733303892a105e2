"""A refused request says which fields differ, and keeps what stands in them to itself."""

from decimal import Decimal

import pytest
from hypothesis import given

from onetake.domain.canonical import encode
from onetake.domain.differences import differences
from onetake.domain.jsonvalue import Json, normal
from tests.domain.json_values import values


@given(values, values)
def test_values_without_differences_are_the_same_value(left: object, right: object) -> None:
    old, new = normal(left), normal(right)
    assert differences(old, old) == {}
    assert (differences(old, new) == {}) == (encode(old) == encode(new))


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("a secret", "another one", {"": "differs (11 characters, was 8)"}),
        ({"inputs": {"n": 5}}, {"inputs": {"n": Decimal("7.5")}}, {"/inputs/n": "is 7.5, was 5"}),
        ({"n": 1}, {"n": True}, {"/n": "is true, was 1"}),
        ({"n": None}, {"n": "text"}, {"/n": "is text, was null"}),
        ({"a": 1, "b": 2}, {"b": 2, "c/d": 3}, {"/a": "is missing", "/c~1d": "is new"}),
        ({"l": [1, 2, 3]}, {"l": [1, 5]}, {"/l/1": "is 5, was 2", "/l/2": "is missing"}),
        ([{}], [[]], {"/0": "is a list, was an object"}),
    ],
)
def test_each_difference_is_one_sentence(old: Json, new: Json, found: dict[str, str]) -> None:
    assert differences(old, new) == found
