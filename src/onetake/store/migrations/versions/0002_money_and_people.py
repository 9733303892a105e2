"""Accounts' people, quotes that wait for acceptance, the ledger, budgets, stops, and what providers say they charged."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

# As in the first schema.
_TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")

_APPEND_ONLY = ("acts", "ledger_entries", "quote_requests")

_GUARDS = {
    # L9: what a job was accepted for never changes, and neither does what anybody said that he charged.
    "jobs_campaign": "BEFORE UPDATE OF campaign ON jobs WHEN 1 = 1",
    "charges_fixed": "BEFORE UPDATE OF provider, record_key, ref, amount_micros, currency ON charges WHEN 1 = 1",
    "charges_kept": "BEFORE DELETE ON charges WHEN 1 = 1",
    "balances_kept": "BEFORE DELETE ON balances WHEN 1 = 1",
    # L6: a line that has ended and a stop that was lifted are history.
    "budgets_final": "BEFORE UPDATE ON budgets WHEN old.ended_at IS NOT NULL",
    "stops_final": "BEFORE UPDATE ON stops WHEN old.lifted_at IS NOT NULL",
    "settled_final": "BEFORE UPDATE OF amount_micros, requests, settled_micros ON allowances"
    " WHEN old.settled_at IS NOT NULL AND new.settled_micros IS NULL",
}


def upgrade() -> None:
    """Make the new tables, group by group, and what the old ones lack."""
    _make_people()
    _make_quotes()
    _make_balances()
    _make_ledger()
    _make_budgets()
    _make_stops()
    _make_charges()
    _extend_orders()
    _guard()


def _make_people() -> None:
    """Persons, what they are in which account, and what they did."""
    op.create_table(
        "acts",
        sa.Column("id", _TEXT, nullable=False),
        sa.Column("act", _TEXT, nullable=False),
        sa.Column("subject", _TEXT, nullable=False),
        sa.Column("actor", _TEXT, nullable=False),
        sa.Column("second_actor", _TEXT, nullable=True),
        sa.Column("data", _TEXT, server_default=sa.text("'{}'"), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("second_actor IS NULL OR second_actor <> actor", name=op.f("ck_acts_second")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_acts")),
    )
    op.create_index(op.f("ix_acts_created_at"), "acts", ["created_at"], unique=False)
    op.create_table(
        "persons",
        sa.Column("id", _TEXT, nullable=False),
        sa.Column("name", _TEXT, nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_persons")),
        sa.UniqueConstraint("name", name=op.f("uq_persons_name")),
    )
    op.create_table(
        "memberships",
        sa.Column("account_id", _TEXT, nullable=False),
        sa.Column("person_id", _TEXT, nullable=False),
        sa.Column("role", _TEXT, nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.CheckConstraint(
            "role IN ('owner', 'operator', 'reviewer', 'publisher', 'admin')", name=op.f("ck_memberships_role")
        ),
        sa.ForeignKeyConstraint(["account_id"], ["accounts.id"], name=op.f("fk_memberships_account_id")),
        sa.ForeignKeyConstraint(["person_id"], ["persons.id"], name=op.f("fk_memberships_person_id")),
        sa.PrimaryKeyConstraint("account_id", "person_id", "role", name=op.f("pk_memberships")),
    )
    op.create_index(op.f("ix_memberships_person_id"), "memberships", ["person_id"], unique=False)


def _make_quotes() -> None:
    """What a quote that waits was made for."""
    op.create_table(
        "quote_requests",
        sa.Column("quote_id", _TEXT, nullable=False),
        sa.Column("recipe_name", _TEXT, nullable=False),
        sa.Column("recipe_version", sa.Integer(), nullable=False),
        sa.Column("inputs", _TEXT, nullable=False),
        sa.Column("input_digests", _TEXT, nullable=False),
        sa.Column("actor", _TEXT, nullable=False),
        sa.ForeignKeyConstraint(["quote_id"], ["quotes.id"], name=op.f("fk_quote_requests_quote_id")),
        sa.PrimaryKeyConstraint("quote_id", name=op.f("pk_quote_requests")),
    )


def _make_balances() -> None:
    """Where each account's credits are."""
    op.create_table(
        "balances",
        sa.Column("account_id", _TEXT, nullable=False),
        sa.Column("granted", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("available", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("held", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("captured", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.CheckConstraint("available + held + captured = granted", name=op.f("ck_balances_sum")),
        sa.CheckConstraint("available >= 0 AND held >= 0 AND captured >= 0", name=op.f("ck_balances_amounts")),
        sa.ForeignKeyConstraint(["account_id"], ["accounts.id"], name=op.f("fk_balances_account_id")),
        sa.PrimaryKeyConstraint("account_id", name=op.f("pk_balances")),
    )


def _make_ledger() -> None:
    """Entries that can't be unbalanced, in the place of a table in which nothing stood yet."""
    op.drop_table("ledger_entries")  # its triggers go with it
    op.create_table(
        "ledger_entries",
        sa.Column("id", _TEXT, nullable=False),
        sa.Column("account_id", _TEXT, nullable=False),
        sa.Column("kind", _TEXT, nullable=False),
        sa.Column("source", _TEXT, nullable=False),
        sa.Column("target", _TEXT, nullable=False),
        sa.Column("amount", sa.BigInteger(), nullable=False),
        sa.Column("hold_id", _TEXT, nullable=True),
        sa.Column("reason", _TEXT, nullable=False),
        sa.Column("actor", _TEXT, nullable=False),
        sa.Column("second_actor", _TEXT, nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.CheckConstraint(
            "kind IN ('grant', 'hold', 'capture', 'release', 'correction')", name=op.f("ck_ledger_entries_kind")
        ),
        sa.CheckConstraint("amount > 0", name=op.f("ck_ledger_entries_amount")),
        sa.CheckConstraint("(kind = 'grant') = (hold_id IS NULL)", name=op.f("ck_ledger_entries_hold")),
        sa.CheckConstraint(
            "(kind = 'grant' AND source = 'granted' AND target = 'available')"
            " OR (kind = 'hold' AND source = 'available' AND target = 'held')"
            " OR (kind = 'capture' AND source = 'held' AND target = 'captured')"
            " OR (kind = 'release' AND source = 'held' AND target = 'available')"
            " OR (kind = 'correction' AND source = 'available' AND target = 'captured')"
            " OR (kind = 'correction' AND source = 'captured' AND target = 'available')",
            name=op.f("ck_ledger_entries_buckets"),
        ),
        sa.CheckConstraint("second_actor IS NULL OR second_actor <> actor", name=op.f("ck_ledger_entries_second")),
        sa.ForeignKeyConstraint(["account_id"], ["accounts.id"], name=op.f("fk_ledger_entries_account_id")),
        sa.ForeignKeyConstraint(["hold_id"], ["holds.id"], name=op.f("fk_ledger_entries_hold_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_ledger_entries")),
    )
    op.create_index(
        op.f("ix_ledger_entries_account_id_created_at"), "ledger_entries", ["account_id", "created_at"], unique=False
    )
    op.create_index(op.f("ix_ledger_entries_hold_id"), "ledger_entries", ["hold_id"], unique=False)
    op.create_index(
        "uq_ledger_entries_hold",
        "ledger_entries",
        ["hold_id", "kind"],
        unique=True,
        sqlite_where=sa.text("kind IN ('hold', 'capture', 'release')"),
        postgresql_where=sa.text("kind IN ('hold', 'capture', 'release')"),
    )


def _make_budgets() -> None:
    """Budget lines, with what stands against each."""
    op.create_table(
        "budgets",
        sa.Column("id", _TEXT, nullable=False),
        sa.Column("account_id", _TEXT, server_default=sa.text("('')"), nullable=False),
        sa.Column("campaign", _TEXT, server_default=sa.text("('')"), nullable=False),
        sa.Column("provider", _TEXT, server_default=sa.text("('')"), nullable=False),
        sa.Column("period", _TEXT, nullable=False),
        sa.Column("currency", _TEXT, server_default=sa.text("('')"), nullable=False),
        sa.Column("spend_micros_max", sa.BigInteger(), nullable=True),
        sa.Column("requests_max", sa.BigInteger(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.Column("ended_at", sa.BigInteger(), nullable=True),
        sa.CheckConstraint("(spend_micros_max IS NULL) = (currency = '')", name=op.f("ck_budgets_currency")),
        sa.CheckConstraint("period IN ('day', 'total')", name=op.f("ck_budgets_period")),
        sa.CheckConstraint("requests_max IS NULL OR requests_max >= 0", name=op.f("ck_budgets_requests")),
        sa.CheckConstraint("spend_micros_max IS NOT NULL OR requests_max IS NOT NULL", name=op.f("ck_budgets_bound")),
        sa.CheckConstraint("spend_micros_max IS NULL OR spend_micros_max >= 0", name=op.f("ck_budgets_spend")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_budgets")),
    )
    op.create_index(
        "uq_budgets_scope",
        "budgets",
        ["account_id", "campaign", "provider", "period"],
        unique=True,
        sqlite_where=sa.text("ended_at IS NULL"),
        postgresql_where=sa.text("ended_at IS NULL"),
    )
    op.create_table(
        "budget_uses",
        sa.Column("budget_id", _TEXT, nullable=False),
        sa.Column("day", _TEXT, server_default=sa.text("('')"), nullable=False),
        sa.Column("campaign", _TEXT, server_default=sa.text("('')"), nullable=False),
        sa.Column("spend_micros", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("requests", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.CheckConstraint("spend_micros >= 0 AND requests >= 0", name=op.f("ck_budget_uses_amounts")),
        sa.ForeignKeyConstraint(["budget_id"], ["budgets.id"], name=op.f("fk_budget_uses_budget_id")),
        sa.PrimaryKeyConstraint("budget_id", "day", "campaign", name=op.f("pk_budget_uses")),
    )


def _make_stops() -> None:
    """What is sent no more until somebody opens it."""
    op.create_table(
        "stops",
        sa.Column("id", _TEXT, nullable=False),
        sa.Column("kind", _TEXT, nullable=False),
        sa.Column("subject", _TEXT, nullable=False),
        sa.Column("reason", _TEXT, nullable=False),
        sa.Column("actor", _TEXT, nullable=False),
        sa.Column("since", sa.BigInteger(), nullable=False),
        sa.Column("lifted_at", sa.BigInteger(), nullable=True),
        sa.Column("lifted_by", _TEXT, nullable=True),
        sa.CheckConstraint("kind IN ('provider', 'recipe', 'account')", name=op.f("ck_stops_kind")),
        sa.CheckConstraint("(lifted_at IS NULL) = (lifted_by IS NULL)", name=op.f("ck_stops_lifted")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_stops")),
    )
    op.create_index(
        "uq_stops_open",
        "stops",
        ["kind", "subject"],
        unique=True,
        sqlite_where=sa.text("lifted_at IS NULL"),
        postgresql_where=sa.text("lifted_at IS NULL"),
    )


def _make_charges() -> None:
    """What providers say they charged."""
    op.create_table(
        "usage_imports",
        sa.Column("id", _TEXT, nullable=False),
        sa.Column("provider", _TEXT, nullable=False),
        sa.Column("digest", _TEXT, nullable=False),
        sa.Column("name", _TEXT, nullable=False),
        sa.Column("records", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("from_at", sa.BigInteger(), nullable=True),
        sa.Column("until_at", sa.BigInteger(), nullable=True),
        sa.Column("actor", _TEXT, nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_usage_imports")),
        sa.UniqueConstraint("provider", "digest", name=op.f("uq_usage_imports_provider_digest")),
    )
    op.create_table(
        "charges",
        sa.Column("id", _TEXT, nullable=False),
        sa.Column("import_id", _TEXT, nullable=False),
        sa.Column("provider", _TEXT, nullable=False),
        sa.Column("record_key", _TEXT, nullable=False),
        sa.Column("ref", _TEXT, server_default=sa.text("('')"), nullable=False),
        sa.Column("model", _TEXT, server_default=sa.text("('')"), nullable=False),
        sa.Column("amount_micros", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("currency", _TEXT, server_default=sa.text("('')"), nullable=False),
        sa.Column("charged_at", sa.BigInteger(), nullable=True),
        sa.Column("attempt_id", _TEXT, nullable=True),
        sa.Column("case_id", _TEXT, nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("amount_micros >= 0", name=op.f("ck_charges_amount")),
        sa.ForeignKeyConstraint(["attempt_id"], ["attempts.id"], name=op.f("fk_charges_attempt_id")),
        sa.ForeignKeyConstraint(["case_id"], ["cases.id"], name=op.f("fk_charges_case_id")),
        sa.ForeignKeyConstraint(["import_id"], ["usage_imports.id"], name=op.f("fk_charges_import_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_charges")),
        sa.UniqueConstraint("provider", "record_key", name=op.f("uq_charges_provider_record_key")),
    )
    op.create_index(op.f("ix_charges_attempt_id"), "charges", ["attempt_id"], unique=False)
    op.create_index(op.f("ix_charges_provider_ref"), "charges", ["provider", "ref"], unique=False)


def _extend_orders() -> None:
    """What jobs, steps, attempts and allowances say about money; a quote becomes one job."""
    op.add_column("allowances", sa.Column("reserved_at", sa.BigInteger(), nullable=True))
    op.add_column("allowances", sa.Column("settled_requests", sa.Integer(), nullable=True))
    op.add_column("attempts", sa.Column("cost_micros", sa.BigInteger(), nullable=True))
    op.add_column("attempts", sa.Column("cost_currency", _TEXT, server_default=sa.text("''"), nullable=False))
    op.add_column("jobs", sa.Column("campaign", _TEXT, server_default=sa.text("''"), nullable=False))
    op.create_index("uq_jobs_quote_id", "jobs", ["quote_id"], unique=True)
    op.add_column("steps", sa.Column("waiting_on", _TEXT, nullable=True))
    op.create_index(
        "ix_steps_budget",
        "steps",
        ["id"],
        unique=False,
        sqlite_where=sa.text("state = 'waiting' AND waiting_for = 'budget'"),
        postgresql_where=sa.text("state = 'waiting' AND waiting_for = 'budget'"),
    )


def _guard() -> None:
    """Triggers for what CHECK, UNIQUE and foreign keys can't say."""
    for table in _APPEND_ONLY:
        for change in ("UPDATE", "DELETE"):
            _trigger(f"{table}_no_{change.lower()}", f"BEFORE {change} ON {table} WHEN 1 = 1")
    for name, when in _GUARDS.items():
        _trigger(name, when)
    if op.get_context().dialect.name == "postgresql":
        for table in _APPEND_ONLY:
            refuse = "FOR EACH STATEMENT EXECUTE FUNCTION onetake_refuse()"
            op.execute(f"CREATE TRIGGER {table}_no_truncate BEFORE TRUNCATE ON {table} {refuse}")


def _trigger(name: str, when: str) -> None:
    """A trigger that refuses; `when` is `BEFORE change ON table WHEN condition`, as SQLite has it."""
    if op.get_context().dialect.name == "postgresql":
        event, _, condition = when.partition(" WHEN ")
        op.execute(f"CREATE TRIGGER {name} {event} FOR EACH ROW WHEN ({condition}) EXECUTE FUNCTION onetake_refuse()")
    else:
        op.execute(f"CREATE TRIGGER {name} {when} BEGIN SELECT RAISE(ABORT, 'refused by trigger {name}'); END")
