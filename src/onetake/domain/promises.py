"""What a provider promises about a lost answer: what the same key buys, and where a task can be found.

Each statement counts until a day. After it, as without it, nothing is promised: nothing is sent again, and nothing that
a list doesn't show is believed to be absent.
"""

import dataclasses
import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, cast

from onetake.domain.tables import Table

IdempotencyKind = Literal["none", "replay", "replay_fingerprint", "reject_on_reuse", "client_id"]
LookupKind = Literal["none", "client_reference", "list_echo", "list_time"]
TimeFormat = Literal["iso", "unix", "unix_ms"]

IDEMPOTENCY_KINDS = ("none", "replay", "replay_fingerprint", "reject_on_reuse", "client_id")
LOOKUP_KINDS = ("none", "client_reference", "list_echo", "list_time")
TIME_FORMATS = ("iso", "unix", "unix_ms")

STATEMENT_DAYS = 365
"""How long a statement counts after it was read, unless it says otherwise: providers change what they do in a year."""

PATH = r"\w+(\[\])?(\.\w+(\[\])?)*"
PATH_WHAT = "a dotted path, such as output.urls[]"

_HEADER = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"  # RFC 9110, section 5.6.2
_FIELD = r"\w+"


@dataclass(frozen=True, slots=True, kw_only=True)
class Idempotency:
    """What becomes of a second POST with the same key and the same bytes.

    Attributes:
        kind: none; replay: the first one's answer again; replay_fingerprint: the same, and a changed body is refused;
            reject_on_reuse: it is refused, which proves that the first one was accepted; client_id: no promise, but the
            key is the task's id.
        header, field: where the key goes: a header, or a field of the body.
        window_s: how long a key is remembered, from its first use.
        reuse_statuses, reuse_codes: answers that prove that the key was used before.
        refusal_is_proof: a known key is answered before anything else is looked at, so that the refusal of a replay
            proves that the first POST wasn't accepted.
        last_day: the last day on which this counts, as YYYY-MM-DD.
    """

    kind: IdempotencyKind = "none"
    header: str = ""
    field: str = ""
    window_s: int = 0
    reuse_statuses: frozenset[int] = frozenset()
    reuse_codes: frozenset[str] = frozenset()
    refusal_is_proof: bool = False
    last_day: str = ""

    @property
    def is_replay(self) -> bool:
        """Whether the same bytes under the same key buy once."""
        return self.kind in ("replay", "replay_fingerprint", "reject_on_reuse")


@dataclass(frozen=True, slots=True, kw_only=True)
class Lookup:
    """Where a task can be found whose id we don't know.

    Attributes:
        kind: none; client_reference: by the key that we sent; list_echo: in a list that repeats our inputs; list_time:
            in a list that tells model and time only.
        path: below the provider's origin; `{reference}`, `{model}`, `{from}` and `{until}` are put in.
        header, field: where our reference goes in the order; both empty: the idempotency key is the reference.
        items_path: where the tasks stand in the answer; empty: the answer is the task.
        model_path, created_path: where a task tells its model, and when it was made; empty if it doesn't.
        echoes: fields of the request that a task repeats, and where each stands in it.
        times: how `{from}` and `{until}` are written.
        absent: HTTP statuses that say that there is none.
        visible_after_s: from the POST until an accepted task is certainly shown.
        window_s: how far back it can be found.
        is_conclusive: a task that isn't shown after `visible_after_s` was never accepted.
        last_day: the last day on which this counts, as YYYY-MM-DD.
    """

    kind: LookupKind = "none"
    path: str = ""
    header: str = ""
    field: str = ""
    items_path: str = ""
    model_path: str = ""
    created_path: str = ""
    echoes: Mapping[str, str] = dataclasses.field(default_factory=dict)
    times: TimeFormat = "iso"
    absent: frozenset[int] = frozenset()
    visible_after_s: int = 0
    window_s: int = 0
    is_conclusive: bool = False
    last_day: str = ""


def read_idempotency(table: Table, verified_on: str) -> Idempotency:
    """The statement of a table, of which an empty one promises nothing."""
    kind = cast("IdempotencyKind", table.one_of("kind", IDEMPOTENCY_KINDS, "none"))
    if kind == "none":
        table.end()
        return Idempotency()
    found = Idempotency(
        kind=kind,
        header=table.text("header", "", pattern=_HEADER, what="the name of a header"),
        field=table.text("field", "", pattern=_FIELD, what="the name of a field"),
        window_s=0 if kind == "client_id" else table.whole("window_s", at_least=1),
        reuse_statuses=read_statuses(table, "reuse_statuses"),
        reuse_codes=frozenset(table.names("reuse_codes", ())),
        refusal_is_proof=table.yes("refusal_is_proof"),
        last_day=_last_day(table, verified_on),
    )
    if bool(found.header) == bool(found.field):
        raise table.refuse("names where the key goes: either header or field")
    if kind == "reject_on_reuse" and not (found.reuse_statuses or found.reuse_codes):
        raise table.refuse("is missing: how is a key refused that was used?", "reuse_codes")
    table.end()
    return found


def read_lookup(table: Table, verified_on: str, idempotency: Idempotency) -> Lookup:
    """The statement of a table, of which an empty one promises nothing."""
    kind = cast("LookupKind", table.one_of("kind", LOOKUP_KINDS, "none"))
    if kind == "none":
        table.end()
        return Lookup()
    is_list = kind != "client_reference"
    found = Lookup(
        kind=kind,
        path=table.text("path", pattern=r"/\S*" if is_list else r"/\S*\{reference\}\S*", what=_where(is_list=is_list)),
        header="" if is_list else table.text("header", "", pattern=_HEADER, what="the name of a header"),
        field="" if is_list else table.text("field", "", pattern=_FIELD, what="the name of a field"),
        items_path=table.text("items_path", None if is_list else "", pattern=PATH, what=PATH_WHAT),
        model_path=table.text("model_path", "", pattern=PATH, what=PATH_WHAT),
        created_path=table.text("created_path", None if is_list else "", pattern=PATH, what=PATH_WHAT),
        echoes=read_echoes(table.table("echoes")),
        times=cast("TimeFormat", table.one_of("times", TIME_FORMATS, "iso")),
        absent=read_statuses(table, "absent"),
        visible_after_s=table.whole("visible_after_s"),
        window_s=table.whole("window_s", at_least=1),
        is_conclusive=table.yes("is_conclusive"),
        last_day=_last_day(table, verified_on),
    )
    if found.header and found.field:
        raise table.refuse("names where our reference goes: header or field, not both")
    if not is_list and not (found.header or found.field or idempotency.kind != "none"):
        raise table.refuse("is missing: where does our reference go in the order?", "field")
    if kind == "list_echo" and not found.echoes:
        raise table.refuse("is missing: which inputs does the list repeat, and where?", "echoes")
    if found.window_s <= found.visible_after_s:
        raise table.refuse("must be longer than visible_after_s", "window_s")
    table.end()
    return found


def read_statuses(table: Table, key: str) -> frozenset[int]:
    """A list of HTTP statuses that are no success."""
    found = table.entries(key, [])
    for index, status in enumerate(found):
        if type(status) is not int or not 300 <= status <= 599:
            raise table.refuse("must be an HTTP status from 300 to 599", key, index)
    return frozenset(cast("list[int]", found))


def read_echoes(table: Table) -> dict[str, str]:
    """Fields of a request, and where an answer repeats each."""
    return {name: table.text(name, pattern=PATH, what=PATH_WHAT) for name in table}


def read_day(table: Table, key: str, default: str | None = None) -> str:
    """A day, as YYYY-MM-DD."""
    day = table.text(key, default)
    try:
        return datetime.date.fromisoformat(day).isoformat()
    except ValueError:
        raise table.refuse("must be a day, as YYYY-MM-DD", key) from None


def _last_day(table: Table, verified_on: str) -> str:
    read_on = datetime.date.fromisoformat(read_day(table, "verified_on", verified_on))
    usual = read_on + datetime.timedelta(days=STATEMENT_DAYS)
    return min(usual.isoformat(), read_day(table, "valid_until", usual.isoformat()))


def _where(*, is_list: bool) -> str:
    return "a path that begins with /" if is_list else "a path with {reference} in it"
