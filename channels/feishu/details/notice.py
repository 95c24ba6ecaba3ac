"""Words besides cards -> the content of a rich-text message. Pure.

A ``text`` message would parse its words: ``<at …>`` mentions, ``**`` and ``<i>`` style, ``[words](address)`` links, and
nothing escapes them. In rich text (``post``) a mention is a node of its own, and a ``text`` node shows what it holds.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from app.domain.text.language import Language

if TYPE_CHECKING:
    from app.ports import ClickOutcome, Notice

_OPEN_ID = re.compile(r"ou_[0-9A-Za-z]{2,80}", re.ASCII)
_LANGUAGES = {Language.EN: "en_us", Language.ZH: "zh_cn"}


_SEPARATORS = " :："


def render_link(outcome: ClickOutcome, language: Language) -> str:
    """Render what one person alone is told, with its link as one that can be followed."""
    words = {"tag": "text", "text": without_link(outcome)}
    link = {"tag": "a", "text": outcome.link, "href": outcome.link}
    return _rich_text([[words], [link]], language)


def without_link(outcome: ClickOutcome) -> str:
    """Return the sentence without the link that it ends with: a toast is gone before anybody could copy one."""
    return outcome.sentence.removesuffix(outcome.link).rstrip(_SEPARATORS) if outcome.link else outcome.sentence


def render_notice(notice: Notice, language: Language) -> str:
    """Render a notice: those whom it is for first, then the words, a paragraph a line.

    What does not look like a person's open_id is not mentioned: ``all`` would be everybody.
    """
    people = [each for each in dict.fromkeys(notice.mentions) if _OPEN_ID.fullmatch(each)]
    mentions: list[dict[str, str]] = [{"tag": "at", "user_id": open_id} for open_id in people]
    lines = [[{"tag": "text", "text": line}] for line in notice.text.split("\n")]
    return _rich_text([mentions, *lines] if mentions else lines, language)


def _rich_text(paragraphs: list[list[dict[str, str]]], language: Language) -> str:
    return json.dumps({_LANGUAGES[language]: {"content": paragraphs}}, ensure_ascii=False, separators=(",", ":"))
