"""What a provider promises, as data: a dated, cited statement per provider and operation.

A contract is read from TOML (`providers/contracts/`), frozen here and only ever asked; nothing in the engine
knows a provider. Whatever it doesn't say is not promised: a missing statement is read as the cautious one
(no idempotency, no lookup, an unlisted answer is unknown).

Paths into answers are dotted: `output.image_urls[]` is every item of that list, `error.code` one value.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, cast

from onetake.domain.errors import RecipeError

StatusWord = Literal["queued", "working", "finished", "failed"]

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
        auth: statuses that mean that our key was refused.
        moderation_codes: codes that mean that the content was refused.
    """

    statuses: frozenset[int]
    later: frozenset[int]
    shape_path: str
    code_path: str
    message_path: str
    auth: frozenset[int]
    moderation_codes: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Poll:
    """How a saved ref is asked about.

    Attributes:
        path: below the provider's origin, with `{ref}` where the percent-encoded id goes.
        status_path: where the status word stands.
        statuses: what each word means; a word that is not listed raises an alarm and is polled on.
        missing: HTTP statuses that say that there is no such task.
        auth: HTTP statuses that say that our key was refused.
        code_path, message_path: where a failed task keeps its reason.
        model_path: where the answer echoes the model; empty if it doesn't.
        charged_on_failure: whether a failed task is billed.
    """

    path: str
    status_path: str
    statuses: Mapping[str, StatusWord]
    missing: frozenset[int]
    auth: frozenset[int]
    code_path: str
    message_path: str
    model_path: str
    charged_on_failure: Literal["yes", "no", "unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One thing that can be ordered.

    Attributes:
        path: where its paid POST goes, below the provider's origin.
        address_paths: where a finished task keeps the addresses of its outputs, in order.
    """

    name: str
    path: str
    address_paths: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Contract:
    """All that one provider promises for the operations that we use.

    Attributes:
        verified_on: the day on which somebody last read the evidence, as YYYY-MM-DD.
        evidence: public pages and package versions that back the statements.
        idempotency, lookup: the kind of each; "none" means that a lost answer can't be asked for.
        models_path, models_item_path: where the models offered to a key are listed, and each one's id.
        support: whom to ask about a doubt, and what to quote.
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
    idempotency: Literal["none"]
    lookup: Literal["none"]
    support: str
    version: str = field(default="")

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


class _Reader:
    """Takes typed values out of a parsed TOML table and says where one is wrong."""

    def __init__(self, table: object, source: str, where: str = "") -> None:
        self._source, self._where = source, where
        if not isinstance(table, dict):
            raise self._wrong("", "must be a table")
        self._table = cast("dict[str, object]", table)
        self._seen: set[str] = set()

    def _wrong(self, key: str, reason: str) -> RecipeError:
        path = ".".join(part for part in (self._where, key) if part)
        return RecipeError(f"{self._source}: {path or 'the file'} {reason}.")

    def table(self, key: str) -> "_Reader":
        self._seen.add(key)
        path = f"{self._where}.{key}" if self._where else key
        return _Reader(self._table.get(key), self._source, path)

    def text(self, key: str, default: str | None = None) -> str:
        self._seen.add(key)
        value = self._table.get(key, default)
        if not isinstance(value, str):
            raise self._wrong(key, "must be text")
        return value

    def choice(self, key: str, allowed: tuple[str, ...], default: str) -> str:
        value = self.text(key, default)
        if value not in allowed:
            raise self._wrong(key, f"must be one of: {', '.join(allowed)}")
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        self._seen.add(key)
        value = self._table.get(key, [])
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self._wrong(key, "must be a list of texts")
        return tuple(value)

    def codes(self, key: str) -> frozenset[int]:
        self._seen.add(key)
        value = self._table.get(key, [])
        if not isinstance(value, list) or not all(type(item) is int for item in value):
            raise self._wrong(key, "must be a list of HTTP statuses")
        return frozenset(value)

    def names(self) -> list[str]:
        return list(self._table)

    def close(self) -> None:
        """Refuse what nobody asked for: a statement that isn't understood must not look as if it counted."""
        unknown = sorted(set(self._table) - self._seen)
        if unknown:
            raise self._wrong(unknown[0], "is not a statement that this version understands")


def parse_contract(table: object, *, source: str, version: str) -> Contract:
    """A contract from its parsed TOML.

    Args:
        table: what `tomllib` made of the file.
        source: the file's name, for messages.
        version: the hash of the file, kept with every attempt.

    Raises:
        RecipeError: names the file, the key and what is wrong with it.
    """
    top = _Reader(table, source)
    submit, poll, models = top.table("accept"), top.table("poll"), top.table("models")
    refusals, key, operations = top.table("refuse"), top.table("key"), top.table("operations")
    contract = Contract(
        provider=top.text("provider"),
        verified_on=top.text("verified_on"),
        evidence=top.texts("evidence"),
        auth_header=key.text("header"),
        auth_format=key.text("format"),
        operations={name: _operation(operations.table(name), name) for name in operations.names()},
        accept=Accept(ref_paths=submit.texts("ref_paths"), locator_path=submit.text("locator_path", "")),
        refusals=_refusals(refusals),
        poll=_poll(poll),
        models_path=models.text("path"),
        models_item_path=models.text("item_path"),
        idempotency=cast("Literal['none']", top.choice("idempotency", ("none",), "none")),
        lookup=cast("Literal['none']", top.choice("lookup", ("none",), "none")),
        support=top.text("support", ""),
        version=version,
    )
    for reader in (top, submit, poll, models, refusals, key, operations):
        reader.close()
    return contract


def _operation(table: _Reader, name: str) -> Operation:
    operation = Operation(name=name, path=table.text("path"), address_paths=table.texts("address_paths"))
    table.close()
    return operation


def _refusals(table: _Reader) -> Refusals:
    return Refusals(
        statuses=table.codes("statuses"),
        later=table.codes("later"),
        shape_path=table.text("shape_path"),
        code_path=table.text("code_path"),
        message_path=table.text("message_path"),
        auth=table.codes("auth"),
        moderation_codes=frozenset(table.texts("moderation_codes")),
    )


def _poll(table: _Reader) -> Poll:
    words = table.table("statuses")
    statuses = {word: cast("StatusWord", words.choice(word, _STATUS_WORDS, "")) for word in words.names()}
    return Poll(
        path=table.text("path"),
        status_path=table.text("status_path"),
        statuses=statuses,
        missing=table.codes("missing"),
        auth=table.codes("auth"),
        code_path=table.text("code_path"),
        message_path=table.text("message_path"),
        model_path=table.text("model_path", ""),
        charged_on_failure=cast(
            "Literal['yes', 'no', 'unknown']",
            table.choice("charged_on_failure", ("yes", "no", "unknown"), "unknown"),
        ),
    )
