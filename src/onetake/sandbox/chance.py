"""The sandbox's own seeded chance: pure functions of what they are asked about.

Nothing here depends on timing or on the order of calls, so two clients that behave alike meet the
same faults, waits and pictures.
"""

import hashlib
import random


def _number(parts: tuple[object, ...]) -> int:
    text = "\x1f".join(map(str, parts))  # the unit separator: ("a", "bc") and ("ab", "c") stay apart
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest())


def draw(*parts: object) -> float:
    """A uniform number in [0, 1) that depends on nothing but its arguments."""
    return (_number(parts) >> 11) / 2**53  # 53 bits: what a float holds exactly, so never rounded up to 1


def dice(*parts: object) -> random.Random:
    """A source of many numbers that depends on nothing but its arguments."""
    return random.Random(_number(parts))
