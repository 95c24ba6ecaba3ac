"""The file budget: 250 lines are plenty, 400 are the end (`python -m tests.project.file_budget` tells the state)."""

from __future__ import annotations

import sys

from tests.project.source_tree import python_files, shown

SOFT, HARD = 250, 400
FOLDERS = ("app", "channels", "sdk", "examples")


def line_counts() -> dict[str, int]:
    """Count the lines of every file that has a budget."""
    return {shown(path): len(path.read_text(encoding="utf-8").splitlines()) for path in python_files(*FOLDERS)}


def main() -> int:
    """Print the files over the soft budget, the longest first; return 1 if one is over the hard one."""
    counts = sorted(line_counts().items(), key=lambda item: -item[1])
    for name, lines in counts:
        if lines > SOFT:
            verdict = f"over the limit of {HARD}: split it by noun" if lines > HARD else f"over the soft {SOFT}"
            sys.stdout.write(f"  {lines:4} lines  {name}  {verdict}\n")
    return int(any(lines > HARD for _, lines in counts))


if __name__ == "__main__":
    sys.exit(main())
