"""How a card looks in Slack. Pure: `Card` in, Block Kit out.

Everything that came from outside stands in ``plain_text`` objects with ``emoji`` off: Slack parses no mention, link or
style in them. The one mrkdwn text on a card is the deadline's date token, made of digits of our own, so that everybody
reads it in their own time zone. The message's top-level ``text`` is what notifications show; Slack reads it as mrkdwn,
so it is escaped, and `channel.py` switches its parsing off as well.

The order serves somebody who decides on a phone in ten seconds: what is asked, the sentence, how much and to whom in
large letters, what may deceive, who asks and why, the pinned fields, how far it has come; then the whole of the
arguments, the agent's claim in a block of its own, and only below all of that the buttons. Nothing is ever cut from
what is approved: a card that is too long is refused (`text_budget`).
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from app.domain.card import Tone
from app.ports import ChannelRefusedError

if TYPE_CHECKING:
    from app.domain.card import Buttons, Card, Fact
    from app.ports import Click

TEXT_BUDGET: Final = 9_000
APPROVE: Final = "assent_approve"
DENY: Final = "assent_deny"
REASON_BLOCK: Final = "assent_reason"
REASON_INPUT: Final = "assent_reason_text"
REASON_MODAL: Final = "assent_deny_modal"
EVENT_TYPE: Final = "assent_request"

_SECTION_MOST: Final = 3_000
_FIELD_MOST: Final = 2_000
_FIELDS_MOST: Final = 10
_BLOCKS_MOST: Final = 50
_HEADER_MOST: Final = 150
_NOTICE_MOST: Final = 600
_REASON_MOST: Final = 500  # as in every other channel: a reason must not depend on where it is typed
_MARKS: Final = {Tone.WAITING: "🟠", Tone.GOOD: "✅", Tone.BAD: "⛔", Tone.NEUTRAL: "⌛"}


def render(card: Card) -> tuple[str, list[dict[str, object]]]:
    """Return the notification text and the blocks of a message.

    Raises ChannelRefusedError when the card has more text than a message carries whole.
    """
    if card.size() > TEXT_BUDGET:
        why = f"the card has {card.size()} characters, a Slack message carries {TEXT_BUDGET} whole"
        raise ChannelRefusedError(why)
    blocks = _assemble(card, packed=False)
    return notice(card), blocks if len(blocks) <= _BLOCKS_MOST else _assemble(card, packed=True)


def _assemble(card: Card, *, packed: bool) -> list[dict[str, object]]:
    """Put the blocks in order; `packed` lets many facts share a section, for a message has room for 50 blocks."""
    return [
        *_sections("assent_headline", _told(card)),
        *_title(card),
        *_highlights(card.highlights, packed=packed),
        *_sections("assent_warnings", "\n".join(f"⚠️ {warning}" for warning in card.warnings)),
        *_facts(card.facts, packed=packed),
        *_sections("assent_progress", f"👥 {card.progress}" if card.progress else ""),
        *_arguments(card.arguments, packed=packed),
        *_note("assent_hidden", card.hidden),
        *_agent_says(card.agent_says),
        *_sections("assent_withheld", f"⛔ {card.withheld}" if card.withheld else ""),
        *_deadline(card),
        *([_buttons(card.buttons)] if card.buttons else []),
        *_footer(card),
    ]


def notice(card: Card) -> str:
    """Return the line that notifications show, escaped for mrkdwn."""
    told = _told(card)
    return escape(_clip(f"{told.rstrip('.。')}: {card.title}" if card.title else told, _NOTICE_MOST))


def _told(card: Card) -> str:
    """Say where it stands, once: an outcome has a mark of its own and says what the headline says, and more."""
    return card.outcome or f"{_MARKS[card.tone]} {card.headline}"


def escape(text: str) -> str:
    """Escape the three characters that Slack's markup is made of; there are no others to escape."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def deny_modal(card: Card, click: Click) -> dict[str, object]:
    """Return the modal that asks for the reason of a denial.

    A modal's answer names no message, so the sealed token and the place travel in ``private_metadata``; they are
    compared like those of a button. Raises ChannelRefusedError for a card without buttons.
    """
    buttons = card.buttons
    if buttons is None:
        why = "the card has no buttons any more"
        raise ChannelRefusedError(why)
    place = {"v": 1, "token": click.token, "chat": click.chat_id, "ts": click.message_id}
    return {
        "type": "modal",
        "callback_id": REASON_MODAL,
        "private_metadata": json.dumps(place, separators=(",", ":")),
        "title": plain(_clip(buttons.deny_label, 24)),
        "submit": plain(_clip(buttons.deny_label, 24)),
        "close": plain(_clip(buttons.cancel_label, 24)),
        "blocks": [
            *_sections("assent_title", card.title),
            {
                "type": "input",
                "block_id": REASON_BLOCK,
                "label": plain(_clip(buttons.reason_label, 2_000)),
                **({"hint": plain(_clip(buttons.reason_hint, 2_000))} if buttons.reason_hint else {}),
                "element": {
                    "type": "plain_text_input",
                    "action_id": REASON_INPUT,
                    "multiline": True,
                    "min_length": 1,
                    "max_length": _REASON_MOST,
                },
            },
        ],
    }


def outcome_modal(title: str, sentence: str) -> dict[str, object]:
    """Return the modal that says what became of a submitted reason."""
    blocks = _sections("assent_outcome", sentence)
    return {"type": "modal", "title": plain(_clip(title, 24)), "blocks": blocks}


def private_note(sentence: str) -> dict[str, object]:
    """Return an ephemeral message for the person who clicked; it leaves the card alone."""
    return {
        "response_type": "ephemeral",
        "replace_original": False,
        "text": escape(_clip(sentence, _NOTICE_MOST)),
        "blocks": _sections("assent_note", sentence),
    }


def plain(text: str) -> dict[str, object]:
    """Return an inert text object."""
    return {"type": "plain_text", "text": text, "emoji": False}


# --- the parts --------------------------------------------------------------------------------------------------------


def _title(card: Card) -> list[dict[str, object]]:
    """The sentence, large unless the amount and the payee below are."""
    return _sections("assent_title", card.title) if card.highlights else _header("assent_title", card.title)


def _header(block_id: str, text: str) -> list[dict[str, object]]:
    """Return a text in large letters, or as plain text where it is too long for that."""
    if 0 < _weight(text) <= _HEADER_MOST and "\n" not in text:
        return [{"type": "header", "block_id": block_id, "text": plain(text)}]
    return _sections(block_id, text)


def _highlights(facts: tuple[Fact, ...], *, packed: bool) -> list[dict[str, object]]:
    texts = [f"{fact.label}: {fact.value}" for fact in facts]
    if packed:
        return _sections("assent_highlights", "\n".join(texts))
    return [block for index, text in enumerate(texts) for block in _header(f"assent_highlight_{index}", text)]


def _note(block_id: str, text: str | None) -> list[dict[str, object]]:
    return [{"type": "context", "block_id": block_id, "elements": [plain(text)]}] if text else []


def _facts(facts: tuple[Fact, ...], *, packed: bool) -> list[dict[str, object]]:
    texts = [_fact(fact) for fact in facts]
    if packed:
        return _sections("assent_facts", "\n\n".join(texts))
    blocks: list[dict[str, object]] = []
    row: list[str] = []
    for index, text in enumerate(texts):
        long = _weight(text) > _FIELD_MOST
        if row and (long or len(row) == _FIELDS_MOST):
            blocks.append(_row(f"assent_facts_{index}", row))
            row = []
        if long:
            blocks += _sections(f"assent_fact_{index}", text)
        else:
            row.append(text)
    return [*blocks, _row("assent_facts", row)] if row else blocks


def _row(block_id: str, texts: list[str]) -> dict[str, object]:
    return {"type": "section", "block_id": block_id, "fields": [plain(text) for text in texts]}


def _arguments(arguments: tuple[Fact, ...], *, packed: bool) -> list[dict[str, object]]:
    if not arguments:
        return []
    texts = [_fact(argument) for argument in arguments]
    divider: dict[str, object] = {"type": "divider", "block_id": "assent_rest"}
    if packed:
        return [divider, *_sections("assent_arguments", "\n\n".join(texts))]
    return [divider, *(b for index, text in enumerate(texts) for b in _sections(f"assent_argument_{index}", text))]


def _agent_says(claim: Fact | None) -> list[dict[str, object]]:
    if claim is None:
        return []
    divider: dict[str, object] = {"type": "divider", "block_id": "assent_claim_rule"}
    return [divider, *_sections("assent_claim", f"{claim.label}\n❝ {claim.value} ❞")]


def _deadline(card: Card) -> list[dict[str, object]]:
    """The deadline by everybody's own clock, and how long people had when they were asked."""
    if card.deadline is None:
        return []
    at = card.deadline
    date = f"<!date^{int(at.timestamp())}^{{date_short_pretty}} {{time}}|{at:%Y-%m-%d %H:%M} UTC>"
    label = card.until.label if card.until else ""
    elements = [plain(f"⏳ {label}".rstrip()), {"type": "mrkdwn", "text": date}]
    if card.span:
        elements.append(plain(card.span))
    return [{"type": "context", "block_id": "assent_deadline", "elements": elements}]


def _footer(card: Card) -> list[dict[str, object]]:
    lines = [text for text in (card.tool, card.footer) if text]
    texts = [plain(piece) for line in lines for piece in _pieces(line, _SECTION_MOST)]
    return [{"type": "context", "block_id": "assent_footer", "elements": texts[:10]}] if texts else []


def _buttons(buttons: Buttons) -> dict[str, object]:
    deny: dict[str, object] = {
        "type": "button",
        "action_id": DENY,
        "style": "danger",
        "text": plain(_clip(buttons.deny_label, 75)),
        "value": buttons.deny,
    }
    if buttons.approve is None:
        return {"type": "actions", "block_id": "assent_decision", "elements": [deny]}
    approve: dict[str, object] = {
        "type": "button",
        "action_id": APPROVE,
        "style": "primary",
        "text": plain(_clip(buttons.approve_label, 75)),
        "value": buttons.approve,
        "confirm": {
            "title": plain(_clip(buttons.confirm_title, 100)),
            "text": plain(_clip(buttons.confirm_text, 300)),
            "confirm": plain(_clip(buttons.approve_label, 30)),
            "deny": plain(_clip(buttons.cancel_label, 30)),
        },
    }
    return {"type": "actions", "block_id": "assent_decision", "elements": [approve, deny]}


# --- text -------------------------------------------------------------------------------------------------------------


def _fact(fact: Fact) -> str:
    return f"{fact.label}\n{fact.value}" if fact.label and fact.value else fact.label or fact.value


def _sections(block_id: str, text: str) -> list[dict[str, object]]:
    """Return a text whole, over as many sections as it takes; none for an empty text."""
    pieces = _pieces(text, _SECTION_MOST) if text else []
    return [
        {"type": "section", "block_id": f"{block_id}_{index}" if index else block_id, "text": plain(piece)}
        for index, piece in enumerate(pieces)
    ]


def _weight(text: str) -> int:
    """The length of a text as the strictest counter may see it: escaped, in UTF-16 units."""
    return len(escape(text).encode("utf-16-le", "surrogatepass")) // 2


def _pieces(text: str, most: int) -> list[str]:
    """Cut a text into pieces of at most `most` by `_weight`; joined together they are the text again."""
    if _weight(text) <= most:
        return [text]
    pieces: list[str] = []
    start = weight = 0
    for index, character in enumerate(text):
        more = _weight(character)
        if weight + more > most:
            pieces.append(text[start:index])
            start, weight = index, 0
        weight += more
    return [*pieces, text[start:]]


def _clip(text: str, most: int) -> str:
    """Shorten a text of ours (a label, a notification), never one that is approved; an empty one becomes a dash."""
    if _weight(text) <= most:
        return text or "–"
    return f"{_pieces(text, most - 1)[0]}…"
