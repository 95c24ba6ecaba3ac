"""Where the project's files are, and what their syntax says."""

from __future__ import annotations

import ast
from functools import cache
from typing import TYPE_CHECKING

from tests.places import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SHIPPED = ("app", "channels", "sdk", "migrations")
PRODUCT = (*SHIPPED, "examples", "benchmarks")


def python_files(*folders: str) -> list[Path]:
    """List the Python files below these folders of the checkout, in order; a folder that is not there has none."""
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def shown(path: Path) -> str:
    """Name a file as a person at the root of the checkout would."""
    return path.relative_to(ROOT).as_posix()


@cache
def syntax(path: Path) -> ast.Module:
    """Parse a file, once: five tests go through all there are, and nobody changes a tree."""
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def module_name(path: Path) -> str:
    """Say under which name a file of `app`, `channels` or `assent` is imported."""
    parts = list(path.relative_to(ROOT).with_suffix("").parts)
    if parts[0] == "sdk":
        parts = parts[1:]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported_packages(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield (line, top-level package) for every absolute import, wherever in the file it stands."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name.partition(".")[0]
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.lineno, node.module.partition(".")[0]
