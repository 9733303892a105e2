"""What can happen to an attempt, a step, a job, an output, an artifact, a hold and a case.

Events are evidence (an answer, a file, a person's decision), never the passing of time: a deadline is no event.
"""

import enum


class AttemptEvent(enum.StrEnum):
    """Evidence about one try at a paid step."""

    ACCEPTED = "accepted"  # the provider's id is in hand: own answer, callback, lookup or attach
    INLINE = "inline"  # the answer held the result itself
    REFUSED = "refused"  # a definite refusal, listed in the contract
    NEVER_LEFT = "never_left"  # the send receipt proves that no byte left
    DOUBTED = "doubted"  # the outcome of the send can't be known, or its owner died
    FINISHED = "finished"  # the provider's terminal answer with output addresses
    DIED = "died"  # the provider's terminal answer: failed
    DELIVERED = "delivered"  # every expected file stands in our storage, decoded and inside its spec
    WRITTEN_OFF = "written_off"  # a person gave it up


class StepEvent(enum.StrEnum):
    """What happens to a paid step."""

    OPENED = "opened"  # all it needs is complete; its request is frozen
    PARKED = "parked"  # a person, a line or an address holds it; the reason is named
    CLAIMED = "claimed"  # an attempt was made for it
    CAME_BACK = "came_back"  # its attempt ended in a way that allows another
    ADOPTED = "adopted"  # an earlier attempt turned out to be running
    DELIVERED = "delivered"  # its attempt delivered
    FAILED = "failed"  # its attempt ended for good
    CANCELLED = "cancelled"  # before submitting, or by the provider's final word


class ProcessEvent(enum.StrEnum):
    """What happens to a local step."""

    OPENED = "opened"
    CLAIMED = "claimed"
    LOST = "lost"  # its worker died: run it again, it is free
    FINISHED = "finished"
    BROKE = "broke"
    FIXED = "fixed"  # a person or a fix asks for another run
    CANCELLED = "cancelled"


class JobEvent(enum.StrEnum):
    """What happens to a job, once no step can move any more."""

    COMPLETED = "completed"
    FELL_SHORT = "fell_short"
    FAILED = "failed"
    CANCELLED = "cancelled"
    REPAIRED = "repaired"  # a repair was ordered for a missing output


class OutputEvent(enum.StrEnum):
    """What happens to an expected output."""

    FILLED = "filled"


class ArtifactEvent(enum.StrEnum):
    """What happens to a file that was found."""

    STORED = "stored"
    VERIFIED = "verified"
    REJECTED = "rejected"


class HoldEvent(enum.StrEnum):
    """How a hold is closed."""

    CAPTURED = "captured"
    RELEASED = "released"


class CaseEvent(enum.StrEnum):
    """How a doubt ends."""

    ATTACHED = "attached"
    NOT_ACCEPTED = "not_accepted"
    RISK_ACCEPTED = "risk_accepted"
    WRITTEN_OFF = "written_off"
    SETTLED = "settled"
