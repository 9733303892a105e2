"""What to do about a POST whose outcome is unknown: a pure function of the contract, of what is known, and of the time.

In this order, each only as far as the contract's word for it goes today:

    replay    the same bytes under the same key, inside the provider's window less a margin
    look up   by our reference, or in a list, once the provider certainly shows it
    person    everything else

Pauses grow with the doubt's age, so that no count has to be kept for them: each is half the age, within bounds.
"""

import datetime
from dataclasses import dataclass

from onetake.domain.contract import Contract
from onetake.domain.promises import Idempotency, Lookup

POSTS_MAX = 8
"""POSTs of one attempt, the first included. Nine in ten lost would still leave one in two recovered."""

LOOKS_MAX = 10
"""Answered look-ups that found nothing, after which a person is asked."""

LOOKS_TO_BELIEVE = 3
"""Look-ups in a row, spaced, that a task must be missing from before a conclusive list is believed: one may have been
answered by a replica that lags."""

PAUSE_S_MIN = 1.0
PAUSE_S_MAX = 300.0

MARGIN_S_MAX = 600.0
"""How much before the end of a window a replay stops at the latest, for clocks that differ; else a tenth of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Doubt:
    """What is known about a POST of unknown outcome.

    Attributes:
        sent_us: when its intent was committed.
        posts: POSTs that may have left, the first one included.
        looks: look-ups that were answered and found nothing.
        has_key: it carried a key, or our reference.
        is_landed: the provider proved that it has the order, without saying under which id.
    """

    sent_us: int
    posts: int
    looks: int
    has_key: bool
    is_landed: bool


@dataclass(frozen=True, slots=True)
class Replay:
    """Send the same bytes again."""


@dataclass(frozen=True, slots=True)
class LookUp:
    """Ask where the provider shows what it accepted."""


@dataclass(frozen=True, slots=True)
class Later:
    """Nothing before this moment, in microseconds."""

    at_us: int


@dataclass(frozen=True, slots=True)
class Person:
    """Nothing more can be learnt from the provider by itself; why, as half a sentence."""

    why: str


Plan = Replay | LookUp | Later | Person


def can_recover(contract: Contract) -> bool:
    """Whether the contract's file says anything at all that helps with a lost answer."""
    return contract.idempotency.is_replay or contract.lookup.kind != "none"


def plan(contract: Contract, doubt: Doubt, now_us: int) -> Plan:
    """What to do now about a POST of unknown outcome."""
    age_s, today = (now_us - doubt.sent_us) / 1e6, day_of(now_us)
    if _may_replay(contract.idempotency, doubt, age_s, today):
        return Replay()
    lookup = contract.lookup
    if not stands(lookup, today):
        return Person(_why_no_lookup(contract, today))
    if lookup.kind == "client_reference" and not doubt.has_key:
        return Person("it was sent without our reference")
    if age_s < lookup.visible_after_s:
        return Later(doubt.sent_us + lookup.visible_after_s * 1_000_000)
    if age_s > lookup.window_s:
        return Person("it is too old to be looked up")
    if doubt.looks >= LOOKS_MAX:
        return Person(f"{doubt.looks} look-ups found nothing")
    return LookUp()


def is_proven_absent(lookup: Lookup, looks: int, *, is_landed: bool) -> bool:
    """Whether so many look-ups that found nothing prove that the order was never accepted."""
    return lookup.is_conclusive and looks >= LOOKS_TO_BELIEVE and not is_landed


def pause_s(age_s: float) -> float:
    """How long to wait before the next try at a doubt of this age."""
    return max(PAUSE_S_MIN, min(PAUSE_S_MAX, age_s / 2))


def replay_until_s(idempotency: Idempotency) -> float:
    """How old a POST may be when it is replayed: the provider's window less a margin."""
    return idempotency.window_s - min(MARGIN_S_MAX, idempotency.window_s / 10)


def stands(statement: Idempotency | Lookup, today: str) -> bool:
    """Whether a statement says something, and still counts."""
    return statement.kind != "none" and today <= statement.last_day


def day_of(moment_us: int) -> str:
    """The day of a moment, UTC, as YYYY-MM-DD."""
    return datetime.datetime.fromtimestamp(moment_us // 1_000_000, datetime.UTC).date().isoformat()


def _may_replay(idempotency: Idempotency, doubt: Doubt, age_s: float, today: str) -> bool:
    return (
        idempotency.is_replay
        and stands(idempotency, today)
        and doubt.has_key
        and doubt.posts < POSTS_MAX
        and age_s <= replay_until_s(idempotency)
        and not doubt.is_landed  # it would be refused again
    )


def _why_no_lookup(contract: Contract, today: str) -> str:
    if contract.idempotency.is_replay and not stands(contract.idempotency, today):
        return "what the contract says of replays has run out"
    if contract.lookup.kind != "none":
        return "what the contract says of look-ups has run out"
    if contract.idempotency.is_replay:
        return "it is too late to send it again, or it was sent too often"
    return "the provider neither repeats an answer nor shows what it accepted"
