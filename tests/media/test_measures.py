"""What the measuring functions find in sound, odd and damaged files; in process, without the child around them."""

import random
from fractions import Fraction
from pathlib import Path

import pytest

from onetake.domain.outputs import Measures
from onetake.media.child import examine
from onetake.media.findings import DecodeFault, Undecodable
from tests.media import making


def measured(path: Path, content: bytes) -> Measures:
    found = found_in(path, content)
    assert isinstance(found, Measures), found
    return found


def refused(path: Path, content: bytes) -> Undecodable:
    found = found_in(path, content)
    assert isinstance(found, Undecodable), found
    return found


def found_in(path: Path, content: bytes) -> Measures | Undecodable:
    path.write_bytes(content)
    return examine(path)


def is_sound(found: Measures | Undecodable) -> bool:
    return isinstance(found, Measures) and not found.faults


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "file"


@pytest.mark.parametrize("form", ["PNG", "JPEG", "WEBP"])
def test_a_picture_measures_what_it_is(file: Path, form: str) -> None:
    content = making.picture(form)
    found = measured(file, content)
    assert found == Measures(
        kind="image",
        media_type=f"image/{form.lower()}",
        size_bytes=len(content),
        width_px=64,
        height_px=48,
        frames=1,
        pixel_format="RGB",
    )


@pytest.mark.parametrize("form", ["PNG", "JPEG", "WEBP"])
@pytest.mark.parametrize(("orientation", "size"), [(1, (64, 48)), (3, (64, 48)), (6, (48, 64)), (8, (48, 64))])
def test_a_picture_measures_as_it_is_shown(file: Path, form: str, orientation: int, size: tuple[int, int]) -> None:
    found = measured(file, making.turned(form, orientation))
    assert (found.width_px, found.height_px) == size


@pytest.mark.parametrize("form", ["PNG", "JPEG", "WEBP"])
def test_unreadable_exif_turns_nothing(file: Path, form: str) -> None:
    found = measured(file, making.picture(form, exif=b"Exif\0\0not a TIFF header"))
    assert (found.width_px, found.height_px) == (64, 48)


@pytest.mark.parametrize("form", ["PNG", "WEBP"])
def test_every_picture_of_an_animation_is_counted(file: Path, form: str) -> None:
    assert measured(file, making.animation(form, 3)).frames == 3


def test_the_previews_in_a_jpeg_are_no_animation(file: Path) -> None:
    found = measured(file, making.picture("MPO", save_all=True, append_images=[making.noise(2)]))
    assert (found.media_type, found.frames) == ("image/jpeg", 1)


@pytest.mark.parametrize("form", ["PNG", "JPEG", "WEBP"])
@pytest.mark.parametrize("share", [0.05, 0.5, 0.95])
def test_a_truncated_picture_is_broken(file: Path, form: str, share: float) -> None:
    content = making.picture(form)
    assert refused(file, content[: int(len(content) * share)]).fault is DecodeFault.BROKEN


def test_a_picture_without_a_header_is_broken_and_its_path_stays_here(file: Path) -> None:
    found = refused(file, making.png()[:10] + bytes(90))
    assert found == Undecodable(fault=DecodeFault.BROKEN, reason="the picture is broken: its header can't be read")


def test_one_flipped_bit_anywhere_in_a_png_is_found(file: Path) -> None:
    content = making.png()
    chance = random.Random(3)
    for _ in range(200):
        damaged = bytearray(content)
        damaged[chance.randrange(8, len(content) - 12)] ^= 1 << chance.randrange(8)
        assert not is_sound(found_in(file, bytes(damaged)))


def test_a_small_file_that_claims_a_giant_picture_is_refused_unread(file: Path) -> None:  # C098
    content = making.blank_png(30_000, 30_000)
    assert len(content) < 600_000
    found = refused(file, content)
    assert (found.fault, found.reason) == (DecodeFault.TOO_LARGE, "the picture has more than 67108864 pixels")


@pytest.mark.parametrize(
    ("content", "likeness"),
    [
        (b"", "an empty file"),
        (b"<!doctype html><title>Sign in</title>", "an HTML page"),
        (b'{"error": "expired"}', "a JSON text"),
        (b'<svg xmlns="http://www.w3.org/2000/svg" onload="x()"/>', "an SVG drawing"),
    ],
)
def test_a_page_is_no_clip_whatever_its_name(tmp_path: Path, content: bytes, likeness: str) -> None:  # C074, C094, C107
    found = refused(tmp_path / "clip.mp4", content)
    assert found.fault is DecodeFault.NOT_MEDIA
    assert found.reason == f"not a picture or clip: looks like {likeness}"


def test_a_picture_called_mp4_is_a_picture(tmp_path: Path) -> None:  # C077
    assert measured(tmp_path / "clip.mp4", making.png()).media_type == "image/png"


def test_a_file_that_is_not_there_is_no_verdict_about_it(tmp_path: Path) -> None:
    found = examine(tmp_path / "nothing")
    assert isinstance(found, Undecodable)
    assert found.fault is DecodeFault.UNREADABLE


@pytest.mark.parametrize("flags", ["faststart", "-faststart"], ids=["index first", "index last"])
def test_a_silent_clip_measures_what_it_is(file: Path, flags: str) -> None:
    content = making.clip(file, flags=flags)
    assert examine(file) == Measures(
        kind="video",
        media_type="video/mp4",
        size_bytes=len(content),
        width_px=64,
        height_px=48,
        duration_ms=1000,
        frames=12,
        fps=12.0,
        video_codec="h264",
        pixel_format="yuv420p",
    )


def test_a_clip_with_sound_has_a_sound_codec(file: Path) -> None:
    making.clip(file, sound=True)
    found = examine(file)
    assert isinstance(found, Measures)
    assert (found.kind, found.video_codec, found.audio_codec, found.faults) == ("video", "h264", "aac", ())


def test_sound_alone_is_audio(file: Path) -> None:
    making.clip(file, codec=None, sound=True)
    found = examine(file)
    assert isinstance(found, Measures)
    assert (found.kind, found.media_type, found.audio_codec) == ("audio", "audio/mp4", "aac")
    assert (found.frames, found.width_px, found.faults) == (None, None, ())
    assert found.duration_ms is not None
    assert abs(found.duration_ms - 1000) < 50


def test_a_codec_is_named_after_the_format_not_the_decoder(file: Path) -> None:
    making.clip(file, codec="libsvtav1", frames=2)
    found = examine(file)
    assert isinstance(found, Measures)
    assert (found.video_codec, found.faults) == ("av1", ())


def test_quicktime_is_told_from_mp4(file: Path) -> None:
    making.clip(file, form="mov")
    found = examine(file)
    assert isinstance(found, Measures)
    assert found.media_type == "video/quicktime"


@pytest.mark.parametrize(("rotation", "size"), [(90, (48, 64)), (-90, (48, 64)), (180, (64, 48)), (0, (64, 48))])
def test_a_clip_measures_as_it_is_shown(file: Path, rotation: int, size: tuple[int, int]) -> None:  # C088
    making.clip(file, rotation=rotation)
    found = examine(file)
    assert isinstance(found, Measures)
    assert (found.width_px, found.height_px) == size


def test_pixels_that_are_not_square_are_shown_wider(file: Path) -> None:
    making.clip(file, pixel_ratio=Fraction(4, 3))
    found = examine(file)
    assert isinstance(found, Measures)
    assert (found.width_px, found.height_px) == (85, 48)


def test_what_an_edit_list_hides_is_neither_counted_nor_missed(tmp_path: Path) -> None:
    making.clip(tmp_path / "whole", frames=24, sound=True)
    found = measured(tmp_path / "cut", making.cut(tmp_path / "whole", tmp_path / "cut", Fraction(3, 4)))
    assert (found.frames, found.duration_ms, found.faults) == (15, 1250, ())


@pytest.mark.parametrize("flags", ["faststart", "-faststart", "frag_keyframe+empty_moov"])
def test_a_truncated_clip_is_never_sound(file: Path, flags: str) -> None:  # C073, C085
    content = making.clip(file, flags=flags, sound=True)
    assert is_sound(examine(file))
    for share in (0.1, 0.3, 0.5, 0.7, 0.9, 0.99):
        assert not is_sound(found_in(file, content[: int(len(content) * share)])), share


def test_a_clip_that_ends_between_two_packets_is_short(file: Path) -> None:
    content = making.clip(file)
    found = measured(file, content[: making.packet_positions(file)[6]])
    assert found.faults == ("picture track: 6 of 12 packets are not in the file",)


def test_a_flipped_bit_in_a_clip_is_found_when_the_decoder_stumbles(file: Path) -> None:
    content = making.clip(file)
    chance = random.Random(3)
    found = 0
    for _ in range(50):
        damaged = bytearray(content)
        damaged[chance.randrange(content.index(b"mdat") + 4, len(content))] ^= 1 << chance.randrange(8)
        found += not is_sound(found_in(file, bytes(damaged)))
    # H.264 has no checksums, so most flips decode to other noise; FFmpeg's `err_detect=explode` finds no more of them.
    assert found >= 10


def test_a_clip_in_an_unknown_codec_is_refused(file: Path) -> None:
    found = refused(file, making.clip(file).replace(b"avc1\0\0\0\0\0\0", b"zzz1\0\0\0\0\0\0"))
    assert (found.fault, found.reason) == (DecodeFault.BROKEN, "no decoder is known for the video track")


def test_a_clip_that_claims_giant_pictures_is_refused(file: Path) -> None:
    content = making.clip(file, codec="rawvideo", pixels="rgb24", form="mov", frames=1)
    claimed = content.replace((64).to_bytes(2) + (48).to_bytes(2), (16_384).to_bytes(2) + (4_112).to_bytes(2))
    assert refused(file, claimed).fault is DecodeFault.TOO_LARGE


def test_a_container_of_nothing_is_refused(file: Path) -> None:
    found = refused(file, b"\0\0\0\x10ftypisom\0\0\0\0" + b"\0\0\0\x08free" * 10)
    assert found.fault is DecodeFault.BROKEN
