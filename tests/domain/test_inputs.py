"""C117, C121 and C124 at the door: what a job brings is taken exactly or refused whole, and its key follows from it."""

import hashlib
import re
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onetake.domain.canonical import parse, to_wire_json
from onetake.domain.errors import BadValueError
from onetake.domain.inputs import derive_key, resolve_inputs, told_inputs, validate_key
from onetake.domain.recipe import Recipe
from onetake.domain.recipe_toml import parse_recipe
from onetake.domain.request import job_request_hash
from tests.domain.json_values import values
from tests.domain.recipes import FULL, full, shipped

ORDER: dict[str, object] = {"order": 7, "words": "two words", "cut_s": 12}
GOOD: dict[object, object] = dict(ORDER.items())


def faults(recipe: Recipe, raw: object) -> dict[str, str]:
    with pytest.raises(BadValueError) as caught:
        resolve_inputs(recipe, raw)
    assert caught.value.sentence.isprintable()
    return caught.value.fields


def test_defaults_are_filled_in_and_the_order_is_the_recipes() -> None:
    taken = resolve_inputs(full(), {"words": "ab", "cut_s": 5, "order": 1})
    assert list(taken.items()) == [
        ("order", 1),
        ("words", "ab"),
        ("strength", Decimal("0.25")),
        ("loud", False),
        ("cut_s", 5),
        ("ratio", "1:1"),
    ]


@pytest.mark.parametrize(
    ("changed", "place", "reason"),
    [
        ({"order": True}, "/inputs/order", "must be a number"),
        ({"order": "7"}, "/inputs/order", "must be a number"),
        ({"order": None}, "/inputs/order", "must be a number"),
        ({"order": 7.5}, "/inputs/order", "must be a whole number"),
        ({"order": 0}, "/inputs/order", "must be at least 1"),
        ({"order": 10_000}, "/inputs/order", "must be at most 9999"),
        ({"order": float("nan")}, "/inputs/order", "is not a finite number"),
        ({"strength": 1.0000001}, "/inputs/strength", "must be at most 1"),
        ({"loud": 1}, "/inputs/loud", "must be true or false"),
        ({"loud": "true"}, "/inputs/loud", "must be true or false"),
        ({"cut_s": "5"}, "/inputs/cut_s", "must be one of: 5, 12, 23"),
        ({"cut_s": True}, "/inputs/cut_s", "must be one of: 5, 12, 23"),
        ({"ratio": "16:9 "}, "/inputs/ratio", "must be one of: 16:9, 1:1"),
        ({"words": 5}, "/inputs/words", "must be text"),
        ({"words": ["a", "b"]}, "/inputs/words", "must be text"),
        ({"words": "a"}, "/inputs/words", "is too short: 1 of at least 2 characters"),
        ({"words": "a\0b"}, "/inputs/words", "holds NUL at character 2"),
        ({"words": "ab\ud83d"}, "/inputs/words", "holds a lone surrogate (\\ud83d) at character 3"),
        ({"wrods": "x"}, "/inputs/wrods", "isn't an input of two-halves (did you mean `words`?)"),
        ({"\x1b[2J": "x"}, "/inputs/\\x1b[2J", "isn't an input of two-halves"),
        ({7: "x"}, "/inputs/7", "isn't an input of two-halves"),
    ],
)
def test_types_are_strict_and_limits_hold(changed: dict[object, object], place: str, reason: str) -> None:
    assert faults(full(), {**GOOD, **changed}) == {place: reason}


def test_all_faults_are_told_at_once_and_the_first_in_words() -> None:
    with pytest.raises(BadValueError) as caught:
        resolve_inputs(full(), {"order": "secret", "words": "", "speed": 1})
    assert list(caught.value.fields) == ["/inputs/order", "/inputs/words", "/inputs/cut_s", "/inputs/speed"]
    assert caught.value.sentence == "/inputs/order must be a number; 3 more are at fault."


@pytest.mark.parametrize(
    ("raw", "sentence"),
    [
        ({**GOOD, "words": "a"}, "/inputs/words is too short: 1 of at least 2 characters."),
        ({"order": 1, "words": "a"}, "/inputs/words is too short: 1 of at least 2 characters; one more is at fault."),
        ([GOOD], "/inputs must be an object."),
        (None, "/inputs must be an object."),
    ],
)
def test_a_refusal_is_one_sentence(raw: object, sentence: str) -> None:
    with pytest.raises(BadValueError) as caught:
        resolve_inputs(full(), raw)
    assert caught.value.sentence == sentence


@given(values)
def test_any_json_is_taken_or_refused_with_a_place(raw: object) -> None:
    assert all(place.startswith("/inputs") for place in faults(full(), raw))


@given(st.text(min_size=1))
def test_no_text_is_ever_told(text: str) -> None:
    told = faults(full(), {"order": text, "words": f"{text}\0", "cut_s": text, "ratio": text})
    known = r"must be (a number|one of: 5, 12, 23|one of: 16:9, 1:1)|holds NUL at character \d+"
    assert [reason for reason in told.values() if not re.fullmatch(known, reason)] == []


class TestC124:
    """Limits count in the stated unit; nothing is cut; the stored prompt is the one that is sent."""

    family = "👨‍👩‍👧‍👦"  # seven code points, 25 bytes, one picture

    def test_characters_are_code_points(self) -> None:
        recipe = shipped("still-to-clip")
        assert resolve_inputs(recipe, {"prompt": "ä" * 4000})["prompt"] == "ä" * 4000
        assert resolve_inputs(recipe, {"prompt": self.family * 571})["prompt"] == self.family * 571
        assert faults(recipe, {"prompt": self.family * 1000}) == {
            "/inputs/prompt": "is too long: 7000 of at most 4000 characters (Unicode code points)"
        }

    def test_a_prompt_of_200_kb_is_refused_not_cut(self) -> None:
        assert "at most 4000" in faults(shipped("still-to-clip"), {"prompt": "x" * 200_000})["/inputs/prompt"]

    def test_bytes_are_utf8(self) -> None:
        raw = {**GOOD, "words": self.family * 12}
        assert resolve_inputs(full(), raw)["words"] == raw["words"]
        assert faults(full(), {**GOOD, "words": self.family * 13}) == {
            "/inputs/words": "is too long: 325 of at most 300 bytes in UTF-8"
        }

    @pytest.mark.parametrize("prompt", ["  blanks stay  \n", "שלום, עולם", "e\u0301 is not \u00e9", "\u202eodd"])
    def test_a_prompt_is_kept_as_it_is(self, prompt: str) -> None:
        taken = resolve_inputs(shipped("still-to-clip"), {"prompt": prompt})
        assert taken["prompt"] == prompt
        assert parse(to_wire_json(taken)) == taken

    def test_a_lone_surrogate_in_json_is_refused(self) -> None:
        with pytest.raises(BadValueError, match=r"^/inputs/prompt holds a lone surrogate"):
            parse('{"inputs":{"prompt":"\\ud83d"}}')


class TestC117:
    """Equal orders have equal hashes and keys, however they are written."""

    @pytest.mark.parametrize(
        ("left", "right"),
        [
            ('{"order":7,"words":"ab","cut_s":12}', '{"cut_s":12,"words":"ab","order":7}'),
            ('{"order":7,"words":"ab","cut_s":12}', '{"order":7.0,"words":"ab","cut_s":1.2e1}'),
            ('{"order":7,"words":"ab","cut_s":12}', '{"order":7,"words":"ab","cut_s":12,"ratio":"1:1","loud":false}'),
            ('{"order":7,"words":"\\u00e9e","cut_s":12}', '{"order":7,"words":"ée","cut_s":12}'),
        ],
    )
    def test_same_order(self, left: str, right: str) -> None:
        recipe = full()
        first, second = (resolve_inputs(recipe, parse(text)) for text in (left, right))
        assert job_request_hash(recipe, first) == job_request_hash(recipe, second)
        assert derive_key(recipe, first) == derive_key(recipe, second)

    @pytest.mark.parametrize("change", [{"order": 8}, {"words": "AB"}, {"loud": True}, {"ratio": "16:9"}])
    def test_another_order(self, change: dict[str, object]) -> None:
        recipe = full()
        first, second = resolve_inputs(recipe, GOOD), resolve_inputs(recipe, {**ORDER, **change})
        assert job_request_hash(recipe, first) != job_request_hash(recipe, second)

    def test_another_recipe(self) -> None:
        inputs = resolve_inputs(full(), GOOD)
        other = parse_recipe(FULL.replace("version = 3", "version = 4"), "x")
        assert job_request_hash(full(), inputs) != job_request_hash(other, inputs)
        assert derive_key(full(), inputs) == derive_key(other, inputs)


def test_a_key_is_readable_where_it_is_short_and_holds_no_text() -> None:
    assert derive_key(full(), resolve_inputs(full(), GOOD)) == 'two-halves:{"cut_s":12,"order":7}'


def test_a_key_with_a_prompt_in_it_is_hashed() -> None:
    recipe = shipped("still-to-clip")
    key = derive_key(recipe, resolve_inputs(recipe, {"prompt": "a fox"}))
    assert key == "still-to-clip:sha256:95824ab63c18662ecb13fed037dc1e055381a5ee1dda6e3fddfcbd32ff45ddff"


def test_a_long_key_is_hashed() -> None:
    word = "x" * 200
    text = FULL.replace("choices = [5, 12, 23]", f'choices = ["{word}"]').replace('{ ref = "inputs.cut_s" }', "5")
    recipe = parse_recipe(text, "x")
    key = derive_key(recipe, resolve_inputs(recipe, {**GOOD, "cut_s": word}))
    assert key.startswith("two-halves:sha256:")
    assert len(key) == len("two-halves:sha256:") + 64


@given(st.integers(1, 9999), st.sampled_from([5, 12, 23]))
def test_a_derived_key_is_a_valid_key(order: int, cut_s: int) -> None:
    recipe = full()
    key = derive_key(recipe, resolve_inputs(recipe, {**GOOD, "order": order, "cut_s": cut_s}))
    assert validate_key(key) == key


@pytest.mark.parametrize("key", ["x", "-x", " a/../b?c#d ", "é" * 255, "👨‍👩‍👧‍👦"])
def test_a_raw_key_is_taken_as_it_is(key: str) -> None:
    assert validate_key(key) == key


@pytest.mark.parametrize(
    ("key", "reason"),
    [
        ("", "must have 1 to 255 characters, not 0"),
        ("x" * 256, "must have 1 to 255 characters, not 256"),
        (7, "must be text"),
        (None, "must be text"),
        ("a\nb", "holds U+000A at character 2; a key is one line of writable text"),
        ("\0", "holds U+0000 at character 1; a key is one line of writable text"),
        ("a\ud83d", "holds U+D83D at character 2; a key is one line of writable text"),
        ("job_01m8qm562977sw7smk251n3n07", "looks like a job's id, and jobs are found by either: choose another"),
        ("a\u2028", "holds U+2028 at character 2; a key is one line of writable text"),
    ],
)
def test_a_bad_raw_key_is_refused(key: object, reason: str) -> None:
    with pytest.raises(BadValueError) as caught:
        validate_key(key)
    assert caught.value.fields == {"/key": reason}


def test_a_text_is_told_by_its_length_and_digest_and_all_else_as_it_is() -> None:
    content = {"inputs": {"words": {"type": "text"}, "cut": {"type": "choice"}, "part": {"type": "number"}}}
    told = told_inputs(content, {"words": "a fox", "cut": 5, "part": Decimal("0.5")})
    assert told["words"] == {"chars": 5, "sha256": hashlib.sha256(b"a fox").hexdigest()}
    assert (told["cut"], told["part"]) == (5, 0.5)
