"""What the rules of a file may name: everything that its other sections say."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from app.domain.call.name_pattern import NamePattern
    from app.domain.call.tool import Tool
    from app.domain.people.people import Directory
    from app.domain.people.working_time import WorkingTime
    from app.domain.rules.policy import ChannelSpec, UnknownTools

CALENDAR = 'add: calendar: {work: {mon-fri: "09:00-18:00"}, holidays: []}'


class Surroundings(Struct, frozen=True, kw_only=True):
    """What the rules may name."""

    directory: Directory
    channels: Sequence[ChannelSpec]
    tools: Mapping[str, Tool]
    unknown_tools: UnknownTools
    prefixes: tuple[str, ...] = ()
    """How names begin that are known without being listed."""
    hours: WorkingTime | None = None

    def named(self, patterns: Iterable[NamePattern]) -> list[Tool]:
        """Return the tools of the file that patterns stand for."""
        chosen = tuple(patterns)
        return [tool for name, tool in self.tools.items() if any(pattern.matches(name) for pattern in chosen)]


class AnyEnvironment(Mapping[str, str]):
    """Has a value for every name and no file for any: for reading a file whose secrets are not used.

    What a file takes from it is not judged: nobody knows here what really stands there. Different names have different
    values.
    """

    def __getitem__(self, name: str) -> str:
        return "" if name.endswith("_FILE") else f"unused-{zlib.crc32(name.encode()):08x}"

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0
