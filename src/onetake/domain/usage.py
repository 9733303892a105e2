"""A provider's own record of what it charged, read from an export in CSV or JSON by a small map of its columns."""

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from onetake.domain.amounts import MICROS, amount_of
from onetake.domain.canonical import digest
from onetake.domain.errors import BadValueError
from onetake.domain.jsonvalue import shown, text_fault
from onetake.domain.moments import moment_of
from onetake.domain.tables import WHOLE_MAX, parse_toml, root_table

RECORDS_MAX = 1_000_000
"""Most records of one export: a month of a large studio; more come in more files."""

TEXT_CHARS_MAX = 500
"""Longest id or name of a model: ten times any provider's, and within what PostgreSQL keeps in an index."""

_MOMENTS_US = range(WHOLE_MAX)  # 1970 to 2255
_CURRENCY = re.compile(r"[A-Z]{3}")
_COUNT = re.compile(r"[0-9]{1,20}")  # of seconds or milliseconds
_COLUMNS = ("record", "ref", "model", "amount", "currency", "at")


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageMap:
    """Which column says what; an empty name says nothing.

    Attributes:
        rows: where the records stand in a JSON export, as a key of its object; empty: the export is a list.
        unit_micros: what one unit of `amount` is worth, in millionths of the currency.
        currency_is: the currency of every record, where no column says it.
    """

    provider: str
    rows: str
    record: str
    ref: str
    model: str
    amount: str
    currency: str
    at: str
    unit_micros: int
    currency_is: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageRecord:
    """One charge.

    Attributes:
        key: stands for this record for ever: the provider's own id of it, or the digest of all that it says.
        ref: the provider's id of the task; empty where the record names none.
        charged_at: microseconds since 1970 UTC; None where it doesn't say.
    """

    key: str
    ref: str
    model: str
    amount_micros: int
    currency: str
    charged_at: int | None


def parse_map(text: str | bytes, file: str) -> UsageMap:
    """The map that a TOML file states.

    Raises:
        RecipeError: names the file, the line or key, and what is wrong there.
    """
    top = root_table(parse_toml(text, file), file)
    columns = top.table("columns")
    names = {name: columns.text(name, "") for name in _COLUMNS}
    found = UsageMap(
        provider=top.name("provider"),
        rows=top.text("rows", ""),
        unit_micros=top.whole("unit_micros", MICROS, at_least=1),
        currency_is=top.text("currency_is", "", pattern=r"[A-Z]{3}", what='three capitals, such as "USD"'),
        **names,
    )
    if not found.amount:
        raise columns.refuse("must name the column that says how much was charged", "amount")
    if not found.ref:
        raise columns.refuse("must name the column that holds the provider's id of the task", "ref")
    if bool(found.currency) == bool(found.currency_is):
        raise top.refuse("and `columns.currency`: give one of them", "currency_is")
    for table in (columns, top):
        table.end()
    return found


def read_usage(data: bytes, usage_map: UsageMap, file: str, *, records_max: int = RECORDS_MAX) -> list[UsageRecord]:
    """Every record of an export, in its order; what costs nothing is left out.

    Raises:
        BadValueError: it is neither CSV nor JSON as the map says; names the file, the record and the reason.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadValueError(f"{file} isn't UTF-8: byte {error.start + 1} can't be decoded.") from None
    if not text.strip():
        raise BadValueError(f"{file} is empty.")
    is_json = text.lstrip()[:1] in ("{", "[")
    rows = _from_json(text, usage_map, file) if is_json else _from_csv(text, usage_map, file)
    records: dict[str, UsageRecord] = {}
    for no, row in enumerate(rows, start=1):
        if no > records_max:
            raise BadValueError(f"{file} has more than {records_max} records: split it.")
        record = _record(row, usage_map, f"{file}, record {no}")
        if record.key in records:
            raise BadValueError(f"{file}, record {no}: {shown(record.key)} stands there twice.")
        records[record.key] = record
    return [record for record in records.values() if record.amount_micros]


def _from_csv(text: str, usage_map: UsageMap, file: str) -> Iterator[Mapping[str, object]]:
    reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    try:
        head = reader.fieldnames or []
        if twice := _find_twice(head):
            raise BadValueError(f"{file} has two columns {shown(twice)}: nobody can tell which one is meant.")
        for name in filter(None, (getattr(usage_map, column) for column in _COLUMNS)):
            if name not in head:
                raise BadValueError(f"{file} has no column {shown(name)}; its columns: {shown(', '.join(head), 200)}.")
        for row in reader:
            if None in row or None in row.values():
                raise BadValueError(f"{file}, line {reader.line_num}: the line hasn't as many fields as the head.")
            yield row
    except csv.Error as error:
        raise BadValueError(f"{file}, line {reader.reader.line_num}: can't be read as CSV ({error}).") from None


def _from_json(text: str, usage_map: UsageMap, file: str) -> Iterator[Mapping[str, object]]:
    try:
        found = json.loads(text, parse_float=str, parse_int=str, parse_constant=str, object_pairs_hook=_object)
    except (ValueError, RecursionError) as error:
        raise BadValueError(f"{file} can't be read as JSON ({error}).") from None
    rows = found.get(usage_map.rows) if usage_map.rows and isinstance(found, dict) else found
    if not isinstance(rows, list):
        where = f"under {shown(usage_map.rows)} " if usage_map.rows else ""
        raise BadValueError(f"{file} holds no list of records {where}as its map says.")
    for no, row in enumerate(rows, start=1):
        if isinstance(row, _Pairs):
            twice = shown(_find_twice([name for name, _ in row]))
            raise BadValueError(f"{file}, record {no}: {twice} stands there twice: nobody can tell which one is meant.")
        if not isinstance(row, dict):
            raise BadValueError(f"{file}, record {no}: a record must be an object.")
        yield row


class _Pairs(tuple[tuple[str, object], ...]):
    """What stands in an object that names a key twice."""

    __slots__ = ()


def _object(pairs: list[tuple[str, object]]) -> dict[str, object] | _Pairs:
    found = dict(pairs)
    return found if len(found) == len(pairs) else _Pairs(pairs)


def _find_twice(names: Sequence[str]) -> str:
    return next((name for name, count in Counter(names).items() if count > 1), "")


def _record(row: Mapping[str, object], usage_map: UsageMap, where: str) -> UsageRecord:
    own = _name(row, usage_map.record, where)
    if usage_map.record and not own:
        raise BadValueError(f"{where}: {shown(usage_map.record)} is empty, and it is what the record goes by.")
    return UsageRecord(
        key=own or _key(row, where),
        ref=_name(row, usage_map.ref, where),
        model=_name(row, usage_map.model, where),
        amount_micros=_amount(row, usage_map, where),
        currency=_currency(row, usage_map, where),
        charged_at=_moment(row, usage_map.at, where),
    )


def _text(row: Mapping[str, object], column: str, where: str) -> str:
    """What stands in the column; empty where none is named."""
    value = row.get(column) if column else ""
    if value is not None and not isinstance(value, str):
        raise BadValueError(f"{where}: {shown(column)} must be text or a number.")
    said = (value or "").strip()
    if fault := text_fault(said):
        raise BadValueError(f"{where}: {shown(column)} {fault}.")
    return said


def _name(row: Mapping[str, object], column: str, where: str) -> str:
    said = _text(row, column, where)
    if len(said) > TEXT_CHARS_MAX:
        raise BadValueError(f"{where}: {shown(column)} is longer than {TEXT_CHARS_MAX} characters.")
    return said


def _amount(row: Mapping[str, object], usage_map: UsageMap, where: str) -> int:
    said = _text(row, usage_map.amount, where)
    micros = _micros(amount_of(said), usage_map.unit_micros)
    if micros is None:
        raise BadValueError(
            f"{where}: {shown(usage_map.amount)} must be an amount from 0 that comes to whole millionths, not"
            f" {shown(said) or 'nothing'}."
        )
    return micros


def _currency(row: Mapping[str, object], usage_map: UsageMap, where: str) -> str:
    said = usage_map.currency_is or _text(row, usage_map.currency, where)
    if not _CURRENCY.fullmatch(said):
        told = shown(said) or "nothing"
        raise BadValueError(f"{where}: the currency must be three capitals such as USD, not {told}.")
    return said


def _moment(row: Mapping[str, object], column: str, where: str) -> int | None:
    said = _text(row, column, where)
    if not said:
        return None
    moment = moment_of(int(said) if _COUNT.fullmatch(said) else said)
    if moment is None:
        raise BadValueError(f"{where}: {shown(column)} must be a moment with its zone, not {shown(said)}.")
    if moment not in _MOMENTS_US:
        raise BadValueError(f"{where}: {shown(column)} must lie in the years 1970 to 2255, not {shown(said)}.")
    return moment


def _key(row: Mapping[str, object], where: str) -> str:
    """The digest of all that the record says."""
    try:
        return digest({str(name): str(value) for name, value in row.items()})
    except BadValueError as error:
        raise BadValueError(f"{where}: {error.sentence}") from None


def _micros(amount: Decimal | None, unit_micros: int) -> int | None:
    exact = None if amount is None else Fraction(amount) * unit_micros
    if exact is None or exact.denominator != 1 or not 0 <= exact <= WHOLE_MAX:
        return None
    return int(exact)
