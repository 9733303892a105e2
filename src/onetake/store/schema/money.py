"""What is reserved, spent and given back: quote lines, holds, ledger entries, allowances."""

from sqlalchemy import BigInteger, CheckConstraint, Column, ForeignKeyConstraint, Index, Table, UniqueConstraint

from onetake.store.schema.columns import TEXT, count, key, maybe, metadata, micros, moment, must, of, string, when

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

ledger_entries = Table(
    "ledger_entries",
    metadata,
    key(),
    must("transaction_id"),
    of("account_id", "accounts"),
    must("bucket"),
    Column("amount", BigInteger, nullable=False),
    of("hold_id", "holds", nullable=True),
    must("reason"),
    must("actor"),
    moment("created_at"),
    CheckConstraint("bucket IN ('granted', 'available', 'held', 'captured')", name="bucket"),
    CheckConstraint("amount <> 0", name="amount"),
    Index(None, "account_id", "bucket"),
    Index(None, "transaction_id"),
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
    maybe("day"),
    Column("settled_micros", BigInteger),
    when("settled_at"),
    moment("created_at"),
    UniqueConstraint("step_id"),
    CheckConstraint("amount_micros >= 0 AND requests >= 0", name="amounts"),
    CheckConstraint("(settled_micros IS NULL) = (settled_at IS NULL)", name="settled"),
    Index(None, "job_id"),
)
