"""The first schema: every table of the product, and the triggers that keep what may not change."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

# In the order of their code points on both databases, so that what is listed and hashed doesn't depend on a locale.
_TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")

_APPEND_ONLY = (
    "decisions",
    "evidence",
    "hold_closings",
    "holds",
    "job_requests",
    "journal",
    "ledger_entries",
    "manifests",
    "quote_lines",
    "recipes",
    "step_requests",
    "wires",
)

_KEPT = ("attempts", "jobs", "refs", "sends")

_GUARDS = {
    # L6: terminal states are final.
    "attempts_final": "BEFORE UPDATE OF state ON attempts WHEN old.ended_at IS NOT NULL AND new.state <> old.state",
    "steps_final": "BEFORE UPDATE OF state ON steps"
    " WHEN old.state IN ('complete', 'failed', 'cancelled') AND new.state <> old.state",
    "jobs_final": "BEFORE UPDATE OF state ON jobs"
    " WHEN old.state IN ('complete', 'failed', 'cancelled') AND new.state <> old.state",
    "cases_final": "BEFORE UPDATE OF state ON cases WHEN old.state <> 'open' AND new.state <> old.state",
    "artifacts_final": "BEFORE UPDATE OF state ON artifacts"
    " WHEN old.state IN ('verified', 'rejected') AND new.state <> old.state",
    "outputs_final": "BEFORE UPDATE OF state, artifact_id ON expected_outputs WHEN old.state = 'filled'",
    # L1, L2: that a request may have left, and what became of it, is never unsaid.
    "attempts_kept": "BEFORE DELETE ON attempts WHEN 1 = 1",
    "sends_kept": "BEFORE DELETE ON sends WHEN 1 = 1",
    "sends_fixed": "BEFORE UPDATE ON sends WHEN old.recorded_at IS NOT NULL",
    # L4: a saved reference is never cleared or replaced.
    "attempts_ref": "BEFORE UPDATE OF ref_id ON attempts WHEN old.ref_id IS NOT NULL AND new.ref_id IS NOT old.ref_id",
    "refs_fixed": "BEFORE UPDATE OF attempt_id, provider_account, operation, ref, locator ON refs WHEN 1 = 1",
    "refs_kept": "BEFORE DELETE ON refs WHEN 1 = 1",
    # L9: what a job was accepted for never changes.
    "jobs_fixed": "BEFORE UPDATE OF account_id, key, quote_id, recipe_hash, request_hash, expected ON jobs WHEN 1 = 1",
    "jobs_kept": "BEFORE DELETE ON jobs WHEN 1 = 1",
}


def upgrade() -> None:  # noqa: PLR0915 - one schema, table after table
    """Make everything."""
    op.create_table(
        "accounts",
        sa.Column("id", _TEXT, nullable=False),
        sa.Column("name", _TEXT, nullable=False),
        sa.Column("plan", _TEXT, server_default=sa.text("'none'"), nullable=False),
        sa.Column("zone", _TEXT, server_default=sa.text("'UTC'"), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("plan IN ('none', 'credits')", name=op.f("ck_accounts_plan")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_accounts")),
        sa.UniqueConstraint("name", name=op.f("uq_accounts_name")),
    )
    op.create_table(
        "blobs",
        sa.Column("digest", _TEXT, nullable=False),
        sa.Column("size_bytes", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("media_type", _TEXT, nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("length(digest) = 64", name=op.f("ck_blobs_digest")),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_blobs")),
    )
    op.create_table(
        "inbox",
        sa.Column("id", _TEXT, nullable=False),
        sa.Column("provider", _TEXT, nullable=False),
        sa.Column("dedupe_key", _TEXT, nullable=False),
        sa.Column("callback_token", _TEXT, nullable=True),
        sa.Column("ref", _TEXT, nullable=True),
        sa.Column("headers", _TEXT, server_default=sa.text("'{}'"), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.Column("verified", _TEXT, nullable=False),
        sa.Column("attempt_id", _TEXT, nullable=True),
        sa.Column("effect", _TEXT, nullable=True),
        sa.Column("received_at", sa.BigInteger(), nullable=False),
        sa.Column("processed_at", sa.BigInteger(), nullable=True),
        sa.CheckConstraint("verified IN ('signed', 'unsigned', 'rejected')", name=op.f("ck_inbox_verified")),
        sa.CheckConstraint("(effect IS NULL) = (processed_at IS NULL)", name=op.f("ck_inbox_processed")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_inbox")),
        sa.UniqueConstraint("provider", "dedupe_key", name=op.f("uq_inbox_provider_dedupe_key")),
    )
    op.create_table(
        "model_lists",
        sa.Column("provider_account", _TEXT, nullable=False),
        sa.Column("models", _TEXT, nullable=False),
        sa.Column("fetched_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("provider_account", name=op.f("pk_model_lists")),
    )
    op.create_table(
        "recipes",
        sa.Column("name", _TEXT, nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("hash", _TEXT, nullable=False),
        sa.Column("content", _TEXT, nullable=False),
        sa.Column("source", _TEXT, nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", "version", name=op.f("pk_recipes")),
        sa.UniqueConstraint("hash", name=op.f("uq_recipes_hash")),
    )
    op.create_table(
        "workers",
        sa.Column("id", _TEXT, nullable=False),
        sa.Column("name", _TEXT, nullable=False),
        sa.Column("started_at", sa.BigInteger(), nullable=False),
        sa.Column("lease_until", sa.BigInteger(), nullable=False),
        sa.Column("stopped_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_workers")),
    )
    op.create_table(
        "quotes",
        sa.Column("id", _TEXT, nullable=False),
        sa.Column("account_id", _TEXT, nullable=False),
        sa.Column("recipe_hash", _TEXT, nullable=False),
        sa.Column("request_hash", _TEXT, nullable=False),
        sa.Column("price_version", _TEXT, server_default=sa.text("('')"), nullable=False),
        sa.Column("consent_version", _TEXT, server_default=sa.text("('')"), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=True),
        sa.Column("accepted_at", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["account_id"], ["accounts.id"], name=op.f("fk_quotes_account_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_quotes")),
    )
    op.create_table(
        "jobs",
        sa.Column("id", _TEXT, nullable=False),
        sa.Column("account_id", _TEXT, nullable=False),
        sa.Column("key", _TEXT, nullable=False),
        sa.Column("quote_id", _TEXT, nullable=False),
        sa.Column("recipe_name", _TEXT, nullable=False),
        sa.Column("recipe_version", sa.Integer(), nullable=False),
        sa.Column("recipe_hash", _TEXT, nullable=False),
        sa.Column("request_hash", _TEXT, nullable=False),
        sa.Column("state", _TEXT, nullable=False),
        sa.Column("expected", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("filled", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("journal_seq", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("cancel_requested_at", sa.BigInteger(), nullable=True),
        sa.Column("error_category", _TEXT, server_default=sa.text("('')"), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.Column("completed_at", sa.BigInteger(), nullable=True),
        sa.CheckConstraint(
            "state <> 'complete' OR (filled = expected AND expected > 0)", name=op.f("ck_jobs_complete")
        ),
        sa.CheckConstraint(
            "state IN ('open', 'complete', 'incomplete', 'failed', 'cancelled')", name=op.f("ck_jobs_state")
        ),
        sa.CheckConstraint("filled BETWEEN 0 AND expected", name=op.f("ck_jobs_filled")),
        sa.CheckConstraint("length(key) BETWEEN 1 AND 1024", name=op.f("ck_jobs_key")),
        sa.ForeignKeyConstraint(["account_id"], ["accounts.id"], name=op.f("fk_jobs_account_id")),
        sa.ForeignKeyConstraint(["quote_id"], ["quotes.id"], name=op.f("fk_jobs_quote_id")),
        sa.ForeignKeyConstraint(
            ["recipe_name", "recipe_version"], ["recipes.name", "recipes.version"], name=op.f("fk_jobs_recipe_name")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_jobs")),
        sa.UniqueConstraint("account_id", "key", name=op.f("uq_jobs_account_id_key")),
    )
    op.create_index(op.f("ix_jobs_created_at"), "jobs", ["created_at"], unique=False)
    op.create_index(op.f("ix_jobs_state_created_at"), "jobs", ["state", "created_at"], unique=False)
    op.create_table(
        "quote_lines",
        sa.Column("id", _TEXT, nullable=False),
        sa.Column("quote_id", _TEXT, nullable=False),
        sa.Column("step_name", _TEXT, nullable=False),
        sa.Column("output_name", _TEXT, nullable=False),
        sa.Column("cell", _TEXT, server_default=sa.text("('')"), nullable=False),
        sa.Column("ordinal", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("credits_max", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("spend_micros_max", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("currency", _TEXT, server_default=sa.text("('')"), nullable=False),
        sa.CheckConstraint("credits_max >= 0 AND spend_micros_max >= 0", name=op.f("ck_quote_lines_amounts")),
        sa.ForeignKeyConstraint(["quote_id"], ["quotes.id"], name=op.f("fk_quote_lines_quote_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_quote_lines")),
        sa.UniqueConstraint(
            "quote_id",
            "step_name",
            "output_name",
            "cell",
            "ordinal",
            name=op.f("uq_quote_lines_quote_id_step_name_output_name_cell_ordinal"),
        ),
    )
    op.create_table(
        "alarms",
        sa.Column("id", _TEXT, nullable=False),
        sa.Column("kind", _TEXT, nullable=False),
        sa.Column("subject", _TEXT, nullable=False),
        sa.Column("job_id", _TEXT, nullable=True),
        sa.Column("detail", _TEXT, nullable=False),
        sa.Column("since", sa.BigInteger(), nullable=False),
        sa.Column("cleared_at", sa.BigInteger(), nullable=True),
        sa.CheckConstraint(
            "kind IN ('deadline', 'key_refused', 'no_answer', 'missing_task', 'unlisted_status', 'no_addresses', 'download', 'storage', 'model_refused', 'model_list', 'repeats', 'route_paused', 'broken')",
            name=op.f("ck_alarms_kind"),
        ),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_alarms_job_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_alarms")),
    )
    op.create_index(op.f("ix_alarms_job_id"), "alarms", ["job_id"], unique=False)
    op.create_index(
        "uq_alarms_open",
        "alarms",
        ["subject", "kind"],
        unique=True,
        sqlite_where=sa.text("cleared_at IS NULL"),
        postgresql_where=sa.text("cleared_at IS NULL"),
    )
    op.create_table(
        "holds",
        sa.Column("id", _TEXT, nullable=False),
        sa.Column("job_id", _TEXT, nullable=False),
        sa.Column("account_id", _TEXT, nullable=False),
        sa.Column("quote_line_id", _TEXT, nullable=False),
        sa.Column("amount", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("amount >= 0", name=op.f("ck_holds_amount")),
        sa.ForeignKeyConstraint(["account_id"], ["accounts.id"], name=op.f("fk_holds_account_id")),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_holds_job_id")),
        sa.ForeignKeyConstraint(["quote_line_id"], ["quote_lines.id"], name=op.f("fk_holds_quote_line_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_holds")),
        sa.UniqueConstraint("id", "amount", name=op.f("uq_holds_id_amount")),
        sa.UniqueConstraint("quote_line_id", name=op.f("uq_holds_quote_line_id")),
    )
    op.create_index(op.f("ix_holds_job_id"), "holds", ["job_id"], unique=False)
    op.create_table(
        "job_requests",
        sa.Column("job_id", _TEXT, nullable=False),
        sa.Column("inputs", _TEXT, nullable=False),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_job_requests_job_id")),
        sa.PrimaryKeyConstraint("job_id", name=op.f("pk_job_requests")),
    )
    op.create_table(
        "journal",
        sa.Column("job_id", _TEXT, nullable=False),
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("actor", _TEXT, nullable=False),
        sa.Column("event", _TEXT, nullable=False),
        sa.Column("step", _TEXT, server_default=sa.text("('')"), nullable=False),
        sa.Column("attempt_no", sa.Integer(), nullable=True),
        sa.Column("data", _TEXT, server_default=sa.text("'{}'"), nullable=False),
        sa.CheckConstraint("seq >= 1", name=op.f("ck_journal_seq")),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_journal_job_id")),
        sa.PrimaryKeyConstraint("job_id", "seq", name=op.f("pk_journal")),
    )
    op.create_table(
        "manifests",
        sa.Column("job_id", _TEXT, nullable=False),
        sa.Column("content", _TEXT, nullable=False),
        sa.Column("hash", _TEXT, nullable=False),
        sa.Column("sealed_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_manifests_job_id")),
        sa.PrimaryKeyConstraint("job_id", name=op.f("pk_manifests")),
    )
    op.create_table(
        "steps",
        sa.Column("id", _TEXT, nullable=False),
        sa.Column("job_id", _TEXT, nullable=False),
        sa.Column("name", _TEXT, nullable=False),
        sa.Column("cell", _TEXT, server_default=sa.text("('')"), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("kind", _TEXT, nullable=False),
        sa.Column("state", _TEXT, nullable=False),
        sa.Column("waiting_for", _TEXT, nullable=True),
        sa.Column("provider", _TEXT, server_default=sa.text("('')"), nullable=False),
        sa.Column("operation", _TEXT, server_default=sa.text("('')"), nullable=False),
        sa.Column("model", _TEXT, server_default=sa.text("('')"), nullable=False),
        sa.Column("request_hash", _TEXT, nullable=True),
        sa.Column("not_before", sa.BigInteger(), nullable=True),
        sa.Column("deadline_s", sa.Integer(), nullable=True),
        sa.Column("attempts", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("repeats", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("repeats_since", sa.BigInteger(), nullable=True),
        sa.Column("replacements", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("current_attempt_id", _TEXT, nullable=True),
        sa.Column("version", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.CheckConstraint(
            "(kind = 'generate' AND state IN ('waiting', 'ready', 'active', 'complete', 'failed', 'cancelled')) OR (kind = 'process' AND state IN ('waiting', 'ready', 'running', 'complete', 'blocked', 'cancelled'))",
            name=op.f("ck_steps_state"),
        ),
        sa.CheckConstraint("(state = 'waiting') = (waiting_for IS NOT NULL)", name=op.f("ck_steps_waiting")),
        sa.CheckConstraint(
            "kind <> 'generate' OR state NOT IN ('ready', 'active', 'complete') OR request_hash IS NOT NULL",
            name=op.f("ck_steps_frozen"),
        ),
        sa.CheckConstraint("kind IN ('generate', 'process')", name=op.f("ck_steps_kind")),
        sa.CheckConstraint("state <> 'active' OR current_attempt_id IS NOT NULL", name=op.f("ck_steps_active")),
        sa.CheckConstraint(
            "waiting_for IS NULL OR waiting_for IN ('needs', 'address', 'review', 'budget', 'approval')",
            name=op.f("ck_steps_waiting_for"),
        ),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_steps_job_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_steps")),
        sa.UniqueConstraint("job_id", "name", "cell", name=op.f("uq_steps_job_id_name_cell")),
    )
    op.create_index(
        "ix_steps_ready",
        "steps",
        ["created_at", "position"],
        unique=False,
        sqlite_where=sa.text("state = 'ready'"),
        postgresql_where=sa.text("state = 'ready'"),
    )
    op.create_table(
        "allowances",
        sa.Column("id", _TEXT, nullable=False),
        sa.Column("job_id", _TEXT, nullable=False),
        sa.Column("step_id", _TEXT, nullable=False),
        sa.Column("provider", _TEXT, nullable=False),
        sa.Column("currency", _TEXT, server_default=sa.text("('')"), nullable=False),
        sa.Column("amount_micros", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("requests", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("day", _TEXT, nullable=True),
        sa.Column("settled_micros", sa.BigInteger(), nullable=True),
        sa.Column("settled_at", sa.BigInteger(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("(settled_micros IS NULL) = (settled_at IS NULL)", name=op.f("ck_allowances_settled")),
        sa.CheckConstraint("amount_micros >= 0 AND requests >= 0", name=op.f("ck_allowances_amounts")),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_allowances_job_id")),
        sa.ForeignKeyConstraint(["step_id"], ["steps.id"], name=op.f("fk_allowances_step_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_allowances")),
        sa.UniqueConstraint("step_id", name=op.f("uq_allowances_step_id")),
    )
    op.create_index(op.f("ix_allowances_job_id"), "allowances", ["job_id"], unique=False)
    op.create_table(
        "attempts",
        sa.Column("id", _TEXT, nullable=False),
        sa.Column("step_id", _TEXT, nullable=False),
        sa.Column("job_id", _TEXT, nullable=False),
        sa.Column("no", sa.Integer(), nullable=False),
        sa.Column("state", _TEXT, nullable=False),
        sa.Column("provider", _TEXT, nullable=False),
        sa.Column("operation", _TEXT, nullable=False),
        sa.Column("slot", _TEXT, server_default=sa.text("'default'"), nullable=False),
        sa.Column("contract_version", _TEXT, nullable=False),
        sa.Column("worker_id", _TEXT, nullable=True),
        sa.Column("token", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("lease_until", sa.BigInteger(), nullable=True),
        sa.Column("ref_id", _TEXT, nullable=True),
        sa.Column("spool", _TEXT, nullable=True),
        sa.Column("not_before", sa.BigInteger(), nullable=True),
        sa.Column("accepted_at", sa.BigInteger(), nullable=True),
        sa.Column("is_queued", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("charged", _TEXT, server_default=sa.text("'unknown'"), nullable=False),
        sa.Column("error_category", _TEXT, server_default=sa.text("('')"), nullable=False),
        sa.Column("error_code", _TEXT, server_default=sa.text("('')"), nullable=False),
        sa.Column("error_message", _TEXT, server_default=sa.text("('')"), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.Column("ended_at", sa.BigInteger(), nullable=True),
        sa.CheckConstraint(
            "(state IN ('delivered', 'failed', 'not_sent', 'rejected')) = (ended_at IS NOT NULL)",
            name=op.f("ck_attempts_ended"),
        ),
        sa.CheckConstraint("charged IN ('yes', 'no', 'unknown')", name=op.f("ck_attempts_charged")),
        sa.CheckConstraint(
            "state <> 'collecting' OR ref_id IS NOT NULL OR spool IS NOT NULL", name=op.f("ck_attempts_collecting")
        ),
        sa.CheckConstraint("state <> 'processing' OR ref_id IS NOT NULL", name=op.f("ck_attempts_processing")),
        sa.CheckConstraint(
            "state <> 'submitting' OR (worker_id IS NOT NULL AND lease_until IS NOT NULL)",
            name=op.f("ck_attempts_submitting"),
        ),
        sa.CheckConstraint(
            "state IN ('submitting', 'submit_unknown', 'processing', 'collecting', 'delivered', 'rejected', 'not_sent', 'failed')",
            name=op.f("ck_attempts_state"),
        ),
        sa.CheckConstraint("no >= 1", name=op.f("ck_attempts_no")),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_attempts_job_id")),
        sa.ForeignKeyConstraint(["ref_id"], ["refs.id"], name=op.f("fk_attempts_ref_id"), use_alter=True),
        sa.ForeignKeyConstraint(["step_id"], ["steps.id"], name=op.f("fk_attempts_step_id")),
        sa.ForeignKeyConstraint(["worker_id"], ["workers.id"], name=op.f("fk_attempts_worker_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_attempts")),
        sa.UniqueConstraint("step_id", "no", name=op.f("uq_attempts_step_id_no")),
    )
    op.create_index(op.f("ix_attempts_job_id"), "attempts", ["job_id"], unique=False)
    op.create_index(
        "ix_attempts_submitting",
        "attempts",
        ["lease_until"],
        unique=False,
        sqlite_where=sa.text("state = 'submitting'"),
        postgresql_where=sa.text("state = 'submitting'"),
    )
    op.create_index(
        "ix_attempts_waiting",
        "attempts",
        ["worker_id", "created_at"],
        unique=False,
        sqlite_where=sa.text("state IN ('processing', 'collecting')"),
        postgresql_where=sa.text("state IN ('processing', 'collecting')"),
    )
    op.create_table(
        "expected_outputs",
        sa.Column("id", _TEXT, nullable=False),
        sa.Column("job_id", _TEXT, nullable=False),
        sa.Column("step_id", _TEXT, nullable=False),
        sa.Column("hold_id", _TEXT, nullable=False),
        sa.Column("name", _TEXT, nullable=False),
        sa.Column("cell", _TEXT, server_default=sa.text("('')"), nullable=False),
        sa.Column("ordinal", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("spec", _TEXT, nullable=False),
        sa.Column("state", _TEXT, nullable=False),
        sa.Column("artifact_id", _TEXT, nullable=True),
        sa.Column("filled_at", sa.BigInteger(), nullable=True),
        sa.CheckConstraint("(state = 'filled') = (artifact_id IS NOT NULL)", name=op.f("ck_expected_outputs_filled")),
        sa.CheckConstraint("state IN ('missing', 'filled')", name=op.f("ck_expected_outputs_state")),
        sa.ForeignKeyConstraint(["hold_id"], ["holds.id"], name=op.f("fk_expected_outputs_hold_id")),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_expected_outputs_job_id")),
        sa.ForeignKeyConstraint(["step_id"], ["steps.id"], name=op.f("fk_expected_outputs_step_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_expected_outputs")),
        sa.UniqueConstraint("artifact_id", name=op.f("uq_expected_outputs_artifact_id")),
        sa.UniqueConstraint(
            "job_id", "step_id", "name", "ordinal", name=op.f("uq_expected_outputs_job_id_step_id_name_ordinal")
        ),
    )
    op.create_table(
        "hold_closings",
        sa.Column("hold_id", _TEXT, nullable=False),
        sa.Column("amount", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("captured", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("released", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("reason", _TEXT, nullable=False),
        sa.Column("actor", _TEXT, nullable=False),
        sa.Column("closed_at", sa.BigInteger(), nullable=False),
        sa.CheckConstraint(
            "captured >= 0 AND released >= 0 AND captured + released = amount", name=op.f("ck_hold_closings_split")
        ),
        sa.ForeignKeyConstraint(
            ["hold_id", "amount"], ["holds.id", "holds.amount"], name=op.f("fk_hold_closings_hold_id")
        ),
        sa.PrimaryKeyConstraint("hold_id", name=op.f("pk_hold_closings")),
    )
    op.create_table(
        "ledger_entries",
        sa.Column("id", _TEXT, nullable=False),
        sa.Column("transaction_id", _TEXT, nullable=False),
        sa.Column("account_id", _TEXT, nullable=False),
        sa.Column("bucket", _TEXT, nullable=False),
        sa.Column("amount", sa.BigInteger(), nullable=False),
        sa.Column("hold_id", _TEXT, nullable=True),
        sa.Column("reason", _TEXT, nullable=False),
        sa.Column("actor", _TEXT, nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.CheckConstraint(
            "bucket IN ('granted', 'available', 'held', 'captured')", name=op.f("ck_ledger_entries_bucket")
        ),
        sa.CheckConstraint("amount <> 0", name=op.f("ck_ledger_entries_amount")),
        sa.ForeignKeyConstraint(["account_id"], ["accounts.id"], name=op.f("fk_ledger_entries_account_id")),
        sa.ForeignKeyConstraint(["hold_id"], ["holds.id"], name=op.f("fk_ledger_entries_hold_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_ledger_entries")),
    )
    op.create_index(
        op.f("ix_ledger_entries_account_id_bucket"), "ledger_entries", ["account_id", "bucket"], unique=False
    )
    op.create_index(op.f("ix_ledger_entries_transaction_id"), "ledger_entries", ["transaction_id"], unique=False)
    op.create_table(
        "step_requests",
        sa.Column("step_id", _TEXT, nullable=False),
        sa.Column("meaning", _TEXT, nullable=False),
        sa.Column("frozen_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["step_id"], ["steps.id"], name=op.f("fk_step_requests_step_id")),
        sa.PrimaryKeyConstraint("step_id", name=op.f("pk_step_requests")),
    )
    op.create_table(
        "artifacts",
        sa.Column("id", _TEXT, nullable=False),
        sa.Column("job_id", _TEXT, nullable=False),
        sa.Column("attempt_id", _TEXT, nullable=False),
        sa.Column("ordinal", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("address", _TEXT, nullable=False),
        sa.Column("address_at", sa.BigInteger(), nullable=False),
        sa.Column("state", _TEXT, nullable=False),
        sa.Column("use", _TEXT, nullable=True),
        sa.Column("digest", _TEXT, nullable=True),
        sa.Column("measures", _TEXT, nullable=True),
        sa.Column("reason", _TEXT, server_default=sa.text("('')"), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.CheckConstraint(
            "state <> 'verified' OR (measures IS NOT NULL AND use IS NOT NULL)", name=op.f("ck_artifacts_verified")
        ),
        sa.CheckConstraint("state = 'fetching' OR digest IS NOT NULL", name=op.f("ck_artifacts_stored")),
        sa.CheckConstraint("state IN ('fetching', 'stored', 'verified', 'rejected')", name=op.f("ck_artifacts_state")),
        sa.CheckConstraint(
            "use IS NULL OR use IN ('fills', 'extra', 'duplicate', 'late')", name=op.f("ck_artifacts_use")
        ),
        sa.ForeignKeyConstraint(["attempt_id"], ["attempts.id"], name=op.f("fk_artifacts_attempt_id")),
        sa.ForeignKeyConstraint(["digest"], ["blobs.digest"], name=op.f("fk_artifacts_digest")),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_artifacts_job_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_artifacts")),
        sa.UniqueConstraint("attempt_id", "ordinal", name=op.f("uq_artifacts_attempt_id_ordinal")),
    )
    op.create_index(op.f("ix_artifacts_job_id"), "artifacts", ["job_id"], unique=False)
    op.create_table(
        "cases",
        sa.Column("id", _TEXT, nullable=False),
        sa.Column("kind", _TEXT, nullable=False),
        sa.Column("state", _TEXT, nullable=False),
        sa.Column("job_id", _TEXT, nullable=True),
        sa.Column("step_id", _TEXT, nullable=True),
        sa.Column("attempt_id", _TEXT, nullable=True),
        sa.Column("owner", _TEXT, nullable=True),
        sa.Column("opened_at", sa.BigInteger(), nullable=False),
        sa.Column("closed_at", sa.BigInteger(), nullable=True),
        sa.CheckConstraint("(state = 'open') = (closed_at IS NULL)", name=op.f("ck_cases_closed")),
        sa.CheckConstraint(
            "kind IN ('unknown', 'missing_task', 'no_output', 'output_rejected', 'ref_conflict', 'orphan', 'charge')",
            name=op.f("ck_cases_kind"),
        ),
        sa.CheckConstraint(
            "state IN ('open', 'attached', 'not_accepted', 'risk_accepted', 'written_off', 'settled')",
            name=op.f("ck_cases_state"),
        ),
        sa.ForeignKeyConstraint(["attempt_id"], ["attempts.id"], name=op.f("fk_cases_attempt_id")),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_cases_job_id")),
        sa.ForeignKeyConstraint(["step_id"], ["steps.id"], name=op.f("fk_cases_step_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_cases")),
    )
    op.create_index(op.f("ix_cases_job_id"), "cases", ["job_id"], unique=False)
    op.create_index(
        "uq_cases_open",
        "cases",
        ["attempt_id", "kind"],
        unique=True,
        sqlite_where=sa.text("state = 'open'"),
        postgresql_where=sa.text("state = 'open'"),
    )
    op.create_table(
        "refs",
        sa.Column("id", _TEXT, nullable=False),
        sa.Column("attempt_id", _TEXT, nullable=False),
        sa.Column("provider_account", _TEXT, nullable=False),
        sa.Column("operation", _TEXT, nullable=False),
        sa.Column("ref", _TEXT, nullable=False),
        sa.Column("locator", _TEXT, nullable=False),
        sa.Column("source", _TEXT, nullable=False),
        sa.Column("actor", _TEXT, nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("disowned_at", sa.BigInteger(), nullable=True),
        sa.CheckConstraint("source IN ('answer', 'callback', 'lookup', 'attach')", name=op.f("ck_refs_source")),
        sa.ForeignKeyConstraint(["attempt_id"], ["attempts.id"], name=op.f("fk_refs_attempt_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_refs")),
    )
    op.create_index(
        "uq_refs_attempt",
        "refs",
        ["attempt_id"],
        unique=True,
        sqlite_where=sa.text("disowned_at IS NULL"),
        postgresql_where=sa.text("disowned_at IS NULL"),
    )
    op.create_index(
        "uq_refs_ref",
        "refs",
        ["provider_account", "operation", "ref"],
        unique=True,
        sqlite_where=sa.text("disowned_at IS NULL"),
        postgresql_where=sa.text("disowned_at IS NULL"),
    )
    op.create_table(
        "sends",
        sa.Column("attempt_id", _TEXT, nullable=False),
        sa.Column("n", sa.Integer(), nullable=False),
        sa.Column("kind", _TEXT, nullable=False),
        sa.Column("intended_at", sa.BigInteger(), nullable=False),
        sa.Column("outcome", _TEXT, nullable=True),
        sa.Column("receipt", _TEXT, nullable=True),
        sa.Column("status", sa.Integer(), nullable=True),
        sa.Column("raw", sa.LargeBinary(), nullable=True),
        sa.Column("recorded_at", sa.BigInteger(), nullable=True),
        sa.CheckConstraint("(n = 1) = (kind = 'first')", name=op.f("ck_sends_first")),
        sa.CheckConstraint("kind IN ('first', 'replay')", name=op.f("ck_sends_kind")),
        sa.CheckConstraint("(outcome IS NULL) = (recorded_at IS NULL)", name=op.f("ck_sends_recorded")),
        sa.CheckConstraint("n >= 1", name=op.f("ck_sends_n")),
        sa.ForeignKeyConstraint(["attempt_id"], ["attempts.id"], name=op.f("fk_sends_attempt_id")),
        sa.PrimaryKeyConstraint("attempt_id", "n", name=op.f("pk_sends")),
    )
    op.create_table(
        "routes",
        sa.Column("provider", _TEXT, nullable=False),
        sa.Column("operation", _TEXT, nullable=False),
        sa.Column("unknowns", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("pause_s", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("paused_until", sa.BigInteger(), nullable=True),
        sa.CheckConstraint("paused_until IS NULL OR (unknowns > 0 AND pause_s > 0)", name=op.f("ck_routes_paused")),
        sa.PrimaryKeyConstraint("provider", "operation", name=op.f("pk_routes")),
    )
    op.create_table(
        "paces",
        sa.Column("provider", _TEXT, nullable=False),
        sa.Column("next_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("provider", name=op.f("pk_paces")),
    )
    op.create_table(
        "wires",
        sa.Column("attempt_id", _TEXT, nullable=False),
        sa.Column("method", _TEXT, nullable=False),
        sa.Column("url", _TEXT, nullable=False),
        sa.Column("headers", _TEXT, nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.Column("idempotency_key", _TEXT, nullable=True),
        sa.Column("callback_token", _TEXT, nullable=False),
        sa.ForeignKeyConstraint(["attempt_id"], ["attempts.id"], name=op.f("fk_wires_attempt_id")),
        sa.PrimaryKeyConstraint("attempt_id", name=op.f("pk_wires")),
        sa.UniqueConstraint("callback_token", name=op.f("uq_wires_callback_token")),
    )
    op.create_table(
        "decisions",
        sa.Column("id", _TEXT, nullable=False),
        sa.Column("case_id", _TEXT, nullable=False),
        sa.Column("decision", _TEXT, nullable=False),
        sa.Column("reason", _TEXT, nullable=False),
        sa.Column("actor", _TEXT, nullable=False),
        sa.Column("second_actor", _TEXT, nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.CheckConstraint(
            "decision IN ('open', 'attached', 'not_accepted', 'risk_accepted', 'written_off', 'settled')",
            name=op.f("ck_decisions_decision"),
        ),
        sa.ForeignKeyConstraint(["case_id"], ["cases.id"], name=op.f("fk_decisions_case_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_decisions")),
    )
    op.create_index(op.f("ix_decisions_case_id"), "decisions", ["case_id"], unique=False)
    op.create_table(
        "evidence",
        sa.Column("id", _TEXT, nullable=False),
        sa.Column("case_id", _TEXT, nullable=False),
        sa.Column("kind", _TEXT, nullable=False),
        sa.Column("body", _TEXT, nullable=False),
        sa.Column("actor", _TEXT, nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["case_id"], ["cases.id"], name=op.f("fk_evidence_case_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_evidence")),
    )
    op.create_index(op.f("ix_evidence_case_id"), "evidence", ["case_id"], unique=False)
    if op.get_context().dialect.name == "postgresql":
        _postgres()
    _guard()


def _postgres() -> None:
    """What SQLite has in place, or brings along in our connection: a key in a ring, the clock, how a trigger refuses."""
    op.create_foreign_key("fk_attempts_ref_id", "attempts", "refs", ["ref_id"], ["id"])
    op.execute(
        "CREATE FUNCTION onetake_now() RETURNS bigint LANGUAGE sql VOLATILE AS"
        " $$ SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint $$"
    )
    op.execute(
        "CREATE FUNCTION onetake_refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
        " RAISE EXCEPTION 'refused by trigger %', TG_NAME USING ERRCODE = 'integrity_constraint_violation';"
        " END $$"
    )


def _guard() -> None:
    """Triggers for what CHECK, UNIQUE and foreign keys can't say."""
    for table in _APPEND_ONLY:
        for change in ("UPDATE", "DELETE"):
            _trigger(f"{table}_no_{change.lower()}", f"BEFORE {change} ON {table} WHEN 1 = 1")
    for name, when in _GUARDS.items():
        _trigger(name, when)
    if op.get_context().dialect.name == "postgresql":
        for table in (*_APPEND_ONLY, *_KEPT):
            refuse = "FOR EACH STATEMENT EXECUTE FUNCTION onetake_refuse()"
            op.execute(f"CREATE TRIGGER {table}_no_truncate BEFORE TRUNCATE ON {table} {refuse}")


def _trigger(name: str, when: str) -> None:
    """A trigger that refuses; `when` is `BEFORE change ON table WHEN condition`, as SQLite has it."""
    if op.get_context().dialect.name == "postgresql":
        event, _, condition = when.replace(" IS NOT old.", " IS DISTINCT FROM old.").partition(" WHEN ")
        op.execute(f"CREATE TRIGGER {name} {event} FOR EACH ROW WHEN ({condition}) EXECUTE FUNCTION onetake_refuse()")
    else:
        op.execute(f"CREATE TRIGGER {name} {when} BEGIN SELECT RAISE(ABORT, 'refused by trigger {name}'); END")
