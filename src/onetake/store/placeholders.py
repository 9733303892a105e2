"""The drawers' `:name` parameters as PostgreSQL's `$1`."""

import re
from functools import cache

_NAMED = re.compile(r"(?<![:\w]):([a-z_][a-z0-9_]*)")


@cache
def numbered(sql: str) -> tuple[str, tuple[str, ...]]:
    """The statement with `$1`, `$2`, …, and the names that these stand for; a name that comes twice has one number."""
    names = tuple(dict.fromkeys(_NAMED.findall(sql)))
    numbers = {name: number for number, name in enumerate(names, start=1)}
    return _NAMED.sub(lambda match: f"${numbers[match[1]]}", sql), names
