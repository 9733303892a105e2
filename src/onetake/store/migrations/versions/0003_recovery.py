"""What was learnt about attempts of unknown outcome, and an index of those that are due to be looked at."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

_DOUBTED = sa.text("state = 'submit_unknown'")


def upgrade() -> None:
    """Add the columns; an attempt that is unknown already waits for a person, as it did."""
    op.add_column("attempts", sa.Column("looks", sa.Integer(), server_default=sa.text("0"), nullable=False))
    op.add_column("attempts", sa.Column("is_landed", sa.Integer(), server_default=sa.text("0"), nullable=False))
    op.create_index("ix_attempts_doubted", "attempts", ["not_before"], sqlite_where=_DOUBTED, postgresql_where=_DOUBTED)
