"""What a file is by its first bytes."""

import pytest

from onetake.media.sniff import likeness_of, media_type_of


@pytest.mark.parametrize(
    ("head", "media_type"),
    [
        (b"\x89PNG\r\n\x1a\n....", "image/png"),
        (b"\xff\xd8\xff\xe0....", "image/jpeg"),
        (b"RIFF\x0a\x00\x00\x00WEBPVP8 ", "image/webp"),
        (b"\x00\x00\x00\x20ftypisom", "video/mp4"),
        (b"\x00\x00\x00\x0aftypM4V ", "video/mp4"),
        (b"\x00\x00\x00\x14ftypqt  ", "video/quicktime"),
        (b"RIFF\x0a\x00\x00\x00WAVEfmt ", None),
        (b"\x00\x00\x00\x20ftypavif", None),
        (b"<html>", None),
        (b" \x89PNG\r\n\x1a\n", None),
        (b"", None),
    ],
)
def test_only_bytes_name_the_type(head: bytes, media_type: str | None) -> None:
    assert media_type_of(head) == media_type


@pytest.mark.parametrize(
    ("head", "words"),
    [
        (b"", "an empty file"),
        (b"<!DOCTYPE html>\n<title>Sign in</title>", "an HTML page"),
        (b"\xef\xbb\xbf\n <HTML><body>", "an HTML page"),
        (b"<!-- gateway --><html lang=en>", "an HTML page"),
        (b'<?xml version="1.0"?><Error><Code>AccessDenied</Code></Error>', "an XML document"),
        (b'<?xml version="1.0"?>\n<svg onload="x()">', "an SVG drawing"),
        (b'{"error": "not ready"}', "a JSON text"),
        (b"%PDF-1.7\n%\xe2\xe3", "a PDF"),
        (b"\x00\x00\x00\x20ftypheic", "an AVIF or HEIF picture"),
        (b"GIF89a", "a GIF"),
        (b"\x1aE\xdf\xa3\x01\x00", "a Matroska or WebM clip"),
        (b"\x1f\x8b\x08\x00", "a compressed file"),
        ("Gateway timeout – später".encode(), "plain text"),
        (bytes(range(256)), "unknown bytes"),
    ],
)
def test_what_is_not_decoded_is_called_by_its_likeness(head: bytes, words: str) -> None:
    assert likeness_of(head) == words
