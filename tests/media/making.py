"""Real pictures and clips, made on the spot."""

import array
import io
import math
import struct
import zlib
from fractions import Fraction
from pathlib import Path

import av
from PIL import Image

SOUND_RATE_HZ = 48_000
SOUND_SAMPLES = 1024  # what AAC takes at a time


def png(width_px: int = 64, height_px: int = 48, **options: object) -> bytes:
    return picture("PNG", width_px, height_px, **options)


def picture(form: str, width_px: int = 64, height_px: int = 48, **options: object) -> bytes:
    """Noise, so that damage in the middle of the file meets picture data."""
    out = io.BytesIO()
    Image.effect_noise((width_px, height_px), 60).convert("RGB").save(out, form, **options)
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
    fps: int = 12,
    form: str = "mp4",
    codec: str | None = "libx264",
    pixels: str = "yuv420p",
    sound: bool = False,
    index_first: bool = True,
    rotation: int = 0,
    pixel_ratio: Fraction | None = None,
) -> bytes:
    """A clip of noise, 64 by 48, with a hum if wanted; its bytes, which are also in `path`."""
    options = {"movflags": "faststart"} if index_first else {}
    with av.open(path, "w", format=form, options=options) as out:
        picture_track = out.add_stream(codec, rate=fps, options={"g": "6", "threads": "1"}) if codec else None
        sound_track = out.add_stream("aac", rate=SOUND_RATE_HZ) if sound else None
        if picture_track:
            picture_track.width, picture_track.height, picture_track.pix_fmt = 64, 48, pixels
            picture_track.set_display_rotation(rotation)
            if pixel_ratio:
                picture_track.sample_aspect_ratio = pixel_ratio
            for _ in range(frames):
                noise = Image.effect_noise((64, 48), 60).convert("RGB")
                out.mux(picture_track.encode(av.VideoFrame.from_image(noise)))
            out.mux(picture_track.encode(None))
        if sound_track:
            for number in range(SOUND_RATE_HZ * frames // fps // SOUND_SAMPLES):
                out.mux(sound_track.encode(_hum(number)))
            out.mux(sound_track.encode(None))
    return path.read_bytes()


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
    with av.open(source) as old, av.open(target, "w", format="mp4") as new:
        tracks = {stream.index: new.add_stream_from_template(stream) for stream in old.streams}
        for packet in old.demux():
            if packet.dts is None or packet.pts is None:
                continue
            shift = int(start_s / packet.time_base)
            packet.pts, packet.dts = packet.pts - shift, packet.dts - shift
            packet.stream = tracks[packet.stream.index]
            new.mux(packet)
    return target.read_bytes()
