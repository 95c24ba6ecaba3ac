"""What a call brings along for the people who decide it: links, and small files. Each is an exhibit.

They are the agent's claims: nothing is judged by them, a link is never fetched, a file never opened. What each of them
is (a link's address, a file's name, type, size and SHA-256) belongs to what is approved; the content of files is kept
apart (`app.storage.exhibits`), and is that file only as long as its SHA-256 says so.
"""

from __future__ import annotations

import binascii
import hashlib
import re
import unicodedata
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import asdict

from app.domain.call.file_type import FileFaultError, MediaType, type_of
from app.domain.errors import InvalidError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from app.domain.text.canonical import JsonValue

MOST = 8
"""Exhibits of one call."""
MOST_OF_A_FILE = 512 * 1024
MOST_TOGETHER = 1024 * 1024
"""Bytes of one file, and of all files of a call. The body that they come in has its own bound, and is often smaller."""
LONGEST_TITLE = 120
LONGEST_URL = 2_000

_URL = re.compile(
    r"https://(?P<host>[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?)(?::[0-9]{1,5})?"
    r"(?:[/?#][A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=%]*)?"
)


class ExhibitKind(StrEnum):
    """What an exhibit is."""

    LINK = "link"
    FILE = "file"


class Exhibit(Struct, frozen=True, kw_only=True):
    """One piece of a call's evidence: a link, or a file. `sha256` is of the link's address, or of the file's bytes."""

    kind: ExhibitKind
    title: str  # of a link, as the agent calls it ("": not at all); the name of a file
    sha256: str
    url: str | None = None
    media_type: str | None = None
    size: int | None = None  # bytes

    @property
    def host(self) -> str:
        """Where a link leads, spelled out; "" for a file."""
        found = _URL.fullmatch(self.url or "")
        return found["host"].lower() if found else ""

    @property
    def type(self) -> MediaType | None:
        """What a file is; None for a link, and for what no gateway wrote."""
        return MediaType(self.media_type) if self.media_type in set(MediaType) else None

    def bound(self) -> dict[str, JsonValue]:
        """Return all of it, for the digest of what is approved."""
        return {**asdict(self), "kind": self.kind.value}

    def facts(self) -> dict[str, object]:
        """Return what the trail keeps: nothing that it says."""
        told: dict[str, object] = {"kind": self.kind.value, "sha256": self.sha256}
        return told if self.kind is ExhibitKind.LINK else told | {"media_type": self.media_type, "size": self.size}


class Offered(Struct, frozen=True, kw_only=True):
    """An exhibit as it comes in, with a file's content."""

    exhibit: Exhibit
    content: bytes = b""


def read_evidence(given: Sequence[Mapping[str, Any]], *, told: Callable[[str], str]) -> tuple[Offered, ...]:
    """Return what a caller offers. `told` takes out of a text what may not be shown.

    Raises InvalidError, which names the fault, where it is and what would do.
    """
    if len(given) > MOST:
        raise InvalidError(
            f"evidence: a call brings along up to {MOST} links and files, not {len(given)}", path="evidence"
        )
    found = tuple(_read(each, f"evidence.{index}", told) for index, each in enumerate(given))
    together = sum(len(each.content) for each in found)
    if together > MOST_TOGETHER:
        why = f"the files have {together:,} bytes together; up to {MOST_TOGETHER:,} are kept: send fewer, or links"
        raise InvalidError(f"evidence: {why}", path="evidence")
    return found


def sent_again(exhibit: Exhibit, content: bytes) -> dict[str, Any]:
    """Return an exhibit as a caller sends it."""
    if exhibit.kind is ExhibitKind.LINK:
        return {"kind": exhibit.kind.value, "url": exhibit.url, "title": exhibit.title}
    text = binascii.b2a_base64(content, newline=False).decode()
    return {"kind": exhibit.kind.value, "name": exhibit.title, "media_type": exhibit.media_type, "content": text}


def count_files(evidence: Iterable[Exhibit]) -> int:
    """Count the files."""
    return sum(each.kind is ExhibitKind.FILE for each in evidence)


def _read(given: Mapping[str, Any], path: str, told: Callable[[str], str]) -> Offered:
    if given["kind"] == ExhibitKind.LINK.value:
        return _link(given, path, told)
    return _file(given, path, told)


def _link(given: Mapping[str, Any], path: str, told: Callable[[str], str]) -> Offered:
    url: str = given["url"]
    fault = _fault_of_url(url)
    if fault is None and told(url) != url:
        fault = "it holds a secret, or a value that must not be shown: give a link that needs neither, or the file"
    if fault is not None:
        raise InvalidError(f"{path}.url: {fault}", path=f"{path}.url")
    title = told(_titled(given.get("title") or "", f"{path}.title"))
    return Offered(
        exhibit=Exhibit(
            kind=ExhibitKind.LINK, title=title, url=url, sha256=hashlib.sha256(url.encode("ascii")).hexdigest()
        )
    )


def _fault_of_url(url: str) -> str | None:
    if len(url) > LONGEST_URL:
        return f"it has {len(url)} characters; up to {LONGEST_URL} are kept"
    if not url.startswith("https://"):
        return "only links that begin with https:// are shown"
    if "@" in re.split(r"[/?#]", url.removeprefix("https://"), maxsplit=1)[0]:
        return "leave out what stands before the @: it makes one host look like another"
    if _URL.fullmatch(url) is None:
        return "write the host in its ASCII form (xn--…), and every other character that is not ASCII by its %XX"
    return None


def _file(given: Mapping[str, Any], path: str, told: Callable[[str], str]) -> Offered:
    name = told(_titled(given["name"], f"{path}.name", is_name=True))
    content = _content_of(given["content"], f"{path}.content")
    try:
        found = type_of(content)
    except FileFaultError as fault:
        raise InvalidError(f"{path}.content: {fault}", path=f"{path}.content") from None
    if found.value != given["media_type"]:
        why = f"its content is {found.value}: say so, or send what you say"
        raise InvalidError(f"{path}.media_type: {why}", path=f"{path}.media_type")
    return Offered(
        exhibit=Exhibit(
            kind=ExhibitKind.FILE,
            title=name,
            media_type=found.value,
            size=len(content),
            sha256=hashlib.sha256(content).hexdigest(),
        ),
        content=content,
    )


def _content_of(text: str, path: str) -> bytes:
    if len(text) > MOST_OF_A_FILE * 4 // 3 + 4:  # before it is decoded
        raise InvalidError(
            f"{path}: a file may have {MOST_OF_A_FILE:,} bytes: make it smaller, or give a link", path=path
        )
    try:
        content = binascii.a2b_base64(text, strict_mode=True)
    except ValueError:
        raise InvalidError(f"{path}: it is no base64 (with its = at the end, without line breaks)", path=path) from None
    if len(content) > MOST_OF_A_FILE:
        raise InvalidError(
            f"{path}: a file may have {MOST_OF_A_FILE:,} bytes: make it smaller, or give a link", path=path
        )
    return content


def _titled(text: str, path: str, *, is_name: bool = False) -> str:
    """Return a title or a file's name. It is shown as text; nothing is ever stored or saved under it."""
    if len(text) > LONGEST_TITLE or (is_name and not text.strip()):
        raise InvalidError(f"{path}: it has 1 to {LONGEST_TITLE} characters", path=path)
    if any(unicodedata.category(char) in {"Cc", "Cs"} for char in text):
        raise InvalidError(f"{path}: leave out line breaks and control characters", path=path)
    if is_name and ("/" in text or "\\" in text):
        raise InvalidError(f"{path}: a name alone, without folders", path=path)
    return text
