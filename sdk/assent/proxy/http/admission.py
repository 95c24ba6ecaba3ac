"""Which requests the proxy takes at all, by their heads: what a server could read in another way does not pass."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from assent.proxy.http.link import Refusal
from assent.proxy.judge import METHOD

if TYPE_CHECKING:
    from assent.proxy.http.link import Asked
    from assent.proxy.reading import Line, Object


_JSON = frozenset({"application/json", "application/json;charset=utf-8", "application/json;charset=utf8"})
"""Some servers read a body in the encoding that its head names: in another one, it is another call."""


def admit(asked: Asked, *, hosts: frozenset[str], path: str) -> None:
    """Refuse what a page in somebody's browser could send (DNS rebinding), and what is not for the server."""
    host, origin = asked.headers.get("host", "").lower(), asked.headers.get("origin")
    if host not in hosts:
        raise Refusal(403, "this host is not served here; name it with --host")
    if origin is not None and origin.lower().partition("://")[2] not in hosts:
        raise Refusal(403, "this origin may not come here")
    if asked.target.partition("?")[0] != path:
        raise Refusal(404, f"the server is at {path}")
    if asked.method not in {"POST", "GET", "DELETE"}:
        raise Refusal(405, "only POST, GET and DELETE are known")
    if asked.headers.get("content-encoding", "identity").lower() != "identity":
        raise Refusal(415, "a body that is packed cannot be judged")
    kind = asked.headers.get("content-type", "").lower().replace(" ", "").replace('"', "")
    if asked.method == "POST" and kind not in _JSON:
        raise Refusal(415, "a body must be application/json, in UTF-8")


def session_of(asked: Asked) -> str:
    """The session that a request names; "" for none."""
    return asked.headers.get("mcp-session-id", "")


def refuse_two_stories(asked: Asked, line: Line) -> None:
    """Refuse headers that tell of another call than the body: some servers go by them."""
    told, name = asked.headers.get("mcp-method"), asked.headers.get("mcp-name")
    if line.batch:
        if told is not None or name is not None:
            raise Refusal(400, "the headers Mcp-Method and Mcp-Name tell of one call, and the body is a batch")
        return
    message = line.messages[0]
    params = message.get("params")
    named = cast("Object", params).get("name") if isinstance(params, dict) else None
    if told is not None and told != message.get("method"):
        raise Refusal(400, "the header Mcp-Method tells of another method than the body")
    if name is not None and message.get("method") == METHOD and name != named:
        raise Refusal(400, "the header Mcp-Name tells of another tool than the body")
