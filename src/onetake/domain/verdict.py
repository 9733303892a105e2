"""Whether a file is what was ordered: its measures held against the spec, row by row. Pure."""

from collections.abc import Iterator
from typing import NamedTuple

from onetake.domain.outputs import Measures, Mismatch, OutputSpec

_FPS_TOLERANCE = 0.02  # OutputSpec says so: 23.976 for 24 is fine, 25 for 24 isn't


class _Row(NamedTuple):
    what: str
    fits: bool
    wanted: str
    found: object


def judge(spec: OutputSpec, measures: Measures) -> tuple[Mismatch, ...]:
    """Every way in which the file is not what was ordered; empty when it is inside its spec.

    What the spec asks for and nobody could measure is a mismatch: "unknown" is not a number. A file of another kind
    is one mismatch, since every other row would only repeat it.

    Raises:
        ValueError: the spec's ratio isn't two numbers with a colon between them.
    """
    rows = [_Row("kind", measures.kind == spec.kind, spec.kind, measures.kind)]
    if rows[0].fits:
        rows += _file_rows(spec, measures)
        rows += _picture_rows(spec, measures)
        rows += _time_rows(spec, measures)
        rows += _codec_rows(spec, measures)
    rows += [_Row("decoding", False, "no fault", fault) for fault in measures.faults]  # noqa: FBT003
    return tuple(
        Mismatch(what=row.what, wanted=row.wanted, found="not measured" if row.found is None else str(row.found))
        for row in rows
        if not row.fits
    )


def _file_rows(spec: OutputSpec, measures: Measures) -> Iterator[_Row]:
    yield _one_of("media type", spec.media_types, measures.media_type)
    wanted = f"at most {spec.size_bytes_max} bytes"
    yield _Row("file size", measures.size_bytes <= spec.size_bytes_max, wanted, f"{measures.size_bytes} bytes")
    if spec.kind == "image":
        yield _Row("pictures", measures.frames in {None, 1}, "one still picture", f"{measures.frames} pictures")


def _picture_rows(spec: OutputSpec, measures: Measures) -> Iterator[_Row]:
    yield _exactly("width", spec.width_px, measures.width_px)
    yield _exactly("height", spec.height_px, measures.height_px)
    size = None if measures.width_px is None or measures.height_px is None else (measures.width_px, measures.height_px)
    found = size and f"{size[0]} x {size[1]}"
    if spec.ratio is not None:
        wide, high = (float(part) for part in spec.ratio.split(":"))
        is_near = size is not None and abs(size[0] * high - size[1] * wide) <= spec.ratio_tolerance * size[1] * wide
        yield _Row("ratio", is_near, f"{spec.ratio} within {spec.ratio_tolerance * 100:g} %", found)
    if spec.short_side_px_min is not None:
        is_long = size is not None and min(size) >= spec.short_side_px_min
        yield _Row("short side", is_long, f"at least {spec.short_side_px_min} px", found)


def _time_rows(spec: OutputSpec, measures: Measures) -> Iterator[_Row]:
    if spec.duration_ms is not None:
        found = measures.duration_ms
        is_near = found is not None and abs(found - spec.duration_ms) <= spec.duration_tolerance_ms
        wanted = f"{spec.duration_ms} ms within {spec.duration_tolerance_ms} ms"
        yield _Row("duration", is_near, wanted, None if found is None else f"{found} ms")
    if spec.fps is not None:
        is_near = measures.fps is not None and abs(measures.fps - spec.fps) <= spec.fps * _FPS_TOLERANCE
        yield _Row("frame rate", is_near, f"{spec.fps:g} per second within {_FPS_TOLERANCE * 100:g} %", measures.fps)


def _codec_rows(spec: OutputSpec, measures: Measures) -> Iterator[_Row]:
    yield _one_of("video codec", spec.video_codecs, measures.video_codec)
    has_sound = measures.audio_codec is not None
    if spec.audio == "required":
        yield _Row("sound", has_sound, "sound", "no sound")
    if spec.audio == "forbidden":
        yield _Row("sound", not has_sound, "no sound", f"sound ({measures.audio_codec})")
    if has_sound or spec.kind == "audio":  # in a clip a codec is asked of the sound that is there
        yield _one_of("audio codec", spec.audio_codecs, measures.audio_codec)


def _exactly(what: str, wanted_px: int | None, found_px: int | None) -> _Row:
    found = None if found_px is None else f"{found_px} px"
    return _Row(what, wanted_px is None or found_px == wanted_px, f"{wanted_px} px", found)


def _one_of(what: str, wanted: tuple[str, ...], found: str | None) -> _Row:
    return _Row(what, not wanted or found in wanted, " or ".join(wanted), found)
