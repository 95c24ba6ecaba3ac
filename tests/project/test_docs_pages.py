"""The pages hold together: each is found from the index, what they point to is there, and the READMEs say the same."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from functools import cache
from typing import TYPE_CHECKING

import pytest

from tests.project.source_tree import ROOT, SHIPPED, python_files, shown

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

INDEX = ROOT / "docs/README.md"
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
README, CHINESE = ROOT / "README.md", ROOT / "README.zh-CN.md"

FENCED = re.compile(r"^ *(```|~~~).*?^ *\1 *$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\((\S+?)\)")
HEADING = re.compile(r"^(#+) +(.+?) *$", re.MULTILINE)
IN_CODE = re.compile(r"`([^`\n]+)`")
FLOORS = ("app", "benchmarks", "channels", "deploy", "docs", "examples", "migrations", "requirements", "sdk", "tests")
A_PATH = re.compile(rf"(?<![\w/.~-])(?:{'|'.join(FLOORS)})/[\w.*/<>-]*[\w*/>]")
A_FILE = re.compile(r"[a-z_]\w*\.py")
OF_READERS = {"check_payee.py"}
"""Files of whoever reads, in examples."""


@cache
def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def prose_of(page: Path) -> str:
    """A page without its fenced blocks."""
    return FENCED.sub("", text_of(page))


@cache
def anchors_of(page: Path) -> frozenset[str]:
    """The anchors that a page's headings get, as GitHub makes them."""
    seen: Counter[str] = Counter()
    anchors: set[str] = set()
    for _, title in HEADING.findall(prose_of(page)):
        said = re.sub(r"[^\w\- ]", "", LINK.sub("]", title).lower()).replace(" ", "-")
        anchors.add(f"{said}-{seen[said]}" if seen[said] else said)
        seen[said] += 1
    return frozenset(anchors)


def links_of(page: Path) -> list[str]:
    """Where a page's links and images lead, as they are written, without those that leave the checkout."""
    return [target for target in LINK.findall(prose_of(page)) if not re.match(r"[a-z]+:", target)]


def leads_nowhere(page: Path, target: str) -> bool:
    path, _, anchor = target.partition("#")
    to = (page.parent / path).resolve() if path else page
    return not to.exists() or (bool(anchor) and anchor not in anchors_of(to))


@pytest.mark.parametrize("page", PAGES, ids=shown)
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    assert [target for target in links_of(page) if leads_nowhere(page, target)] == []


def test_every_page_is_found_from_the_index_and_the_index_from_both_readmes() -> None:
    linked = {(INDEX.parent / target.partition("#")[0]).resolve() for target in links_of(INDEX)}
    assert [shown(page) for page in PAGES if page not in {*linked, INDEX, CHINESE}] == []
    for readme in (README, CHINESE):
        assert "docs/README.md" in links_of(readme)


def paths_named(page: Path) -> Iterator[str]:
    """The paths of this checkout that a page names, in prose and in blocks, and the files that it names in code."""
    yield from (found.removesuffix("/") for found in A_PATH.findall(text_of(page)))
    for code in IN_CODE.findall(prose_of(page)):
        yield from A_FILE.findall(code) if "/" not in code and " " not in code else ()


@cache
def names() -> frozenset[str]:
    """What every Python file of the checkout is called."""
    return frozenset(path.name for folder in FLOORS for path in (ROOT / folder).rglob("*.py"))


def is_there(named: str) -> bool:
    if "/" not in named:
        return named in names() | OF_READERS
    return any(ROOT.glob(re.sub(r"<[^>]*>", "*", named)))


@pytest.mark.parametrize("page", PAGES, ids=shown)
def test_every_file_that_a_page_names_is_there(page: Path) -> None:
    assert sorted({named for named in paths_named(page) if not is_there(named)}) == []


# --- what the code says of its own files ------------------------------------------------------------------------------


DOTTED = re.compile(r"`((?:app|channels|assent)(?:\.\w+)+)`")
NO_MODULES = {"assent.audit", "assent.channels", "assent.yaml"}
"""The name of a logger, the group of entry points, the configuration."""


def is_a_module(dotted: str) -> bool:
    """Whether a dotted name leads to a package or module, or to words that stand in one."""
    parts = dotted.split(".")
    for deep in range(len(parts), 0, -1):
        place = ROOT.joinpath("sdk" if parts[0] == "assent" else "", *parts[:deep])
        home = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
        if home.exists():
            return all(re.search(rf"\b{word}\b", text_of(home)) for word in parts[deep:])
    return False


def modules_not_there(page: Path) -> list[str]:
    return sorted(
        {named for named in DOTTED.findall(text_of(page)) if named not in NO_MODULES and not is_a_module(named)}
    )


@pytest.mark.parametrize("page", PAGES, ids=shown)
def test_every_module_that_a_page_names_is_there(page: Path) -> None:
    assert modules_not_there(page) == []


def test_every_file_and_module_that_the_code_names_is_there() -> None:
    """In comments and docstrings: a path, a dotted name, or a file's own name, as code."""
    missing = [
        f"{shown(path)}: {named}"
        for path in python_files(*SHIPPED, "benchmarks")
        for named in (*(named for named in paths_named(path) if not is_there(named)), *modules_not_there(path))
    ]
    assert missing == []


# --- docs/architecture.md ---------------------------------------------------------------------------------------------

ARCHITECTURE = ROOT / "docs/architecture.md"
CONTRACTS = tomllib.loads(text_of(ROOT / "pyproject.toml"))["tool"]["importlinter"]["contracts"]


def drawn(section: str) -> str:
    """The first picture of a section of the page."""
    _, _, rest = text_of(ARCHITECTURE).partition(f"\n## {section}\n")
    return rest.split("```")[1]


def layers_of(contract: dict[str, list[str]]) -> list[set[str]]:
    return [{name.split(".")[-1] for name in re.findall(r"[\w.]+", layer)} for layer in contract["layers"]]


def test_the_floors_of_the_picture_are_those_that_the_machine_holds() -> None:
    floors = [set(re.split(r" · ", line.split("  ")[0])) for line in drawn("The floors").strip().splitlines()]
    (contract,) = [found for found in CONTRACTS if found["name"].startswith("Floors:")]
    assert floors == layers_of(contract)


def test_the_shelves_of_the_picture_are_those_that_the_machine_holds() -> None:
    rows = re.split(r"\n(?=\w)", drawn("The shelves").strip())
    shelves = {
        floor: [set(layer.split(" · ")) for layer in re.sub(r"\s+", " ", row).split(" → ")]
        for floor, row in (row.split(maxsplit=1) for row in rows)
    }
    held = {
        container.removeprefix("app."): layers_of(contract)
        for contract in CONTRACTS
        for container in contract.get("containers", [])
        if container not in {"app", "assent.hooks", "assent.integrations"}
    }
    assert shelves == held


# --- the README in two languages --------------------------------------------------------------------------------------


def without_switch(page: Path) -> str:
    """A README's prose without the line on top that leads to the other language."""
    title, blank, switch, rest = prose_of(page).split("\n", 3)
    assert (title, blank) == ("# Assent", "")
    assert (README.name if page == CHINESE else CHINESE.name) in switch
    return rest


def headings(page: Path) -> list[int]:
    return [len(level) for level, _ in HEADING.findall(prose_of(page))]


def steps(page: Path) -> list[str]:
    """The numbered steps, and the other paragraphs that open in bold with a name of a product, in their order."""
    return re.findall(r"^\*\*(\d+\.|Claude Code)", prose_of(page), re.MULTILINE)


def test_the_chinese_readme_has_the_same_sections_and_steps_in_the_same_order() -> None:
    assert headings(CHINESE) == headings(README)
    assert steps(CHINESE) == steps(README)


def test_the_chinese_readme_shows_the_same_blocks_letter_by_letter() -> None:
    blocks = [found[0] for found in FENCED.finditer(text_of(README))]
    assert len(blocks) > 5
    assert [found[0] for found in FENCED.finditer(text_of(CHINESE))] == blocks


def test_the_chinese_readme_leads_to_the_same_places_and_shows_the_same_images() -> None:
    told, shown_to_others = (sorted(LINK.findall(without_switch(page))) for page in (CHINESE, README))
    assert told == shown_to_others


def test_the_chinese_readme_names_the_same_commands_keys_and_figures() -> None:
    """Digits, code and the interface's own words; how often each, too, since a table's row may go missing."""
    told, said = (
        {"code": IN_CODE.findall(text), "figures": re.findall(r"\d+(?:[.,]\d+)*", LINK.sub("]", text))}
        for text in (without_switch(CHINESE), without_switch(README))
    )
    for kind, found in said.items():
        assert Counter(told[kind]) == Counter(found), kind


def test_the_tables_of_the_chinese_readme_have_the_same_rows() -> None:
    rows = [
        [line.count(" | ") for line in prose_of(page).splitlines() if line.startswith("|")]
        for page in (CHINESE, README)
    ]
    assert rows[0] == rows[1]
