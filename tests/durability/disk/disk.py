"""A disk that a test holds in its hand: what was written is played back, and the power fails wherever the test says.

What a file held when it was last synced is safe. Of what was written to it afterwards, any part may be there, in any
combination, and the last page may be torn.
"""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.fixtures.patience import HANGS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from random import Random

_HEAD = struct.Struct("=c3xIqq")
_SECTOR = 512


def build_shim(folder: Path) -> Path:
    """Compile what stands between a program and the disk; skip the test where nothing compiles."""
    compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    if compiler is None or os.uname().sysname != "Linux":
        pytest.skip("needs a C compiler, on Linux")
    made = folder / "shim.so"
    source = Path(__file__).with_name("shim.c")
    words = [compiler, "-shared", "-fPIC", "-O1", "-o", str(made), str(source), "-ldl"]
    subprocess.run(words, check=True, timeout=HANGS)
    return made


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """Something that was done to a file."""

    kind: str  # w: written, t: cut to a length, s: synced, u: removed
    path: str
    at: int
    length: int
    data: bytes


def read_log(log: Path) -> Iterator[Done]:
    """Yield what was done, in its order."""
    raw = log.read_bytes()
    at = 0
    while at < len(raw):
        kind, named, where, length = _HEAD.unpack_from(raw, at)
        at += _HEAD.size
        path = raw[at : at + named].decode()
        at += named
        data = raw[at : at + length] if kind == b"w" else b""
        at += len(data)
        yield Done(kind=kind.decode(), path=path, at=where, length=length, data=data)


@dataclass(slots=True)
class _File:
    safe: bytes | None
    since: list[Done] = field(default_factory=list[Done])


class Disk:
    """The files as they are safe, and what was done to them since."""

    def __init__(self, start: Mapping[str, bytes]) -> None:
        """Begin with files that are safe."""
        self._files = {path: _File(content) for path, content in start.items()}

    def do(self, done: Done) -> None:
        """Let something be done. To sync a folder makes sure of what was removed from it."""
        for path, one in self._files.items() if done.kind == "s" else ():
            removed = [at for at, each in enumerate(one.since) if each.kind == "u"]
            if removed and path.rpartition("/")[0] == done.path:
                one.safe, one.since = None, one.since[removed[-1] + 1 :]
        file = self._files.setdefault(done.path, _File(None))
        if done.kind == "s":
            file.safe, file.since = _after(file.safe, file.since), []
        else:
            file.since.append(done)

    def fails(self, draw: Random) -> dict[str, bytes]:
        """Return what is there when the power comes back."""
        kept = {path: _after(file.safe, _survivors(file.since, draw)) for path, file in self._files.items()}
        return {path: content for path, content in kept.items() if content is not None}


def _survivors(since: list[Done], draw: Random) -> list[Done]:
    """Of what was not synced: all, nothing, or some of it, with a page of which only some sectors came through."""
    likely = draw.choice((0.0, 0.5, 0.9, 1.0))
    there = [done for done in since if draw.random() < likely]
    last = there[-1] if there else None
    if last is not None and last.kind == "w" and last.length > _SECTOR and draw.random() < 0.5:
        whole = draw.randrange(1, last.length // _SECTOR + 1) * _SECTOR
        there[-1] = Done(kind="w", path=last.path, at=last.at, length=whole, data=last.data[:whole])
    return there


def _after(content: bytes | None, steps: list[Done]) -> bytes | None:
    if not steps:
        return content
    made: bytearray | None = None if content is None else bytearray(content)
    for done in steps:
        match done.kind:
            case "u":
                made = None
            case "t":
                made = (made or bytearray())[: done.length].ljust(done.length, b"\0")
            case _:
                made = made if made is not None else bytearray()
                made.extend(bytes(max(0, done.at + len(done.data) - len(made))))
                made[done.at : done.at + len(done.data)] = done.data
    return None if made is None else bytes(made)
