"""Files that a person names: read whole if they are files and small enough, line by line if lines may be many."""

import codecs
import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

LINE_BYTES_MAX = 1_048_576
"""Longest line of a file of orders: a hundred times the longest prompt that any provider takes."""

LINES_MAX = 1_000_000
"""Most lines of a file of orders: a day's work of ten workers; a stream that never ends must end here."""


def read_whole(path: Path, *, size_bytes_max: int) -> bytes:
    """The bytes of a regular file; never waits, as a pipe or a device would make it.

    Raises:
        OSError: it can't be read, is no regular file, or is larger than `size_bytes_max`; `strerror` says which.
        ValueError: there is a NUL in the name.
    """
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        mode = os.fstat(file.fileno()).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "it is no regular file")
        data = file.read(size_bytes_max + 1)
    if len(data) > size_bytes_max:
        raise OSError(errno.EFBIG, f"it is larger than {size_bytes_max:,} bytes")
    return data


def numbered_lines(file: BinaryIO) -> Iterator[tuple[int, bytes | str]]:
    """The lines that hold something, numbered from 1; what is too much is told in the last one's place, as a text.

    Only a line feed ends a line, for prompts hold other separators. A byte order mark at the beginning is left out.
    """
    for no in range(1, LINES_MAX + 1):
        line = file.readline(LINE_BYTES_MAX + 1)
        if not line:
            return
        if len(line) > LINE_BYTES_MAX and not line.endswith(b"\n"):
            yield no, f"The line is longer than {LINE_BYTES_MAX:,} bytes; neither it nor what follows was read."
            return
        if no == 1:
            line = line.removeprefix(codecs.BOM_UTF8)
        if line.strip():
            yield no, line.removesuffix(b"\n")
    if file.read(1):
        yield LINES_MAX + 1, f"The file has more than {LINES_MAX:,} lines; neither this one nor what follows was read."
