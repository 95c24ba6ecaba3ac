"""Settings as people write them: JSON, with comments and trailing commas where a host allows them."""

from __future__ import annotations

import json
import re

from assent.command.shapes import as_object

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\n]*|/\*.*?\*/|,(?=(?:\s|//[^\n]*|/\*.*?\*/)*[}\]])', re.DOTALL)


def plain(text: str) -> str:
    """The same with blanks in the place of comments and of commas that nothing follows: every character stays put."""
    return _TOKEN.sub(lambda found: found[0] if found[0][0] == '"' else re.sub(r"\S", " ", found[0]), text)


def read_object(text: str) -> dict[str, Any]:
    """The object that the text holds. Raises `ValueError`."""
    found = as_object(json.loads(plain(text)))
    if found is None:
        raise ValueError("it holds no JSON object")
    return found
