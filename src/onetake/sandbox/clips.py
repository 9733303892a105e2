"""A clip that starts on a given picture and slowly moves into it.

The camera comes closer along a way chosen by the take, starting and ending at rest, so frame 0 is the still itself,
scaled to the clip's size. Zooming works on the three planes of YUV 4:2:0, half the work of RGB, and at fractions of
a pixel, so nothing jumps. Colours are BT.601 with studio levels and say so in the stream: what every decoder
assumes by default is then also what is written.
"""

import io
import tempfile
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from random import Random

import av
from av.video.reformatter import ColorPrimaries, ColorRange, Colorspace, ColorTrc
from PIL import Image

from onetake.sandbox.chance import dice

Box = tuple[float, float, float, float]
_CLOSER = (0.075, 0.09)  # the share of the picture that is left out in the end: seen at once, and never hurried
_TOWARDS = ((0.47, 0.53), (0.25, 1.0))  # straight ahead, more or less up: a caption near the edges stays in sight


def clip(first_frame: bytes, width_px: int, height_px: int, seconds: int, *, fps: int, motion: str, take: str) -> bytes:
    """An H.264 MP4 of exactly `seconds`, silent, its index before its data.

    Args:
        first_frame: a picture that Pillow can read; stretched to the clip's size.
        width_px: even.
        height_px: even.
        seconds: how long; `fps` frames for each.
        fps: frames per second.
        motion: the prompt; with the take it decides where the camera goes.
        take: the task's id; kept as the file's comment.
    """
    still = Image.open(io.BytesIO(first_frame)).convert("RGB")
    boxes = _camera(dice("camera", motion, take), seconds * fps)
    with tempfile.TemporaryDirectory() as folder:  # the muxer must read back what it wrote to move the index forward
        path = Path(folder, "clip.mp4")
        _encode(path, _frames(still, (width_px, height_px), boxes), (width_px, height_px), fps=fps, comment=take)
        return path.read_bytes()


def _camera(chance: Random, frames: int) -> Iterator[Box]:
    """What the camera sees in each frame, in shares of the picture: all of it at first."""
    closer, x, y = (chance.uniform(*bounds) for bounds in (_CLOSER, *_TOWARDS))
    for frame in range(frames):
        way = frame / max(frames - 1, 1)
        left_out = closer * way * way * (3 - 2 * way)
        yield (left_out * x, left_out * y, 1 - left_out * (1 - x), 1 - left_out * (1 - y))


def _frames(still: Image.Image, size: tuple[int, int], boxes: Iterator[Box]) -> Iterator[av.VideoFrame]:
    width, height = size
    planes = _planes(still)
    for number, box in enumerate(boxes):
        frame = av.VideoFrame(width, height, "yuv420p")
        for plane, source in zip(frame.planes, planes, strict=True):
            seen = (box[0] * source.width, box[1] * source.height, box[2] * source.width, box[3] * source.height)
            scaled = source.resize((plane.width, plane.height), Image.Resampling.BICUBIC, box=seen)
            plane.update(scaled.crop((0, 0, plane.line_size, plane.height)).tobytes())  # rows padded as FFmpeg has them
        frame.pts = number
        yield frame


def _planes(still: Image.Image) -> list[Image.Image]:
    """The still's brightness and its two halved colour planes."""
    even = still.resize((still.width + still.width % 2, still.height + still.height % 2))
    rgb = av.VideoFrame.from_image(even)  # type: ignore[no-untyped-call] # PyAV 18 annotates its result only
    frame = rgb.reformat(format="yuv420p", dst_colorspace=Colorspace.ITU601)
    return [
        Image.frombytes("L", (plane.width, plane.height), bytes(plane), "raw", "L", plane.line_size)
        for plane in frame.planes
    ]


def _encode(path: Path, frames: Iterator[av.VideoFrame], size: tuple[int, int], *, fps: int, comment: str) -> None:
    with av.open(str(path), "w", format="mp4", options={"movflags": "+faststart"}) as container:
        container.metadata["comment"] = comment
        # superfast: a 720p clip in about a second of one core; CRF 18: the first frame stays above 40 dB.
        stream = container.add_stream("libx264", rate=fps, options={"preset": "superfast", "crf": "18"})
        stream.width, stream.height = size
        stream.pix_fmt = "yuv420p"
        stream.profile = "High"
        codec = stream.codec_context
        codec.thread_count = 1
        codec.time_base = Fraction(1, fps)
        codec.colorspace, codec.color_range = Colorspace.ITU601, ColorRange.MPEG
        codec.color_primaries, codec.color_trc = ColorPrimaries.BT709, ColorTrc.BT709
        for frame in frames:
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
