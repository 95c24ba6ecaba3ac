"""The platform's own check of rich text (``post``), for the simulator: only the nodes that our notices use.

In rich text every mention is a node; the words of a ``text`` node are shown as they are. What `Remark` says a reader
was shown, and who was rung, follows from the nodes alone.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from channels.feishu.simulator.errors import ApiFaultError

if TYPE_CHECKING:
    from datetime import datetime

Json = dict[str, object]

EVERYBODY = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """What was said, mostly under a message: the words, and whose phones rang."""

    message_id: str
    created_at: datetime
    text: str
    mentions: tuple[str, ...]


def check_post(content: object, *, people: frozenset[str], links: bool = False) -> tuple[str, tuple[str, ...]]:
    """Return the words and the mentioned of rich text that the platform would take. Raises ApiFaultError.

    `links` says whether any may stand in it: the platform takes them everywhere, we have them in one place.
    """
    if not isinstance(content, str):
        raise ApiFaultError(230001, "content is not a string")
    try:
        languages = _object(json.loads(content))
    except ValueError:
        raise ApiFaultError(230001, "content is not JSON") from None
    if len(languages) != 1 or not languages.keys() <= {"zh_cn", "en_us"}:
        raise ApiFaultError(230001, "rich text must be in one language, zh_cn or en_us")
    text = _object(next(iter(languages.values())))
    if not text.keys() <= {"title", "content"}:
        raise ApiFaultError(230001, "rich text has unknown fields")
    lines: list[str] = []
    mentions: list[str] = []
    for paragraph in _list(text.get("content")):
        words = [_node(_object(node), people, mentions, links=links) for node in _list(paragraph)]
        lines.append("".join(words))
    if not "".join(lines).strip():
        raise ApiFaultError(230001, "rich text is empty")
    return "\n".join(lines), tuple(mentions)


def _node(node: Json, people: frozenset[str], mentions: list[str], *, links: bool) -> str:
    match node:
        case {"tag": "text", "text": str(words)} if node.keys() == {"tag", "text"}:
            return words
        case {"tag": "at", "user_id": str(person)} if node.keys() == {"tag", "user_id"}:
            if person != EVERYBODY and person not in people:
                raise ApiFaultError(230001, "invalid user_id")
            mentions.append(person)
            return f"@{person} "
        case {"tag": "a", "text": str(words), "href": str(address)} if links and node.keys() == {"tag", "text", "href"}:
            if not address.startswith(("https://", "http://")):
                raise ApiFaultError(230001, "invalid href")
            return words if words == address else f"{words} ({address})"
        case _:
            raise ApiFaultError(230001, f"an unmodelled node: {node.get('tag')}")


def _object(value: object) -> Json:
    if not isinstance(value, dict):
        raise ApiFaultError(230001, "rich text is not of the documented shape")
    return cast("Json", value)  # JSON objects have string keys


def _list(value: object) -> list[object]:
    if not isinstance(value, list):
        raise ApiFaultError(230001, "rich text is not of the documented shape")
    return cast("list[object]", value)
