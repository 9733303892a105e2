"""Real pictures and clips, made on the spot."""

import array
import io
import math
import random
import struct
import zlib
from fractions import Fraction
from pathlib import Path

import av
from av.container import OutputContainer
from av.video.stream import VideoStream
from PIL import Image

SIZE = (64, 48)
SQUARE = Fraction(1)
FPS = 12
SOUND_RATE_HZ = 48_000
SOUND_SAMPLES = 1024  # what AAC takes at a time


def noise(seed: int) -> Image.Image:
    """Nothing that compresses away, so that damage meets picture data wherever it falls; the same for one seed."""
    return Image.frombytes("RGB", SIZE, random.Random(seed).randbytes(SIZE[0] * SIZE[1] * 3))


def png() -> bytes:
    return picture("PNG")


def picture(form: str, **options: object) -> bytes:
    out = io.BytesIO()
    noise(1).save(out, form, **options)
    return out.getvalue()


def turned(form: str, orientation: int) -> bytes:
    exif = Image.Exif()
    exif[0x0112] = orientation
    return picture(form, exif=exif)


def animation(form: str, frames: int) -> bytes:
    out = io.BytesIO()
    first, *others = (Image.new("RGB", (32, 24), (80 * number, 20, 200)) for number in range(frames))
    first.save(out, form, save_all=True, append_images=others)
    return out.getvalue()


def blank_png(width_px: int, height_px: int) -> bytes:
    """One bit a pixel, all black: a few kilobytes, however large it claims to be."""
    rows = zlib.compress(bytes(height_px * (1 + (width_px + 7) // 8)), 1)
    header = struct.pack(">IIBBBBB", width_px, height_px, 1, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", header) + _chunk(b"IDAT", rows) + _chunk(b"IEND", b"")


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def clip(
    path: Path,
    *,
    frames: int = 12,
    form: str = "mp4",
    flags: str = "faststart",
    codec: str | None = "libx264",
    pixels: str = "yuv420p",
    sound: bool = False,
    rotation: int = 0,
    pixel_ratio: Fraction = SQUARE,
) -> bytes:
    """A clip of noise at 12 pictures a second, with a hum if wanted; its bytes, which are also in `path`."""
    with av.open(str(path), "w", format=form, options={"movflags": flags}) as out:
        picture_track = _add_pictures(out, codec, pixels) if codec else None
        sound_track = out.add_stream("aac", rate=SOUND_RATE_HZ) if sound else None
        if picture_track:
            picture_track.set_display_rotation(rotation)
            picture_track.sample_aspect_ratio = pixel_ratio
            for number in range(frames):
                out.mux(picture_track.encode(_frame(number)))
            out.mux(picture_track.encode(None))
        if sound_track:
            for number in range(SOUND_RATE_HZ * frames // FPS // SOUND_SAMPLES):
                out.mux(sound_track.encode(_hum(number)))
            out.mux(sound_track.encode(None))
    return path.read_bytes()


def _add_pictures(out: OutputContainer, codec: str, pixels: str) -> VideoStream:
    track = out.add_stream(codec, rate=FPS, options={"g": "6", "threads": "1"})
    assert isinstance(track, VideoStream)
    track.width, track.height = SIZE
    track.pix_fmt = pixels
    return track


def _frame(number: int) -> av.VideoFrame:
    frame = av.VideoFrame(*SIZE, "rgb24")
    frame.planes[0].update(noise(number).tobytes())
    return frame


def _hum(number: int) -> av.AudioFrame:
    frame = av.AudioFrame(format="fltp", layout="mono", samples=SOUND_SAMPLES)
    frame.sample_rate = SOUND_RATE_HZ
    frame.time_base = Fraction(1, SOUND_RATE_HZ)
    frame.pts = number * SOUND_SAMPLES
    wave = (0.3 * math.sin((frame.pts + sample) / 20) for sample in range(SOUND_SAMPLES))
    frame.planes[0].update(array.array("f", wave).tobytes())
    return frame


def cut(source: Path, target: Path, start_s: Fraction) -> bytes:
    """The clip without its beginning, by an edit list: the packets stay, players don't show them."""
    with av.open(str(source)) as old, av.open(str(target), "w", format="mp4") as new:
        tracks = {stream.index: new.add_stream_from_template(stream) for stream in old.streams}
        for packet in old.demux():
            if packet.dts is None or packet.pts is None:
                continue
            shift = int(start_s / packet.time_base)
            packet.pts, packet.dts = packet.pts - shift, packet.dts - shift
            packet.stream = tracks[packet.stream.index]
            new.mux(packet)
    return target.read_bytes()


def packet_positions(path: Path) -> list[int]:
    """Where the packets of the clip begin in the file."""
    with av.open(str(path)) as container:
        return [packet.pos for packet in container.demux() if packet.size and packet.pos is not None]
