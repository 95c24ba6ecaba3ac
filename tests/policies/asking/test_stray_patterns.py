"""A pattern that stands for no tool is told of: it may be misspelt, and the rule would never answer."""

from __future__ import annotations

import pytest

from app.policies.file.policy_file import load_policy

FILE = """\
org: acme
default: deny
tools: {{spend.pay: {{}}, pay: {{}}, ship: {{}}}}
rules:
  - {{id: first, tools: [ship], then: allow}}
  - id: second
    tools: [pay, "{pattern}"]
    then: {then}
"""


def warnings(pattern: str, then: str = "deny", text: str = FILE) -> list[str]:
    loaded = load_policy(text.format(pattern=pattern, then=then), environ={}, channel_types={})
    return [str(each) for each in loaded.warnings]


@pytest.mark.parametrize("then", ["allow", "deny"])
@pytest.mark.parametrize(
    ("pattern", "mend"),
    [
        ("spen.*", 'did you mean one such as "spend.pay"?'),
        ("pya*", 'did you mean one such as "pay"?'),
        ("Ship*", 'did you mean one such as "ship"?'),
        ("mcp__github__*", "declare those that it is meant for"),
    ],
)
def test_a_pattern_that_stands_for_no_tool_is_told_with_the_nearest_one(pattern: str, mend: str, then: str) -> None:
    told = f'assent.yaml:7: rules[1].tools[1]: "{pattern}" stands for no tool of this file; {mend}'
    assert warnings(pattern, then) == [told]


@pytest.mark.parametrize("pattern", ["spend.*", "sh*", "*delete*", "apply_*"])
def test_a_pattern_that_stands_for_one_or_is_a_net_for_whatever_comes_is_not(pattern: str) -> None:
    assert warnings(pattern) == []


def test_a_file_that_declares_no_tool_says_nothing_of_them() -> None:
    text = FILE.replace("tools: {{spend.pay: {{}}, pay: {{}}, ship: {{}}}}\n", "")
    text = text.replace("  - {{id: first, tools: [ship], then: allow}}\n", "").replace("[pay, ", "[")
    assert warnings("spen.*", text=text) == []


def test_what_a_preset_brings_along_is_known() -> None:
    assert warnings("mcp__github__*", text="use: claude-code\n" + FILE) == []
