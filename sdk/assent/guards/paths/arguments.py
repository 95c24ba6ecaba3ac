"""Which arguments of a tool call carry paths, file patterns, patches or shell commands, by their keys."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import lru_cache
from typing import TYPE_CHECKING, Any, assert_never, cast

from assent.guards.commands.arguments import (
    COMMAND_KEYS,
    DIRECTORY_KEYS,
    ENVIRONMENT_KEYS,
    command_texts,
    plain_key,
    surroundings,
)
from assent.guards.paths.lists import GLOB_KEYS, PATH_KEYS
from assent.guards.paths.patches import patched_files

if TYPE_CHECKING:
    from collections.abc import Iterable

DEEPEST = 12
"""Arguments that are nested deeper are not read: the call is refused."""

_ENDINGS = ("path", "paths", "file", "files", "filename", "filenames", "directory", "folder", "uri", "dir", "url")
_FINDERS = re.compile(r"glob|find|file_?search|search_?files", re.IGNORECASE)
_PATCHERS = re.compile(r"patch|diff", re.IGNORECASE)
_LONGEST_JSON = 262_144
_MOST_NAMES = 2_000
"""Files that one call names, each line and each piece between `,` and `;` of an argument counted: 60 µs each."""
_LONGEST_KEY = 64  # characters of an argument's name by which it is known, from its end
_BETWEEN_NAMES = "\n\r,;"


class Role(Enum):
    """What a value is for, by its key."""

    PATH = auto()
    GLOB = auto()
    PATCH = auto()
    BASE = auto()
    COMMAND = auto()
    ENVIRONMENT = auto()
    OTHER = auto()


class TooDeepError(ValueError):
    """The arguments are nested deeper, or name more files, than anybody reads."""


@dataclass(slots=True, kw_only=True)
class Mentions:
    """What a call mentions of files, each as it was written."""

    paths: list[str] = field(default_factory=list[str])
    globs: list[str] = field(default_factory=list[str])
    commands: list[str] = field(default_factory=list[str])
    environment: dict[str, str] = field(default_factory=dict[str, str])
    base: str = ""
    """The directory that the call wants to run in."""


def mentions_of(tool: str, args: Mapping[str, Any]) -> Mentions:
    """Collect the mentions of a call of the tool (its canonical name). Raises TooDeepError."""
    reader = _Reader(tool)
    reader.read_mapping(args, 0, within_paths=False)
    if tool == "exec":
        reader.found.commands += command_texts(args) or []
        reader.found.environment |= surroundings(args)
    found = reader.found
    names = sum(1 + sum(map(text.count, _BETWEEN_NAMES)) for text in (*found.paths, *found.globs))
    if names * max(1, len(found.globs) and len(found.paths)) > _MOST_NAMES:
        raise TooDeepError(f"the arguments name more than {_MOST_NAMES} files")
    return found


class _Reader:
    def __init__(self, tool: str) -> None:
        self.found = Mentions()
        self._runs = tool == "exec"
        self._finds = _FINDERS.search(tool) is not None
        self._patches = _PATCHERS.search(tool) is not None

    def read_mapping(self, values: Mapping[Any, Any], depth: int, *, within_paths: bool) -> None:
        for key, value in values.items():
            name = plain_key(str(key)[-_LONGEST_KEY:])
            if within_paths:  # `files: {".env": "…"}`, `path: {value: "…"}`
                self.found.paths.append(str(key))
                role = Role.PATH if name in {"value", "name", "text"} else self._role(name)
            else:
                role = self._role(name)
            self._read(value, role, depth + 1)

    def _role(self, name: str) -> Role:
        role = _role_of(name)
        if role in {Role.COMMAND, Role.BASE, Role.ENVIRONMENT} and not self._runs:
            role = Role.OTHER
        if self._finds and name in {"pattern", "patterns"}:
            return Role.GLOB
        return Role.PATCH if role is Role.OTHER and (self._patches or name in {"patch", "diff"}) else role

    def _read(self, value: object, role: Role, depth: int) -> None:
        if depth > DEEPEST:
            raise TooDeepError(f"the arguments are nested deeper than {DEEPEST} levels")
        if isinstance(value, os.PathLike):
            value = os.fspath(cast("os.PathLike[str] | os.PathLike[bytes]", value))
        if isinstance(value, bytes | bytearray):
            value = bytes(value).decode(errors="replace")
        if isinstance(value, str):
            self._read_text(value, role, depth)
        elif isinstance(value, Mapping):
            members = cast("Mapping[Any, Any]", value)
            if role is not Role.ENVIRONMENT:
                self.read_mapping(members, depth, within_paths=role is Role.PATH)
        elif isinstance(value, Sequence | set | frozenset):
            for each in cast("Iterable[object]", value):
                self._read(each, role, depth + 1)

    def _read_text(self, text: str, role: Role, depth: int) -> None:
        if text[:1] in {"{", "["} and len(text) <= _LONGEST_JSON and role is not Role.COMMAND:
            self._read_json(text, role, depth)
        match role:
            case Role.PATH:
                self.found.paths.append(text)
            case Role.GLOB:
                self.found.globs.append(text)
            case Role.BASE:
                self.found.base = text
            case Role.PATCH:
                self.found.paths += patched_files(text)
            case Role.COMMAND | Role.ENVIRONMENT | Role.OTHER:
                pass
            case _:
                assert_never(role)

    def _read_json(self, text: str, role: Role, depth: int) -> None:
        try:
            value: object = json.loads(text)
        except (ValueError, RecursionError):
            return
        if not isinstance(value, str):
            self._read(value, role, depth + 1)


@lru_cache(maxsize=1024)
def _role_of(name: str) -> Role:
    for role, names in ((Role.BASE, DIRECTORY_KEYS), (Role.GLOB, GLOB_KEYS), (Role.ENVIRONMENT, ENVIRONMENT_KEYS)):
        if name in names:
            return role
    if name in PATH_KEYS or name.endswith(_ENDINGS):
        return Role.PATH
    return Role.COMMAND if name in COMMAND_KEYS else Role.OTHER
