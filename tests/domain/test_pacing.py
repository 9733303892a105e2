"""When to ask again: inside bounds for every draw, and C135, Retry-After in all its spellings."""

import datetime
import email.utils

import pytest
from hypothesis import example, given
from hypothesis import strategies as some

from onetake.domain.pacing import (
    JITTER,
    POLL_BACKOFF_S_MAX,
    RETRY_AFTER_S_MAX,
    ROUTE_PAUSE_S,
    ROUTE_PAUSE_S_MAX,
    ROUTE_UNKNOWNS_MAX,
    RoutePace,
    after_unknown,
    backoff_s,
    next_send_at,
    poll_delay_s,
    retry_after_s,
)

NOW_S = 1_796_083_200.0  # 2026-12-01 00:00:00 UTC
chances = some.floats(0, 1)


def http_date(seconds_ahead: float) -> str:
    return email.utils.format_datetime(
        datetime.datetime.fromtimestamp(NOW_S + seconds_ahead, datetime.UTC), usegmt=True
    )


SPELLINGS = {  # case C135
    "seconds": ("120", 120),
    "a date ahead": (http_date(120), 120),
    "a date in the past": (http_date(-120), 0),
    "broken seconds": ("1.5", 2),
    "negative": ("-3", None),
    "with a plus": ("+3", None),
    "nought": ("0", 0),
    "nothing": ("", None),
    "a word": ("soon", None),
    "the year 99999": ("Fri, 31 Dec 99999 23:59:59 GMT", None),
    "a million million": ("1000000000000", RETRY_AFTER_S_MAX),
    "twice": ("120, 60", 120),
    "twice, the first unreadable": ("soon, 60", 60),
    "twice, as dates": (f"{http_date(120)}, {http_date(60)}", 120),
    "twice, the first a date that nobody can read": (f"Fri, 31 Dec 99999 23:59:59 GMT, {http_date(60)}", 60),
    # and their kin
    "no header": (None, None),
    "blanks around it": ("  7 ", 7),
    "a date as in RFC 850": ("Tuesday, 01-Dec-26 00:02:00 GMT", 120),
    "a date as C writes it": ("Tue Dec  1 00:02:00 2026", 120),
    "a date far ahead": ("Tue, 01 Dec 2099 00:00:00 GMT", RETRY_AFTER_S_MAX),
    "a day that isn't": ("Tue, 31 Feb 2026 00:00:00 GMT", None),
    "an exponent": ("1e3", None),
    "a number of 400 digits": ("9" * 400, RETRY_AFTER_S_MAX),
    "digits with an underscore": ("1_000", None),
    "digits of another script": ("١٢", None),
    "infinity": ("inf", None),
    "no number": ("nan", None),
    "commas alone": (",,", None),
}


@pytest.mark.parametrize(("value", "wait_s"), SPELLINGS.values(), ids=SPELLINGS)
def test_c135_retry_after_in_all_its_spellings(value: str | None, wait_s: float | None) -> None:
    assert retry_after_s(value, now_s=NOW_S) == wait_s


@given(some.text() | some.from_regex(r"[A-Z][a-z]{2}, [0-9]{1,2} [A-Z][a-z]{2} [0-9]{1,6} [0-9:]{0,9} GMT"))
@example("Sun, 00 Jan 0000 00:00:00 GMT")
def test_c135_no_spelling_raises_or_leaves_the_bounds(value: str) -> None:
    wait_s = retry_after_s(value, now_s=NOW_S)
    assert wait_s is None or 0 <= wait_s <= RETRY_AFTER_S_MAX


@given(some.floats(0.01, 3600), chances)
def test_an_answered_poll_comes_back_after_its_interval_spread_by_a_tenth(interval_s: float, chance: float) -> None:
    assert interval_s * (1 - JITTER) * 0.999 <= poll_delay_s(interval_s, chance=chance) <= interval_s * 1.1001
    assert poll_delay_s(10, chance=0) == pytest.approx(9)
    assert poll_delay_s(10, chance=1) == pytest.approx(11)


@pytest.mark.parametrize(
    ("failures", "ceiling_s"), [(1, 2), (2, 4), (3, 8), (8, 256), (9, POLL_BACKOFF_S_MAX), (10**9, POLL_BACKOFF_S_MAX)]
)
def test_backoff_doubles_up_to_its_cap(failures: int, ceiling_s: float) -> None:
    waits_s = [backoff_s(failures, base_s=2, cap_s=POLL_BACKOFF_S_MAX, chance=chance) for chance in (0, 0.5, 1)]
    assert waits_s == [ceiling_s * 0.05, ceiling_s * 0.5, ceiling_s]


@given(some.integers(1, 100), chances, some.floats(0, RETRY_AFTER_S_MAX))
def test_nothing_comes_back_before_it_was_asked_to(failures: int, chance: float, asked_s: float) -> None:
    wait_s = backoff_s(failures, base_s=2, cap_s=300, chance=chance, retry_after_s=asked_s)
    assert asked_s <= wait_s <= max(300, asked_s * (1 + JITTER))


# --- the breaker of a route

SECOND_US = 1_000_000


def test_c007_a_route_takes_so_many_unknown_outcomes_and_then_none() -> None:
    pace = RoutePace()
    for number in range(1, ROUTE_UNKNOWNS_MAX):
        pace = after_unknown(pace, sent_at=number, now_us=number)
        assert pace == RoutePace(unknowns=number)
    now_us = 7 * SECOND_US
    pace = after_unknown(pace, sent_at=6 * SECOND_US, now_us=now_us)
    assert pace == RoutePace(
        unknowns=ROUTE_UNKNOWNS_MAX, pause_s=ROUTE_PAUSE_S, paused_until=now_us + ROUTE_PAUSE_S * SECOND_US
    )


def test_c007_each_lost_probe_doubles_the_pause_up_to_a_cap() -> None:
    pace, now_us, pauses = RoutePace(unknowns=ROUTE_UNKNOWNS_MAX - 1), 0, []
    for _ in range(8):
        pace = after_unknown(pace, sent_at=now_us, now_us=now_us + SECOND_US)
        assert pace.paused_until == now_us + SECOND_US + pace.pause_s * SECOND_US
        now_us = pace.paused_until
        pauses.append(pace.pause_s)
    assert pauses == [60, 120, 240, 480, *[ROUTE_PAUSE_S_MAX] * 4]


def test_c007_what_was_in_the_air_when_the_pause_began_does_not_make_it_longer() -> None:
    pace = after_unknown(RoutePace(unknowns=ROUTE_UNKNOWNS_MAX - 1), sent_at=0, now_us=SECOND_US)
    later = after_unknown(pace, sent_at=0, now_us=2 * SECOND_US)
    assert (later.paused_until, later.unknowns) == (pace.paused_until, pace.unknowns + 1)


@given(some.integers(1, 200), some.lists(some.integers(0, 20 * SECOND_US), min_size=1, max_size=60))
def test_any_minute_holds_at_most_the_rate(per_minute: int, pauses: list[int]) -> None:
    now_us, next_at, sent = 0, 0, []
    for pause_us in pauses:
        now_us += pause_us
        while (after := next_send_at(next_at, now_us=now_us, per_minute=per_minute)) is not None:
            sent.append(now_us)
            next_at = after
    assert sent
    assert max(sum(first <= each < first + 60 * SECOND_US for each in sent) for first in sent) <= per_minute


def test_a_steady_sender_gets_almost_the_whole_rate() -> None:
    next_at, count = 0, 0
    for half_s in range(20 * 60):
        after = next_send_at(next_at, now_us=half_s * SECOND_US // 2, per_minute=600)
        while after is not None:
            next_at, count = after, count + 1
            after = next_send_at(next_at, now_us=half_s * SECOND_US // 2, per_minute=600)
    assert 5800 < count <= 6000
