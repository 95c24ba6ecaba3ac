"""Tree-sitter's bash parser, loaded when first needed and kept: the only place that knows the extra's libraries."""

from __future__ import annotations

import functools
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

_lock = threading.Lock()


def load_parser() -> None:
    """Load the parser now: a guard that cannot read is to be refused where it is made, not at its first call.

    Raises ImportError, naming the mend, where the extra is not installed.
    """
    _parser()


def parse(text: str) -> Node:
    """Return the root of the text's tree; it may hold ERROR nodes."""
    with _lock:  # a parser keeps state between calls
        return _parser().parse(text.encode()).root_node


@functools.cache
def _parser() -> Parser:
    try:
        import tree_sitter_bash
        from tree_sitter import Language, Parser
    except ImportError as error:
        raise ImportError(
            f"shell commands are read with tree-sitter, which cannot be imported ({error}): "
            "pip install 'assent[guards]'"
        ) from None
    return Parser(Language(tree_sitter_bash.language()))
