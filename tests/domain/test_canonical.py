"""C117, C121 and C124 as far as JSON decides them: equal requests give equal bytes; the unwritable is refused."""

import json
from decimal import Decimal, localcontext
from typing import NoReturn

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onetake.domain.canonical import digest, encode, parse, to_wire_json
from onetake.domain.errors import BadValueError
from onetake.domain.jsonvalue import DEPTH_MAX, Json, shown
from tests.domain.json_values import decimals, finite, values, whole, writable


def refuse(spelling: str) -> NoReturn:
    raise AssertionError(spelling)


def strict(text: bytes) -> object:
    """Reads as another program would: only what RFC 8259 allows, each key once."""

    def once(pairs: list[tuple[str, object]]) -> dict[str, object]:
        assert len(dict(pairs)) == len(pairs)
        return dict(pairs)

    return json.loads(text, parse_constant=refuse, parse_float=Decimal, object_pairs_hook=once)


@given(values)
def test_what_is_written_reads_back_equal_and_is_written_the_same_again(value: object) -> None:
    written = encode(value)
    assert encode(parse(written)) == written
    assert encode(parse(to_wire_json(value))) == written
    assert parse(written) == strict(written)


@given(st.data(), st.dictionaries(writable, values, max_size=6))
def test_c117_the_order_of_keys_is_free(data: st.DataObject, value: dict[str, object]) -> None:
    other = dict(data.draw(st.permutations(list(value.items()))))
    assert encode(other) == encode(value)
    sent = strict(to_wire_json(other))
    assert isinstance(sent, dict)
    assert list(sent) == list(other)


@given(decimals | whole.map(Decimal))
def test_numbers_are_exact_and_have_one_spelling(number: Decimal) -> None:
    with localcontext(prec=3):
        written = encode(number).decode()
    assert Decimal(written) == number
    assert "e" not in written.lower()
    assert not written.startswith(("+", "-0,"))
    assert "." not in written or not written.endswith(("0", "."))
    assert {encode(parse(f"{number:e}")), encode(parse(f"{number:f}"))} == {written.encode()}


@given(finite)
def test_floats_count_by_their_shortest_spelling(number: float) -> None:
    assert Decimal(encode(number).decode()) == Decimal(repr(number))


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ('{"a":1,"b":{"c":[{"d":2,"e":3}]}}', '{"b":{"c":[{"e":3,"d":2}]},"a":1}'),
        ("5", "5.0"),
        ("5", "5e0"),
        ("1e2", "100"),
        ("0.1", "1E-1"),
        ("-0", "0.000"),
        ("100000000000000000000000000000001", "100000000000000000000000000000001.0"),
        ('"\\u00e9"', '"é"'),
        ('"\\ud83d\\ude00"', '"😀"'),
        ('"\\/"', '"/"'),
        (" [ 1 , 2 ] ", "[1,2]"),
    ],
)
def test_c117_equal_requests_have_equal_digests(left: str, right: str) -> None:
    assert digest(parse(left)) == digest(parse(right))


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("[1,2]", "[2,1]"),
        ("1", "true"),
        ("0", "false"),
        ("5", '"5"'),
        ("null", '""'),
        ('"e\\u0301"', '"\\u00e9"'),
        ("100000000000000000000000000000001", "100000000000000000000000000000002"),
        ("0.1000000000000000000000000000000001", "0.1"),
    ],
)
def test_c117_different_requests_have_different_digests(left: str, right: str) -> None:
    assert digest(parse(left)) != digest(parse(right))


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (None, "null"),
        ([True, False], "[true,false]"),
        ({"b": 1, "a": 2, "ab": 3}, '{"a":2,"ab":3,"b":1}'),
        ({"\U0001f600": 1, "\uffee": 2}, '{"\uffee":2,"\U0001f600":1}'),
        ('\x01\x1f\b\t\n\f\r"\\/\x7f\u2028', '"\\u0001\\u001f\\b\\t\\n\\f\\r\\"\\\\/\x7f\u2028"'),
        (Decimal("1E+3"), "1000"),
        (Decimal("1.50"), "1.5"),
        (-0.0, "0"),
        (1e-7, "0.0000001"),
        ((1, 2), "[1,2]"),
    ],
)
def test_the_canonical_spelling(value: object, written: str) -> None:
    assert encode(value).decode() == written


def test_stored_fingerprints_stay_as_they_are() -> None:
    """Version 1 of the rules; if this fails, jobs that are already stored would no longer be recognised."""
    assert digest({"a": 5}) == "bbe449108b5f3754112c511ad1422dfb60260b45d6d9414fb9596459009995b9"
    assert (
        digest({"prompt": "é 😀\n", "n": [1, Decimal("0.5"), None, True]})
        == "20b923cc5f3e49caf8622f5e3d3ef545a8a86cf42b53ebe8b8217fbfdc59fadd"
    )


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ('{"duration": NaN}', "/duration", "not a finite number"),
        ('{"duration": 1e999}', "/duration", "too large a number"),
        ('{"duration": -Infinity}', "/duration", "not a finite number"),
        ("[0, 1e99999999999999999999999]", "/1", "not a finite number"),
        ("[2" + "0" * 308 + "]", "/0", "too large a number"),
        ("1e-400", "", "more than 324 digits after the point"),
        (f"0.{'0' * 323}11", "", "more than 324 digits after the point"),
        pytest.param("9" * 6000, "", "too large a number", id="6000 digits"),
        ('{"a":{"b":1,"b":1}}', "", "has the key `b` twice in one object"),
        ('{"a~/b":"x\\u0000"}', "/a~0~1b", "holds NUL at character 2"),
        ('["\\ud83d"]', "/0", "holds a lone surrogate (\\ud83d) at character 1"),
        ('{"\\udc00":1}', "", "has a key that holds a lone surrogate"),
        ("[" * (DEPTH_MAX + 1) + "]" * (DEPTH_MAX + 1), "/0", "nested more than"),
        pytest.param("[" * 100_000, "", "nested too deep", id="100000 deep"),
        ('{"a":\n 1,}', "", "isn't JSON: "),
        ("", "", "isn't JSON: Expecting value at line 1, column 1"),
        ("[1] [2]", "", "isn't JSON: Extra data at line 1, column 5"),
        ('"a\tb"', "", "isn't JSON: Invalid control character"),
        ("01", "", "isn't JSON"),
        (b'{"a":"\xff"}', "", "isn't UTF-8: byte 7 can't"),
        (b'{\n\n"\xed\xa0\x80"', "", "isn't UTF-8: byte 5 (line 3)"),
    ],
)
def test_c121_what_json_lacks_is_refused_with_its_place(text: str | bytes, place: str, words: str) -> None:
    with pytest.raises(BadValueError) as caught:
        parse(text)
    assert list(caught.value.fields) == [place]
    assert words in caught.value.fields[place]
    assert caught.value.sentence.startswith(place or "the value")
    assert caught.value.sentence.isprintable()


@pytest.mark.parametrize(
    ("value", "place", "words"),
    [
        ({"cost": float("nan")}, "/cost", "not a finite number"),
        ([float("inf")], "/0", "not a finite number"),
        (Decimal("sNaN"), "", "not a finite number"),
        pytest.param(10**5000, "", "too large a number", id="5000 digits"),
        ({1: "x"}, "", "has a key of type int; keys are text"),
        ({"when": {1, 2}}, "/when", "is of type set, which has no form in JSON"),
        (b"bytes", "", "is of type bytes"),
        ({"\x1b[31m": "\0"}, "/\x1b[31m", "holds NUL"),
    ],
)
def test_c121_no_such_value_is_ever_written(value: object, place: str, words: str) -> None:
    with pytest.raises(BadValueError) as caught:
        encode(value)
    assert words in caught.value.fields[place]
    assert caught.value.sentence.isprintable()


def test_a_value_within_itself_is_refused() -> None:
    loop: list[object] = []
    loop.append(loop)
    with pytest.raises(BadValueError, match=r"^/0 is nested more than 64 deep\.$"):
        to_wire_json(loop)


def test_the_deepest_value_is_taken() -> None:
    text = "[" * DEPTH_MAX + "]" * DEPTH_MAX
    assert encode(parse(text)).decode() == text


@pytest.mark.parametrize("text", ["👨‍👩‍👧‍👦" * 1000, "ä" * 1000, " \n שלום עולם ", "e\u0301", 'a"b\\c'], ids=ascii)
def test_c124_a_prompt_goes_out_with_the_bytes_it_came_with(text: str) -> None:
    body: Json = parse(json.dumps({"prompt": text}))
    sent = to_wire_json(body)
    assert json.loads(sent)["prompt"].encode() == text.encode()
    assert parse(sent) == body


def test_long_and_unprintable_texts_fit_into_a_sentence() -> None:
    assert shown("a\x1b[0m\ud83d\u202e") == "a\\x1b[0m\\ud83d\\u202e"
    assert shown("x" * 100, 10) == "xxxxxxxxx…"
