"""`ToolCall`: a call that is about to happen, as the gateway is asked about it, and what it brings along."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field, fields, replace
from inspect import isawaitable
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from assent.client.models import Json

    TokenSource = str | Callable[[], str | Awaitable[str | None] | None]
    """The requester's token, or what returns it anew for each call: tokens do not last."""

_BEGINNINGS = ((b"%PDF-", "application/pdf"), (b"\x89PNG\r\n\x1a\n", "image/png"), (b"\xff\xd8\xff", "image/jpeg"))


@dataclass(frozen=True, slots=True)
class ToolCall:
    """What is said of a call: the members of `POST /v1/requests`, by their names there."""

    tool: str
    arguments: Json
    _: KW_ONLY
    session: str | None = None
    """Under which run of the agent it is filed; the gateway's own, if left out."""
    call_id: str | None = None
    """The id that the model gave the call, unique among this agent's."""
    requester: str | None = None
    """On whose behalf the agent acts (an e-mail address): they may not approve."""
    requester_token: str | None = field(default=None, repr=False)
    """What proves it: their ID token, or one that was exchanged for this agent (RFC 8693). It is kept nowhere."""
    claim: str | None = None
    """The agent's own words for the approver, shown apart from the facts."""
    confirm: str | None = None
    """Why people must at least be asked: the rules may deny the call or say who is asked, but not wave it through."""
    parent_session: str | None = None
    """The session that started this one, whose hooks and rules bind it too."""
    sub_agent: str | None = None
    """The name of the sub-agent that calls, whose own hooks and rules are added."""
    cwd: str | None = None
    """The agent's working directory, for guards of paths."""
    evidence: list[Json] = field(default_factory=list["Json"])
    """Links and small files for the people who decide (`evidence_link`, `evidence_file`)."""

    def as_body(self) -> Json:
        """The call as it is sent: what is left out is not said."""
        return {name: value for name in _MEMBERS if (value := getattr(self, name)) not in (None, [])}


async def proved(call: ToolCall, source: TokenSource | None) -> ToolCall:
    """The call with the requester's token, unless it has one of its own."""
    if source is None or call.requester_token is not None:
        return call
    found = source if isinstance(source, str) else source()
    token = await found if isawaitable(found) else found
    return call if token is None else replace(call, requester_token=token)


def not_json(value: object, name: str = "") -> str | None:
    """Say which part of a value is no JSON, and why: `lines[2].amount is a Decimal`. None: all of it is."""
    try:
        return _not_json(value, name)
    except RecursionError:
        return f"{name or 'it'} is nested too deeply, or in a circle"


def _not_json(value: object, name: str) -> str | None:
    if isinstance(value, dict):
        inner = cast("dict[object, object]", value)
        for key, part in inner.items():
            if not isinstance(key, str | int | float | bool | None):
                return f"{name or 'it'} has a key that is a {type(key).__name__}"
            if fault := _not_json(key, f"a key of {name or 'it'}") or _not_json(part, f"{name}.{key}".lstrip(".")):
                return fault
        return None
    if isinstance(value, list | tuple):
        parts = enumerate(cast("list[object]", value))
        return next((fault for at, part in parts if (fault := _not_json(part, f"{name}[{at}]"))), None)
    if isinstance(value, float) and not -_ENDLESS < value < _ENDLESS:
        return f"{name or 'it'} is {value!r}"
    if isinstance(value, str) and any("\ud800" <= c <= "\udfff" for c in value):
        return f"{name or 'it'} holds half of a surrogate pair"
    return None if isinstance(value, str | int | float | None) else f"{name or 'it'} is a {type(value).__name__}"


_ENDLESS = float("inf")
_MEMBERS = tuple(each.name for each in fields(ToolCall))


def evidence_link(url: str, title: str = "") -> Json:
    """A link for the people who decide: https, in ASCII, without a secret in it. Nobody fetches it."""
    return {"kind": "link", "url": url, **({"title": title} if title else {})}


def evidence_file(content: bytes | Path, name: str = "") -> Json:
    """A PDF, PNG or JPEG for the people who decide, as bytes or as a file; the gateway says how large it may be.

    Raises ValueError for anything else, and for bytes without a name; OSError for a file that cannot be read.
    """
    import base64

    raw = content if isinstance(content, bytes) else content.read_bytes()
    called = name or ("" if isinstance(content, bytes) else content.name)
    kind = next((kind for beginning, kind in _BEGINNINGS if raw.startswith(beginning)), None)
    if kind is None or not called:
        raise ValueError(f"evidence is a named PDF, PNG or JPEG; {called or 'bytes without a name'} is none")
    return {"kind": "file", "name": called, "media_type": kind, "content": base64.b64encode(raw).decode()}
