"""When to ask again: intervals, backoff and Retry-After. Pure; chance comes in as a number from 0 to 1."""

import datetime
import math
import re

POLL_BACKOFF_S_MAX = 300.0
"""Longest pause between polls that fail: five minutes keeps an outage cheap and its end noticed."""

REPEAT_BACKOFF_S_MAX = 300.0
"""Longest pause before a send is tried again that provably never left."""

RETRY_AFTER_S_MAX = 86_400.0
"""Longest Retry-After believed: a day. A longer one is a mistake or a date misread."""

JITTER = 0.1
"""An answered poll comes back after its interval, spread by a tenth either way, so that jobs don't march in step."""

_ENTRIES = re.compile(r"\s*(?:[A-Z][a-z]{2,8},)?[^,]+")  # a date has a comma after its day's name
_SECONDS = re.compile(r"[0-9]+(?:\.[0-9]+)?")  # no sign, no exponent: more than that Python would read, and wrongly
_DATES = (  # RFC 9110, 5.6.7
    "%a, %d %b %Y %H:%M:%S GMT",
    "%A, %d-%b-%y %H:%M:%S GMT",
    "%a %b %d %H:%M:%S %Y",
)


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
    """Seconds to wait by a Retry-After header: seconds, or an HTTP date (RFC 9110, 10.2.3).

    Of a header that came several times, joined by commas, the first that can be read counts. None when none can;
    broken seconds are rounded up; never negative, at most `RETRY_AFTER_S_MAX`.
    """
    entries = (entry.strip() for entry in _ENTRIES.findall(value or ""))
    waits_s = (_seconds(entry) if _SECONDS.fullmatch(entry) else _until(entry, now_s) for entry in entries)
    return next((wait_s for wait_s in waits_s if wait_s is not None), None)


def _seconds(value: str) -> float:
    return float(math.ceil(min(float(value), RETRY_AFTER_S_MAX)))


def _until(value: str, now_s: float) -> float | None:
    for spelling in _DATES:
        try:
            moment = datetime.datetime.strptime(value, spelling).replace(tzinfo=datetime.UTC)
        except ValueError:
            continue
        return min(max(0.0, moment.timestamp() - now_s), RETRY_AFTER_S_MAX)
    return None
