"""How a card looks in Slack. Pure: `Card` in, Block Kit out.

The one mrkdwn text on a card is the deadline's date token, made of digits of our own, so that everybody reads it in
their own time zone; all else is plain text (`texts`). The message's top-level ``text`` is what notifications show;
Slack reads it as mrkdwn, so it is escaped, and `channel.py` switches its parsing off as well.

The order serves somebody who decides on a phone in ten seconds: how much and to whom in large letters, what people
changed of it, what speaks against it, until when and what then, the buttons: all that without a touch. Of several
warnings the title names the weightiest and the first is spelled out there; the others follow right below the buttons.
Then come the details: the sentence, who asks and why, the pinned fields, how far it has come, what was asked back, the
whole of the arguments, the agent's claim in a block of its own, the rule and the ids. Other requests that share the
message follow below rules, compact, each whole and with buttons of its own. Nothing is ever cut from what is approved:
a message that is too long is refused (`text_budget`).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, cast

from app.domain.card.card import Tone, units
from app.ports import ContentRefusedError
from channels.slack.controls import controls
from channels.slack.details.forms import PERSON_ID
from channels.slack.details.texts import SECTION_MOST, clip, escape, pieces, plain, sections, weight
from channels.slack.settings import LIMITS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.domain.card.card import Card, Fact
    from app.ports import ClickOutcome, Notice

TEXT_BUDGET: Final = LIMITS.text_budget
EVENT_TYPE: Final = "assent_request"

_MESSAGE_MOST: Final = 13_000  # all texts together, those of buttons and menus too
_FIELD_MOST: Final = 200  # half as wide as the card: what is longer, or has lines of its own, takes the whole width
_FIELDS_MOST: Final = 10
_CONTEXT_MOST: Final = 10
_BLOCKS_MOST: Final = 50
_HEADER_MOST: Final = 150
_NOTICE_MOST: Final = 600
_RUNG_MOST: Final = 100  # a text object has room for no more mentions
_ADDRESS: Final = re.compile(r"https?://[A-Za-z0-9.:_~/?#&=%+@!$,;*\[\]-]{1,2000}")
_MARKS: Final = {Tone.WAITING: "🟠", Tone.WARNED: "🔴", Tone.GOOD: "✅", Tone.BAD: "⛔", Tone.NEUTRAL: "⌛"}


def render(card: Card) -> tuple[str, list[dict[str, object]]]:
    """Return the notification text and the blocks of a message.

    Raises ContentRefusedError when the card has more text than a message carries whole.
    """
    if card.size() > TEXT_BUDGET:
        why = f"the card has {card.size()} characters, a Slack message carries {TEXT_BUDGET} whole"
        raise ContentRefusedError(why)
    blocks = _message(card, packed=False)
    if len(blocks) > _BLOCKS_MOST:
        blocks = _message(card, packed=True)
    total = _characters(blocks)
    if len(blocks) > _BLOCKS_MOST or total > _MESSAGE_MOST:
        why = f"the card has {len(blocks)} blocks and {total} characters with its buttons, too many for a Slack message"
        raise ContentRefusedError(why)
    return notice(card), blocks


def notice(card: Card) -> str:
    """Return the line that notifications show, escaped for mrkdwn: what is warned of first, for its end may be cut."""
    told = card.outcome or f"{_MARKS[card.tone]} {card.alert}{card.headline}"
    line = f"{told.rstrip('.。')}: {card.title}" if card.title else told
    return escape(clip(line, _NOTICE_MOST))


def private_note(outcome: ClickOutcome) -> dict[str, object]:
    """Return an ephemeral message for the person who clicked; it leaves the card alone.

    A link stands in a block alone: what notifications show may lie open on a table.
    """
    said = _said(outcome)
    return {
        "response_type": "ephemeral",
        "replace_original": False,
        "unfurl_links": False,
        "unfurl_media": False,
        "text": escape(clip(said, _NOTICE_MOST)),
        "blocks": [*sections("assent_note", said), *_link(outcome.link)],
    }


def outcome_modal(outcome: ClickOutcome) -> dict[str, object]:
    """Return the modal that says what became of a submitted form."""
    title = outcome.card.headline if outcome.card else "Assent"
    blocks = [*sections("assent_outcome", _said(outcome) or "–"), *_link(outcome.link)]
    return {"type": "modal", "title": plain(clip(title, 24)), "blocks": blocks}


def _said(outcome: ClickOutcome) -> str:
    """The sentence, without the link that it may end with."""
    return outcome.sentence.removesuffix(outcome.link).rstrip() if _link(outcome.link) else outcome.sentence


def _link(link: str) -> list[dict[str, object]]:
    """A link of the gateway's own that can be followed: plain text is not."""
    if not _ADDRESS.fullmatch(link):
        return []
    followed: dict[str, object] = {"type": "mrkdwn", "text": f"<{escape(link)}>"}
    return [{"type": "section", "block_id": "assent_link", "text": followed}]


def thread_note(notice: Notice) -> tuple[str, list[dict[str, object]]]:
    """Return a message for the thread: people of ours who are to be rung up, and our text, which nothing parses."""
    people = [account for account in dict.fromkeys(notice.mentions) if PERSON_ID.fullmatch(account)]
    rung = " ".join(f"<@{account}>" for account in people[:_RUNG_MOST])
    text = clip(notice.text, TEXT_BUDGET)
    bell: dict[str, object] = {"type": "mrkdwn", "text": rung}
    ring: dict[str, object] = {"type": "context", "block_id": "assent_bell", "elements": [bell]}
    blocks = [*sections("assent_notice", text), *([ring] if rung else [])]
    return f"{rung} {escape(clip(text, _NOTICE_MOST))}".strip(), blocks


# --- the whole --------------------------------------------------------------------------------------------------------


def _message(card: Card, *, packed: bool) -> list[dict[str, object]]:
    """Put the blocks in order; `packed` lets many facts share a section, for a message has room for 50 blocks."""
    others = (block for index, other in enumerate(card.also, 1) for block in _compact(other, f"_{index}"))
    return [*_first(card, packed=packed), *others]


def _first(card: Card, *, packed: bool) -> list[dict[str, object]]:
    return [
        *sections("assent_headline", _told(card)),
        *(_highlights(card.highlights, packed=packed) if card.highlights else _header("assent_title", card.title)),
        *sections("assent_changes", _changes(card)),
        *sections("assent_warnings", _warnings(card.warnings[:1] if card.asks else card.warnings)),
        *sections("assent_withheld", f"⛔ {card.withheld}" if card.withheld else ""),
        *_context("assent_deadline", _deadline(card)),
        *(controls(card, "") if card.asks else []),
        *sections("assent_warnings_more", _warnings(card.warnings[1:] if card.asks else ())),
        *(sections("assent_title", card.title) if card.highlights else []),
        *_facts(card.facts, packed=packed),
        *sections("assent_progress", f"👥 {card.progress}" if card.progress else ""),
        *sections("assent_dialogue", _dialogue(card)),
        *_arguments(card.arguments, packed=packed),
        *_note("assent_hidden", card.hidden),
        *_agent_says(card.agent_says),
        *_context("assent_footer", _footer(card)),
        *([] if card.asks else controls(card, "")),  # far from where Approve was: a press may be on its way there
    ]


def _compact(card: Card, mark: str) -> list[dict[str, object]]:
    """Return one of the other requests of a message, whole, in as few blocks as keep its parts apart."""
    large = [_line(fact) for fact in card.highlights]
    withheld = f"⛔ {card.withheld}" if card.withheld else ""
    top = [_told(card), *(large or [card.title]), _changes(card), _warnings(card.warnings), withheld]
    facts = [*([card.title] if large else []), *(_line(fact) for fact in (*card.facts, *card.arguments))]
    said = [f"👥 {card.progress}" if card.progress else "", _dialogue(card)]
    last = [card.hidden or ""]
    claim = card.agent_says
    return [
        {"type": "divider", "block_id": f"assent_also{mark}"},
        *sections(f"assent_title{mark}", "\n".join(text for text in top if text)),
        *_context(f"assent_footer{mark}", [*_deadline(card), *_footer(card)]),
        *(controls(card, mark) if card.asks else []),
        *sections(f"assent_facts{mark}", "\n".join(text for text in (*facts, *said, *last) if text)),
        *sections(f"assent_claim{mark}", _claim(claim) if claim else ""),
        *([] if card.asks else controls(card, mark)),
    ]


def _characters(branch: object) -> int:
    """Count the characters of all texts in blocks, as Slack bounds them for a message."""
    if isinstance(branch, list):
        return sum(_characters(item) for item in cast("list[object]", branch))
    if not isinstance(branch, dict):
        return 0
    table = cast("dict[str, object]", branch)
    text = table.get("text")
    own = units(text) if isinstance(text, str) else 0
    return own + sum(_characters(value) for value in table.values())


# --- the parts --------------------------------------------------------------------------------------------------------


def _told(card: Card) -> str:
    """Say where it stands, once: an outcome has a mark of its own and says what the headline says, and more."""
    return card.outcome or f"{_MARKS[card.tone]} {card.told}"


def _changes(card: Card) -> str:
    return "\n".join(f"✏️ {_line(change)}" for change in card.changes)


def _warnings(warnings: Sequence[str]) -> str:
    return "\n".join(f"⚠️ {warning}" for warning in warnings)


def _dialogue(card: Card) -> str:
    return "\n".join(f"💬 {_line(said)}" for said in card.dialogue)


def _header(block_id: str, text: str) -> list[dict[str, object]]:
    """Return a text in large letters, or as plain text where it is too long for that."""
    if 0 < weight(text) <= _HEADER_MOST and "\n" not in text:
        return [{"type": "header", "block_id": block_id, "text": plain(text)}]
    return sections(block_id, text)


def _highlights(facts: tuple[Fact, ...], *, packed: bool) -> list[dict[str, object]]:
    texts = [_line(fact) for fact in facts]
    if packed:
        return sections("assent_highlights", "\n".join(texts))
    return [block for index, text in enumerate(texts) for block in _header(f"assent_highlight_{index}", text)]


def _note(block_id: str, text: str | None) -> list[dict[str, object]]:
    return _context(block_id, [plain(text)] if text else [])


def _context(block_id: str, elements: list[dict[str, object]]) -> list[dict[str, object]]:
    rows = [elements[at : at + _CONTEXT_MOST] for at in range(0, len(elements), _CONTEXT_MOST)]
    return [
        {"type": "context", "block_id": f"{block_id}_{index}" if index else block_id, "elements": row}
        for index, row in enumerate(rows)
    ]


def _facts(facts: tuple[Fact, ...], *, packed: bool) -> list[dict[str, object]]:
    texts = [_fact(fact) for fact in facts]
    if packed:
        return sections("assent_facts", "\n\n".join(texts))
    blocks: list[dict[str, object]] = []
    row: list[str] = []
    for index, text in enumerate(texts):
        long = weight(text) > _FIELD_MOST or "\n" in facts[index].value
        if row and (long or len(row) == _FIELDS_MOST):
            blocks.append(_row(f"assent_facts_{index}", row))
            row = []
        if long:
            blocks += sections(f"assent_fact_{index}", text)
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
        return [divider, *sections("assent_arguments", "\n\n".join(texts))]
    return [divider, *(b for index, text in enumerate(texts) for b in sections(f"assent_argument_{index}", text))]


def _agent_says(claim: Fact | None) -> list[dict[str, object]]:
    if claim is None:
        return []
    divider: dict[str, object] = {"type": "divider", "block_id": "assent_claim_rule"}
    return [divider, *sections("assent_claim", _claim(claim))]


def _claim(claim: Fact) -> str:
    return f"{claim.label}\n❝ {claim.value} ❞"


def _deadline(card: Card) -> list[dict[str, object]]:
    """The deadline by everybody's own clock, and what becomes of the call then."""
    if card.deadline is None:
        return []
    at = card.deadline
    date = f"<!date^{int(at.timestamp())}^{{date_short_pretty}} {{time}}|{at:%Y-%m-%d %H:%M} UTC>"
    label = card.until.label if card.until else ""
    local: dict[str, object] = {"type": "mrkdwn", "text": date}
    return [plain(f"⏳ {label}".rstrip()), local, *([plain(f"· {card.then}")] if card.then else [])]


def _footer(card: Card) -> list[dict[str, object]]:
    lines = [text for text in (*map(_line, card.details), card.tool, card.footer) if text]
    return [plain(piece) for line in lines for piece in pieces(line, SECTION_MOST)]


def _line(fact: Fact) -> str:
    return f"{fact.label}: {fact.value}" if fact.label and fact.value else fact.label or fact.value


def _fact(fact: Fact) -> str:
    return f"{fact.label}\n{fact.value}" if fact.label and fact.value else fact.label or fact.value
