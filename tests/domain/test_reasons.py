"""A reason says something."""

import pytest

from onetake.domain.errors import BadValueError
from onetake.domain.reasons import REASON_CHARS_MAX, check_reason


@pytest.mark.parametrize("reason", ["x", "the card expired", "ü" * REASON_CHARS_MAX])
def test_a_reason_says_something(reason: str) -> None:
    check_reason(reason)


@pytest.mark.parametrize("reason", ["", " \n\t", "x" * (REASON_CHARS_MAX + 1), "a\0b"])
def test_what_says_nothing_or_cannot_be_kept_is_refused(reason: str) -> None:
    with pytest.raises(BadValueError, match="must say why"):
        check_reason(reason)
