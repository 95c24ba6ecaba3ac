"""What a model is told of a call, for frameworks whose tools answer in text, and beside results of any kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assent.client.messages import run_by_executor
from assent.gate import outcomes
from assent.gate.outcomes import Ran, Refused
from assent.gate.permission import Executed

if TYPE_CHECKING:
    from assent.gate.outcomes import Replayed


def as_text(result: Any) -> str:
    """A result as a model reads it: text as it is, all else as JSON where it is JSON."""
    if isinstance(result, str):
        return result
    import json

    try:
        return json.dumps(result, ensure_ascii=False)
    except (TypeError, ValueError):
        return str(result)


def notes(found: Ran) -> str:
    """What the model is told beside a result: what people changed of the call, and what the gateway's hooks add."""
    return "\n".join(note for note in (found.changes, *found.context) if note)


def with_notes(text: str, found: Ran) -> str:
    """A result's text, and below it the notes."""
    return "\n".join(part for part in (text, notes(found)) if part)


def told(found: Ran | Replayed | Refused) -> str:
    """The whole of what a model is told of a call, in text."""
    if isinstance(found, Refused):
        return found.message
    text = as_text(found.result)
    return with_notes(text, found) if isinstance(found, Ran) else text


def in_words(found: Executed | Replayed | Refused) -> str:
    """What a model is told of a call that does not run here, where all that it can be told is a refusal."""
    if not isinstance(found, Executed):
        return found.message
    known = found.request
    return run_by_executor(outcomes.as_text(found.result), request_id=known.id, short_code=known.code)
