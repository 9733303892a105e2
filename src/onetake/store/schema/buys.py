"""What was bought and what came of it: workers, attempts, bytes sent, refs, callbacks, files."""

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
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
    micros,
    moment,
    must,
    of,
    one_of,
    string,
    when,
    words,
)

workers = Table(
    "workers",
    metadata,
    # One row renews the lease on everything a worker holds: an unchanged poll writes nothing.
    key(),
    must("name"),
    moment("started_at"),
    moment("lease_until"),
    when("stopped_at"),
)

attempts = Table(
    "attempts",
    metadata,
    key(),
    of("step_id", "steps"),
    of("job_id", "jobs"),
    Column("no", Integer, nullable=False),
    must("state"),
    must("provider"),
    must("operation"),
    string("slot", default="default"),
    must("contract_version"),
    of("worker_id", "workers", nullable=True),
    count("token"),
    when("lease_until"),
    # Refs and attempts name each other; the tables are made first and this constraint after (SQLite: in place).
    Column("ref_id", TEXT, ForeignKey("refs.id", use_alter=True)),
    maybe("spool"),
    when("not_before"),
    when("accepted_at"),
    count("is_queued"),
    count("looks"),
    count("is_landed"),
    string("charged", default="unknown"),
    Column("cost_micros", BigInteger),
    string("cost_currency"),
    string("error_category"),
    string("error_code"),
    string("error_message"),
    moment("created_at"),
    moment("updated_at"),
    when("ended_at"),
    UniqueConstraint("step_id", "no"),
    one_of("state", s.AttemptState),
    CheckConstraint("no >= 1", name="no"),
    CheckConstraint("charged IN ('yes', 'no', 'unknown')", name="charged"),
    # L4: what the provider works on can be found again.
    CheckConstraint("state <> 'processing' OR ref_id IS NOT NULL", name="processing"),
    CheckConstraint("state <> 'collecting' OR ref_id IS NOT NULL OR spool IS NOT NULL", name="collecting"),
    # One owner while a request may be in the air, with an end that is known.
    CheckConstraint("state <> 'submitting' OR (worker_id IS NOT NULL AND lease_until IS NOT NULL)", name="submitting"),
    CheckConstraint(f"({words('state', sorted(s.FINAL_ATTEMPT))}) = (ended_at IS NOT NULL)", name="ended"),
    # What each worker holds, oldest first; an unknown outcome waits for a person and is held by nobody.
    Index(
        "ix_attempts_waiting",
        "worker_id",
        "created_at",
        sqlite_where=text("state IN ('processing', 'collecting')"),
        postgresql_where=text("state IN ('processing', 'collecting')"),
    ),
    Index(
        "ix_attempts_submitting",
        "lease_until",
        sqlite_where=text("state = 'submitting'"),
        postgresql_where=text("state = 'submitting'"),
    ),
    # Unknown outcomes that the contract lets us ask about, by when they are looked at next.
    Index(
        "ix_attempts_doubted",
        "not_before",
        sqlite_where=text("state = 'submit_unknown'"),
        postgresql_where=text("state = 'submit_unknown'"),
    ),
    Index(None, "job_id"),
)

wires = Table(
    "wires",
    metadata,
    # The bytes that were sent, callback address and key included: limited access, never shown, never logged.
    Column("attempt_id", TEXT, ForeignKey("attempts.id"), primary_key=True),
    must("method"),
    must("url"),
    must("headers"),
    Column("body", LargeBinary, nullable=False),
    maybe("idempotency_key"),
    must("callback_token"),
    UniqueConstraint("callback_token"),
)

sends = Table(
    "sends",
    metadata,
    # One row per POST, written before it may leave (L1); the receipt is added when there is one.
    of("attempt_id", "attempts"),
    Column("n", Integer, nullable=False),
    must("kind"),
    moment("intended_at"),
    maybe("outcome"),
    maybe("receipt"),
    Column("status", Integer),
    Column("raw", LargeBinary),
    when("recorded_at"),
    PrimaryKeyConstraint("attempt_id", "n"),
    CheckConstraint("n >= 1", name="n"),
    CheckConstraint("kind IN ('first', 'replay')", name="kind"),
    CheckConstraint("(n = 1) = (kind = 'first')", name="first"),
    CheckConstraint("(outcome IS NULL) = (recorded_at IS NULL)", name="recorded"),
)

routes = Table(
    "routes",
    metadata,
    # Written with the outcome of a send, and only while outcomes are unknown: see docs/decisions/0010.
    must("provider"),
    must("operation"),
    count("unknowns"),
    count("pause_s"),
    when("paused_until"),
    PrimaryKeyConstraint("provider", "operation"),
    CheckConstraint("paused_until IS NULL OR (unknowns > 0 AND pause_s > 0)", name="paused"),
)

paces = Table(
    "paces",
    metadata,
    # A provider account whose sends are limited: written, and locked, by the claims.
    must("provider"),
    moment("next_at"),
    PrimaryKeyConstraint("provider"),
)

refs = Table(
    "refs",
    metadata,
    key(),
    of("attempt_id", "attempts"),
    must("provider_account"),
    must("operation"),
    must("ref"),
    must("locator"),
    must("source"),
    must("actor"),
    moment("created_at"),
    when("disowned_at"),
    CheckConstraint("source IN ('answer', 'callback', 'lookup', 'attach')", name="source"),
    Index(
        "uq_refs_ref",
        "provider_account",
        "operation",
        "ref",
        unique=True,
        sqlite_where=text("disowned_at IS NULL"),
        postgresql_where=text("disowned_at IS NULL"),
    ),
    Index(
        "uq_refs_attempt",
        "attempt_id",
        unique=True,
        sqlite_where=text("disowned_at IS NULL"),
        postgresql_where=text("disowned_at IS NULL"),
    ),
)

inbox = Table(
    "inbox",
    metadata,
    key(),
    must("provider"),
    must("dedupe_key"),
    maybe("callback_token"),
    maybe("ref"),
    string("headers", default="{}"),
    Column("body", LargeBinary, nullable=False),
    must("verified"),
    maybe("attempt_id"),
    maybe("effect"),
    moment("received_at"),
    when("processed_at"),
    UniqueConstraint("provider", "dedupe_key"),
    CheckConstraint("verified IN ('signed', 'unsigned', 'rejected')", name="verified"),
    CheckConstraint("(effect IS NULL) = (processed_at IS NULL)", name="processed"),
)

blobs = Table(
    "blobs",
    metadata,
    key("digest"),
    micros("size_bytes"),
    must("media_type"),
    moment("created_at"),
    CheckConstraint("length(digest) = 64", name="digest"),
)

artifacts = Table(
    "artifacts",
    metadata,
    key(),
    of("job_id", "jobs"),
    of("attempt_id", "attempts"),
    count("ordinal"),
    must("address"),
    moment("address_at"),
    must("state"),
    maybe("use"),
    Column("digest", TEXT, ForeignKey("blobs.digest")),
    maybe("measures"),
    string("reason"),
    moment("created_at"),
    moment("updated_at"),
    UniqueConstraint("attempt_id", "ordinal"),
    one_of("state", s.ArtifactState),
    CheckConstraint(f"use IS NULL OR {words('use', s.ArtifactUse)}", name="use"),
    # L7: verified means ours: bytes by digest, measured.
    CheckConstraint("state = 'fetching' OR digest IS NOT NULL", name="stored"),
    CheckConstraint("state <> 'verified' OR (measures IS NOT NULL AND use IS NOT NULL)", name="verified"),
    Index(None, "job_id"),
)

model_lists = Table(
    "model_lists",
    metadata,
    key("provider_account"),
    must("models"),
    moment("fetched_at"),
)
