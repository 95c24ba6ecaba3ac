"""One word, one thing: what the glossary says is so in the code, and no second word for it stands anywhere."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
from functools import cache
from typing import TYPE_CHECKING

import pytest

import app.storage.tables
from app.storage.tables.tables import metadata
from tests.project.source_tree import ROOT, python_files, shown, syntax
from tests.project.test_docs_both_ways import DOCS, TREE, existing_routes, leaves

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.fixtures.gateway import Gateway

GLOSSARY = (ROOT / "docs/glossary.md").read_text(encoding="utf-8")
FOLDERS = ("app", "channels", "sdk")

SECOND_WORDS = {
    "ticket": "request, or grant",
    "approval_request": "request",
    "asides": "consultations",
    "foresight": "dead_conditions",
    "known_as": "tool_names",
}
"""Words that stand in no name at all, alone or with others; what is said instead."""

POEMS = {
    "sight": "condition_scope",
    "raising": "cautions_raise",
    "spelled": "permit_sentence",
    "fitting": "budget",
    "reach": "undelivered",
    "ways": "next_way",
    "trial": "dry_run",
    "offline": "beside_database",
    "memory": "seen_before",
    "surface": "services",
}
"""Names that said nothing when they stood alone; as a part of a name that says more they are ordinary words."""

POEMS_OF_MODULES = {"near": "near_key", "shown": "shown_call"}
"""The same, of modules alone: a function may well be called so."""

OF_A_PLATFORM = frozenset({"channels/slack/simulator/api.py:_ticket"})
"""Names that a platform has given: Slack's long connection is opened with a ticket."""


def words_of(name: str) -> str:
    """Write a name of any style in small letters with `_` between its words."""
    return "_".join(re.findall(r"[a-z]+", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()))


def refused(name: str) -> bool:
    """Whether a name has a second word for something in it, or is a poem."""
    words = words_of(name)
    return words in POEMS or any(f"_{second}_" in f"_{words}_" for second in SECOND_WORDS)


@cache
def defined_names() -> dict[str, str]:
    """Say what each class and function of the product is called, by where it is."""
    defined = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    return {
        f"{shown(path)}:{node.name}": node.name
        for path in python_files(*FOLDERS)
        for node in ast.walk(syntax(path))
        if isinstance(node, defined)
    }


def entries(page: str) -> dict[str, list[str]]:
    """Read the glossary: each word with where the code has it."""
    rows = re.findall(r"^\| (\w[^|]*) \| [^|]+ \| [^|]+ \| (.*) \|$", page, re.MULTILINE)
    return {word: re.findall(r"`([^`]+)`", places) for word, places in rows if word != "word"}


def nowhere(page: str) -> list[str]:
    """Find the words of the glossary whose class, table or command is not there."""
    for module in pkgutil.iter_modules(app.storage.tables.__path__, "app.storage.tables."):
        importlib.import_module(module.name)
    there = set(defined_names().values()) | set(metadata.tables) | {f"assent {name}" for name in (*TREE, *leaves(TREE))}
    said = [(word, place) for word, places in entries(page).items() for place in places or ["-"]]
    return [f"{word}: {place}" for word, place in said if place not in there]


def refused_headings(pages: Iterable[str]) -> list[str]:
    """Find the headings with a second word for something."""
    headings = [heading for page in pages for heading in re.findall(r"^#+ (.*)$", page, re.MULTILINE)]
    return [heading for heading in headings if refused(heading)]


@pytest.mark.heavy
def test_every_word_of_the_glossary_stands_for_something() -> None:
    assert len(entries(GLOSSARY)) >= 30
    assert nowhere(GLOSSARY) == []


@pytest.mark.heavy
def test_a_word_that_stands_for_nothing_is_seen() -> None:
    page = GLOSSARY.replace("`Grant`, `grants`", "`Permittance`, `grants`").replace("`assent pause`", "")
    assert nowhere(page) == ["Grant: Permittance", "Pause: -"]


@pytest.mark.heavy
def test_no_second_word_stands_in_a_name() -> None:
    found = {place for place, name in defined_names().items() if refused(name)}
    of_standing = {
        place
        for place, name in defined_names().items()
        if re.match(r"app/(api|cli)/.*standing", place) and {"grant", "grants"} & set(words_of(name).split("_"))
    }

    assert (found | of_standing) - OF_A_PLATFORM == set()


def test_no_module_is_called_by_a_second_word() -> None:
    parts = {part for path in python_files(*FOLDERS) for part in path.relative_to(ROOT).with_suffix("").parts}
    assert {part for part in parts if refused(part) or part in POEMS_OF_MODULES} == set()


def test_no_heading_has_a_second_word() -> None:
    assert refused_headings(page.read_text(encoding="utf-8") for page in DOCS) == []


async def test_no_route_or_command_has_a_second_word(gateway: Gateway) -> None:
    parts = {part for route in existing_routes(gateway) for part in re.split(r"[ /{}]+", route) if part}
    named = parts | {part for command in leaves(TREE) for part in command.split()}

    assert {"requests", "keys"} <= named
    assert {name for name in named if refused(name) or name == "grants"} == set()


def test_a_second_word_is_seen() -> None:
    for bad in ("Ticket", "open_ticket", "ApprovalRequest", "_same_asides", "Surface", "_spelled", "known-as", "Ways"):
        assert refused(bad), bad
    for good in ("near_key", "ShownCall", "MemoryCounters", "always", "consulted", "grants", "Request"):
        assert not refused(good), good
    assert refused_headings(["# Asking\n\n## Approval request\n"]) == ["Approval request"]
