"""The caption font: which letters it has, and what stands in for those it hasn't.

`fonts/caption.ttf` covers Latin, Greek, Cyrillic, Hebrew, Arabic, Devanagari, Thai, Armenian, Georgian, the common
Han, kana and Hangul, and emoji. Scripts that must be shaped or turned around need Pillow's Raqm layout, which its
wheels offer where the system has FriBiDi. Anything that can't be set is shown as one of 64 ornaments of the
font's private use area, the same letter always as the same ornament.
"""

import functools
import struct
import unicodedata
from pathlib import Path

from PIL import ImageFont, features

FONT_FILE = Path(__file__).parent / "fonts" / "caption.ttf"
IS_SHAPED = bool(features.check_feature("raqm"))  # whether right-to-left and joined scripts can be set here
_ORNAMENTS = range(0xE000, 0xE040)
_INDIC = range(0x0900, 0x0980)  # Devanagari, the one script here that is written left to right and yet needs shaping


@functools.lru_cache(maxsize=32)  # one per size in use; a size is asked for again at every line
def font(size_px: float) -> ImageFont.FreeTypeFont:
    """The caption font at a size."""
    return ImageFont.truetype(FONT_FILE, size_px)


def is_right_to_left(text: str) -> bool:
    """Whether the first letter with a direction is written from right to left (UAX #9, rules P2 and P3)."""
    directions = (unicodedata.bidirectional(letter) for letter in text)
    return next((way for way in directions if way in {"L", "R", "AL"}), "L") != "L"


def settable(text: str, *, is_shaped: bool = IS_SHAPED) -> str:
    """The text in letters that can be set: controls dropped, unknown letters replaced by ornaments."""
    return "".join(_settable(letter, is_shaped=is_shaped) for letter in unicodedata.normalize("NFC", text))


def _settable(letter: str, *, is_shaped: bool) -> str:
    code, category = ord(letter), unicodedata.category(letter)
    if letter.isspace():
        return letter if letter == "\n" else " "
    if code in _covered() and (is_shaped or not _needs_shaping(letter)):
        return letter
    if category in {"Cc", "Cf", "Mn", "Me"}:  # controls and marks: nothing to show on their own
        return ""
    return chr(_ORNAMENTS[code * 37 % len(_ORNAMENTS)])  # 37: neighbours in an alphabet get unlike ornaments


def _needs_shaping(letter: str) -> bool:
    return ord(letter) in _INDIC or unicodedata.bidirectional(letter) in {"R", "AL", "AN"}


@functools.cache
def _covered() -> frozenset[int]:
    """The code points of the font, from its format 12 character map (OpenType specification, `cmap`)."""
    data = FONT_FILE.read_bytes()
    tables = struct.unpack_from(">H", data, 4)[0]
    records = (struct.unpack_from(">4sLLL", data, 12 + 16 * n) for n in range(tables))
    cmap = next(offset for tag, _, offset, _ in records if tag == b"cmap")
    subtables = (
        cmap + struct.unpack_from(">L", data, cmap + 4 + 8 * n + 4)[0]
        for n in range(struct.unpack_from(">H", data, cmap + 2)[0])
    )
    at = next(offset for offset in subtables if struct.unpack_from(">H", data, offset)[0] == 12)
    groups = struct.iter_unpack(">LLL", data[at + 16 : at + 16 + 12 * struct.unpack_from(">L", data, at + 12)[0]])
    return frozenset(code for first, last, _ in groups for code in range(first, last + 1))
