"""A step's frozen request: what goes out, what it means, and what must come back."""

import pytest

from onetake.domain.canonical import digest, to_wire_json
from onetake.domain.inputs import resolve_inputs
from onetake.domain.output_fields import expected_outputs
from onetake.domain.outputs import OutputSpec
from onetake.domain.request import OutputHandoff, freeze_request
from tests.domain.recipes import full, shipped

ADDRESS = "https://cdn.example/still.png?expires=1"
STILL = OutputHandoff(digest="ab" * 32, address=ADDRESS)


def test_the_first_request_of_the_chain() -> None:
    recipe = shipped("still-to-clip")
    inputs = resolve_inputs(recipe, {"prompt": "Ein Fuchs,\n„schlau“ 🦊", "ratio": "9:16"})
    frozen = freeze_request(recipe.step("image"), inputs, {})
    assert to_wire_json(frozen.body).decode() == (
        '{"model":"gemini-3.1-flash-image-preview","prompt":"Ein Fuchs,\\n„schlau“ 🦊",'
        '"size":"9:16","resolution":"1k","n":1}'
    )
    assert frozen.meaning == {"provider": "reapi", "operation": "image", "body": frozen.body}
    assert frozen.hash == digest(frozen.meaning)


def test_the_second_request_carries_the_still_and_means_its_bytes() -> None:
    recipe = shipped("still-to-clip")
    inputs = resolve_inputs(recipe, {"prompt": "a fox", "motion": "it runs"})
    frozen = freeze_request(recipe.step("video"), inputs, {("image", "still"): STILL})
    body = {
        "model": "wan3.0-video",
        "prompt": "it runs",
        "image_with_roles": [{"url": ADDRESS, "role": "first_frame"}],
        "size": "16:9",
        "resolution": "720p",
        "duration": 5,
    }
    assert frozen.body == body
    first_frame = {"url": {"sha256": STILL.digest}, "role": "first_frame"}
    assert frozen.meaning == {
        "provider": "reapi",
        "operation": "video",
        "body": {**body, "image_with_roles": [first_frame]},
    }


def test_an_address_changes_the_body_and_not_the_meaning() -> None:
    recipe = shipped("still-to-clip")
    inputs = resolve_inputs(recipe, {"prompt": "a fox"})
    renewed = OutputHandoff(digest=STILL.digest, address="https://cdn.example/still.png?expires=2")
    other = OutputHandoff(digest="cd" * 32, address=ADDRESS)
    one, two, three = (
        freeze_request(recipe.step("video"), inputs, {("image", "still"): still}) for still in (STILL, renewed, other)
    )
    assert one.body != two.body
    assert one.hash == two.hash
    assert one.body == three.body
    assert one.hash != three.hash


def test_a_request_is_not_frozen_before_what_it_needs_is_there() -> None:
    recipe = shipped("still-to-clip")
    with pytest.raises(KeyError):
        freeze_request(recipe.step("video"), resolve_inputs(recipe, {"prompt": "a fox"}), {})


def test_references_are_replaced_at_any_depth_and_numbers_stay_exact() -> None:
    recipe = full()
    inputs = resolve_inputs(recipe, {"order": 7, "words": "ab", "cut_s": 5, "strength": 0.1})
    frozen = freeze_request(recipe.step("draw"), inputs, {})
    assert (
        to_wire_json(frozen.body) == b'{"model":"painter-2","text":"ab","nested":[[{"strength":0.1}],"as it is",2.5]}'
    )


def test_the_recipe_is_not_touched() -> None:
    recipe = full()
    inputs = resolve_inputs(recipe, {"order": 7, "words": "ab", "cut_s": 5})
    body = freeze_request(recipe.step("draw"), inputs, {}).body
    assert isinstance(body, dict)
    body["text"] = "changed"
    assert recipe == full()


def test_the_chain_owes_a_still_and_a_clip_of_the_ordered_ratio() -> None:
    recipe = shipped("still-to-clip")
    still, clip = expected_outputs(recipe, resolve_inputs(recipe, {"prompt": "a fox", "ratio": "1:1"}))
    assert (still.step, still.name, still.ordinal) == ("image", "still", 0)
    assert still.spec == OutputSpec(kind="image", media_types=("image/png", "image/jpeg", "image/webp"), ratio="1:1")
    assert tuple(clip)[:3] == ("video", "clip", 0)
    assert clip.spec == OutputSpec(
        kind="video",
        media_types=("video/mp4",),
        ratio="1:1",
        duration_ms=5000,
        duration_tolerance_ms=250,
        video_codecs=("h264",),
    )


def test_specs_follow_the_inputs_and_outputs_are_numbered_within_their_step() -> None:
    recipe = full()
    rows = expected_outputs(recipe, resolve_inputs(recipe, {"order": 640, "words": "ab", "cut_s": 12}))
    assert [tuple(row)[:3] for row in rows] == [
        ("draw", "left", 0),
        ("draw", "right", 1),
        ("join", "sound", 0),
        ("move", "clip", 0),
    ]
    left, _, sound, clip = (row.spec for row in rows)
    assert (left.width_px, left.height_px) == (640, 100)
    assert sound == OutputSpec(kind="audio", duration_ms=12_000)
    assert (clip.fps, clip.ratio_tolerance, clip.audio) == (24.0, 0.05, "required")
    assert isinstance(clip.fps, float)
