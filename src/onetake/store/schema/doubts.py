"""What a person should look at: cases with their evidence and decisions, alarms."""

from sqlalchemy import CheckConstraint, Index, Table, text

from onetake.domain import states as s
from onetake.store.schema.columns import key, maybe, metadata, moment, must, of, one_of, when

cases = Table(
    "cases",
    metadata,
    key(),
    must("kind"),
    must("state"),
    of("job_id", "jobs", nullable=True),
    of("step_id", "steps", nullable=True),
    of("attempt_id", "attempts", nullable=True),
    maybe("owner"),
    moment("opened_at"),
    when("closed_at"),
    one_of("kind", s.CaseKind),
    one_of("state", s.CaseState),
    CheckConstraint("(state = 'open') = (closed_at IS NULL)", name="closed"),
    Index(
        "uq_cases_open",
        "attempt_id",
        "kind",
        unique=True,
        sqlite_where=text("state = 'open'"),
        postgresql_where=text("state = 'open'"),
    ),
    Index(None, "job_id"),
)

evidence = Table(
    "evidence",
    metadata,
    key(),
    of("case_id", "cases"),
    must("kind"),
    must("body"),
    must("actor"),
    moment("created_at"),
    Index(None, "case_id"),
)

decisions = Table(
    "decisions",
    metadata,
    key(),
    of("case_id", "cases"),
    must("decision"),
    must("reason"),
    must("actor"),
    maybe("second_actor"),
    moment("created_at"),
    one_of("decision", s.CaseState),
    Index(None, "case_id"),
)

alarms = Table(
    "alarms",
    metadata,
    key(),
    must("kind"),
    # What the alarm is about: an attempt, a step or a provider account; one open alarm of a kind on each.
    must("subject"),
    of("job_id", "jobs", nullable=True),
    must("detail"),
    moment("since"),
    when("cleared_at"),
    one_of("kind", s.AlarmKind),
    Index(
        "uq_alarms_open",
        "subject",
        "kind",
        unique=True,
        sqlite_where=text("cleared_at IS NULL"),
        postgresql_where=text("cleared_at IS NULL"),
    ),
    Index(None, "job_id"),
)
