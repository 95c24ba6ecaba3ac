"""Names in the file: exact, or with a star."""

from __future__ import annotations

import re
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class NamePattern:
    """An exact name, or a glob in which ``*`` stands for any characters. Upper and lower case differ."""

    text: str
    _regex: re.Pattern[str] | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Compile the glob once."""
        parts = self.text.split("*")
        regex = re.compile(".*".join(map(re.escape, parts)), re.DOTALL) if len(parts) > 1 else None
        object.__setattr__(self, "_regex", regex)

    @property
    def is_glob(self) -> bool:
        """Whether it can match more than one name."""
        return self._regex is not None

    def matches(self, name: str) -> bool:
        """Say whether it stands for `name`."""
        return self.text == name if self._regex is None else self._regex.fullmatch(name) is not None

    def meets(self, other: NamePattern) -> bool:
        """Say whether there is a name that both stand for."""
        one, two = self.text, other.text
        # From the ends: whether what is left of both, from here and from there, can be the same name.
        below = [False] * len(two) + [True]
        for at in range(len(two) - 1, -1, -1):
            below[at] = two[at] == "*" and below[at + 1]
        for letter in reversed(one):
            row = [letter == "*" and below[-1]]
            for at in range(len(two) - 1, -1, -1):
                star = letter == "*" or two[at] == "*"
                row.append((below[at] or row[-1]) if star else letter == two[at] and below[at + 1])
            below = row[::-1]
        return below[0]
