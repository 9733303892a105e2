"""Exports as providers write them: every spelling of an amount is exact, every fault is named by its record."""

import pytest

from onetake.domain.errors import BadValueError, RecipeError
from onetake.domain.usage import TEXT_CHARS_MAX, UsageMap, parse_map, read_usage

MAP = """
provider = "reapi"
[columns]
record = "id"
ref = "task"
amount = "cost"
currency = "cur"
at = "at"
"""
HEAD = "id,task,cost,cur,at\n"


def mapped(text: str = MAP) -> UsageMap:
    return parse_map(text, "map.toml")


@pytest.mark.parametrize(
    ("spelling", "micros"), [("521.5", 521_500_000), ("8", 8_000_000), ("8.0", 8_000_000), ("1e-3", 1000)]
)
def test_c052_every_spelling_of_an_amount_is_exact(spelling: str, micros: int) -> None:
    csv = read_usage(f"{HEAD}1,t,{spelling},USD,\n".encode(), mapped(), "f")
    json = read_usage(f'[{{"id": "1", "task": "t", "cost": {spelling}, "cur": "USD"}}]'.encode(), mapped(), "f")
    text = read_usage(f'[{{"id": "1", "task": "t", "cost": "{spelling}", "cur": "USD"}}]'.encode(), mapped(), "f")
    assert [each[0].amount_micros for each in (csv, json, text)] == [micros] * 3


def test_a_record_says_all_that_it_can() -> None:
    data = "\ufeff" + HEAD + '1,"a,b",0.04,USD,2026-12-01T10:00:00Z\n2,t2,0,USD,1796119200\n3,,1,EUR,\n'
    first, second = read_usage(data.encode(), mapped(), "f")
    assert (first.key, first.ref, first.currency, first.charged_at) == ("1", "a,b", "USD", 1796119200000000)
    assert (second.key, second.ref, second.charged_at) == ("3", "", None)


def test_a_list_may_stand_in_an_object_and_units_may_be_small() -> None:
    own = MAP.replace("[columns]", 'rows = "data"\nunit_micros = 10000\ncurrency_is = "USD"\n[columns]').replace(
        'currency = "cur"\n', ""
    )
    (record,) = read_usage(b'{"data": [{"id": 7, "task": "t", "cost": 12}]}', mapped(own), "f")
    assert (record.key, record.amount_micros, record.currency) == ("7", 120_000, "USD")


def test_a_record_without_an_id_goes_by_all_that_it_says() -> None:
    own = mapped(MAP.replace('record = "id"\n', ""))
    one, same = (read_usage(f"{HEAD}1,t,1,USD,\n".encode(), own, "f")[0] for _ in range(2))
    (other,) = read_usage(f"{HEAD}2,t,1,USD,\n".encode(), own, "f")
    assert one.key == same.key != other.key


BAD = {
    "1,t,-1,USD,\n": "f, record 1: cost must be an amount from 0",
    "1,t,NaN,USD,\n": "f, record 1: cost must be an amount from 0",
    "1,t,1e99,USD,\n": "must be an amount from 0",
    "1,t,0.0000001,USD,\n": "comes to whole millionths",
    "1,t,inf,USD,\n": "f, record 1: cost must be an amount from 0",
    "1,t,,USD,\n": "whole millionths, not nothing",
    "1,t,1,,\n": "three capitals such as USD, not nothing",
    "1,t,1,usd,\n": "three capitals such as USD, not usd",
    "1,t,1,ÄÖÜ,\n": "three capitals such as USD",
    "1,t,9007199254740993,USD,\n": "must be an amount from 0",
    f"1,t,1,USD,{'9' * 5000}\n": "must be a moment with its zone",
    "1,t,1,USD,2026-12-01T00:00:00\n": "must be a moment with its zone",
    "1,t,1,USD,yesterday\n": "must be a moment with its zone, not yesterday",
    "1,t,1,USD,0001-01-01T00:00:00+23:59\n": "f, record 1: at must lie in the years 1970 to 2255",
    "1,t,1,USD,9999-12-31T23:59:59-23:59\n": "f, record 1: at must lie in the years 1970 to 2255",
    ",t,1,USD,\n": "id is empty",
    f"{'i' * 501},t,1,USD,\n": "f, record 1: id is longer than 500 characters",
    f"1,{'t' * 501},1,USD,\n": "f, record 1: task is longer than 500 characters",
    "1\0,t,1,USD,\n": "f, record 1: id holds NUL at character 2",
    "1,t,1,USD,\n1,t,1,USD,\n": "f, record 2: 1 stands there twice",
    "1,t,1,USD,\n1,t,2,USD,\n": "f, record 2: 1 stands there twice",
    "1,t,1\n": "f, line 2: the line hasn't as many fields as the head",
    '1,"t,1,USD,\n': "f, line 2: can't be read as CSV",
}


@pytest.mark.parametrize("rows", BAD)
def test_what_is_wrong_is_named_by_its_record(rows: str) -> None:
    with pytest.raises(BadValueError) as caught:
        read_usage((HEAD + rows).encode(), mapped(), "f")
    assert BAD[rows] in caught.value.sentence


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"a,b\n1,2\n", "f has no column id; its columns: a, b"),
        (b"\xff", "isn't UTF-8"),
        (b"{", "can't be read as JSON"),
        (b'{"a": 1}', "holds no list of records"),
        (b"[1]", "a record must be an object"),
        (b"", "f is empty"),
        (b"\xef\xbb\xbf \n", "f is empty"),
        ("id,task".encode("utf-16"), "isn't UTF-8: byte 1 "),
        (b"id\x1b[2J,b\n", r"its columns: id\\x1b\[2J, b"),
        (b"id,id,task,cost,cur,at\n", "has two columns id: nobody can tell which one is meant"),
        (b"[" * 100_000, "can't be read as JSON"),
        (b'[{"id": "1", "task": "t", "cost": NaN, "cur": "USD"}]', "must be an amount from 0"),
        (b'[{"id": "1", "task": "t", "cost": 1, "cur": "USD"}', "can't be read as JSON"),
        (b'[{"id": "1", "task": "t", "cost": ["1"], "cur": "USD"}]', "must be text or a number"),
        (b'[{"id": "1", "task": "t", "cost": 1, "cost": 2, "cur": "USD"}]', "f, record 1: cost stands there twice"),
        (b'[{"id": "1", "task": "\\ud800", "cost": 1, "cur": "USD"}]', "f, record 1: task holds a lone surrogate"),
    ],
)
def test_what_is_no_export_is_refused(data: bytes, words: str) -> None:
    with pytest.raises(BadValueError, match=words):
        read_usage(data, mapped(), "f")


def test_the_longest_ids_are_taken() -> None:
    longest = "i" * TEXT_CHARS_MAX
    (record,) = read_usage(f"{HEAD}{longest},{longest},1,USD,\n".encode(), mapped(), "f")
    assert (record.key, record.ref) == (longest, longest)


def test_what_nobody_reads_may_say_anything_unless_the_record_goes_by_it() -> None:
    said = b'[{"id": "1", "task": "t", "cost": 1, "cur": "USD", "more": {"a": "\\ud800", "b": 1, "b": 2}}]'
    bad = said.replace(b'{"a": "\\ud800", "b": 1, "b": 2}', b'"\\ud800"')
    assert [record.key for record in read_usage(said, mapped(), "f")] == ["1"]
    with pytest.raises(BadValueError, match=r"f, record 1: .*more holds a lone surrogate"):
        read_usage(bad, mapped(MAP.replace('record = "id"\n', "")), "f")


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_lines_end_as_they_do_on_any_machine(ending: str) -> None:
    (record,) = read_usage(f"{HEAD}1,t,1,USD,\n".replace("\n", ending).encode(), mapped(), "f")
    assert record.amount_micros == 1_000_000


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (MAP.replace('amount = "cost"\n', ""), "`columns.amount` must name the column"),
        (MAP.replace('ref = "task"\n', ""), "`columns.ref` must name the column"),
        (MAP.replace('currency = "cur"\n', ""), "give one of them"),
        (MAP + 'colour = "red"\n', "colour"),
        (MAP.replace('"reapi"', '"Re API"'), "`provider`"),
    ],
)
def test_a_map_that_says_too_little_is_refused(text: str, words: str) -> None:
    with pytest.raises(RecipeError, match=words):
        mapped(text)


def test_more_records_than_anybody_takes_in_at_once_are_refused() -> None:
    rows = "".join(f"{number},t,1,USD,\n" for number in range(3))
    assert len(read_usage((HEAD + rows).encode(), mapped(), "f", records_max=3)) == 3
    with pytest.raises(BadValueError, match="more than 2 records: split it"):
        read_usage((HEAD + rows).encode(), mapped(), "f", records_max=2)
