"""The sweep: what dead or silent owners left behind. It renames what may have been bought; it never sends.

A submit whose lease ran out becomes `submit_unknown`: nobody can prove that nothing left. An attempt that waits
for the provider, or for its files, is leased and goes on from its saved ref.
"""

from collections.abc import Mapping

from onetake.engine.outcomes import doubt
from onetake.engine.turn import Turn
from onetake.providers.adapter import Adapter
from onetake.store import attempts, leases

BATCH = 5000
"""Rows taken over in one transaction: enough for a restart with 100,000 jobs, and over in some 30 ms, too few to stall
others."""


def sweep(turn: Turn, adapters: Mapping[str, Adapter]) -> list[str]:
    """Rename lost submits, and lease what nobody alive holds; the attempts that are now the actor's to poll."""
    for attempt_id in leases.list_lost_submits(turn.tx, limit=BATCH):
        attempt = attempts.get(turn.tx, attempt_id)
        reason = "the worker that was sending it died or fell silent"
        doubt(turn, adapters[attempt.provider], attempt, reason, {"owner": attempt.worker_id})
    return leases.lease_open(turn.tx, turn.actor, limit=BATCH)
