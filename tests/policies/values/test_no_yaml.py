"""What is no YAML, more of it than we take, or more than it seems: each is bounded, and told with its mend."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from app.policies.file.policy_book import PolicyBook
from app.policies.file.policy_file import LARGEST, load_policy
from app.policies.marks.faults import PolicyFaultsError
from tests.requirements import requirement

if TYPE_CHECKING:
    from pathlib import Path

HEAD = "org: acme\ndefault: deny\n"


def told(source: str | Path) -> list[str]:
    try:
        load_policy(source, environ={}, channel_types={}, file="assent.yaml")
    except PolicyFaultsError as refused:
        return [str(fault).removeprefix("assent.yaml:") for fault in refused.faults]
    return []


ALIASES = 'put a text that begins so in quotes, such as "*"; what is meant to stand in two places is written out twice'
INDENT = "indent the keys of one mapping alike, and put a text with a colon in quotes"
MAPPING = "write lines of key: value, with a space behind the colon"
QUOTES = "put a text that begins so in quotes"
UNSEEN = "take it out: nobody can see it"


@requirement("S-57")
@pytest.mark.parametrize(
    ("text", "said", "mend"),
    [
        (f"{HEAD}a: &a [x]\nb: [*a, *a]\n", "3: anchors and aliases (& and *) are not accepted here", ALIASES),
        (f"{HEAD}rules:\n  - {{id: a, tools: [*], then: deny}}\n",
         "4: not YAML: * and & begin an alias here, and this is none", ALIASES),
        (f"{HEAD}people:\n  <<: {{}}\n",
         "4: merge keys (<<) are not accepted here", "write out what it would bring along"),
        (f"{HEAD}org: other\n", "3: org: the same key again (first on line 1)", "keep one of the two"),
        ("org:\tacme\ndefault: deny\n", "1: not YAML: a tab stands where only spaces may", "indent with spaces"),
        ("org: acme\n default: deny\n", '2: not YAML: a key stands where none can, or a text has ": " in it', INDENT),
        ('org: "acme\ndefault: deny\n',
         "1: not YAML: a text in quotes begins here and does not end", "close its quotes"),
        (f"{HEAD}rules: [{{id: a\n",
         "3: not YAML: a { or [ begins here and does not end, or lacks a comma", "close it: {a: 1, b: [2, 3]}"),
        ("org: @acme\n", "1: not YAML: no text can begin with this character", QUOTES),
        (f"{HEAD}---\norg: b\n",
         "3: not YAML: a second document begins here", "take out the --- before it: a file is one document"),
        ("org\uff1aacme\ndefault: deny\n", "2: not YAML: line 1 has a wide colon", 'write ": "'),
        ("org:\u00a0acme\ndefault: deny\n",
         "2: not YAML: line 1 has a space that is none (U+00A0)", "write a plain one"),
        (f"{HEAD}x: !!python/object:os.system {{}}\n",
         "3: tags are not accepted here: tag:yaml.org,2002:python/object:os.syste", QUOTES),
        (f"{HEAD}? [a]\n: x\n", "3: a key must be a text", 'write key: value, without "? "'),
        ("org:acme\n", "1: the file must be a mapping", MAPPING),
        (f'{HEAD}people: {{a@acme.example: {{name: "a\\e[31mb"}}}}\n',
         "3: people.a@acme.example.name: has a control character in it (U+001B)", UNSEEN),
        (f'{HEAD}people: {{a@acme.example: {{name: "\\ud800"}}}}\n',
         "3: people.a@acme.example.name: has a control character in it (U+D800)", UNSEEN),
    ],
)  # fmt: skip
def test_it_is_told_in_words_with_its_mend(text: str, said: str, mend: str) -> None:
    assert told(text) == [f"{said}; {mend}"]


@requirement("S-57")
@pytest.mark.parametrize(
    "deep", ["x: " + "[" * 100_000, "x: " + "{a: " * 100_000, "? " * 100_000, "x: [[\n" + "- " * 9000]
)
def test_what_is_nested_without_an_end_is_refused_where_it_gets_too_deep(deep: str) -> None:
    [only] = told(HEAD + deep)
    assert "nested deeper than 32" in only or "not YAML" in only


@pytest.mark.parametrize(
    "text",
    [
        f"\ufeff{HEAD}",
        HEAD.replace("\n", "\r\n"),
        f"{HEAD}guards: off\n",
        f'{HEAD}people: {{a@acme.example: {{name: "on"}}}}\n',
    ],
)
def test_what_editors_write_before_and_between_lines_is_taken(text: str) -> None:
    assert told(text) == []


@requirement("S-57")
def test_a_file_that_is_too_large_is_not_read_to_its_end(tmp_path: Path) -> None:
    file = tmp_path / "assent.yaml"
    with file.open("wb") as sparse:
        sparse.truncate(1 << 40)  # a tebibyte of which nothing is on the disk
    assert told(file) == [f"1: is larger than {LARGEST:,} bytes; split it: one file is one org"]


def test_a_running_gateway_does_not_read_it_to_its_end_either(tmp_path: Path) -> None:
    file = tmp_path / "assent.yaml"
    file.write_text(HEAD, encoding="utf-8")
    book = PolicyBook(file, environ={}, channel_types={})
    with file.open("wb") as sparse:
        sparse.truncate(1 << 40)
    assert book.changed()


def test_what_is_no_utf_8_says_so(tmp_path: Path) -> None:
    file = tmp_path / "assent.yaml"
    file.write_bytes("org: acme".encode("utf-16"))
    assert told(file) == ["1: is not UTF-8 at byte 0; save it as UTF-8"]
