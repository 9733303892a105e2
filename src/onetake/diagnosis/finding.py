"""What looking at something came to."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    what: str
    is_well: bool
    says: str
