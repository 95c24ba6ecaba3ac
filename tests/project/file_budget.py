"""The budgets: 250 lines a file are plenty, 400 the end; 12 modules a package. Run as a program it tells the state."""

from __future__ import annotations

import ast
import sys
from typing import TYPE_CHECKING

from tests.project.source_tree import ROOT, python_files, shown, syntax

if TYPE_CHECKING:
    from pathlib import Path

SOFT, HARD = 250, 400
FOLDERS = ("app", "channels", "sdk", "examples")

PACKAGES = ("app", "channels", "sdk")
MOST_MODULES = 12
"""In one package, its `__init__` not counted."""

MOST_TEST_FILES = 30
"""In one folder of tests, its `__init__` not counted."""

ADAPTER = 120
"""Lines of an adapter of `assent.integrations`: what it has in common with the others stands in their ground."""

LONGER_ADAPTERS = {
    "claude_agent_sdk": 165,  # carries a suspended query on, which no option of the SDK does; one deferred call a turn
    "google_adk": 160,  # three hooks in the place of a way around a tool, and sessions that are read for what waits
}
"""Those that cannot, each with its reason."""

FACADES = frozenset({"sdk/assent/__init__.py", "sdk/assent/hooks/__init__.py"})
"""What agents import from: these re-export."""


def line_counts() -> dict[str, int]:
    """Count the lines of every file that has a budget."""
    return {shown(path): len(path.read_text(encoding="utf-8").splitlines()) for path in python_files(*FOLDERS)}


def adapters() -> dict[str, int]:
    """Count the lines of every adapter."""
    integrations = (ROOT / "sdk/assent/integrations").glob("[!_]*.py")
    return {path.stem: len(path.read_text(encoding="utf-8").splitlines()) for path in integrations}


def module_counts(root: Path, *folders: str) -> dict[str, int]:
    """Count the Python files of every folder below these, without its `__init__`."""
    counts: dict[str, int] = {}
    for folder in folders:
        for path in (root / folder).rglob("*.py"):
            name = path.parent.relative_to(root).as_posix()
            counts[name] = counts.get(name, 0) + (path.name != "__init__.py")
    return counts


def too_full(root: Path) -> dict[str, int]:
    """Find the folders with more files than they may have."""
    packages = {name: count for name, count in module_counts(root, *PACKAGES).items() if count > MOST_MODULES}
    return packages | {name: n for name, n in module_counts(root, "tests").items() if n > MOST_TEST_FILES}


def says_what_lives_there(tree: ast.Module, text: str) -> bool:
    """Whether an `__init__` is one line, which is a docstring."""
    return len(text.splitlines()) == 1 and len(tree.body) == 1 and bool(ast.get_docstring(tree))


def talkative_inits() -> list[str]:
    """Find the `__init__`s that are not one line exactly; a platform's carries its `SPEC`, a facade its names."""
    return [
        shown(path)
        for path in python_files(*PACKAGES)
        if path.name == "__init__.py" and shown(path) not in FACADES
        if not (path.parent.parent == ROOT / "channels" and (path.parent / "channel.py").is_file())
        if not says_what_lives_there(syntax(path), path.read_text(encoding="utf-8"))
    ]


def main() -> int:
    """Print what is over a budget, the longest first; return 1 if something is over a hard one."""
    counts = sorted(line_counts().items(), key=lambda item: -item[1])
    full = too_full(ROOT)
    talkative = talkative_inits()
    for name, lines in counts:
        if lines > SOFT:
            verdict = f"over the limit of {HARD}: split it by noun" if lines > HARD else f"over the soft {SOFT}"
            sys.stdout.write(f"  {lines:4} lines  {name}  {verdict}\n")
    for name, count in full.items():
        sys.stdout.write(f"  {count:4} files  {name}  over the limit: make shelves by concept\n")
    for name in talkative:
        sys.stdout.write(f"  {name}  is to be one line that says what lives there\n")
    return int(any(lines > HARD for _, lines in counts) or bool(full) or bool(talkative))


if __name__ == "__main__":
    sys.exit(main())
