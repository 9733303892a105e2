"""What a file is by its first bytes. Labels and names are never asked: they lie (error pages arrive as video/mp4)."""

import re

HEAD_BYTES = 512
"""Enough to see past a doctype and comments into an HTML page; every magic number sits in the first 16."""

_MAGIC = (
    (re.compile(rb"\x89PNG\r\n\x1a\n"), "image/png"),
    (re.compile(rb"\xff\xd8\xff"), "image/jpeg"),
    (re.compile(rb"RIFF....WEBP", re.DOTALL), "image/webp"),
    (re.compile(rb"....ftypqt  ", re.DOTALL), "video/quicktime"),
    (re.compile(rb"....ftyp(?!avi[fs]|hei[cmsx]|hev[cx]|mif1|msf1)", re.DOTALL), "video/mp4"),
)

_OTHERS = (
    (re.compile(rb"....ftyp", re.DOTALL), "an AVIF or HEIF picture"),
    (re.compile(rb"GIF8"), "a GIF"),
    (re.compile(rb"\x1aE\xdf\xa3"), "a Matroska or WebM clip"),
    (re.compile(rb"\x1f\x8b|PK\x03\x04"), "a compressed file"),
    (re.compile(rb"%PDF-"), "a PDF"),
    (re.compile(rb"(?s).*<svg\b"), "an SVG drawing"),
    (re.compile(rb"(?s)\s*<(!doctype|html|head|body)|.*<html\b", re.IGNORECASE), "an HTML page"),
    (re.compile(rb"\s*<\?xml"), "an XML document"),
    (re.compile(rb"\s*[{\[]\s*[\"}\]{]"), "a JSON text"),
    (re.compile(rb"[^\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]+\Z"), "plain text"),
)


def media_type_of(head: bytes) -> str | None:
    """The media type of a file that we decode, from its first `HEAD_BYTES` bytes; None for all others."""
    return next((media_type for magic, media_type in _MAGIC if magic.match(head)), None)


def likeness_of(head: bytes) -> str:
    """What a file that we don't decode looks like, in words."""
    if not head:
        return "an empty file"
    text = head.removeprefix(b"\xef\xbb\xbf")  # a byte order mark before a page or text
    return next((words for magic, words in _OTHERS if magic.match(text)), "unknown bytes")
