"""What was ordered: accounts, recipes, jobs, steps, and what must come out."""

from sqlalchemy import (
    CheckConstraint,
    Column,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    PrimaryKeyConstraint,
    Table,
    UniqueConstraint,
    text,
)

from onetake.domain import states as s
from onetake.store.schema.columns import (
    TEXT,
    count,
    key,
    maybe,
    metadata,
    moment,
    must,
    of,
    one_of,
    string,
    when,
    words,
)

accounts = Table(
    "accounts",
    metadata,
    key(),
    must("name"),
    string("plan", default="none"),
    string("zone", default="UTC"),
    moment("created_at"),
    UniqueConstraint("name"),
    CheckConstraint("plan IN ('none', 'credits')", name="plan"),
)

recipes = Table(
    "recipes",
    metadata,
    must("name"),
    Column("version", Integer, nullable=False),
    must("hash"),
    must("content"),
    must("source"),
    moment("created_at"),
    PrimaryKeyConstraint("name", "version"),
    UniqueConstraint("hash"),
)

quotes = Table(
    "quotes",
    metadata,
    key(),
    of("account_id", "accounts"),
    must("recipe_hash"),
    must("request_hash"),
    string("price_version"),
    string("consent_version"),
    moment("created_at"),
    when("expires_at"),
    when("accepted_at"),
)

jobs = Table(
    "jobs",
    metadata,
    key(),
    of("account_id", "accounts"),
    must("key"),
    of("quote_id", "quotes"),
    must("recipe_name"),
    Column("recipe_version", Integer, nullable=False),
    must("recipe_hash"),
    must("request_hash"),
    string("campaign"),
    must("state"),
    count("expected"),
    count("filled"),
    count("journal_seq"),
    when("cancel_requested_at"),
    string("error_category"),
    moment("created_at"),
    moment("updated_at"),
    when("completed_at"),
    UniqueConstraint("account_id", "key"),
    # A quote is accepted once.
    Index("uq_jobs_quote_id", "quote_id", unique=True),
    ForeignKeyConstraint(["recipe_name", "recipe_version"], ["recipes.name", "recipes.version"]),
    one_of("state", s.JobState),
    # L7: complete means that every expected output is filled, counted in the same transaction.
    CheckConstraint("state <> 'complete' OR (filled = expected AND expected > 0)", name="complete"),
    CheckConstraint("filled BETWEEN 0 AND expected", name="filled"),
    CheckConstraint("length(key) BETWEEN 1 AND 1024", name="key"),
    Index(None, "state", "created_at"),
    Index(None, "created_at"),
)

job_requests = Table(
    "job_requests",
    metadata,
    Column("job_id", TEXT, ForeignKey("jobs.id"), primary_key=True),
    must("inputs"),
)

steps = Table(
    "steps",
    metadata,
    key(),
    of("job_id", "jobs"),
    must("name"),
    string("cell"),
    Column("position", Integer, nullable=False),
    must("kind"),
    must("state"),
    maybe("waiting_for"),
    # The budget line that it waits for.
    maybe("waiting_on"),
    string("provider"),
    string("operation"),
    string("model"),
    maybe("request_hash"),
    when("not_before"),
    Column("deadline_s", Integer),
    count("attempts"),
    count("repeats"),
    when("repeats_since"),
    count("replacements"),
    maybe("current_attempt_id"),
    count("version"),
    moment("created_at"),
    moment("updated_at"),
    UniqueConstraint("job_id", "name", "cell"),
    CheckConstraint("kind IN ('generate', 'process')", name="kind"),
    CheckConstraint(
        f"(kind = 'generate' AND {words('state', s.StepState)})"
        f" OR (kind = 'process' AND {words('state', s.ProcessState)})",
        name="state",
    ),
    CheckConstraint(f"waiting_for IS NULL OR {words('waiting_for', s.WaitReason)}", name="waiting_for"),
    CheckConstraint("(state = 'waiting') = (waiting_for IS NOT NULL)", name="waiting"),
    # L5: a paid step that may be claimed has a frozen, hashed request.
    CheckConstraint(
        "kind <> 'generate' OR state NOT IN ('ready', 'active', 'complete') OR request_hash IS NOT NULL", name="frozen"
    ),
    CheckConstraint("state <> 'active' OR current_attempt_id IS NOT NULL", name="active"),
    Index(
        "ix_steps_budget",
        "id",
        sqlite_where=text("state = 'waiting' AND waiting_for = 'budget'"),
        postgresql_where=text("state = 'waiting' AND waiting_for = 'budget'"),
    ),
    Index(
        "ix_steps_ready",
        "created_at",
        "position",
        sqlite_where=text("state = 'ready'"),
        postgresql_where=text("state = 'ready'"),
    ),
)

step_requests = Table(
    "step_requests",
    metadata,
    Column("step_id", TEXT, ForeignKey("steps.id"), primary_key=True),
    must("meaning"),
    moment("frozen_at"),
)

expected_outputs = Table(
    "expected_outputs",
    metadata,
    key(),
    of("job_id", "jobs"),
    of("step_id", "steps"),
    of("hold_id", "holds"),
    must("name"),
    string("cell"),
    count("ordinal"),
    must("spec"),
    must("state"),
    maybe("artifact_id"),
    when("filled_at"),
    UniqueConstraint("job_id", "step_id", "name", "ordinal"),
    UniqueConstraint("artifact_id"),
    one_of("state", s.OutputState),
    CheckConstraint("(state = 'filled') = (artifact_id IS NOT NULL)", name="filled"),
)

manifests = Table(
    "manifests",
    metadata,
    Column("job_id", TEXT, ForeignKey("jobs.id"), primary_key=True),
    must("content"),
    must("hash"),
    moment("sealed_at"),
)

journal = Table(
    "journal",
    metadata,
    Column("job_id", TEXT, ForeignKey("jobs.id"), nullable=False),
    Column("seq", Integer, nullable=False),
    moment("at"),
    must("actor"),
    must("event"),
    string("step"),
    Column("attempt_no", Integer),
    string("data", default="{}"),
    PrimaryKeyConstraint("job_id", "seq"),
    CheckConstraint("seq >= 1", name="seq"),
)
