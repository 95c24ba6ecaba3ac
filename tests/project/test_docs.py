"""What the README shows is what runs."""

from __future__ import annotations

import re
from pathlib import Path

from app.policies.policy_book import config_check
from channels.registry import SETTINGS

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_readme_shows_the_example_configuration_word_for_word() -> None:
    shown = re.search(r"```yaml\n(.*?)```", README, re.DOTALL)
    assert shown is not None
    example = (ROOT / "examples/assent.yaml").read_text(encoding="utf-8")
    assert example.partition("\n")[2] == shown[1]


def test_the_example_configuration_has_no_fault() -> None:
    environ = {"SLACK_BOT_TOKEN": "xoxb-1-2-3", "SLACK_APP_TOKEN": "xapp-1-2-3", "FEISHU_APP_SECRET": "s" * 32}
    faults = config_check(ROOT / "examples/assent.yaml", environ=environ, channel_types=SETTINGS)
    assert [str(fault) for fault in faults] == []


def test_every_page_that_a_page_links_to_exists() -> None:
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]
    missing = [
        f"{page.name}: {target}"
        for page in pages
        for target in re.findall(r"\]\((?!https?://|#)([^)#]+)", page.read_text(encoding="utf-8"))
        if not (page.parent / target).exists()
    ]
    assert missing == []
