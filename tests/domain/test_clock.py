"""Time and chance: the real clock, the one that moves when told to, and ids made from either."""

import asyncio
import re

import pytest

from onetake.clock import Clock, ManualClock, SystemClock, new_id

CLOCKS: tuple[Clock, ...] = (SystemClock(), ManualClock())
both = pytest.mark.parametrize("clock", CLOCKS, ids=["system", "manual"])


@both
async def test_time_goes_on_and_never_back(clock: Clock) -> None:
    before = clock.now_us(), clock.monotonic_s()
    await clock.sleep(0.001)
    after = clock.now_us(), clock.monotonic_s()
    assert after[1] > before[1]
    assert after[0] > before[0] > 1_600_000_000_000_000


@both
def test_chance_stays_within_its_bounds_and_tokens_differ(clock: Clock) -> None:
    assert all(2 <= clock.uniform(2, 3) <= 3 for _ in range(100))
    tokens = {clock.token(16) for _ in range(100)}
    assert {len(token) for token in tokens} == {16}
    assert len(tokens) == 100


@both
def test_an_id_names_its_kind_and_is_never_given_twice(clock: Clock) -> None:
    ids = {new_id("job", clock) for _ in range(1000)}
    assert len(ids) == 1000
    assert all(re.fullmatch("job_[0-9a-hjkmnp-tv-z]{26}", each) for each in ids)


def test_ids_sort_by_the_time_of_their_making() -> None:
    clock = ManualClock()
    ids = []
    for _ in range(50):
        ids.append(new_id("job", clock))
        clock.advance(0.001)
    assert sorted(ids) == ids


async def test_a_manual_clock_moves_only_when_told_to() -> None:
    clock = ManualClock(start_us=1_000_000)
    assert (clock.now_us(), clock.monotonic_s()) == (1_000_000, 1.0)
    await clock.sleep(5)
    assert clock.now_us() == 6_000_000
    clock.advance(-2.5)
    assert clock.now_us() == 3_500_000


@pytest.mark.parametrize("seconds", [1e-7, 0.1 + 0.2, 1 / 3, 2.0000004])
async def test_no_wait_on_a_manual_clock_is_over_before_its_moment(seconds: float) -> None:
    clock = ManualClock()
    before_us = clock.now_us()
    await clock.sleep(seconds)
    assert 0 <= clock.now_us() - before_us - seconds * 1e6 < 1.001


async def test_sleeping_on_a_manual_clock_lets_others_run() -> None:
    ran = asyncio.Event()
    other = asyncio.get_running_loop().call_soon(ran.set)
    await ManualClock().sleep(3600)
    assert ran.is_set()
    assert not other.cancelled()


def test_a_seed_gives_the_same_chance_again() -> None:
    def draws(seed: int) -> list[object]:
        clock = ManualClock(seed=seed)
        return [clock.uniform(0, 1), clock.token(8), new_id("job", clock)]

    assert draws(7) == draws(7) != draws(8)
