"""What is wrong with a configuration, each fault with its place and, where it is known, its mend.

No text here ever has a secret in it: faults quote the file as it was written, before `${NAME}` was expanded.
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from msgspec import Struct

from app.domain.text.visible import on_one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_LONGEST_LIST = 12
_CLOSE = 0.7  # how alike a name must be to be suggested
_LONGEST_NAME = 100  # longer ones are nobody's misspelling, and cost a search as long
_LONGEST_TEXT = 600
MOST_FAULTS = 1_000
"""So many faults are looked for in a file: each may cost a search for the name that was meant."""
_MOST_TOLD = 100
QUOTES = "put a text that begins so in quotes"
ALIASES = f'{QUOTES}, such as "*"; what is meant to stand in two places is written out twice'


class Fault(Struct, frozen=True, kw_only=True):
    """One fault. `line` and `column` count from 1; `path` is such as ``rules[1].tools[0]``, "" for the whole file."""

    file: str
    line: int
    column: int
    path: str
    message: str
    hint: str | None = None

    def __str__(self) -> str:
        """Write it as one line that editors can jump to."""
        where = f"{self.file}:{self.line}: {self.path + ': ' if self.path else ''}"
        return f"{where}{self.message}" + (f"; {self.hint}" if self.hint else "")


class PolicyFaultsError(Exception):
    """A configuration has faults; its text is all of them, one a line."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        """Keep the faults in the order of the file, each once."""
        ordered = sorted(faults, key=lambda fault: (fault.file, fault.line, fault.column))
        self.faults = tuple(dict.fromkeys(ordered))
        super().__init__("\n".join(told_lines(self.faults)))


def told_lines(faults: Sequence[Fault]) -> list[str]:
    """Return faults as people read them, one a line: of very many the first, and how many more there are."""
    lines = [str(fault) for fault in faults[:_MOST_TOLD]]
    if len(faults) > _MOST_TOLD:
        beyond = " at least: no more were looked for" if len(faults) >= MOST_FAULTS else ""
        lines.append(f"and {len(faults) - _MOST_TOLD:,} more{beyond}")
    return lines


def told(text: str) -> str:
    """Return what is said of a file as one line that is not too long, whatever the file has in it."""
    plain = text if text.isprintable() else on_one_line(text)
    return plain if len(plain) <= _LONGEST_TEXT else f"{plain[: _LONGEST_TEXT // 2]} … {plain[-_LONGEST_TEXT // 4 :]}"


def near(name: str, valid: Iterable[str], *, what: str = "known names") -> str | None:
    """Hint at the valid name that was probably meant, or list what there is."""
    names = sorted(valid)
    meant = _person_near(name, names) if "@" in name else _name_near(name, names)
    if meant is not None:
        return f'did you mean "{meant}"?'
    if not names:
        return f"there are no {what}"
    more = ", …" if len(names) > _LONGEST_LIST else ""
    return f"{what}: {', '.join(names[:_LONGEST_LIST])}{more}"


def _name_near(name: str, names: list[str]) -> str | None:
    if len(name) > _LONGEST_NAME:
        return None
    found = difflib.get_close_matches(name, names, n=1, cutoff=_CLOSE) or difflib.get_close_matches(
        name.lower(), [candidate.lower() for candidate in names], n=1, cutoff=_CLOSE
    )
    return next(candidate for candidate in names if candidate.lower() == found[0].lower()) if found else None


def _person_near(email: str, names: list[str]) -> str | None:
    """Return the e-mail that is alike in both of its halves: those of one company share the second."""
    halves = email.lower().rpartition("@")[::2]

    def likeness(candidate: str) -> float:
        pairs = zip(halves, candidate.lower().rpartition("@")[::2], strict=True)
        return min(difflib.SequenceMatcher(None, ours, theirs).ratio() for ours, theirs in pairs)

    best = max(names, key=likeness, default=None) if len(email) <= _LONGEST_NAME else None
    return best if best is not None and likeness(best) >= _CLOSE else None
