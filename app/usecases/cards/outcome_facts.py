"""The outcome of an execution as facts on a card: what the tool's `result` paths name, and an error in one line.

A tool's result is foreign text, and may repeat what the call was given: sensitive values, and whatever has the shape
of a secret, are taken out, and what is left is inert and short.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, cast

from app.domain.card.card import Fact
from app.domain.card.card_for import instant_text
from app.domain.lifecycle.execution import UNREPORTED
from app.domain.request.redact import scrubbed_for
from app.domain.request.request import ExecutionStatus, State
from app.domain.text.masking import masked
from app.domain.text.paths import list_values, money_text, text_of
from app.domain.text.visible import visible
from app.domain.words.say import say
from app.usecases.cards.secret_texts import without_secrets
from assent.hooks.ready.redact import redact

if TYPE_CHECKING:
    from app.domain.call.tool import Tool
    from app.domain.card.shown_call import Terms
    from app.domain.request.request import ConfirmationRequest
    from app.domain.text.canonical import JsonValue
    from app.domain.text.language import Language

_MOST = 8
_LONGEST = 200
_ENDED_BADLY = {ExecutionStatus.FAILED: "result.error", ExecutionStatus.UNKNOWN: "result.unclear"}


def outcome_facts(request: ConfirmationRequest, tool: Tool | None, terms: Terms) -> tuple[Fact, ...]:
    """Return what people may see of an execution that has ended; nothing of a result whose tool names no parts."""
    execution = request.execution
    if execution is None:
        return ()
    language, labels = terms.language, terms.labels
    if execution.status in _ENDED_BADLY:
        look = _where_to_look(request, terms) if execution.status is ExecutionStatus.UNKNOWN else ()
        if not execution.error or execution.error == UNREPORTED:
            return look  # the card says so already, in its own language
        why = Fact(label=say(language, _ENDED_BADLY[execution.status]), value=_line(execution.error, request))
        return (why, *look)
    if execution.status is ExecutionStatus.PENDING_ELSEWHERE:
        return place_facts(request, language)
    result: object = json.loads(execution.result) if execution.result else None
    if tool is None or not isinstance(result, dict):
        return ()
    whole = cast("dict[str, JsonValue]", result)  # canonical JSON, as it was stored
    seen = masked(without_secrets(whole), request.sensitive)
    facts: list[Fact] = []
    for path in tool.result[:_MOST]:
        values = list_values(seen, path)
        if values:
            text = ", ".join((path in tool.money and money_text(value)) or text_of(value) for value in values)
            name = labels.get(path) or visible(path)
            facts.append(Fact(label=say(language, "result", name=name), value=_line(text, request)))
    return tuple(facts)


def _where_to_look(request: ConfirmationRequest, terms: Terms) -> tuple[Fact, ...]:
    """Say where it can be found out whether a call was carried out, and how that is recorded."""
    execution = request.execution
    at = instant_text(execution.started_at.replace(second=0, microsecond=0), terms.zone) if execution else "–"
    told = say(terms.language, "result.look.value", tool=visible(request.call.tool), at=at, request=request.id)
    return (Fact(label=say(terms.language, "result.look"), value=told),)


def place_facts(request: ConfirmationRequest, language: Language) -> tuple[Fact, ...]:
    """Return where a call waits at its service: the id there, and where its people find it; nothing if it does not."""
    elsewhere = request.execution.elsewhere if request.execution else None
    if elsewhere is None or request.state is not State.PENDING_ELSEWHERE:
        return ()
    name = Fact(label=say(language, "result.elsewhere"), value=_line(elsewhere.id, request))
    link = elsewhere.link and Fact(label=say(language, "result.link"), value=_line(elsewhere.link, request))
    return (name, link) if link else (name,)


def _line(text: str, request: ConfirmationRequest) -> str:
    """Return one short line of a foreign text, without secrets and without what was sensitive in the call."""
    told = " ".join(str(redact(scrubbed_for(text, request))[0]).split())
    return visible(told if len(told) <= _LONGEST else f"{told[: _LONGEST - 1]}…")
