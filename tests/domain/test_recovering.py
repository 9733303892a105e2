"""What is done about a lost answer: each rule at its edge, and what is never done."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as some

from onetake.domain.contract import Contract, parse_contract
from onetake.domain.recovering import (
    LOOKS_MAX,
    LOOKS_TO_BELIEVE,
    PAUSE_S_MAX,
    POSTS_MAX,
    Doubt,
    Later,
    LookUp,
    Person,
    Replay,
    can_recover,
    is_proven_absent,
    pause_s,
    plan,
    replay_until_s,
)
from onetake.providers.catalogue import load_contract
from tests.engine.promises import BY_ECHO, BY_KEY, REFUSED, REPLAYED, stated

NOON_US = 1_796_212_800_000_000  # 2026-12-02 12:00:00 UTC
FRESH = Doubt(sent_us=NOON_US, posts=1, looks=0, has_key=True, is_landed=False)
NONE = load_contract("reapi")
OVER = 'valid_until = "2026-12-01"\n'


def read(**tables: str) -> Contract:
    return parse_contract(stated(**tables), "c.toml")


BOTH = read(idempotency=REPLAYED, lookup=BY_KEY)
SHOWN = read(lookup=BY_KEY)
AT_ONCE = read(lookup=BY_KEY.replace("visible_after_s = 10", "visible_after_s = 0"))


def after(age_s: float) -> int:
    return NOON_US + round(age_s * 1e6)


@pytest.mark.parametrize(
    ("contract", "doubt", "age_s", "planned"),
    [
        (BOTH, FRESH, 0, Replay()),
        (BOTH, FRESH, 3240, Replay()),  # an hour less a tenth
        (BOTH, FRESH, 3241, LookUp()),
        (BOTH, replace(FRESH, posts=POSTS_MAX - 1), 60, Replay()),
        (BOTH, replace(FRESH, posts=POSTS_MAX), 60, LookUp()),
        (BOTH, replace(FRESH, posts=POSTS_MAX), 3, Later(after(10))),
        (BOTH, replace(FRESH, has_key=False), 60, Person("it was sent without our reference")),
        (BOTH, replace(FRESH, is_landed=True), 60, LookUp()),
        (read(idempotency=REFUSED), FRESH, 60, Replay()),
        (read(idempotency=REFUSED), replace(FRESH, is_landed=True), 60, Person("it is too late to send it again, or")),
        (read(idempotency=REPLAYED + OVER), FRESH, 0, Person("what the contract says of replays has run out")),
        (read(lookup=BY_KEY + OVER), FRESH, 60, Person("what the contract says of look-ups has run out")),
        (SHOWN, FRESH, 9.9, Later(after(10))),
        (SHOWN, FRESH, 10, LookUp()),
        (SHOWN, FRESH, 86_400, LookUp()),
        (SHOWN, FRESH, 86_401, Person("it is too old to be looked up")),
        (SHOWN, replace(FRESH, looks=LOOKS_MAX - 1), 60, LookUp()),
        (SHOWN, replace(FRESH, looks=LOOKS_MAX), 60, Person(f"{LOOKS_MAX} look-ups found nothing")),
        (AT_ONCE, FRESH, 0, LookUp()),
        (read(lookup=BY_ECHO), replace(FRESH, has_key=False), 60, LookUp()),
        (NONE, FRESH, 60, Person("the provider neither repeats an answer nor shows what it accepted")),
    ],
)
def test_each_rule_at_its_edge(contract: Contract, doubt: Doubt, age_s: float, planned: object) -> None:
    found = plan(contract, doubt, after(age_s))
    if isinstance(planned, Person):
        assert isinstance(found, Person)
        assert found.why.startswith(planned.why)
    else:
        assert found == planned


def test_only_what_says_something_can_be_asked() -> None:
    client_id = '[idempotency]\nkind = "client_id"\nfield = "taskUUID"\n'
    askable = [BOTH, SHOWN, read(idempotency=REFUSED), read(lookup=BY_ECHO), NONE, read(idempotency=client_id)]
    assert [can_recover(contract) for contract in askable] == [True, True, True, True, False, False]


CONTRACTS = [
    BOTH,
    SHOWN,
    NONE,
    read(idempotency=REPLAYED),
    read(idempotency=REFUSED),
    read(idempotency=REPLAYED + OVER),
]


DOUBTS = some.builds(
    Doubt,
    sent_us=some.just(NOON_US),
    posts=some.integers(min_value=0, max_value=2 * POSTS_MAX),
    looks=some.integers(min_value=0, max_value=2 * LOOKS_MAX),
    has_key=some.booleans(),
    is_landed=some.booleans(),
)


@given(contract=some.sampled_from(CONTRACTS), age_s=some.integers(min_value=0, max_value=200_000), doubt=DOUBTS)
def test_a_replay_needs_a_promise_a_key_time_and_room(contract: Contract, age_s: int, doubt: Doubt) -> None:
    promise = contract.idempotency
    permitted = (
        promise.is_replay
        and promise.last_day >= "2026-12-05"
        and doubt.has_key
        and not doubt.is_landed
        and doubt.posts < POSTS_MAX
        and age_s <= replay_until_s(promise)
    )
    assert isinstance(plan(contract, doubt, after(age_s)), Replay) == permitted


@pytest.mark.parametrize(("looks", "is_landed", "is_proof"), [(2, False, False), (3, False, True), (3, True, False)])
def test_a_conclusive_list_is_believed_at_the_third_time(looks: int, *, is_landed: bool, is_proof: bool) -> None:
    assert LOOKS_TO_BELIEVE == 3
    assert is_proven_absent(SHOWN.lookup, looks, is_landed=is_landed) == is_proof
    assert not is_proven_absent(read(lookup=BY_ECHO).lookup, looks, is_landed=is_landed)


def test_pauses_grow_with_age_within_bounds() -> None:
    assert [pause_s(age) for age in (0, 2, 10, 600, 10_000)] == [1.0, 1.0, 5.0, PAUSE_S_MAX, PAUSE_S_MAX]


def test_the_margin_is_a_tenth_and_ten_minutes_at_most() -> None:
    long = replace(BOTH.idempotency, window_s=86_400)
    assert (replay_until_s(BOTH.idempotency), replay_until_s(long)) == (3240, 85_800)
