"""Setting a prompt as a caption: cut into pieces, wrapped into even lines, as large as the room allows."""

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

from onetake.sandbox import letters

LINE_HEIGHT = 1.32  # of the letter size: room for Thai and Arabic marks above and below
_MEASURED_AT_PX = 64.0  # pieces are measured once at this size; widths grow in proportion
_LETTERS_MAX = 700  # more than fits at the smallest size in the widest picture; keeps a 200 kB prompt cheap
_WORD_LETTERS_MAX = 30  # at the smallest size a word of 30 letters fits even an upright picture; longer ones are broken
_SHRINK = 0.92  # 8 % a step: a dozen tries between poster and footnote
_NEVER_FIRST = frozenset({"Pe", "Pf", "Po", "Lm"})  # closing signs, stops, and the sign that lengthens a kana
_NEVER_LAST = frozenset({"Ps", "Pi"})  # opening signs
_JOINERS = frozenset("\u200d\ufe0e\ufe0f")


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of a caption."""

    text: str
    is_right_to_left: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Caption:
    """A caption that fits its room.

    Attributes:
        lines: from top to bottom; none for a prompt of nothing but blanks.
        size_px: the size of its letters.
    """

    lines: tuple[Line, ...]
    size_px: float


@dataclass(frozen=True, slots=True)
class _Piece:
    text: str
    width: float  # in letter sizes


def fit(text: str, width_px: float, height_px: float, largest_px: float, smallest_px: float) -> Caption:
    """The text as large as its room allows; what doesn't fit at the smallest size is cut and ends in an ellipsis."""
    paragraphs = _paragraphs(text)
    widest = max((piece.width for pieces in paragraphs for piece in pieces), default=0.0)
    size_px = largest_px
    while True:
        lines = [line for pieces in paragraphs for line in _wrap_evenly(pieces, width_px / size_px)]
        room = max(int(height_px / (size_px * LINE_HEIGHT)), 1)
        if len(lines) <= room and widest * size_px <= width_px:
            return _caption(lines, size_px)
        if size_px <= smallest_px:
            return _caption(_cut(lines, room), size_px)
        size_px = max(size_px * _SHRINK, smallest_px)


def _cut(lines: list[str], room: int) -> list[str]:
    return lines if len(lines) <= room else [*lines[: room - 1], f"{lines[room - 1].rstrip()} …"]


def _caption(lines: list[str], size_px: float) -> Caption:
    set_lines = (Line(text=line.strip(), is_right_to_left=letters.is_right_to_left(line)) for line in lines)
    return Caption(lines=tuple(set_lines), size_px=size_px)


def _paragraphs(text: str) -> list[list[_Piece]]:
    cut = letters.settable(text[:_LETTERS_MAX]) + ("…" if len(text) > _LETTERS_MAX else "")
    measure = letters.font(_MEASURED_AT_PX)
    return [
        [_Piece(piece, measure.getlength(piece) / _MEASURED_AT_PX) for piece in _pieces(paragraph.strip())]
        for paragraph in cut.split("\n")
        if paragraph.strip()
    ]


def _pieces(paragraph: str) -> Iterator[str]:
    """The runs of letters between which a line may break, spaces at their ends."""
    start = 0
    for at in range(1, len(paragraph)):
        is_too_long = at - start >= _WORD_LETTERS_MAX and not _is_inside(paragraph[at - 1], paragraph[at])
        if is_too_long or _may_break(paragraph[at - 1], paragraph[at]):
            yield paragraph[start:at]
            start = at
    yield paragraph[start:]


def _may_break(before: str, after: str) -> bool:
    """Whether a line may end between two letters: after a space, or around a letter that stands for a word."""
    if after == " " or before == " ":
        return before == " " != after
    if _is_inside(before, after):
        return False
    is_bound = unicodedata.category(after) in _NEVER_FIRST or unicodedata.category(before) in _NEVER_LAST
    return not is_bound and (_is_wide(before) or _is_wide(after))


def _is_inside(before: str, after: str) -> bool:
    """Whether two letters belong to one sign: a mark, a skin tone, a joined emoji."""
    return before in _JOINERS or after in _JOINERS or unicodedata.category(after) in {"Mn", "Me", "Mc", "Sk"}


def _is_wide(letter: str) -> bool:
    is_hangul = "\uac00" <= letter <= "\ud7a3"  # written with spaces between words, so broken only there
    return unicodedata.east_asian_width(letter) in {"W", "F"} and not is_hangul


def _wrap_evenly(pieces: list[_Piece], width: float) -> list[str]:
    """Lines no wider than `width`, and then as narrow as the same number of lines allows."""
    lines = _wrap(pieces, width)
    low, high = min(max(piece.width for piece in pieces), width), width
    for _ in range(7):  # to within a hundredth of the width
        middle = (low + high) / 2
        tried = _wrap(pieces, middle)
        if len(tried) > len(lines):
            low = middle
        else:
            high, lines = middle, tried
    return lines


def _wrap(pieces: list[_Piece], width: float) -> list[str]:
    lines, used = [""], 0.0
    for piece in pieces:
        if used and used + piece.width > width:
            lines.append("")
            used = 0.0
        lines[-1] += piece.text
        used += piece.width
    return lines
