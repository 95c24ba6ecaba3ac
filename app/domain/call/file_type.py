"""What a file is, by its own first and last bytes; nothing is decoded, and no picture is ever unpacked.

Three kinds are known: PDF, PNG, JPEG. Each must begin and end as its kind does, with nothing behind it, so that no file
is two things at once (a picture with a script at its end, a page that calls itself a PDF). How large a picture is when
a reader's browser unpacks it stands in its header, and is bounded.
"""

from __future__ import annotations

import re
from enum import StrEnum

MOST_PIXELS = 40_000_000
MOST_ON_A_SIDE = 10_000
_MOST_PARTS = 2_000
"""Chunks or segments of one picture: real ones have some dozens."""

_PNG = b"\x89PNG\r\n\x1a\n"
_PNG_END = b"\x00\x00\x00\x00IEND\xaeB\x60\x82"
_HEADER = b"\x00\x00\x00\x0dIHDR"
_MOVES = b"acTL"
_JPEG = b"\xff\xd8\xff"
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}  # segments that say how large the picture is
_SCAN, _END = 0xDA, 0xD9
_AFTER_SCAN = re.compile(rb"\xff[^\x00\xd0-\xd7\xff]")  # within a scan 0xFF stands before these alone
_PDF = re.compile(rb"%PDF-(?:1\.[0-7]|2\.0)[\r\n]")
_PDF_END = re.compile(rb"%%EOF\s{0,16}\Z")
_PDF_TAIL = 64
_PAGE = re.compile(rb"<\s{0,8}(?:!doctype|html|head|body|script|svg|iframe|meta)", re.IGNORECASE)
_SNIFFED = 1_024
"""Bytes in which a browser that guesses would look for a page."""


class MediaType(StrEnum):
    """The kinds of files that are kept and shown."""

    PDF = "application/pdf"
    PNG = "image/png"
    JPEG = "image/jpeg"

    @property
    def is_picture(self) -> bool:
        """Whether a browser shows it as a picture."""
        return self is not MediaType.PDF

    @property
    def suffix(self) -> str:
        """How a file of it is called when it is saved."""
        return {MediaType.PDF: "pdf", MediaType.PNG: "png", MediaType.JPEG: "jpg"}[self]


class FileFaultError(ValueError):
    """The file is none that is shown; the text says why, and what would be."""


def type_of(content: bytes) -> MediaType:
    """Return what a file is. Raises FileFaultError."""
    if not content:
        raise FileFaultError("it is empty")
    if content.startswith(_PNG):
        _check_size(*_size_of_png(content))
        return MediaType.PNG
    if content.startswith(_JPEG):
        _check_size(*_size_of_jpeg(content))
        return MediaType.JPEG
    if content.startswith(b"%PDF-"):
        _check_pdf(content)
        return MediaType.PDF
    raise FileFaultError("it is neither PDF, PNG nor JPEG by its first bytes: send it as one of these")


def _check_size(width: int, height: int) -> None:
    if not (0 < width <= MOST_ON_A_SIDE and 0 < height <= MOST_ON_A_SIDE and width * height <= MOST_PIXELS):
        raise FileFaultError(
            f"the picture has {width} × {height} pixels: up to {MOST_ON_A_SIDE:,} on a side and {MOST_PIXELS:,} in all "
            "are shown, so make it smaller"
        )


def _size_of_png(content: bytes) -> tuple[int, int]:
    at = len(_PNG)
    if content[at : at + 8] != _HEADER:
        raise FileFaultError("a PNG whose header is broken or cut off: save it anew")
    size = int.from_bytes(content[at + 8 : at + 12], "big"), int.from_bytes(content[at + 12 : at + 16], "big")
    for number in range(_MOST_PARTS):
        length, kind = int.from_bytes(content[at : at + 4], "big"), content[at + 4 : at + 8]
        if kind == _MOVES or (kind == b"IHDR" and number):
            raise FileFaultError("a PNG that is more than one picture: send one that stands still")
        following = at + 12 + length
        if kind == b"IEND" and following == len(content) and content.endswith(_PNG_END):
            return size
        if kind == b"IEND" or following > len(content):
            break
        at = following
    raise FileFaultError("a PNG that is cut off, or has something else behind its end: save it anew")


def _size_of_jpeg(content: bytes) -> tuple[int, int]:
    at, size = 2, None
    for _ in range(_MOST_PARTS):
        if content[at : at + 1] != b"\xff" or at + 2 > len(content):
            break
        kind = content[at + 1]
        if kind == _END:
            if size is None or at + 2 != len(content):
                break
            return size
        length = int.from_bytes(content[at + 2 : at + 4], "big")
        if length < 2 or at + 2 + length > len(content):
            break
        if kind in _FRAMES:
            if size is not None:
                raise FileFaultError("a JPEG that is more than one picture: save it anew as one")
            size = int.from_bytes(content[at + 7 : at + 9], "big"), int.from_bytes(content[at + 5 : at + 7], "big")
        at += 2 + length
        if kind == _SCAN:
            found = _AFTER_SCAN.search(content, at)
            at = found.start() if found else len(content)
    raise FileFaultError("a JPEG that is broken or cut off, or has something else behind its end: save it anew")


def _check_pdf(content: bytes) -> None:
    if not _PDF.match(content):
        raise FileFaultError("a PDF of an unknown version: save it anew as PDF 1.0 to 2.0")
    if not _PDF_END.search(content[-_PDF_TAIL:]):
        raise FileFaultError("a PDF that is cut off, or has something else behind its end: save it anew")
    if _PAGE.search(content[:_SNIFFED]):
        raise FileFaultError("a PDF that begins like a web page: save it anew as a PDF alone")
