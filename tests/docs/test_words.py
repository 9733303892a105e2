"""A state or an error without a word about it fails here."""

import enum
import inspect

from onetake.domain import errors, states
from tests.docs.pages import sections, text_of


def test_every_state_is_explained() -> None:
    kinds = [kind for _, kind in inspect.getmembers(states, inspect.isclass) if issubclass(kind, enum.StrEnum)]
    words = {str(member) for kind in kinds for member in kind}
    assert len(words) > 20
    assert sorted(word for word in words if f"`{word}`" not in text_of("states.md")) == []


def test_every_error_says_what_happened_to_the_money() -> None:
    for name, kind in inspect.getmembers(errors, inspect.isclass):
        if issubclass(kind, errors.OnetakeError):
            repeat = "safe" if kind.repeat_safe else "not safe"
            row = f"| `{kind.code}` | {kind.exit_code} | {kind.money} | {repeat} | `{name}` |"
            assert row in text_of("errors.md")
            assert sections("errors.md")[kind.code].strip()
