"""Patterns of rules that stand for no tool of the file: probably misspelt, or meant for what nobody has declared.

No fault: where unknown tools reach the rules (`unknown_tools: rules`), such a pattern may be for them. One that begins
with a star is a net for whatever comes, and is not told of.
"""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from app.policies.marks.faults import Fault
from app.policies.marks.yaml_marks import write_path
from assent.hooks.contract.tool_names import CANONICAL

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from app.domain.rules.rule import Rule
    from app.policies.marks.surroundings import Surroundings
    from app.policies.marks.yaml_marks import MarkedYaml, Path

_ALIKE = 0.6  # letters that changed places in a short word still are


def stray_patterns(marked: MarkedYaml, rules: Sequence[Rule], around: Surroundings) -> Iterator[Fault]:
    """Yield a warning for each, with the tool that was probably meant. A file without tools says nothing of them."""
    known = {*around.tools, *CANONICAL}
    for at, rule in enumerate(rules if around.tools else ()):
        for index, pattern in enumerate(rule.tools):
            beginning = pattern.text.partition("*")[0]
            if not pattern.is_glob or not beginning or pattern.text.startswith(around.prefixes):
                continue
            if any(map(pattern.matches, known)):
                continue
            path: Path = ("rules", at, "tools", index)
            mark, meant = marked.mark(path), _nearest(beginning, around.tools)
            yield Fault(
                file=marked.file,
                line=mark.line,
                column=mark.column,
                path=write_path(path),
                message=f'"{pattern.text}" stands for no tool of this file',
                hint=f'did you mean one such as "{meant}"?' if meant else "declare those that it is meant for",
            )


def _nearest(beginning: str, names: Iterable[str]) -> str | None:
    """Return the name whose beginning is most alike; None if none is."""

    def likeness(name: str) -> float:
        return max(SequenceMatcher(None, beginning, name[: len(beginning) + more]).ratio() for more in (0, 1))

    best = max(sorted(names), key=likeness, default=None)
    return best if best is not None and likeness(best) > _ALIKE else None
