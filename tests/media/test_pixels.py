"""What a picture shows, as a digest of its pixels: the same for the same picture, whatever it is wrapped in."""

import hashlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from onetake.media.decoder import DecodeFault, Decoder, Pixels, Undecodable

TIMEOUT_S = 30.0


@pytest.fixture
async def decoder() -> AsyncIterator[Decoder]:
    decoder = Decoder()
    yield decoder
    await decoder.aclose()


def picture() -> Image.Image:
    """Three pixels wide, two high, every pixel its own."""
    image = Image.new("RGB", (3, 2))
    image.putdata([(n, 10 * n, 200 - n) for n in range(6)])
    return image


def digest(image: Image.Image) -> str:
    """The definition, written down again."""
    rows = b"".join(bytes(image.getpixel((x, y))) for y in range(image.height) for x in range(image.width))  # type: ignore[arg-type]
    return hashlib.sha256(f"RGB {image.width}x{image.height}\n".encode() + rows).hexdigest()


async def test_the_same_picture_has_the_same_digest_in_any_wrapping(tmp_path: Path, decoder: Decoder) -> None:
    image, told = picture(), PngInfo()
    told.add_text("Comment", "another file, the same picture")
    image.save(tmp_path / "a.png")
    image.save(tmp_path / "b.png", pnginfo=told, compress_level=0)
    image.save(tmp_path / "c.webp", lossless=True)
    image.convert("RGBA").save(tmp_path / "d.png")
    paths = [tmp_path / name for name in ("a.png", "b.png", "c.webp", "d.png")]
    found = [await decoder.pixels(path, timeout_s=TIMEOUT_S) for path in paths]
    assert found == [Pixels(width_px=3, height_px=2, sha256=digest(image))] * 4


async def test_a_picture_that_lies_on_its_side_is_turned_upright(tmp_path: Path, decoder: Decoder) -> None:
    image, exif = picture(), Image.Exif()
    exif[0x0112] = 6  # EXIF 2.32, table 4: turn by 90 degrees
    image.transpose(Image.Transpose.ROTATE_90).save(tmp_path / "a.png", exif=exif)
    found = await decoder.pixels(tmp_path / "a.png", timeout_s=TIMEOUT_S)
    assert found == Pixels(width_px=3, height_px=2, sha256=digest(image))


async def test_what_is_no_picture_has_none(tmp_path: Path, decoder: Decoder) -> None:
    (tmp_path / "a").write_bytes(b"<html>")
    found = await decoder.pixels(tmp_path / "a", timeout_s=TIMEOUT_S)
    assert isinstance(found, Undecodable)
    assert found.fault is DecodeFault.BROKEN
