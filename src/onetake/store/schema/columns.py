"""The kinds of columns, so that each table reads as a list of facts."""

import enum
from collections.abc import Iterable

from sqlalchemy import BigInteger, CheckConstraint, Column, ForeignKey, Integer, MetaData, Text, text

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    },
)


TEXT = Text().with_variant(Text(collation="C"), "postgresql")
"""Text in the order of its code points on both databases, so that no list and no hash depends on a locale."""


def key(name: str = "id") -> Column[str]:
    """A text primary key."""
    return Column(name, TEXT, primary_key=True)


def string(name: str, *, default: str | None = "") -> Column[str]:
    """A text that is always there; empty unless a default says otherwise."""
    return Column(name, TEXT, nullable=False, server_default=None if default is None else text(f"'{default}'"))


def must(name: str) -> Column[str]:
    """A text that must be given."""
    return string(name, default=None)


def maybe(name: str) -> Column[str]:
    """A text that may be missing."""
    return Column(name, TEXT)


def moment(name: str) -> Column[int]:
    """A time that must be given, in microseconds since 1970 UTC."""
    return Column(name, BigInteger, nullable=False)


def when(name: str) -> Column[int]:
    """A time that may be missing."""
    return Column(name, BigInteger)


def count(name: str) -> Column[int]:
    """A small whole number from 0."""
    return Column(name, Integer, nullable=False, server_default=text("0"))


def micros(name: str) -> Column[int]:
    """A whole amount from 0."""
    return Column(name, BigInteger, nullable=False, server_default=text("0"))


def of(name: str, table: str, *, nullable: bool = False) -> Column[str]:
    """The id of a row elsewhere."""
    return Column(name, TEXT, ForeignKey(f"{table}.id"), nullable=nullable)


def words(column: str, allowed: Iterable[str]) -> str:
    """The condition that a column holds one of these words."""
    return f"{column} IN ({', '.join(repr(str(word)) for word in allowed)})"


def one_of(column: str, allowed: type[enum.StrEnum]) -> CheckConstraint:
    """The constraint that a column holds a word of this enum."""
    return CheckConstraint(words(column, allowed), name=column)
