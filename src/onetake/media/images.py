"""Measures of a still picture: every byte decoded by Pillow. Runs in the decoding child only."""

import hashlib
import warnings
from collections.abc import Callable
from typing import BinaryIO, TypeVar

from PIL import Image, ImageOps, JpegImagePlugin, PngImagePlugin, UnidentifiedImageError, WebPImagePlugin

from onetake.domain.outputs import Measures
from onetake.media.findings import PIXELS_MAX, DecodeFault, Pixels, UndecodableError

_FORMATS = (
    PngImagePlugin.PngImageFile.format,
    JpegImagePlugin.JpegImageFile.format,
    WebPImagePlugin.WebPImageFile.format,
)
_ORIENTATION = 0x0112  # EXIF 2.32, table 4; 5 to 8 lie on their side
T = TypeVar("T")
_BOMBS = (Image.DecompressionBombError, Image.DecompressionBombWarning)

Image.MAX_IMAGE_PIXELS = PIXELS_MAX
warnings.simplefilter("error", Image.DecompressionBombWarning)


def measure_image(file: BinaryIO, *, media_type: str, size_bytes: int) -> Measures:
    """The measures of a PNG, JPEG or WebP file of which every picture was decoded.

    Raises:
        UndecodableError: it claims too many pixels, or Pillow can't decode all of it.
        OSError: the file could not be read.
    """
    return _guarded(lambda: _decode(file, media_type, size_bytes))


def pixels_of(file: BinaryIO) -> Pixels:
    """What a PNG, JPEG or WebP file shows; of an animation, its first picture.

    Raises:
        UndecodableError: it claims too many pixels, or Pillow can't decode it.
        OSError: the file could not be read.
    """
    return _guarded(lambda: _pixels(file))


def _guarded(decode: Callable[[], T]) -> T:
    try:
        return decode()
    except _BOMBS as error:
        raise UndecodableError(DecodeFault.TOO_LARGE, f"the picture has more than {PIXELS_MAX} pixels") from error
    except UnidentifiedImageError as error:  # its own text holds the path
        raise UndecodableError(DecodeFault.BROKEN, "the picture is broken: its header can't be read") from error
    except MemoryError:
        raise
    except Exception as error:  # Pillow's decoders raise whatever a damaged file leads them to
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise UndecodableError(DecodeFault.BROKEN, f"the picture is broken: {str(error)[:160]}") from error


def _decode(file: BinaryIO, media_type: str, size_bytes: int) -> Measures:
    image = Image.open(file, formats=_FORMATS)
    if image.format == "PNG":
        image.verify()  # loading alone skips the checksums behind the last row; a verified image can't be loaded
        file.seek(0)
        image = Image.open(file, formats=_FORMATS)
    frames = 1 if media_type == "image/jpeg" else getattr(image, "n_frames", 1)  # a JPEG's others are previews
    for frame in range(frames):
        image.seek(frame)
        image.load()
    width_px, height_px = reversed(image.size) if _lies_on_its_side(image) else image.size
    return Measures(
        kind="image",
        media_type=media_type,
        size_bytes=size_bytes,
        width_px=width_px,
        height_px=height_px,
        frames=frames,
        pixel_format=image.mode,
    )


def _pixels(file: BinaryIO) -> Pixels:
    picture = ImageOps.exif_transpose(Image.open(file, formats=_FORMATS)).convert("RGB")
    digest = hashlib.sha256(f"RGB {picture.width}x{picture.height}\n".encode())
    digest.update(picture.tobytes())
    return Pixels(width_px=picture.width, height_px=picture.height, sha256=digest.hexdigest())


def _lies_on_its_side(image: Image.Image) -> bool:
    try:
        return image.getexif().get(_ORIENTATION) in {5, 6, 7, 8}
    except Exception:  # noqa: BLE001 - unreadable EXIF turns nothing, in browsers as here; the picture itself is sound
        return False
