"""A segment: a piece of an org's trail as a file, which anybody can verify without a database or a secret.

It is text, a JSON object a line: what it is a piece of, then each event exactly as its hash is made of it, then where
it ends. The hash of an event is SHA-256 of 0x00, the hash before it and its line, as in the database; so the lines
alone give every hash, and the last of them must be what the last line says. The seal of that line is the gateway's.
"""

from __future__ import annotations

import hashlib
import json
import os
from datetime import datetime
from typing import TYPE_CHECKING, Any, Self, cast

from msgspec import Struct

from app.domain.identity.seals import BadTokenError
from app.domain.text.canonical import plain_canonical
from app.domain.trail.audit import AuditEvent, Kind, Record
from app.domain.trail.chain import chained, leaf_of
from app.storage.place.private_files import PRIVATE

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from app.domain.identity.seals import Seals

FORMAT = "assent trail segment 1"
_LEAF = {"org", "seq", "id", "at", "kind", "actor", "facts", "request_id", "request_version"}


class SegmentError(Exception):
    """A file is not the segment that it should be; the text says how."""


class Segment(Struct, frozen=True, kw_only=True):
    """What a whole segment says of itself, and the SHA-256 of its file."""

    org: str
    first: int
    prev: str
    last: int
    hash: str
    digest: str


def segment_name(org: str, first: int, last: int) -> str:
    """Name the file of a segment: in a folder they stand in order."""
    return f"{org}-{first:012}-{last:012}.jsonl"


class SegmentWriter:
    """Writes a segment beside its place; it is there when it is whole and on the disk, or not at all."""

    def __init__(self, path: Path, *, org: str, first: int, prev: str) -> None:
        """Begin it; what was left of a try before is written anew. Raises OSError."""
        self.path = path
        self._beside = path.with_name(f"{path.name}.new")
        self._beside.unlink(missing_ok=True)
        self._file = os.fdopen(os.open(self._beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE), "wb")
        self._hashed = hashlib.sha256()
        self._org, self._first, self._prev = org, first, prev
        self._last, self._hash = first - 1, prev
        self._line(plain_canonical({"segment": FORMAT, "org": org, "first": first, "prev": prev}))

    def add(self, events: Sequence[AuditEvent]) -> None:
        """Write events, in their order."""
        for event in events:
            self._line(leaf_of(event))
            self._last, self._hash = event.seq, event.hash

    def finish(self, seals: Seals) -> Segment:
        """Seal it and put it into its place. Raises SegmentError if another file is there, OSError."""
        said = {"last": self._last, "hash": self._hash, "events": self._last - self._first + 1}
        text = _sealed(self._org, said, self._hashed.hexdigest())
        self._line(plain_canonical({**said, "seal": ".".join(seals.seal("trail", text))}))
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        digest = self._hashed.hexdigest()
        if self.path.exists() and hashlib.sha256(self.path.read_bytes()).hexdigest() != digest:
            raise SegmentError(f"{self.path} is there already and is another one: move it away")
        self._beside.replace(self.path)
        _sync_folder(self.path.parent)
        return Segment(
            org=self._org, first=self._first, prev=self._prev, last=self._last, hash=self._hash, digest=digest
        )

    def close(self) -> None:
        """Leave nothing behind of what was not finished."""
        self._file.close()
        self._beside.unlink(missing_ok=True)

    def _line(self, line: bytes) -> None:
        self._file.write(line + b"\n")
        self._hashed.update(line + b"\n")


class SegmentReader:
    """Reads a segment page by page, and looks at each line; a context manager. Its methods raise SegmentError."""

    def __init__(self, path: Path) -> None:
        """Open it, and read what it is."""
        self._name = path.name
        self._hashed = hashlib.sha256()
        self._number = 0
        try:
            self._file = path.open("rb")
        except OSError as error:
            raise SegmentError(f"{path} cannot be read: {error.strerror}") from None
        head = self._object(self._line())
        if head.get("segment") != FORMAT or not isinstance(head.get("first"), int):
            raise SegmentError(f"{self._name} is no segment of a trail")
        self.org: str = head.get("org", "")
        self.first: int = head["first"]
        self.prev: str = str(head.get("prev"))
        self._at = (self.first - 1, self.prev)
        self.end: Segment | None = None

    def __enter__(self) -> Self:
        """Read on."""
        return self

    def __exit__(self, *exc: object) -> None:
        """Close it."""
        self._file.close()

    def page(self, most: int, seals: Seals | None) -> list[AuditEvent]:
        """Return the next events; [] at the end, where it is what it says it is, and `end` says so."""
        found: list[AuditEvent] = []
        while self.end is None and len(found) < most:
            so_far = self._hashed.hexdigest()
            line = self._line()
            read = self._object(line)
            if "seal" in read:
                self._close(read, so_far, seals)
            else:
                found.append(self._event(read, line))
        return found

    def _event(self, read: dict[str, Any], line: bytes) -> AuditEvent:
        seq, prev = self._at
        wrong = f"{self._name}: line {self._number} is not event {seq + 1}"
        if set(read) != _LEAF or read["seq"] != seq + 1 or read["org"] != self.org:
            raise SegmentError(wrong)
        try:
            event = AuditEvent(
                org=read["org"],
                seq=read["seq"],
                id=read["id"],
                at=datetime.fromisoformat(read["at"]),
                record=Record(kind=Kind(read["kind"]), actor=read["actor"], facts=dict(read["facts"])),
                request_id=read["request_id"],
                request_version=read["request_version"],
                prev_hash=prev,
                hash=chained(prev, line),
            )
        except (ValueError, TypeError):
            raise SegmentError(wrong) from None
        self._at = (event.seq, event.hash)
        return event

    def _close(self, read: dict[str, Any], so_far: str, seals: Seals | None) -> None:
        said = {name: read.get(name) for name in ("last", "hash", "events")}
        if said != {"last": self._at[0], "hash": self._at[1], "events": self._at[0] - self.first + 1}:
            raise SegmentError(f"{self._name} ends at event {self._at[0]}, and says {said['last']} {said['hash']}")
        if self._file.read(1):
            raise SegmentError(f"{self._name} goes on behind its end")
        key_id, _, mac = str(read["seal"]).partition(".")
        if seals is not None and key_id in seals.key_ids:
            try:
                seals.verify_text("trail", _sealed(self.org, said, so_far), key_id=key_id, mac=mac)
            except BadTokenError:
                raise SegmentError(f"{self._name} is not as it was sealed") from None
        self.end = Segment(
            org=self.org,
            first=self.first,
            prev=self.prev,
            last=self._at[0],
            hash=self._at[1],
            digest=self._hashed.hexdigest(),
        )

    def _line(self) -> bytes:
        line = self._file.readline()
        self._number += 1
        if not line.endswith(b"\n"):
            raise SegmentError(f"{self._name} is cut short behind line {self._number - 1}")
        self._hashed.update(line)
        return line[:-1]

    def _object(self, line: bytes) -> dict[str, Any]:
        try:
            read = json.loads(line)
        except (ValueError, RecursionError):
            read = None
        if not isinstance(read, dict):
            raise SegmentError(f"{self._name}: line {self._number} is no JSON object")
        return cast("dict[str, Any]", read)


def _sealed(org: str, said: dict[str, Any], so_far: str) -> str:
    return "\n".join([FORMAT, org, *(f"{name}={said[name]}" for name in ("last", "hash", "events")), so_far])


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
