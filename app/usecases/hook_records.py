"""What the trail is told of hooks: who stopped what and why, whose fault was let pass, what they noted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, cast

from app.domain.audit import Kind, Record
from app.domain.canonical import MAX_INT
from assent.hooks.moments import Moment
from assent.hooks.observer import Deed

if TYPE_CHECKING:
    from assent.hooks.outcome import Outcome

_LONGEST = 1000  # characters of one text
_MOST = 50  # members of one object or list
_DEEPEST = 4


def noted(
    agent: str, session: str | None, moment: Moment, outcome: Outcome, *, tool: str, call_digest: str | None = None
) -> list[Record]:
    """Tell what the hooks noted or rewrote, if anything; a fault among it makes it a fault's event.

    A fault that denied, and nothing besides, stands in the event of the denial already.
    """
    seen = {hook: facts for hook, facts in outcome.side_effects.items() if not _is_the_denial(outcome, hook, facts)}
    if moment is Moment.PRE_TOOL_USE:  # who changed a call before it was judged, and what of it (never the values)
        for deed in outcome.trace:
            if deed.deed is Deed.REWROTE:
                seen[deed.hook] = {**seen.get(deed.hook, {}), "rewrote": deed.why}
    if not seen:
        return []
    facts: dict[str, object] = {"moment": moment.value, "session": session, "tool": tool or None}
    if call_digest is not None:
        facts["call_digest"] = call_digest
    facts["hooks"] = [{"hook": hook, "facts": _plain(noticed, 0)} for hook, noticed in seen.items()]
    kind = Kind.HOOK_FAULTED if any("fault" in noticed for noticed in seen.values()) else Kind.HOOK_NOTED
    return [Record(kind=kind, actor=f"agent:{agent}", facts=facts)]


def _is_the_denial(outcome: Outcome, hook: str, facts: Mapping[str, object]) -> bool:
    return outcome.fault and outcome.by == hook and facts.keys() <= {"fault", "on_error"}


def stopped(agent: str, session: str | None, moment: Moment, outcome: Outcome, *, tool: str) -> Record:
    """Tell which hook denied a moment, and why."""
    facts: dict[str, object] = {
        "moment": moment.value,
        "session": session,
        "tool": tool or None,
        "hook": outcome.by,
        "reason": plain_text(outcome.reason),
        "fault": outcome.fault,
    }
    return Record(kind=Kind.HOOK_BLOCKED, actor=f"agent:{agent}", facts=facts)


def plain_text(text: str) -> str:
    """Return a text of a hook's that every database and every encoder takes, bounded."""
    shown = text.replace("\0", "\\u{0}").encode(errors="backslashreplace").decode()
    return shown if len(shown) <= _LONGEST else shown[: _LONGEST - 1] + "…"


def _plain(value: object, depth: int) -> object:
    """Turn what a hook noted into what the trail can hold: no fractions, ASCII names, bounded in every direction."""
    match value:
        case None | bool():
            return value
        case int():
            return value if abs(value) <= MAX_INT else str(value)[:_LONGEST]
        case str():
            return plain_text(value)
        case Mapping() if depth < _DEEPEST:
            members = list(cast("Mapping[object, object]", value).items())[:_MOST]
            return {_name(name): _plain(member, depth + 1) for name, member in members}
        case Sequence() | set() | frozenset() if depth < _DEEPEST and not isinstance(value, bytes | bytearray):
            return [_plain(item, depth + 1) for item in list(cast("Sequence[object]", value))[:_MOST]]
        case _:
            return plain_text(repr(value))


def _name(name: object) -> str:
    return str(name).encode("ascii", errors="backslashreplace").decode().replace("\0", "\\u{0}")[:100]
