"""Commands and what the guard must say to them: in our own words, from what shells can do."""

from __future__ import annotations

from itertools import takewhile
from pathlib import Path


def listed(text: str) -> list[str]:
    """One case a line; a line that opens a here-document or a quote goes on to where it is closed."""
    cases: list[str] = []
    lines = iter(text.split("\n"))
    for line in lines:
        case = line
        if "<<EOF" in line or "<<'EOF'" in line:
            case += "".join(f"\n{more}" for more in takewhile(lambda more: more != "EOF", lines)) + "\nEOF"
        if case.count("$(cat <<") and not case.rstrip().endswith('"'):
            case += "\n" + next(lines)
        if case.startswith("python3 -c 'import os") and case.count("'") == 1:
            case += "\n" + next(lines)
        cases.append(case)
    return cases


_HERE = Path(__file__).parent
BLOCKED = listed((_HERE / "commands_blocked.txt").read_text().rstrip("\n"))
ALLOWED = listed((_HERE / "commands_allowed.txt").read_text().rstrip("\n"))
