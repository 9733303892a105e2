"""What an expected output must measure, what a file did measure, and the verdict.

A spec is part of the frozen recipe; measures come from decoding every byte of the file in a child process.
"""

from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["image", "video", "audio"]


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputSpec:
    """What one expected output must be; None means: not checked.

    Attributes:
        kind: what the file is.
        media_types: accepted types by content, never by label; empty accepts all that we decode for the kind.
        width_px, height_px: exact size, after rotation.
        ratio: width to height, for example "16:9", within `ratio_tolerance` (relative).
        short_side_px_min: smallest accepted length of the shorter side.
        size_bytes_max: largest accepted file.
        duration_ms: wanted length, within `duration_tolerance_ms` either way.
        fps: wanted average frame rate, within 2 %.
        video_codecs, audio_codecs: accepted codec names as FFmpeg spells them ("h264", "aac").
        audio: whether sound must, must not or may be there.
    """

    kind: Kind
    media_types: tuple[str, ...] = ()
    width_px: int | None = None
    height_px: int | None = None
    ratio: str | None = None
    ratio_tolerance: float = 0.02
    short_side_px_min: int | None = None
    size_bytes_max: int = 2_000_000_000
    duration_ms: int | None = None
    duration_tolerance_ms: int = 250
    fps: float | None = None
    video_codecs: tuple[str, ...] = ()
    audio_codecs: tuple[str, ...] = ()
    audio: Literal["required", "forbidden", "any"] = "any"


@dataclass(frozen=True, slots=True, kw_only=True)
class Measures:
    """What a file measured when all of it was decoded.

    Attributes:
        kind: what the bytes are, by decoding.
        media_type: by content, for example "image/png" or "video/mp4".
        size_bytes: length of the file.
        width_px, height_px: as shown, after rotation.
        duration_ms: of the picture track; None for stills and where the file doesn't tell.
        frames: decoded pictures; 1 for a still.
        fps: average over the file; None for stills.
        video_codec, audio_codec, pixel_format: FFmpeg's (or Pillow's) names.
        faults: what the decoder complained of, in plain words; empty for a sound file.
    """

    kind: Kind
    media_type: str
    size_bytes: int
    width_px: int | None = None
    height_px: int | None = None
    duration_ms: int | None = None
    frames: int | None = None
    fps: float | None = None
    video_codec: str | None = None
    audio_codec: str | None = None
    pixel_format: str | None = None
    faults: tuple[str, ...] = field(default=())


@dataclass(frozen=True, slots=True, kw_only=True)
class Mismatch:
    """One way in which a file isn't what was ordered, as a sentence that names wanted and found."""

    what: str
    wanted: str
    found: str
