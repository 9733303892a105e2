"""Measures of a clip: every packet of every picture and sound track decoded by PyAV. Runs in the decoding child only.

Damage shows in three ways, and all three are asked (tried with truncated files and flipped bits): the decoder
refuses a packet, it flags a packet or frame as corrupt, or something is missing. What should be there is what the
container's index lists once its edit list was applied; the sample table also counts what the edit list cuts away.
"""

from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import BinaryIO

import av
import av.error
from av.audio.frame import AudioFrame
from av.audio.stream import AudioStream
from av.packet import Packet
from av.stream import Disposition, Stream
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from onetake.domain.outputs import Measures
from onetake.media.findings import PIXELS_MAX, DecodeFault, UndecodableError


def measure_video(file: BinaryIO, *, media_type: str, size_bytes: int) -> Measures:
    """The measures of an MP4 or QuickTime file; of kind "audio" when it has no moving picture.

    Raises:
        UndecodableError: it can't be opened, has neither picture nor sound, or claims too many pixels.
        OSError: the file could not be read.
    """
    try:
        # Given a file object instead of a name, FFmpeg has no way to open anything else.
        with av.open(file, mode="r", format="mp4") as container:
            streams: list[VideoStream | AudioStream] = [*container.streams.video, *container.streams.audio]
            tracks = [_Track(stream) for stream in streams]
            faults = _decode(container.demux(streams), tracks) if streams else []
            return _measures(tracks, faults, media_type, size_bytes)
    except MemoryError:  # FFmpeg's own is of both classes
        raise
    except av.error.FFmpegError as error:
        raise UndecodableError(DecodeFault.BROKEN, f"the clip is broken: {error.strerror}") from error


class _Track:
    """One stream, and what decoding it found."""

    def __init__(self, stream: VideoStream | AudioStream) -> None:
        if stream.codec_context is None:
            raise UndecodableError(DecodeFault.BROKEN, f"no decoder is known for the {stream.type} track")
        if isinstance(stream, VideoStream) and stream.width * stream.height > PIXELS_MAX:
            raise UndecodableError(DecodeFault.TOO_LARGE, f"the clip's pictures have more than {PIXELS_MAX} pixels")
        stream.codec_context.thread_count = 1  # the other cores are the worker's; and memory stays foreseeable
        self.stream = stream
        self.packets = self.hidden = self.refused = self.corrupt = self.frames = 0
        self.first: VideoFrame | AudioFrame | None = None
        self.start_pts: int | None = None
        self.end_pts = 0

    def take(self, packet: "Packet[Stream]") -> None:
        """Decode one packet and count what comes out."""
        self.packets += packet.size > 0  # an empty packet asks for what the decoder still holds
        self.hidden += packet.is_discard
        self.corrupt += packet.is_corrupt
        try:
            frames = packet.decode()
        except MemoryError:
            raise
        except av.error.FFmpegError:
            self.refused += 1
            return
        for frame in frames:
            if isinstance(frame, VideoFrame | AudioFrame):  # always; the type checker thinks of subtitles
                self._see(frame)

    def _see(self, frame: VideoFrame | AudioFrame) -> None:
        self.first = self.first or frame
        self.frames += 1
        self.corrupt += frame.is_corrupt
        if frame.pts is not None:
            self.start_pts = frame.pts if self.start_pts is None else min(self.start_pts, frame.pts)
            self.end_pts = max(self.end_pts, frame.pts + (frame.duration or 0))

    def duration_s(self) -> Fraction | None:
        """From the first frame's beginning to the last one's end; None if no frame carries a time."""
        if self.start_pts is None or self.first is None or self.first.time_base is None:
            return None
        return (self.end_pts - self.start_pts) * self.first.time_base

    def faults(self) -> Iterator[str]:
        """What the decoder complained of, in words."""
        name = "picture track" if isinstance(self.stream, VideoStream) else "sound track"
        listed = len(self.stream.index_entries)
        if self.packets < listed:
            yield f"{name}: {listed - self.packets} of {listed} packets are not in the file"
        if self.refused:
            yield f"{name}: {self.refused} of {self.packets} packets can't be decoded"
        if self.corrupt:
            yield f"{name}: {self.corrupt} packets or frames are damaged"
        # Sound decoders swallow whole frames of lead-in, so only pictures can be counted exactly.
        wanted = self.packets - self.hidden if isinstance(self.stream, VideoStream) else 1
        if self.frames < wanted:
            yield f"{name}: {self.frames} of {wanted} frames came out"


def _decode(packets: Iterable["Packet[Stream]"], tracks: list[_Track]) -> list[str]:
    by_index = {track.stream.index: track for track in tracks}
    broken = []
    try:
        for packet in packets:
            by_index[packet.stream.index].take(packet)
    except MemoryError:
        raise
    except av.error.FFmpegError as error:
        broken = [f"the file can't be read to its end: {error.strerror}"]
    return [*broken, *(fault for track in tracks for fault in track.faults())]


def _measures(tracks: list[_Track], faults: list[str], media_type: str, size_bytes: int) -> Measures:
    moving = (
        track
        for track in tracks
        if isinstance(track.stream, VideoStream) and not track.stream.disposition & Disposition.attached_pic
    )
    picture = next(moving, None)
    sound = next((track for track in tracks if isinstance(track.stream, AudioStream)), None)
    track = picture or sound
    if track is None:
        raise UndecodableError(DecodeFault.BROKEN, "the clip has neither pictures nor sound")
    width_px, height_px = _shown_size(picture)
    duration_s = track.duration_s()
    return Measures(
        kind="video" if picture else "audio",
        media_type=media_type if picture else "audio/mp4",
        size_bytes=size_bytes,
        width_px=width_px,
        height_px=height_px,
        duration_ms=None if duration_s is None else round(duration_s * 1000),
        frames=picture.frames if picture else None,
        fps=round(float(picture.frames / duration_s), 3) if picture and duration_s else None,
        video_codec=picture.stream.codec_context.codec.canonical_name if picture else None,
        audio_codec=sound.stream.codec_context.codec.canonical_name if sound and sound.frames else None,
        pixel_format=picture.first.format.name if picture and picture.first else None,
        faults=tuple(faults),
    )


def _shown_size(picture: _Track | None) -> tuple[int | None, int | None]:
    """Width and height as a player shows them: pixels made square, then turned by the display matrix."""
    if picture is None or not isinstance(picture.first, VideoFrame) or not isinstance(picture.stream, VideoStream):
        return None, None
    width_px = round(picture.first.width * (picture.stream.sample_aspect_ratio or 1))
    is_turned = picture.first.rotation % 180 == 90
    return (picture.first.height, width_px) if is_turned else (width_px, picture.first.height)
