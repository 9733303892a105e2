"""The decoding child: reads one request a line, decodes that file whole, answers with one line.

    -> {"path": "...", "cpu_s": 31, "wanted": "measures"}
    <- {"kind": "image", "media_type": "image/png", ...}       the fields of `Measures`, or of `Pixels` where wanted
    <- {"fault": "not_media", "reason": "..."}                 the fields of `Undecodable`

The first line it writes is "ready". Decoders are a million lines of C that read bytes from strangers, so they run
here: with no environment, no right to write a file, bounded memory, files and processor time, and a parent that
kills it at will. It imports only what it needs; PyAV not before the first clip.
"""

import dataclasses
import json
import math
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, TypeVar

from onetake.domain.outputs import Measures
from onetake.media.findings import MEMORY_BYTES_MAX, VIDEO_HINT, DecodeFault, Pixels, Undecodable, UndecodableError
from onetake.media.images import measure_image, pixels_of
from onetake.media.sniff import HEAD_BYTES, likeness_of, media_type_of

T = TypeVar("T")

_OPEN_FILES_MAX = 32  # four pipes and the file; the rest is room for libraries that load others


def main() -> None:
    """Serve requests from standard input until it ends."""
    _leave_ending_to_the_parent()
    _confine()
    answers = _take_over_output()
    _say(answers, "ready")
    for line in sys.stdin.buffer:
        request = json.loads(line)
        _limit_processor(request["cpu_s"])
        path = Path(request["path"])
        found = show(path) if request["wanted"] == "pixels" else examine(path)
        _say(answers, dataclasses.asdict(found))


def examine(path: Path) -> Measures | Undecodable:
    """What decoding the whole file found. Its kind comes from its bytes, never from its name."""
    return _guarded(path, _measure)


def show(path: Path) -> Pixels | Undecodable:
    """What a still picture shows."""
    return _guarded(path, pixels_of)


def _guarded(path: Path, look: Callable[[BinaryIO], T]) -> T | Undecodable:
    """What the function finds in the file, or why it finds nothing."""
    try:
        with path.open("rb") as file:
            return look(file)
    except UndecodableError as error:
        return error.finding
    except MemoryError:
        reason = f"decoding needs more memory than {MEMORY_BYTES_MAX >> 20} MiB"
        return Undecodable(fault=DecodeFault.TOO_LARGE, reason=reason)
    except OSError as error:
        return Undecodable(fault=DecodeFault.UNREADABLE, reason=f"The stored file can't be read: {error.strerror}")
    except Exception as error:  # noqa: BLE001 - a mistake of ours or of a library names itself; the next file is served
        return Undecodable(fault=DecodeFault.CRASH, reason=f"the decoder failed: {type(error).__name__}: {error}"[:200])


def _measure(file: BinaryIO) -> Measures:
    head = file.read(HEAD_BYTES)
    size_bytes = file.seek(0, os.SEEK_END)
    file.seek(0)
    media_type = media_type_of(head)
    if media_type is None:
        reason = f"not a picture or clip: looks like {likeness_of(head)}"
        raise UndecodableError(DecodeFault.NOT_MEDIA, reason)
    if media_type.startswith("image/"):
        return measure_image(file, media_type=media_type, size_bytes=size_bytes)
    try:
        from onetake.media.video import measure_video  # noqa: PLC0415 - 18 MB that a child for pictures never loads
    except ImportError as error:
        is_missing = isinstance(error, ModuleNotFoundError)
        reason = VIDEO_HINT if is_missing else f"Clips are decoded by PyAV, which can't be loaded: {error}."
        raise UndecodableError(DecodeFault.NO_DECODER, reason) from error
    return measure_video(file, media_type=media_type, size_bytes=size_bytes)


def _leave_ending_to_the_parent() -> None:
    """Ctrl-C and a service manager signal the whole group; the parent still wants the answer to its last file."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)


def _confine() -> None:
    """Give up what decoding doesn't need; on systems without such limits, do nothing."""
    sys.dont_write_bytecode = True  # it could only fail from here on
    if sys.platform == "win32":
        return
    import resource  # noqa: PLC0415 - doesn't exist everywhere

    limits = [(resource.RLIMIT_FSIZE, 0), (resource.RLIMIT_CORE, 0), (resource.RLIMIT_NOFILE, _OPEN_FILES_MAX)]
    if sys.platform == "linux":  # macOS refuses to set it
        limits.append((resource.RLIMIT_AS, MEMORY_BYTES_MAX))
    for kind, wanted in limits:
        hard = resource.getrlimit(kind)[1]
        value = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(kind, (value, value))


def _limit_processor(cpu_s: int) -> None:
    """Let the kernel end this child after so many more seconds of work, also if the parent is gone by then."""
    if sys.platform == "win32":
        return
    import resource  # noqa: PLC0415 - doesn't exist everywhere

    used = resource.getrusage(resource.RUSAGE_SELF)
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(used.ru_utime + used.ru_stime) + cpu_s, hard))


def _take_over_output() -> BinaryIO:
    """The parent's end of standard output, for answers alone: what libraries print goes nowhere from here on."""
    answers = os.fdopen(os.dup(1), "wb")
    with Path(os.devnull).open("wb") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)  # nobody reads it any more, and a full pipe would block a decoder
    return answers


def _say(answers: BinaryIO, answer: object) -> None:
    answers.write(json.dumps(answer).encode() + b"\n")
    answers.flush()


if __name__ == "__main__":
    main()
