"""A reason says something, and can be kept."""

import pytest

from onetake.domain.errors import BadValueError
from onetake.domain.reasons import REASON_CHARS_MAX, check_reason


@pytest.mark.parametrize("reason", ["March", "a", "x" * REASON_CHARS_MAX, "Über Nacht\nzurück"])
def test_a_reason_that_says_something_is_taken(reason: str) -> None:
    check_reason(reason)


@pytest.mark.parametrize("reason", ["", " \n", "x" * (REASON_CHARS_MAX + 1), "a\0b", "not utf-8: \udcff"])
def test_a_reason_that_says_nothing_or_can_not_be_kept_is_refused(reason: str) -> None:
    with pytest.raises(BadValueError, match="nothing was changed"):
        check_reason(reason)
