"""Time and chance: the only module that reads a clock or draws a random number.

Everything else is handed a `Clock`. Durable times are integers, microseconds since 1970 in UTC, and are
read from the database (`onetake_now()`), which on SQLite asks the clock that opened it. Waiting goes
through `Clock.sleep`, so a simulation can replace the event loop's time and a test the wall clock.
"""

import asyncio
import math
import random
import secrets
import time
from typing import Protocol

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford's base 32, lower case: no i, l, o, u to misread


class Clock(Protocol):
    """Wall time, elapsed time, waiting and chance."""

    def now_us(self) -> int:
        """The wall clock, in microseconds since 1970 UTC."""
        ...

    def monotonic_s(self) -> float:
        """Seconds on a clock that never goes back; only differences mean anything."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Come back after so many seconds."""
        ...

    def uniform(self, low: float, high: float) -> float:
        """A random number between the two."""
        ...

    def token(self, size_bytes: int) -> bytes:
        """Random bytes nobody can guess."""
        ...


class SystemClock:
    """The machine's own time and chance."""

    def now_us(self) -> int:
        """The wall clock, in microseconds since 1970 UTC."""
        return time.time_ns() // 1000

    def monotonic_s(self) -> float:
        """Seconds since some moment in the past."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Come back after so many seconds."""
        await asyncio.sleep(seconds)

    def uniform(self, low: float, high: float) -> float:
        """A random number between the two."""
        return random.uniform(low, high)  # noqa: S311 - spreads load, keeps no secret

    def token(self, size_bytes: int) -> bytes:
        """Random bytes from the operating system."""
        return secrets.token_bytes(size_bytes)


class ManualClock:
    """A clock that only moves when told to; ships for tests and simulations.

    Sleeping moves it: `sleep(5)` returns at once, five seconds later. Chance is seeded.
    """

    def __init__(self, start_us: int = 1_767_225_600_000_000, seed: int = 1) -> None:
        self._now_us = start_us
        self._random = random.Random(seed)  # noqa: S311 - reproducible on purpose

    def now_us(self) -> int:
        """The moment it was moved to."""
        return self._now_us

    def monotonic_s(self) -> float:
        """The same moment, in seconds."""
        return self._now_us / 1e6

    def advance(self, seconds: float) -> None:
        """Move forward (or back, to rehearse a clock that was set)."""
        self._now_us += round(seconds * 1e6)

    async def sleep(self, seconds: float) -> None:
        """Move forward and let others run; rounded up, so that no wait is over before its moment."""
        self._now_us += max(0, math.ceil(seconds * 1e6))
        await asyncio.sleep(0)

    def uniform(self, low: float, high: float) -> float:
        """A seeded random number between the two."""
        return self._random.uniform(low, high)

    def token(self, size_bytes: int) -> bytes:
        """Seeded bytes: guessable, never for production."""
        return self._random.randbytes(size_bytes)


def new_id(prefix: str, clock: Clock) -> str:
    """An identifier such as `job_06f3k…`: sorts by the time of its making, can't be guessed, safe in a URL.

    48 bits of milliseconds and 80 random bits, in 26 base-32 characters (the ULID layout).
    """
    number = (clock.now_us() // 1000) << 80 | int.from_bytes(clock.token(10), "big")
    return f"{prefix}_" + "".join(_ALPHABET[(number >> shift) & 31] for shift in range(125, -1, -5))
