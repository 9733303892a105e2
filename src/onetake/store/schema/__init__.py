"""Every table, with the laws as constraints. The migrations build these; a test compares the two.

Conventions: times are integers, microseconds since 1970 UTC, by `onetake_now()`; money is integers; JSON is
text in canonical form; ids are prefixed text. What changes often stands in narrow rows, what never changes
(requests, wire bytes, journal) in rows of its own, so that a transition writes little.

The words in CHECK constraints come from `domain.states`, so that a state the domain doesn't know can't be stored.
"""

from onetake.store.schema import buys, doubts, money, orders, people
from onetake.store.schema.columns import metadata

__all__ = ["buys", "doubts", "metadata", "money", "orders", "people"]
