"""Why somebody did something that others will ask about."""

from onetake.domain.errors import BadValueError
from onetake.domain.jsonvalue import text_fault

REASON_CHARS_MAX = 2_000
"""Longest reason."""


def check_reason(reason: str) -> None:
    """Return if the reason says something.

    Raises:
        BadValueError: it is empty, can't be kept, or is longer than anybody reads.
    """
    if not reason.strip() or len(reason) > REASON_CHARS_MAX or text_fault(reason):
        raise BadValueError(f"A reason must say why, in 1 to {REASON_CHARS_MAX} characters; nothing was changed.")
