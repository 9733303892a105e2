"""When to ask again: intervals, backoff and Retry-After. Pure; chance comes in as a number from 0 to 1."""

import datetime
import email.utils
import math

POLL_BACKOFF_S_MAX = 300.0
"""Longest pause between polls that fail: five minutes keeps an outage cheap and its end noticed."""

REPEAT_BACKOFF_S_MAX = 300.0
"""Longest pause before a send is tried again that provably never left."""

RETRY_AFTER_S_MAX = 86_400.0
"""Longest Retry-After believed: a day. A longer one is a mistake or a date misread."""

JITTER = 0.1
"""An answered poll comes back after its interval, spread by a tenth either way, so that jobs don't march in step."""


def poll_delay_s(interval_s: float, *, chance: float) -> float:
    """The pause after an answered, unchanged poll."""
    return interval_s * (1 - JITTER + 2 * JITTER * chance)


def backoff_s(
    failures: int, *, base_s: float, cap_s: float, chance: float, retry_after_s: float | None = None
) -> float:
    """The pause after `failures` failures in a row: exponential, capped, full jitter, never below Retry-After.

    Full jitter draws evenly from nothing to the ceiling (AWS Architecture Blog, "Exponential Backoff And
    Jitter"); a twentieth of the ceiling is the floor, so that a lucky draw doesn't hammer a failing server.
    What a server asks for with Retry-After is spread upwards by a tenth, so that all don't come back at once.
    """
    ceiling = min(cap_s, base_s * 2.0 ** min(failures - 1, 30))
    return max(ceiling * max(0.05, chance), (retry_after_s or 0.0) * (1 + JITTER * chance))


def retry_after_s(value: str | None, *, now_s: float) -> float | None:
    """Seconds to wait by a Retry-After header: whole or broken seconds, or an HTTP date (RFC 9110, 10.2.3).

    None when there is none or it can't be read; never negative, at most `RETRY_AFTER_S_MAX`.
    """
    if value is None:
        return None
    wait_s = _seconds(value.strip())
    if wait_s is None:
        wait_s = _until(value, now_s)
    return None if wait_s is None else min(max(0.0, wait_s), RETRY_AFTER_S_MAX)


def _seconds(value: str) -> float | None:
    try:
        wait_s = float(value)
    except ValueError:
        return None
    return wait_s if math.isfinite(wait_s) else None


def _until(value: str, now_s: float) -> float | None:
    try:
        moment = email.utils.parsedate_to_datetime(value)
    except (TypeError, ValueError):
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)).timestamp() - now_s
