"""Who acts, in which account, as what; and what was done that no job's journal tells."""

from sqlalchemy import CheckConstraint, Index, PrimaryKeyConstraint, Table, UniqueConstraint, text

from onetake.domain import states as s
from onetake.store.schema.columns import key, maybe, metadata, moment, must, of, one_of, string, when

persons = Table("persons", metadata, key(), must("name"), moment("created_at"), UniqueConstraint("name"))

memberships = Table(
    "memberships",
    metadata,
    of("account_id", "accounts"),
    of("person_id", "persons"),
    must("role"),
    moment("created_at"),
    PrimaryKeyConstraint("account_id", "person_id", "role"),
    one_of("role", s.Role),
    Index(None, "person_id"),
)

acts = Table(
    "acts",
    metadata,
    key(),
    must("act"),
    must("subject"),
    must("actor"),
    maybe("second_actor"),
    string("data", default="{}"),
    moment("created_at"),
    CheckConstraint("second_actor IS NULL OR second_actor <> actor", name="second"),
    Index(None, "created_at"),
)

stops = Table(
    "stops",
    metadata,
    key(),
    must("kind"),
    must("subject"),
    must("reason"),
    must("actor"),
    moment("since"),
    when("lifted_at"),
    maybe("lifted_by"),
    one_of("kind", s.StopKind),
    CheckConstraint("(lifted_at IS NULL) = (lifted_by IS NULL)", name="lifted"),
    Index(
        "uq_stops_open",
        "kind",
        "subject",
        unique=True,
        sqlite_where=text("lifted_at IS NULL"),
        postgresql_where=text("lifted_at IS NULL"),
    ),
)
