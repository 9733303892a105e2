"""The verdict on a file, row by row."""

from dataclasses import replace
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as some

from onetake.domain.outputs import Measures, Mismatch, OutputSpec
from onetake.domain.verdict import judge

STILL = Measures(kind="image", media_type="image/png", size_bytes=9_000, width_px=1024, height_px=768, frames=1)
CLIP = Measures(
    kind="video",
    media_type="video/mp4",
    size_bytes=90_000,
    width_px=1280,
    height_px=720,
    duration_ms=5000,
    frames=120,
    fps=24.0,
    video_codec="h264",
    audio_codec="aac",
    pixel_format="yuv420p",
)
CLIP_SPEC = OutputSpec(
    kind="video",
    media_types=("video/mp4",),
    width_px=1280,
    height_px=720,
    ratio="16:9",
    short_side_px_min=720,
    size_bytes_max=100_000,
    duration_ms=5000,
    fps=24,
    video_codecs=("h264", "hevc"),
    audio_codecs=("aac",),
    audio="required",
)


def whats(spec: OutputSpec, measures: Measures) -> list[str]:
    return [mismatch.what for mismatch in judge(spec, measures)]


def test_a_file_inside_its_spec_has_no_mismatch() -> None:
    assert judge(CLIP_SPEC, CLIP) == ()
    assert judge(OutputSpec(kind="image"), STILL) == ()


@pytest.mark.parametrize(
    ("found", "mismatches"),
    [
        ({"media_type": "video/quicktime"}, ["media type"]),
        ({"size_bytes": 100_001}, ["file size"]),
        ({"width_px": 1281}, ["width"]),
        ({"height_px": 719}, ["height", "short side"]),
        ({"width_px": 720, "height_px": 1280}, ["width", "height", "ratio"]),
        ({"duration_ms": 5251}, ["duration"]),
        ({"duration_ms": 4749}, ["duration"]),
        ({"fps": 25.0}, ["frame rate"]),
        ({"video_codec": "av1"}, ["video codec"]),
        ({"audio_codec": "opus"}, ["audio codec"]),
        ({"audio_codec": None}, ["sound"]),
        ({"faults": ("cut short", "damaged")}, ["decoding", "decoding"]),
        ({"kind": "image", "width_px": 3}, ["kind"]),
        ({"kind": "audio", "faults": ("cut short",)}, ["kind", "decoding"]),
    ],
)
def test_each_difference_is_named(found: dict[str, Any], mismatches: list[str]) -> None:
    assert whats(CLIP_SPEC, replace(CLIP, **found)) == mismatches


@pytest.mark.parametrize(
    ("unmeasured", "mismatches"),
    [
        ({"width_px": None}, ["width", "ratio", "short side"]),
        ({"height_px": None}, ["height", "ratio", "short side"]),
        ({"duration_ms": None}, ["duration"]),
        ({"fps": None}, ["frame rate"]),
        ({"video_codec": None}, ["video codec"]),
    ],
)
def test_what_could_not_be_measured_is_not_zero_but_a_mismatch(
    unmeasured: dict[str, Any], mismatches: list[str]
) -> None:
    found = judge(CLIP_SPEC, replace(CLIP, **unmeasured))
    assert [mismatch.what for mismatch in found] == mismatches
    assert {mismatch.found for mismatch in found} == {"not measured"}


def test_what_the_spec_does_not_ask_may_be_unmeasured() -> None:
    bare = Measures(kind="video", media_type="video/mp4", size_bytes=1)
    assert judge(OutputSpec(kind="video"), bare) == ()


@pytest.mark.parametrize("duration_ms", [4958, 5000, 5021, 5042, 5083])
def test_rounding_and_a_frame_or_two_are_inside(duration_ms: int) -> None:  # C082
    assert judge(CLIP_SPEC, replace(CLIP, duration_ms=duration_ms)) == ()


@pytest.mark.parametrize("duration_ms", [4600, 5600, 1400, 0])
def test_another_length_is_outside(duration_ms: int) -> None:  # C082
    assert whats(CLIP_SPEC, replace(CLIP, duration_ms=duration_ms)) == ["duration"]


@pytest.mark.parametrize(("width_px", "height_px"), [(1280, 720), (1024, 767), (768, 1024), (2048, 1536)])
def test_an_exact_size_takes_no_other(width_px: int, height_px: int) -> None:  # C080
    spec = OutputSpec(kind="image", width_px=1024, height_px=768)
    assert judge(spec, replace(STILL, width_px=width_px, height_px=height_px))


@pytest.mark.parametrize(
    ("size", "fits"), [((1280, 720), True), ((1344, 768), True), ((1306, 720), False), ((1254, 720), False)]
)
def test_a_ratio_is_taken_relative(size: tuple[int, int], fits: bool) -> None:  # noqa: FBT001 - a column of the table
    spec = OutputSpec(kind="image", ratio="16:9")
    assert (judge(spec, replace(STILL, width_px=size[0], height_px=size[1])) == ()) is fits


@pytest.mark.parametrize(
    ("audio", "codec", "mismatches"),
    [
        ("any", None, []),
        ("any", "aac", []),
        ("any", "opus", ["audio codec"]),
        ("required", None, ["sound"]),
        ("forbidden", None, []),
        ("forbidden", "aac", ["sound"]),
    ],
)
def test_sound_as_ordered(
    audio: Literal["required", "forbidden", "any"], codec: str | None, mismatches: list[str]
) -> None:
    spec = OutputSpec(kind="video", audio=audio, audio_codecs=("aac",))
    assert whats(spec, replace(CLIP, audio_codec=codec)) == mismatches


def test_audio_without_a_known_codec_is_not_the_codec_asked_for() -> None:
    found = Measures(kind="audio", media_type="audio/mp4", size_bytes=1)
    assert whats(OutputSpec(kind="audio", audio_codecs=("aac",)), found) == ["audio codec"]


def test_an_animation_is_no_still() -> None:
    assert whats(OutputSpec(kind="image"), replace(STILL, frames=4)) == ["pictures"]


def test_a_mismatch_says_what_was_wanted_and_found() -> None:
    assert judge(replace(CLIP_SPEC, ratio="1:1"), replace(CLIP, duration_ms=1400)) == (
        Mismatch(what="ratio", wanted="1:1 within 2 %", found="1280 x 720"),
        Mismatch(what="duration", wanted="5000 ms within 250 ms", found="1400 ms"),
    )


def test_a_ratio_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="wide"):
        judge(OutputSpec(kind="image", ratio="wide"), STILL)


@given(width_px=some.integers(1, 9000), height_px=some.integers(1, 9000))
def test_every_size_has_its_own_ratio(width_px: int, height_px: int) -> None:
    spec = OutputSpec(kind="image", ratio=f"{width_px}:{height_px}")
    assert judge(spec, replace(STILL, width_px=width_px, height_px=height_px)) == ()
    assert judge(spec, replace(STILL, width_px=width_px * 2, height_px=height_px))
