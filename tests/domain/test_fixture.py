"""The regression fixture's file: what it holds, that it reads back, and that a changed one is refused."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from onetake.domain.canonical import digest
from onetake.domain.errors import BadValueError
from onetake.domain.fixture import (
    NAME_CHARS_MAX,
    FirstFrame,
    Fixture,
    Part,
    approver,
    chain_of,
    from_text,
    ordered_clip,
    to_text,
)
from onetake.domain.inputs import resolve_inputs
from onetake.domain.recipe_toml import parse_recipe
from onetake.domain.request import job_request_hash
from onetake.recipes import read_shipped

CHAIN = read_shipped("still-to-clip")
STILL = bytes(range(256)) * 3


def fixture() -> Fixture:
    recipe = parse_recipe(CHAIN, "test.toml")
    inputs = resolve_inputs(recipe, {"prompt": "A fox in the snow 🦊", "motion": "It “turns”", "ratio": "9:16"})
    return Fixture(
        approved_by="Ada",
        approved_at="2026-11-30T20:15:00+00:00",
        job_id="job_1",
        request_hash=job_request_hash(recipe, inputs),
        recipe=recipe,
        source=CHAIN,
        inputs=inputs,
        still=STILL,
        still_digest=hashlib.sha256(STILL).hexdigest(),
        media_type="image/png",
        first_frame=FirstFrame(width_px=9, height_px=16, sha256="ef" * 32),
        duration_ms=ordered_clip(recipe, inputs).duration_ms,
        ratio=ordered_clip(recipe, inputs).ratio,
    )


def changed(change: Callable[[dict[str, Any]], object], *, sealed: bool = False) -> str:
    """The file after a change by hand, sealed again or not."""
    content = json.loads(to_text(fixture()))
    change(content)
    if sealed:
        del content["seal"]
        content["seal"] = digest(content)
    return json.dumps(content)


def test_one_file_holds_everything_and_reads_back() -> None:
    text = to_text(fixture())
    assert from_text(text) == fixture()
    assert to_text(from_text(text.encode())) == text
    content = json.loads(text)
    assert content["still"] == {
        "prompt": "A fox in the snow 🦊",
        "sha256": hashlib.sha256(STILL).hexdigest(),
        "media_type": "image/png",
    }
    assert content["clip"]["prompt"] == "It “turns”"
    assert (content["clip"]["duration_ms"], content["clip"]["ratio"]) == (5000, "9:16")
    assert content["models"] == {"image": "gemini-3.1-flash-image-preview", "video": "wan3.0-video"}
    assert content["inputs"] == {"ratio": "9:16"}
    assert content["approved"]["by"] == "Ada"
    assert max(map(len, text.splitlines())) < 200


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda c: c["still_base64"].pop(), "the still's bytes hash to"),
        (lambda c: c["still"].update(sha256="0" * 64), "approved were 0000000000000000…"),
        (lambda c: c["still"].update(prompt="A wolf"), "its prompts or inputs are not those"),
        (lambda c: c["clip"].update(prompt="It runs"), "its prompts or inputs are not those"),
        (lambda c: c["inputs"].update(ratio="1:1"), "its prompts or inputs are not those"),
        (lambda c: c["recipe"].update(hash="1" * 64), "frozen was 1111111111111111…"),
        (lambda c: c["recipe"]["source"].append("\n[steps.repeats]\ncount_max = 3\n"), "its recipe hashes to"),
        (lambda c: c["approved"].update(by="Eve"), "its seal doesn't fit"),
        (lambda c: c["clip"]["first_frame"].update(sha256="0" * 64), "its seal doesn't fit"),
        (lambda c: c["models"].update(image="other"), "its seal doesn't fit"),
        (lambda c: c["recipe"].update(version=2), "its seal doesn't fit"),
        (lambda c: c.pop("seal"), "its seal doesn't fit"),
    ],
)
def test_a_changed_file_is_refused_in_one_sentence(change: Callable[[dict[str, Any]], object], told: str) -> None:
    with pytest.raises(BadValueError) as refused:
        from_text(changed(change))
    assert told in refused.value.sentence
    assert refused.value.sentence.startswith("This fixture is not as it was approved: ")
    assert refused.value.exit_code == 2


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[", "isn't JSON"),
        ("[]", "doesn't say onetake_fixture 1"),
        (b"\xff", "isn't UTF-8"),
        (changed(lambda c: c.update(onetake_fixture=2)), "doesn't say onetake_fixture 1"),
        (changed(lambda c: c.pop("still"), sealed=True), "it has no 'still'"),
        (changed(lambda c: c["clip"].update(first_frame={"sha256": ""}), sealed=True), "has another form"),
        (changed(lambda c: c.update(still_base64="?")), "has another form"),
        (changed(lambda c: c["approved"].update(by=" ")), "must name a person"),
        (changed(lambda c: c["approved"].update(by=5)), "has another form"),
        (changed(lambda c: c["recipe"].update(source=["x"])), "the fixture's recipe"),
    ],
)
def test_what_is_no_fixture_is_refused_in_one_sentence(text: str | bytes, told: str) -> None:
    with pytest.raises(BadValueError) as refused:
        from_text(text)
    assert told in refused.value.sentence
    assert "\n" not in refused.value.sentence


def test_a_changed_file_that_was_sealed_again_still_has_to_make_sense() -> None:
    with pytest.raises(BadValueError, match="its seal doesn't fit"):
        from_text(changed(lambda c: c["models"].update(image="other"), sealed=True))


def test_the_seal_is_over_every_word_but_itself() -> None:
    content = json.loads(to_text(fixture()))
    seal = content.pop("seal")
    assert seal == digest(content) == fixture().seal
    assert replace(fixture(), approved_by="Eve").seal != seal


@pytest.mark.parametrize("name", ["", "  ", "two\nlines", "x" * (NAME_CHARS_MAX + 1)])
def test_only_a_person_approves(name: str) -> None:
    with pytest.raises(BadValueError, match="--approved-by must name a person"):
        approver(name)


def test_the_chain_is_read_from_the_recipe() -> None:
    chain = chain_of(parse_recipe(CHAIN, "test.toml"))
    assert chain.still == Part(step="image", output="still", input="prompt")
    assert chain.clip == Part(step="video", output="clip", input="motion")


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('kind = "video"', 'kind = "image"', "no paid step of it makes a file of kind video"),
        (
            '{ url = { ref = "steps.image.outputs.still" }, role = "first_frame" }',
            '{ url = "x" }',
            "isn't given the still",
        ),
        ('prompt = { ref = "inputs.motion" }', 'prompt = "moves"', "refers to 0 texts"),
        (
            'prompt = { ref = "inputs.prompt" }',
            'prompt = [{ ref = "inputs.prompt" }, { ref = "inputs.motion" }]',
            "2 texts",
        ),
    ],
)
def test_a_recipe_without_a_still_that_becomes_a_clip_is_refused(old: str, new: str, told: str) -> None:
    source = CHAIN.replace(old, new)
    if 'kind = "image"' in new:
        source = "\n".join(line for line in source.splitlines() if not line.startswith(("duration_", "video_codecs")))
    with pytest.raises(BadValueError, match="can't be frozen as a still and its clip") as refused:
        chain_of(parse_recipe(source, "test.toml"))
    assert told in refused.value.sentence
