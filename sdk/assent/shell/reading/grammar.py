"""Tree-sitter's bash parser, loaded when the first text is read and kept."""

from __future__ import annotations

import functools
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

_lock = threading.Lock()


def parse(text: str) -> Node:
    """Return the root of the text's tree; it may hold ERROR nodes."""
    with _lock:  # a parser keeps state between calls
        return _parser().parse(text.encode()).root_node


@functools.cache
def _parser() -> Parser:
    import tree_sitter_bash
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_bash.language()))
