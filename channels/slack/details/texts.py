"""Text in Slack's blocks: inert, whole, in pieces that fit. Pure.

Everything that came from outside stands in ``plain_text`` objects with ``emoji`` off: Slack parses no mention, link or
style in them.
"""

from __future__ import annotations

from typing import Final

SECTION_MOST: Final = 3_000


def plain(text: str) -> dict[str, object]:
    """Return an inert text object."""
    return {"type": "plain_text", "text": text, "emoji": False}


def escape(text: str) -> str:
    """Escape the three characters that Slack's markup is made of; there are no others to escape."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def sections(block_id: str, text: str) -> list[dict[str, object]]:
    """Return a text whole, over as many sections as it takes; none for an empty text."""
    found = pieces(text, SECTION_MOST) if text else []
    return [
        {"type": "section", "block_id": f"{block_id}_{index}" if index else block_id, "text": plain(piece)}
        for index, piece in enumerate(found)
    ]


def weight(text: str) -> int:
    """The length of a text as the strictest counter may see it: escaped, in UTF-16 units."""
    return len(escape(text).encode("utf-16-le", "surrogatepass")) // 2


def pieces(text: str, most: int) -> list[str]:
    """Cut a text into pieces of at most `most` by `weight`; joined together they are the text again."""
    if weight(text) <= most:
        return [text]
    found: list[str] = []
    start = total = 0
    for index, character in enumerate(text):
        more = weight(character)
        if total + more > most:
            found.append(text[start:index])
            start, total = index, 0
        total += more
    return [*found, text[start:]]


def clip(text: str, most: int) -> str:
    """Shorten a text of ours (a label, a notification), never one that is approved; an empty one becomes a dash."""
    if weight(text) <= most:
        return text or "–"
    return f"{pieces(text, most - 1)[0]}…"
