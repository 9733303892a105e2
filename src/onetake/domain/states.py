"""The words for where things stand. The database's CHECK constraints and the docs are made from these enums.

A step is the order, an attempt is the buy: they have separate rows and separate states, so that a superseded
buy that is still running keeps its ref, its polls and its money until the provider's last word.
"""

import enum


class AttemptState(enum.StrEnum):
    """One try at a paid step."""

    SUBMITTING = "submitting"
    SUBMIT_UNKNOWN = "submit_unknown"
    PROCESSING = "processing"
    COLLECTING = "collecting"
    DELIVERED = "delivered"
    REJECTED = "rejected"
    NOT_SENT = "not_sent"
    FAILED = "failed"


class StepState(enum.StrEnum):
    """A paid step. While active it shows its current attempt's state."""

    WAITING = "waiting"
    READY = "ready"
    ACTIVE = "active"
    COMPLETE = "complete"
    FAILED = "failed"
    CANCELLED = "cancelled"


class ProcessState(enum.StrEnum):
    """A local step: free, rerunnable, never failed."""

    WAITING = "waiting"
    READY = "ready"
    RUNNING = "running"
    COMPLETE = "complete"
    BLOCKED = "blocked"
    CANCELLED = "cancelled"


class JobState(enum.StrEnum):
    """An accepted order. Incomplete is repairable, so not final."""

    OPEN = "open"
    COMPLETE = "complete"
    INCOMPLETE = "incomplete"
    FAILED = "failed"
    CANCELLED = "cancelled"


class OutputState(enum.StrEnum):
    """What must be delivered: a row of the job from its creation."""

    MISSING = "missing"
    FILLED = "filled"


class ArtifactState(enum.StrEnum):
    """A file that was found."""

    FETCHING = "fetching"
    STORED = "stored"
    VERIFIED = "verified"
    REJECTED = "rejected"


class ArtifactUse(enum.StrEnum):
    """What a file that was found is good for."""

    FILLS = "fills"
    EXTRA = "extra"
    DUPLICATE = "duplicate"
    LATE = "late"


class HoldState(enum.StrEnum):
    """Reserved credits; closed once, by appending."""

    HELD = "held"
    CAPTURED = "captured"
    RELEASED = "released"


class EntryKind(enum.StrEnum):
    """Why credits moved from one bucket of an account to another."""

    GRANT = "grant"
    HOLD = "hold"
    CAPTURE = "capture"
    RELEASE = "release"
    CORRECTION = "correction"


class Bucket(enum.StrEnum):
    """Where an account's credits are. Granted is where they come from: what was ever given."""

    GRANTED = "granted"
    AVAILABLE = "available"
    HELD = "held"
    CAPTURED = "captured"


class Role(enum.StrEnum):
    """What a person is in an account."""

    OWNER = "owner"
    OPERATOR = "operator"
    REVIEWER = "reviewer"
    PUBLISHER = "publisher"
    ADMIN = "admin"


class Period(enum.StrEnum):
    """What a budget line counts: one day of the account's zone, or all there ever was."""

    DAY = "day"
    TOTAL = "total"


class StopKind(enum.StrEnum):
    """What a stop keeps from being sent."""

    PROVIDER = "provider"
    RECIPE = "recipe"
    ACCOUNT = "account"


class CaseState(enum.StrEnum):
    """A doubt that needs resolving. Settled: evidence arrived by itself, nobody had to decide."""

    OPEN = "open"
    ATTACHED = "attached"
    NOT_ACCEPTED = "not_accepted"
    RISK_ACCEPTED = "risk_accepted"
    WRITTEN_OFF = "written_off"
    SETTLED = "settled"


class CaseKind(enum.StrEnum):
    """What the doubt is about."""

    UNKNOWN = "unknown"
    MISSING_TASK = "missing_task"
    NO_OUTPUT = "no_output"
    OUTPUT_REJECTED = "output_rejected"
    REF_CONFLICT = "ref_conflict"
    ORPHAN = "orphan"
    CHARGE = "charge"


class AlarmKind(enum.StrEnum):
    """Something that a person should know of; it changes no state."""

    DEADLINE = "deadline"
    KEY_REFUSED = "key_refused"
    NO_ANSWER = "no_answer"
    MISSING_TASK = "missing_task"
    UNLISTED_STATUS = "unlisted_status"
    NO_ADDRESSES = "no_addresses"
    DOWNLOAD = "download"
    STORAGE = "storage"
    MODEL_REFUSED = "model_refused"
    MODEL_LIST = "model_list"
    REPEATS = "repeats"
    ROUTE_PAUSED = "route_paused"
    BROKEN = "broken"


class ErrorCategory(enum.StrEnum):
    """Whose fault an error is; one on each."""

    INPUT = "input"
    AUTH = "auth"
    PROVIDER = "provider"
    NO_OUTPUT = "no_output"
    DOWNLOAD = "download"
    VALIDATION = "validation"
    PROCESS = "process"
    STORAGE = "storage"


class JobStatus(enum.StrEnum):
    """The coarser word for people."""

    PREPARING = "preparing"
    UPLOADING = "uploading"
    SUBMITTING = "submitting"
    SUBMISSION_UNKNOWN = "submission_unknown"
    QUEUED = "queued"
    IN_PROGRESS = "in_progress"
    PROCESSING = "processing"
    NEEDS_REVIEW = "needs_review"
    COMPLETED = "completed"
    INCOMPLETE = "incomplete"
    FAILED = "failed"
    CANCELLED = "cancelled"


class WaitReason(enum.StrEnum):
    """What holds a waiting step back."""

    NEEDS = "needs"
    ADDRESS = "address"
    REVIEW = "review"
    BUDGET = "budget"
    APPROVAL = "approval"


FINAL_ATTEMPT = frozenset(
    {AttemptState.DELIVERED, AttemptState.REJECTED, AttemptState.NOT_SENT, AttemptState.FAILED},
)
FINAL_STEP = frozenset({StepState.COMPLETE, StepState.FAILED, StepState.CANCELLED})
FINAL_JOB = frozenset({JobState.COMPLETE, JobState.FAILED, JobState.CANCELLED})
