"""How the text of a condition came out of the file: a comment in it may not take along what stood on later lines."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from app.policies.marks.yaml_marks import MarkedYaml, Path

_PIECES = re.compile(
    r"""[bB]?[rR][bB]?(?:\"{3}.*?\"{3}|'{3}.*?'{3}|"[^"]*"|'[^']*')"""
    r"""|\"{3}(?:[^\\]|\\.)*?\"{3}|'{3}(?:[^\\]|\\.)*?'{3}|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|//""",
    re.DOTALL,
)
"""The texts of a condition, in every way in which CEL writes them, and where a comment begins."""


def is_swallowed(marked: MarkedYaml, path: Path, text: str) -> bool:
    """Say whether lines behind a comment may have become a part of it, and note that.

    YAML makes one line of several unless they stand under `|`; a comment ends with its line.
    """
    if path not in marked.joined or "//" not in _PIECES.findall(text):
        return False
    why = "has a // comment, and its lines are read as one: whatever is behind the // would be no part of the condition"
    marked.report(path, why, 'write "when: |", which keeps lines apart, or take the comment out')
    return True
