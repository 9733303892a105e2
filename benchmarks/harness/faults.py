"""The faults of the fake provider.

Each is a pure function of (seed, fault, chain, stage, attempt), so that two clients that behave alike meet the same
faults whatever their timing.
"""

import hashlib
from collections.abc import Iterable, Mapping

SUBMIT = {
    "accept_drop": "the job is accepted and billed, then the connection is cut: no answer",
    "accept_5xx": "the job is accepted and billed, the client reads a 502",
    "accept_slow": "the job is accepted and billed, the answer comes after --slow-s",
    "accept_no_id": "the job is accepted and billed, 200 without an id in the body",
    "refuse_5xx": "nothing accepted, 503: looks just like accept_5xx to a client",
    "refuse_drop": "nothing accepted, connection cut: looks just like accept_drop to a client",
    "refuse_429": "nothing accepted, 429 with Retry-After: 1",
    "refuse_400": "nothing accepted, 400; sticky: the same chain and stage is always refused",
}
POLL = ("poll_5xx", "poll_429", "poll_slow", "poll_drop", "poll_no_urls")
JOB = ("job_fails", "job_no_urls")  # sticky, drawn once for each job
ASSET = {  # drawn at every download
    "asset_truncated": "half of the bytes that Content-Length promises, then the connection is closed",
    "asset_5xx": "503",
    "asset_html": "a page with 200 and a Content-Length that agrees",
    "asset_expired": "403, and this address stays dead: the next poll names a fresh one",
}
NAMES = frozenset((*SUBMIT, *POLL, *JOB, *ASSET))

STORM = {
    "accept_drop": 0.03,
    "accept_5xx": 0.03,
    "accept_slow": 0.03,
    "accept_no_id": 0.03,
    "refuse_5xx": 0.03,
    "refuse_drop": 0.03,
    "refuse_429": 0.03,
    "refuse_400": 0.02,
    "poll_5xx": 0.03,
    "poll_429": 0.03,
    "poll_slow": 0.01,
    "poll_drop": 0.03,
    "poll_no_urls": 0.01,
    "job_fails": 0.01,
}
"""The rates of a `faults` run: every way of losing an answer often enough to be met by 300 chains."""


def draw(*parts: object) -> float:
    """A uniform number in [0, 1) that depends on nothing but its arguments."""
    found = hashlib.blake2b("|".join(map(str, parts)).encode(), digest_size=8).digest()
    return int.from_bytes(found, "big") / 2**64


def pick(rates: Mapping[str, float], names: Iterable[str], *salt: object) -> str | None:
    """At most one fault of `names`, drawn from one number: rates add up."""
    left = draw(*salt)
    for name in names:
        left -= rates.get(name, 0.0)
        if left < 0:
            return name
    return None
