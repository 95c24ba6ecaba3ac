"""Under which name a server's tools are judged: `mcp__server__tool`, as agent programs call them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from assent.proxy.reading import Object

_SERVER_INFO = "io.modelcontextprotocol/serverInfo"
_ODD = re.compile(r"[^A-Za-z0-9.-]+")
_LONGEST = 64


class Naming:
    """The server's name: the one that was given, else the first that it says of itself."""

    def __init__(self, given: str | None = None) -> None:
        self.server = _plain(given) if given else None

    def learn(self, message: Object) -> None:
        """Hear the server's name in an answer, where it says it and none is known."""
        if self.server is not None:
            return
        told = _object(message.get("result"))
        for place in (told.get("serverInfo"), _object(told.get("_meta")).get(_SERVER_INFO)):
            name = _object(place).get("name")
            if isinstance(name, str) and (plain := _plain(name)):
                self.server = plain
                return

    def of(self, tool: str) -> str | None:
        """The tool's whole name; None as long as the server has none."""
        return None if self.server is None else f"mcp__{self.server}__{tool}"


def _plain(name: str) -> str:
    """The name without what could pose as the end of it: `a__b` and tool `c` are not server `a` and tool `b__c`."""
    return _ODD.sub("_", name).strip("_")[:_LONGEST].rstrip("_")


def _object(value: Any) -> Object:
    return cast("Object", value) if isinstance(value, dict) else {}
