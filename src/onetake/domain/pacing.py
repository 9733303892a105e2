"""When to ask again: intervals, backoff and Retry-After. Pure; chance comes in as a number from 0 to 1."""

import datetime
import math
import re
from dataclasses import dataclass, replace

POLL_BACKOFF_S_MAX = 300.0
"""Longest pause between polls that fail: five minutes keeps an outage cheap and its end noticed."""

REPEAT_BACKOFF_S_MAX = 300.0
"""Longest pause before a send is tried again that provably never left."""

RETRY_AFTER_S_MAX = 86_400.0
"""Longest Retry-After believed: a day. A longer one is a mistake or a date misread."""

SEND_EARLY_S = 1
"""How early a send may come before its rate has it due."""

ROUTE_UNKNOWNS_MAX = 8
"""Unknown outcomes in a row before a route takes no more sends. Each may be a purchase that a person has to look up.

Where even one answer in five is lost by chance, eight in a row come once in 400,000 sends: it is the route.
"""

ROUTE_PAUSE_S = 60
"""First pause of such a route: a gateway that is restarted is back by then. Doubled with each probe that is lost."""

ROUTE_PAUSE_S_MAX = 600
"""Longest pause of a route: at most six more purchases in doubt an hour, and its end is noticed in ten minutes."""

JITTER = 0.1
"""An answered poll comes back after its interval, spread by a tenth either way, so that jobs don't march in step."""

_ENTRIES = re.compile(r"\s*(?:[A-Z][a-z]{2,8},)?[^,]+")  # a date has a comma after its day's name
_SECONDS = re.compile(r"[0-9]+(?:\.[0-9]+)?")  # no sign, no exponent: more than that Python would read, and wrongly
_DATES = (  # RFC 9110, 5.6.7
    "%a, %d %b %Y %H:%M:%S GMT",
    "%A, %d-%b-%y %H:%M:%S GMT",
    "%a %b %d %H:%M:%S %Y",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutePace:
    """How a route, one operation of one provider account, has answered lately.

    Attributes:
        unknowns: sends in a row whose outcome nobody knows.
        pause_s: the pause that it is in or was in last; 0 if there was none since its last clear answer.
        paused_until: microseconds; before it nothing is sent, after it one probe at a time. None: it is open.
    """

    unknowns: int = 0
    pause_s: int = 0
    paused_until: int | None = None


def after_unknown(pace: RoutePace, *, sent_at: int, now_us: int) -> RoutePace:
    """The route's pace after one more unknown outcome; a clear answer, whatever it says, ends the row and the pause.

    What was in the air already when the pause began or grew tells nothing new, and doesn't make it longer.
    """
    counted = replace(pace, unknowns=pace.unknowns + 1)
    is_old_news = pace.paused_until is not None and sent_at < pace.paused_until
    if is_old_news or counted.unknowns < ROUTE_UNKNOWNS_MAX:
        return counted
    pause_s = min(ROUTE_PAUSE_S_MAX, 2 * pace.pause_s or ROUTE_PAUSE_S)
    return replace(counted, pause_s=pause_s, paused_until=now_us + pause_s * 1_000_000)


def next_send_at(next_at: int, *, now_us: int, per_minute: int) -> int | None:
    """When the send after this one is due, if this one may go now; None if it has to wait.

    They are due evenly, a little slower than the rate, and may come a second early, for a worker looks twice in a
    second; any minute holds at most `per_minute` all the same (the generic cell rate algorithm, ITU-T I.371).

    Args:
        next_at: when this send is due, in microseconds.
        now_us: the moment.
        per_minute: at most so many sends in any 60 seconds.
    """
    due_at = max(next_at, now_us)
    if due_at - now_us > SEND_EARLY_S * 1_000_000:
        return None
    return due_at + (60 + SEND_EARLY_S) * 1_000_000 // per_minute + 1


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
