"""What an agent asks its client for, as calls: permission for a tool, a file to be written, a program to be started."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, cast

from assent.proxy.reading import UnreadableError, id_of, misread

if TYPE_CHECKING:
    from assent.proxy.reading import Id, Line, Object

PERMISSION = "session/request_permission"
_ACTS = {"fs/write_text_file": "write_text_file", "terminal/create": "terminal"}
_NOT_SHOWN = frozenset({"sessionId", "_meta"})
_OF_A_TOOL = ("title", "kind", "rawInput", "content", "locations")
_NAMES = ("sessionId", "toolCall", "options", "path", "content", "command", "args", "env", "cwd")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """One of them. `tool` is its name without the agent's; of a permission, `tool_call_id` names the agent's call."""

    id: Id
    tool: str
    arguments: Object
    session: str
    message: Object
    params: Object
    line: Line
    tool_call_id: str | None = None

    @property
    def asks_permission(self) -> bool:
        """Whether the answer is one of the options that the agent offers."""
        return self.message["method"] == PERMISSION

    def option(self, kind: str) -> str | None:
        """The first option of a kind; ids are the agent's own, and tell nothing."""
        offered: Any = self.params.get("options")
        for each in cast("list[Any]", offered) if isinstance(offered, list) else []:
            found = cast("Object", each) if isinstance(each, dict) else {}
            name = found.get("optionId")
            if found.get("kind") == kind and isinstance(name, str):
                return name
        return None


def read_wish(line: Line, message: Object, *, tools: tuple[str, ...]) -> Wish | None:
    """The wish in a message; None: it asks for nothing that is judged. Raises `UnreadableError`."""
    method = message.get("method")
    if method != PERMISSION and method not in _ACTS:
        return None
    call_id, told = id_of(message), message.get("params")
    if call_id is None or not isinstance(told, dict) or line.doubled:
        raise UnreadableError(f"{method} needs an id, an object of params, and each member once")
    params = cast("Object", told)
    misread(params, _NAMES)
    session = params.get("sessionId")
    if not isinstance(session, str) or not session:
        raise UnreadableError("'sessionId' must be a text")
    name: str | None = None
    if method == PERMISSION:
        asked = params.get("toolCall")
        if not isinstance(asked, dict):
            raise UnreadableError("'toolCall' must be an object")
        tool_call = cast("Object", asked)
        kind = tool_call.get("kind")
        tool = kind if isinstance(kind, str) and kind.isidentifier() else "other"
        arguments = {member: tool_call[member] for member in _OF_A_TOOL if tool_call.get(member) is not None}
        given = tool_call.get("toolCallId")
        name = given if isinstance(given, str) else None
    else:
        tool = _ACTS[str(method)]
        arguments = {member: value for member, value in params.items() if member not in _NOT_SHOWN}
    if tools and not any(fnmatchcase(tool, pattern) for pattern in tools):
        return None
    return Wish(
        id=call_id,
        tool=tool,
        arguments=arguments,
        session=session,
        message=message,
        params=params,
        line=line,
        tool_call_id=name,
    )
