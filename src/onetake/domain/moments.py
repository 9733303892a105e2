"""Moments in words: ours for people, and a provider's read from its answers. All are microseconds since 1970, UTC."""

import datetime

_SECONDS = range(10**9, 10**11)  # from 2001 to 5138: what a count of seconds can mean here
_MILLISECONDS = range(10**12, 10**14)  # the same years in milliseconds


def utc(moment_us: int) -> str:
    """A moment for people, to the second: `2026-12-01 09:30:00 UTC`."""
    return datetime.datetime.fromtimestamp(moment_us // 1_000_000, datetime.UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def moment_of(value: object) -> int | None:
    """The moment that a provider's value names: Unix seconds or milliseconds, or ISO 8601 with its zone; else None.

    A time without a zone names no moment: the provider's clock may stand in any.
    """
    if isinstance(value, int | float) and not isinstance(value, bool):
        if int(value) in _SECONDS:
            return round(value * 1_000_000)
        return round(value * 1000) if int(value) in _MILLISECONDS else None
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.datetime.fromisoformat(value)
        return None if moment.tzinfo is None else round(moment.timestamp() * 1_000_000)
    except (ValueError, OverflowError):
        return None
