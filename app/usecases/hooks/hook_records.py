"""What the trail is told of hooks: who stopped what and why, whose fault was let pass, what they noted."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from app.domain.request.redact import scrubbed
from app.domain.text.canonical import MAX_INT
from app.domain.text.masking import HIDDEN
from app.domain.trail.audit import Kind, Record
from assent.hooks.contract.moments import Moment
from assent.hooks.engine.observer import Deed

if TYPE_CHECKING:
    from app.domain.text.canonical import JsonValue
    from assent.hooks.engine.outcome import Outcome

Scrub: TypeAlias = Callable[[str], str]
"""Takes the sensitive arguments of a call out of a text."""

_LONGEST = 1000  # characters of one text
_MOST = 50  # members of one object or list
_DEEPEST = 4


def scrub_of(versions: Iterable[Mapping[str, JsonValue]], sensitive: Iterable[str]) -> Scrub:
    """Return what hides the sensitive arguments of a call, in all `versions` of it (as sent, as rewritten)."""
    paths = tuple(sensitive)
    if not paths:
        return str
    known = tuple(versions)

    def scrub(text: str) -> str:
        for arguments in known:
            text = scrubbed(text, arguments, paths)
        return text

    return scrub


def noted(
    agent: str,
    session: str | None,
    moment: Moment,
    outcome: Outcome,
    *,
    tool: str,
    scrub: Scrub,
    call_digest: str | None = None,
) -> list[Record]:
    """Tell what the hooks noted, rewrote or sent to a sandbox, if anything; a fault among it makes it a fault's event.

    A fault that denied, and nothing besides, stands in the event of the denial already.
    """
    seen = {hook: facts for hook, facts in outcome.side_effects.items() if not _is_the_denial(outcome, hook, facts)}
    if moment is Moment.PRE_TOOL_USE:  # who changed a call before it was judged, and what of it (never the values)
        for deed in outcome.trace:
            if deed.deed is Deed.REWROTE:
                seen[deed.hook] = {**seen.get(deed.hook, {}), "rewrote": deed.why}
            elif deed.deed is Deed.ROUTED and outcome.route is not None and deed.why == outcome.route.provider:
                seen[deed.hook] = {**seen.get(deed.hook, {}), "routed": deed.why}
    if not seen:
        return []
    facts: dict[str, object] = {"moment": moment.value, "session": session, "tool": tool or None}
    if call_digest is not None:
        facts["call_digest"] = call_digest
    facts["hooks"] = [{"hook": hook, "facts": _plain(noticed, 0, scrub)} for hook, noticed in seen.items()]
    kind = Kind.HOOK_FAULTED if any("fault" in noticed for noticed in seen.values()) else Kind.HOOK_NOTED
    return [Record(kind=kind, actor=f"agent:{agent}", facts=facts)]


def _is_the_denial(outcome: Outcome, hook: str, facts: Mapping[str, object]) -> bool:
    return outcome.fault and outcome.by == hook and facts.keys() <= {"fault", "on_error"}


def stopped(agent: str, session: str | None, moment: Moment, outcome: Outcome, *, tool: str, scrub: Scrub) -> Record:
    """Tell which hook denied a moment, and why."""
    facts: dict[str, object] = {
        "moment": moment.value,
        "session": session,
        "tool": tool or None,
        "hook": outcome.by,
        "reason": plain_text(scrub(outcome.reason)),
        "fault": outcome.fault,
    }
    return Record(kind=Kind.HOOK_BLOCKED, actor=f"agent:{agent}", facts=facts)


def presentable(value: Any) -> Any:
    """Return what a hook said as JSON that can be sent; what JSON cannot say is told as text."""
    try:
        text = json.dumps(value, default=str, allow_nan=False, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        text = json.dumps(repr(value)[:1000], ensure_ascii=False)
    return json.loads(text.encode(errors="replace"))  # half of a surrogate pair can be in a text, but not on a wire


def plain_text(text: str) -> str:
    """Return a text of a hook's that every database and every encoder takes, bounded."""
    shown = text.replace("\0", "\\u{0}").encode(errors="backslashreplace").decode()
    return shown if len(shown) <= _LONGEST else shown[: _LONGEST - 1] + "…"


def _plain(value: object, depth: int, scrub: Scrub) -> object:
    """Turn what a hook noted into what the trail can hold: no fractions, ASCII names, bounded in every direction.

    What is sensitive of the call is hidden before a text is cut, so that no half of it is left.
    """
    match value:
        case None | bool():
            return value
        case int():
            shown = (str if value.bit_length() < _LONGEST else hex)(value)[:_LONGEST]
            if scrub(shown) != shown:
                return HIDDEN
            return value if abs(value) <= MAX_INT else shown
        case str():
            return plain_text(scrub(value))
        case Mapping() if depth < _DEEPEST:
            members = list(cast("Mapping[object, object]", value).items())[:_MOST]
            return {_name(scrub(str(name))): _plain(member, depth + 1, scrub) for name, member in members}
        case Sequence() | set() | frozenset() if depth < _DEEPEST and not isinstance(value, bytes | bytearray):
            return [_plain(item, depth + 1, scrub) for item in list(cast("Sequence[object]", value))[:_MOST]]
        case _:
            return plain_text(scrub(repr(value)))


def _name(name: str) -> str:
    return name.encode("ascii", errors="backslashreplace").decode().replace("\0", "\\u{0}")[:100]
