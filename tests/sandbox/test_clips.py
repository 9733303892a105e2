"""Clips: they begin with the very picture they were given, move, last exactly as long as ordered, and play anywhere."""

import io
import math
from itertools import pairwise

import av
import pytest
from av.video.reformatter import Colorspace
from PIL import Image, ImageChops, ImageStat

from onetake.sandbox.clips import clip
from onetake.sandbox.pictures import picture

PROMPT = "A lighthouse in fog at dawn, seen from a small wooden boat"
SIZES = [(1280, 720, 640, 360), (640, 360, 640, 360), (720, 1280, 360, 640), (1024, 1024, 480, 480), (65, 37, 64, 36)]


def psnr(one: Image.Image, two: Image.Image) -> float:
    """How alike two pictures are, in decibels; over 35 is hard to tell apart."""
    squares = sum(ImageStat.Stat(ImageChops.difference(one, two)).sum2)
    return 10 * math.log10(255**2 * 3 * one.width * one.height / max(squares, 1))


def decoded(data: bytes) -> list[Image.Image]:
    with av.open(io.BytesIO(data), "r") as container:
        return [frame.to_image() for frame in container.decode(video=0)]  # type: ignore[no-untyped-call] # as PyAV 18


def made(still: bytes, width: int, height: int, seconds: int = 1, take: str = "task_1") -> bytes:
    return clip(still, width, height, seconds, fps=24, motion=PROMPT, take=take)


@pytest.mark.parametrize("size", SIZES)
def test_the_first_frame_is_the_given_picture_and_the_last_is_another(size: tuple[int, int, int, int]) -> None:
    still = picture(PROMPT, *size[:2], "task_1")
    frames = decoded(made(still, *size[2:]))
    wanted = Image.open(io.BytesIO(still)).resize(size[2:])
    assert psnr(frames[0], wanted) > 35
    assert psnr(frames[-1], wanted) < 30


def test_the_motion_starts_at_rest_and_never_jumps() -> None:
    frames = decoded(made(picture(PROMPT, 640, 360, "task_1"), 320, 180, seconds=2))
    steps = [psnr(before, after) for before, after in pairwise(frames)]
    assert min(steps) > 20
    assert steps[0] > min(steps) + 5


def test_it_lasts_exactly_as_long_as_ordered_and_plays_anywhere() -> None:
    data = made(picture(PROMPT, 64, 36, "task_1"), 64, 36, seconds=5)
    assert 0 < data.index(b"moov") < data.index(b"mdat")
    with av.open(io.BytesIO(data), "r") as container:
        stream = container.streams.video[0]
        codec = stream.codec_context
        assert (codec.name, codec.profile, codec.pix_fmt) == ("h264", "High", "yuv420p")
        assert codec.colorspace == Colorspace.ITU601
        assert len(container.streams) == 1
        assert stream.average_rate == 24
        assert container.duration == 5_000_000
        assert container.metadata["comment"] == "task_1"
        assert len(list(container.decode(stream))) == 120


def test_two_takes_of_one_picture_move_apart() -> None:
    still = picture(PROMPT, 320, 180, "task_1")
    one, two = (decoded(made(still, 320, 180, take=take)) for take in ("task_1", "task_2"))
    assert psnr(one[0], two[0]) > 60
    assert psnr(one[-1], two[-1]) < 30


def test_the_same_asking_gives_the_same_bytes() -> None:
    still = picture(PROMPT, 64, 36, "task_1")
    assert made(still, 64, 36) == made(still, 64, 36)
