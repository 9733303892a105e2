"""What a provider promises, as data: a dated, cited statement per provider and operation.

A contract is read from TOML (`providers/contracts/`), frozen here and only ever asked; nothing in the engine
knows a provider. Whatever it doesn't say is not promised: a missing statement is read as the cautious one
(no idempotency, no lookup, an unlisted answer is unknown).

Paths into answers are dotted: `output.image_urls[]` is every item of that list, `error.code` one value.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, cast

from onetake.domain.canonical import digest
from onetake.domain.errors import RecipeError
from onetake.domain.promises import (
    PATH,
    PATH_WHAT,
    Idempotency,
    Lookup,
    read_day,
    read_echoes,
    read_idempotency,
    read_lookup,
    read_statuses,
)
from onetake.domain.tables import Table, parse_toml, root_table

StatusWord = Literal["queued", "working", "finished", "failed"]
Charged = Literal["yes", "no", "unknown"]

_STATUS_WORDS = ("queued", "working", "finished", "failed")


@dataclass(frozen=True, slots=True, kw_only=True)
class Accept:
    """Where an accepting answer keeps the provider's id.

    Attributes:
        ref_paths: paths tried in order; those that are there must agree, or the answer is unusable.
        locator_path: where the address to poll stands; empty: `poll.path` is used, with the id put in.
    """

    ref_paths: tuple[str, ...]
    locator_path: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusals:
    """Answers that prove the request was not accepted.

    Attributes:
        statuses: definite refusals, given an answer in the provider's own JSON shape.
        later: refusals that may be repeated later, with Retry-After (429).
        shape_path: what every answer in the provider's own shape has.
        code_path, message_path: where its reason stands.
        auth: statuses that speak of our key or rights, not of the order, which then waits.
        account, account_codes: statuses, and codes under any listed status, that say that our account can't buy at all:
            the order is refused for good, and no other is sent before a person says so.
        moderation_codes: codes that mean that the content was refused.
        charged_when_filtered: whether a request that was refused for its content is billed all the same.
    """

    statuses: frozenset[int]
    later: frozenset[int]
    shape_path: str
    code_path: str
    message_path: str
    auth: frozenset[int]
    account: frozenset[int]
    account_codes: frozenset[str]
    moderation_codes: frozenset[str]
    charged_when_filtered: Charged


@dataclass(frozen=True, slots=True, kw_only=True)
class Poll:
    """How a saved ref is asked about.

    Attributes:
        path: below the provider's origin, with `{ref}` where the percent-encoded id goes.
        status_path: where the status word stands.
        statuses: what each word means, by `status_key`; a word that is not listed raises an alarm and is polled on.
        missing: HTTP statuses that say that there is no such task.
        auth: HTTP statuses that say that our key was refused.
        code_path, message_path: where a failed task keeps its reason.
        model_path: where the answer echoes the model; empty if it doesn't.
        created_path: where the answer tells when the task was made; empty if it doesn't.
        echoes: fields of the request that the answer repeats unchanged, and where each stands.
        charged_on_failure: whether a failed task is billed.
        charged_when_filtered: whether one is that failed because its content was refused.
        cost_path: where a finished or failed task tells what it cost; empty if it doesn't.
        cost_unit_micros, cost_currency: what one of its units is worth, in millionths of a currency.
    """

    path: str
    status_path: str
    statuses: Mapping[str, StatusWord]
    missing: frozenset[int]
    auth: frozenset[int]
    code_path: str
    message_path: str
    model_path: str
    created_path: str
    echoes: Mapping[str, str]
    charged_on_failure: Charged
    charged_when_filtered: Charged
    cost_path: str
    cost_unit_micros: int
    cost_currency: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One thing that can be ordered.

    Attributes:
        path: where its paid POST goes, below the provider's origin.
        address_paths: where a finished task keeps the addresses of its outputs, in order.
        required: fields that every request has.
        known: other fields that the evidence names; models differ in which of them they take.
        items_max: how many items each list in a request may have at most, by the field's name.
    """

    name: str
    path: str
    address_paths: tuple[str, ...]
    required: tuple[str, ...] = ()
    known: tuple[str, ...] = ()
    items_max: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Contract:
    """All that one provider promises for the operations that we use.

    Attributes:
        verified_on: the day on which somebody last read the evidence, as YYYY-MM-DD.
        evidence: public pages and package versions that back the statements.
        idempotency, lookup: what can be done about a lost answer.
        models_path, models_item_path: where the models offered to a key are listed, and each one's id.
        support: whom to ask about a doubt, and what to quote.
        version: names the file's content; kept with every attempt.
    """

    provider: str
    verified_on: str
    evidence: tuple[str, ...]
    auth_header: str
    auth_format: str
    operations: Mapping[str, Operation]
    accept: Accept
    refusals: Refusals
    poll: Poll
    models_path: str
    models_item_path: str
    idempotency: Idempotency
    lookup: Lookup
    support: str
    version: str

    def operation(self, name: str) -> Operation:
        """The operation of that name.

        Raises:
            RecipeError: the contract has none.
        """
        try:
            return self.operations[name]
        except KeyError:
            known = ", ".join(sorted(self.operations))
            raise RecipeError(f"{self.provider} has no operation {name!r}; its contract lists: {known}.") from None


def status_key(word: str) -> str:
    """A status word as it is looked up: case and outer blanks say nothing."""
    return word.strip().casefold()


def parse_contract(text: str | bytes, file: str) -> Contract:
    """The contract that a TOML file states.

    Args:
        text: the file's text; bytes are read as UTF-8.
        file: its name, for messages.

    Raises:
        RecipeError: names the file, the line or key, and what is wrong there.
    """
    content = parse_toml(text, file)
    top = root_table(content, file)
    key, models, accept = top.table("key"), top.table("models"), top.table("accept")
    verified_on = read_day(top, "verified_on")
    idempotency = read_idempotency(top.table("idempotency"), verified_on)
    contract = Contract(
        provider=top.name("provider"),
        verified_on=verified_on,
        evidence=_some(top, "evidence"),
        auth_header=key.text("header"),
        auth_format=key.text("format", pattern=r".*\{key\}.*", what="text with {key} in it"),
        operations=_operations(top.table("operations")),
        accept=Accept(ref_paths=_paths(accept, "ref_paths"), locator_path=_path(accept, "locator_path", "")),
        refusals=_refusals(top.table("refuse")),
        poll=_poll(top.table("poll")),
        models_path=_address(models, "path"),
        models_item_path=_path(models, "item_path"),
        idempotency=idempotency,
        lookup=read_lookup(top.table("lookup"), verified_on, idempotency),
        support=top.text("support", ""),
        version=digest(content)[:16],
    )
    for table in (top, key, models, accept):
        table.end()
    return contract


def _operations(tables: Table) -> dict[str, Operation]:
    operations = {}
    for name, table in tables.tables_by_name().items():
        operations[name] = Operation(
            name=name,
            path=_address(table, "path"),
            address_paths=_paths(table, "address_paths"),
            required=table.names("required", ()),
            known=table.names("known", ()),
            items_max=_counts(table.table("items_max")),
        )
        table.end()
    if not operations:
        raise tables.refuse("must have at least one entry")
    return operations


def _counts(table: Table) -> dict[str, int]:
    return {name: table.whole(name, at_least=1) for name in table}


def _refusals(table: Table) -> Refusals:
    refusals = Refusals(
        statuses=read_statuses(table, "statuses"),
        later=read_statuses(table, "later"),
        shape_path=_path(table, "shape_path"),
        code_path=_path(table, "code_path"),
        message_path=_path(table, "message_path"),
        auth=read_statuses(table, "auth"),
        account=read_statuses(table, "account"),
        account_codes=frozenset(table.names("account_codes", ())),
        moderation_codes=frozenset(table.names("moderation_codes", ())),
        charged_when_filtered=_charged(table, "charged_when_filtered", "no"),
    )
    if both := refusals.statuses & refusals.later:
        raise table.refuse(f"lists {min(both)}, and so does statuses: it is one or the other", "later")
    table.end()
    return refusals


def _poll(table: Table) -> Poll:
    poll = Poll(
        path=_address(table, "path", r"/\S*\{ref\}\S*", "a path with {ref} in it"),
        status_path=_path(table, "status_path"),
        statuses=_words(table.table("statuses")),
        missing=read_statuses(table, "missing"),
        auth=read_statuses(table, "auth"),
        code_path=_path(table, "code_path"),
        message_path=_path(table, "message_path"),
        model_path=_path(table, "model_path", ""),
        created_path=_path(table, "created_path", ""),
        echoes=read_echoes(table.table("echoes")),
        charged_on_failure=_charged(table, "charged_on_failure", "unknown"),
        charged_when_filtered=_charged(
            table, "charged_when_filtered", _charged(table, "charged_on_failure", "unknown")
        ),
        cost_path=_path(table, "cost_path", ""),
        cost_unit_micros=table.whole("cost_unit_micros", 0),
        cost_currency=table.text("cost_currency", "", pattern=r"[A-Z]{3}", what='three capitals, such as "USD"'),
    )
    if bool(poll.cost_path) != bool(poll.cost_unit_micros and poll.cost_currency):
        raise table.refuse("needs cost_unit_micros and cost_currency beside it, and they need it", "cost_path")
    table.end()
    return poll


def _charged(table: Table, key: str, default: Charged) -> Charged:
    return cast("Charged", table.one_of(key, ("yes", "no", "unknown"), default))


def _words(table: Table) -> dict[str, StatusWord]:
    words: dict[str, StatusWord] = {}
    for word in table:
        meaning = cast("StatusWord", table.one_of(word, _STATUS_WORDS))
        if words.setdefault(status_key(word), meaning) != meaning:
            raise table.refuse("is there twice, with two meanings", word)
    if "finished" not in words.values():
        raise table.refuse("must have a word that means finished")
    return words


def _some(table: Table, key: str) -> tuple[str, ...]:
    names = table.names(key)
    if not names:
        raise table.refuse("must have at least one entry", key)
    return names


def _path(table: Table, key: str, default: str | None = None) -> str:
    return table.text(key, default, pattern=PATH, what=PATH_WHAT)


def _paths(table: Table, key: str) -> tuple[str, ...]:
    paths = _some(table, key)
    for index, path in enumerate(paths):
        if not re.fullmatch(PATH, path):
            raise table.refuse(f"must be {PATH_WHAT}", key, index)
    return paths


def _address(table: Table, key: str, pattern: str = r"/\S*", what: str = "a path that begins with /") -> str:
    return table.text(key, pattern=pattern, what=what)
