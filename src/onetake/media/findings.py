"""What the decoding child may find besides measures, and the bounds it works in; shared by child and parent."""

import enum
from dataclasses import dataclass

PIXELS_MAX = 2**26
"""Largest picture decoded: 8192 x 8192, twice what image models draw today on each side. A PNG of a few kilobytes
can claim a billion pixels."""

MEMORY_BYTES_MAX = 1280 * 1024 * 1024
"""Address space of the child. Measured peaks with Pillow 13 and PyAV 18, of which 60 MB are the libraries:
8192 x 8192 as WebP 1,080 MB, as progressive JPEG 490 MB, as PNG 294 MB; H.264 at 3840 x 2160 with 16 reference
pictures 335 MB, at 7680 x 4320 326 MB; HEVC 252 MB and AV1 214 MB at 3840 x 2160."""


VIDEO_HINT = "Clips are decoded by PyAV, which isn't installed here: pip install 'onetake[video]'"
"""How to get there, for everything that finds clips wanted and no decoder."""


class DecodeFault(enum.StrEnum):
    """Why a file has no measures. The first three are about the file, the next two only perhaps, the last two not."""

    NOT_MEDIA = "not_media"
    BROKEN = "broken"
    TOO_LARGE = "too_large"
    TIMEOUT = "timeout"
    CRASH = "crash"
    NO_DECODER = "no_decoder"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Undecodable:
    """The file has no measures.

    Attributes:
        reason: for a person; holds nothing out of the file and no path.
    """

    fault: DecodeFault
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Pixels:
    """What a still picture shows, whatever it is wrapped in.

    Attributes:
        sha256: over the line `RGB WIDTHxHEIGHT` and a line feed, then three bytes for each pixel, row by row from the
            top; turned upright by its EXIF orientation, without transparency, colour profiles ignored.
    """

    width_px: int
    height_px: int
    sha256: str


class UndecodableError(Exception):
    """Carries an `Undecodable` from a measuring function to the child's loop; never leaves the child."""

    def __init__(self, fault: DecodeFault, reason: str) -> None:
        super().__init__(reason)
        self.finding = Undecodable(fault=fault, reason=reason)
