"""What is quoted, reserved, spent and given back: quotes' lines, holds, the ledger, allowances and their budgets."""

from sqlalchemy import (
    BigInteger,
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
    micros,
    moment,
    must,
    of,
    one_of,
    string,
    when,
)

quote_lines = Table(
    "quote_lines",
    metadata,
    key(),
    of("quote_id", "quotes"),
    must("step_name"),
    must("output_name"),
    string("cell"),
    count("ordinal"),
    micros("credits_max"),
    micros("spend_micros_max"),
    string("currency"),
    UniqueConstraint("quote_id", "step_name", "output_name", "cell", "ordinal"),
    CheckConstraint("credits_max >= 0 AND spend_micros_max >= 0", name="amounts"),
)

# What a quote that waits for acceptance was made for. One that is accepted as it is made has it in its job.
quote_requests = Table(
    "quote_requests",
    metadata,
    Column("quote_id", TEXT, ForeignKey("quotes.id"), primary_key=True),
    must("recipe_name"),
    Column("recipe_version", Integer, nullable=False),
    must("inputs"),
    must("input_digests"),
    must("actor"),
)

holds = Table(
    "holds",
    metadata,
    key(),
    of("job_id", "jobs"),
    of("account_id", "accounts"),
    of("quote_line_id", "quote_lines"),
    micros("amount"),
    moment("created_at"),
    UniqueConstraint("quote_line_id"),
    UniqueConstraint("id", "amount"),
    CheckConstraint("amount >= 0", name="amount"),
    Index(None, "job_id"),
)

hold_closings = Table(
    "hold_closings",
    metadata,
    # L9: the primary key is the hold, so a hold can be closed once and only by appending.
    Column("hold_id", TEXT, primary_key=True),
    micros("amount"),
    micros("captured"),
    micros("released"),
    must("reason"),
    must("actor"),
    moment("closed_at"),
    ForeignKeyConstraint(["hold_id", "amount"], ["holds.id", "holds.amount"]),
    CheckConstraint("captured >= 0 AND released >= 0 AND captured + released = amount", name="split"),
)

# Double entry: each row takes an amount out of one bucket and puts it into another, so that no row can be unbalanced.
ledger_entries = Table(
    "ledger_entries",
    metadata,
    key(),
    of("account_id", "accounts"),
    must("kind"),
    must("source"),
    must("target"),
    Column("amount", BigInteger, nullable=False),
    of("hold_id", "holds", nullable=True),
    must("reason"),
    must("actor"),
    maybe("second_actor"),
    moment("created_at"),
    one_of("kind", s.EntryKind),
    CheckConstraint("amount > 0", name="amount"),
    CheckConstraint("(kind = 'grant') = (hold_id IS NULL)", name="hold"),
    CheckConstraint(
        "(kind = 'grant' AND source = 'granted' AND target = 'available')"
        " OR (kind = 'hold' AND source = 'available' AND target = 'held')"
        " OR (kind = 'capture' AND source = 'held' AND target = 'captured')"
        " OR (kind = 'release' AND source = 'held' AND target = 'available')"
        " OR (kind = 'correction' AND source = 'available' AND target = 'captured')"
        " OR (kind = 'correction' AND source = 'captured' AND target = 'available')",
        name="buckets",
    ),
    CheckConstraint("second_actor IS NULL OR second_actor <> actor", name="second"),
    Index(None, "account_id", "created_at"),
    Index(None, "hold_id"),
    # L9: what a hold took, and each part of what became of it, stands once.
    Index(
        "uq_ledger_entries_hold",
        "hold_id",
        "kind",
        unique=True,
        sqlite_where=text("kind IN ('hold', 'capture', 'release')"),
        postgresql_where=text("kind IN ('hold', 'capture', 'release')"),
    ),
)

# The sums of the entries, in the transaction of each, so that no request can take what another has taken.
balances = Table(
    "balances",
    metadata,
    Column("account_id", TEXT, ForeignKey("accounts.id"), primary_key=True),
    micros("granted"),
    micros("available"),
    micros("held"),
    micros("captured"),
    CheckConstraint("available >= 0 AND held >= 0 AND captured >= 0", name="amounts"),
    CheckConstraint("available + held + captured = granted", name="sum"),
)

allowances = Table(
    "allowances",
    metadata,
    key(),
    of("job_id", "jobs"),
    of("step_id", "steps"),
    must("provider"),
    string("currency"),
    micros("amount_micros"),
    count("requests"),
    when("reserved_at"),
    maybe("day"),
    Column("settled_micros", BigInteger),
    Column("settled_requests", Integer),
    when("settled_at"),
    moment("created_at"),
    UniqueConstraint("step_id"),
    CheckConstraint("amount_micros >= 0 AND requests >= 0", name="amounts"),
    CheckConstraint("(settled_micros IS NULL) = (settled_at IS NULL)", name="settled"),
    Index(None, "job_id"),
)

budgets = Table(
    "budgets",
    metadata,
    key(),
    # Whom the line binds; empty is anybody. The campaign `*` is each campaign by itself.
    string("account_id"),
    string("campaign"),
    string("provider"),
    must("period"),
    string("currency"),
    Column("spend_micros_max", BigInteger),
    Column("requests_max", BigInteger),
    moment("created_at"),
    moment("updated_at"),
    when("ended_at"),
    one_of("period", s.Period),
    CheckConstraint("spend_micros_max IS NOT NULL OR requests_max IS NOT NULL", name="bound"),
    CheckConstraint("spend_micros_max IS NULL OR spend_micros_max >= 0", name="spend"),
    CheckConstraint("requests_max IS NULL OR requests_max >= 0", name="requests"),
    CheckConstraint("(spend_micros_max IS NULL) = (currency = '')", name="currency"),
    Index(
        "uq_budgets_scope",
        "account_id",
        "campaign",
        "provider",
        "period",
        unique=True,
        sqlite_where=text("ended_at IS NULL"),
        postgresql_where=text("ended_at IS NULL"),
    ),
)

# What stands against each line now: reserved at worst, or settled.
budget_uses = Table(
    "budget_uses",
    metadata,
    of("budget_id", "budgets"),
    string("day"),
    string("campaign"),
    micros("spend_micros"),
    micros("requests"),
    PrimaryKeyConstraint("budget_id", "day", "campaign"),
    CheckConstraint("spend_micros >= 0 AND requests >= 0", name="amounts"),
)

usage_imports = Table(
    "usage_imports",
    metadata,
    key(),
    must("provider"),
    must("digest"),
    must("name"),
    count("records"),
    when("from_at"),
    when("until_at"),
    must("actor"),
    moment("created_at"),
    UniqueConstraint("provider", "digest"),
)

# What the provider says that it charged, and the attempt that it charged for, once that is known.
charges = Table(
    "charges",
    metadata,
    key(),
    of("import_id", "usage_imports"),
    must("provider"),
    must("record_key"),
    string("ref"),
    string("model"),
    micros("amount_micros"),
    string("currency"),
    when("charged_at"),
    of("attempt_id", "attempts", nullable=True),
    of("case_id", "cases", nullable=True),
    moment("created_at"),
    UniqueConstraint("provider", "record_key"),
    CheckConstraint("amount_micros >= 0", name="amount"),
    Index(None, "attempt_id"),
    Index(None, "provider", "ref"),
)
