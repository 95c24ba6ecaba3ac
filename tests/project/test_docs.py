"""What the README shows is what runs."""

from __future__ import annotations

import re
import subprocess
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from app.domain.rules.condition import FUNCTIONS, VARIABLES, compile_condition, scope_of
from app.policies.file.policy_book import config_check
from app.policies.file.policy_file import load_policy
from channels import registry
from tests.fixtures.patience import HANGS
from tests.places import ROOT
from tests.sdk.real_gateway import RealGateway

if TYPE_CHECKING:
    from pathlib import Path

PLATFORMS = registry.platforms()
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_readme_shows_the_example_configuration_word_for_word() -> None:
    shown = re.search(r"```yaml\n(.*?)```", README, re.DOTALL)
    assert shown is not None
    example = (ROOT / "examples/assent.yaml").read_text(encoding="utf-8")
    assert example.partition("\n")[2] == shown[1]


def test_the_example_configuration_has_no_fault() -> None:
    environ = {"SLACK_BOT_TOKEN": "xoxb-1-2-3", "SLACK_APP_TOKEN": "xapp-1-2-3", "FEISHU_APP_SECRET": "s" * 32}
    faults = config_check(ROOT / "examples/assent.yaml", environ=environ, channel_types=PLATFORMS)
    assert [str(fault) for fault in faults] == []


def test_the_configuration_of_the_payments_page_has_no_fault_and_uses_every_key_that_the_page_tells_of() -> None:
    environ = {"SLACK_BOT_TOKEN": "xoxb-1-2-3", "SLACK_APP_TOKEN": "xapp-1-2-3"}
    example = ROOT / "examples/payments.yaml"
    assert [str(fault) for fault in config_check(example, environ=environ, channel_types=PLATFORMS)] == []
    page = (ROOT / "docs/payments.md").read_text(encoding="utf-8")
    told = re.search(r"\| in the file \| does \|\n(.*?)\n\n", page, re.DOTALL)
    assert told is not None
    keys = re.findall(r"^\| `(?:[\w<>\[\]]+\.)*(\w+)`", told[1], re.MULTILINE)
    text = example.read_text(encoding="utf-8")
    assert keys == ["payment", "tiers", "budgets", "duplicates", "step_up", "standing"]
    assert [key for key in keys if f"{key}:" not in text] == []


def test_the_readme_shows_the_example_agent_word_for_word() -> None:
    shown = re.search(r"```python\n(.*?)```", README, re.DOTALL)
    assert shown is not None
    assert (ROOT / "examples/readme_agent.py").read_text(encoding="utf-8").partition("\n\n")[2] == shown[1]


def test_the_operations_page_shows_the_example_receiver_word_for_word() -> None:
    page = (ROOT / "docs/operations.md").read_text(encoding="utf-8")
    example = (ROOT / "examples/webhook_receiver.py").read_text(encoding="utf-8")
    assert f"```python\n{example.partition(chr(10) * 2)[2]}```" in page


@pytest.mark.process
def test_the_example_agent_pays_once_however_often_it_is_started(tmp_path: Path) -> None:
    """It is killed while people think; the next run pays as approved, and the one after that is told what was paid."""

    def run(gateway: RealGateway) -> subprocess.Popen[str]:
        environ = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT / "sdk"), "PYTHONUNBUFFERED": "1"}
        environ |= {"ASSENT_URL": gateway.url, "ASSENT_KEY": gateway.key}
        words = [sys.executable, str(ROOT / "examples/readme_agent.py")]
        return subprocess.Popen(words, env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    with RealGateway(tmp_path) as gateway:
        gateway.configure(AGENT_POLICY)
        first = run(gateway)
        asked = gateway.pending()
        first.kill()
        first.communicate()
        second = run(gateway)
        gateway.decide(asked, "approve")
        paid, _ = second.communicate(timeout=HANGS)
        told, _ = run(gateway).communicate(timeout=HANGS)
        states = [request["state"] for request in gateway.requests()]
    grant = re.fullmatch(r"paid 80000 CNY to Acme Ltd for INV-1042, key (\w+)\n", paid)
    assert grant is not None, paid
    assert grant[1] != "None"
    assert told == paid
    assert states == ["succeeded"]


AGENT_POLICY = """
org: acme
default: ask
people:
  wang@acme.example: {name: Wang}
groups:
  finance: [wang@acme.example]
ask: {stages: [{of: [finance]}], channels: [api]}
"""


# --- docs/configuration.md --------------------------------------------------------------------------------------------

CONFIGURATION = ROOT / "docs/configuration.md"


def test_every_variable_and_function_of_a_condition_is_named() -> None:
    page = CONFIGURATION.read_text(encoding="utf-8")
    assert {name for name in {*VARIABLES, *FUNCTIONS} if f"`{name}`" not in page} == set()


@pytest.mark.parametrize(
    "condition",
    [
        "now.getHours() == 23 && now.getMonth() == 0 && now.getDate() == 1 && now.getDayOfMonth() == 0",
        '(now + duration("8h")).getHours() == 7 && now.getDayOfWeek() == 4 && now.getDayOfYear() == 0',
        'double(args.amount) > 50000.0 && !has(args.memo) && args["odd name"] == 1 && args.n > 1.5',
    ],
)
def test_what_the_page_says_of_conditions_is_so(condition: str) -> None:
    page = CONFIGURATION.read_text(encoding="utf-8")
    assert '(now + duration("8h")).getHours()' in page
    scope = scope_of(
        arguments={"amount": "80000.50", "odd name": 1, "n": 2},
        agent="a",
        user=None,
        session=None,
        tool="pay",
        now=datetime(2026, 1, 1, 23, tzinfo=UTC),
    )
    assert compile_condition(condition).holds(scope)


def test_the_defaults_in_the_page_are_those_of_the_code() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| `?([^|`]*)`? \|", CONFIGURATION.read_text(encoding="utf-8"), re.MULTILINE))
    for model in [spec.settings for spec in PLATFORMS.values()]:
        for name, described in model.model_fields.items():
            if isinstance(described.default, str) and described.default and name not in {"receive", "language"}:
                assert rows[name] == str(described.default), name


def test_the_examples_of_the_page_load() -> None:
    blocks = re.findall(r"```yaml\n(.*?)```", CONFIGURATION.read_text(encoding="utf-8"), re.DOTALL)
    environ = {
        "SLACK_BOT_TOKEN": "xoxb-1-2-3",
        "SLACK_APP_TOKEN": "xapp-1-2-3",
        "FEISHU_APP_SECRET": "s" * 32,
        "OKTA_SECRET": "x",
    }
    assert blocks
    for block in blocks:
        assert load_policy(block, environ=environ, channel_types=PLATFORMS).policy.rules


def test_what_a_run_leaves_behind_is_neither_committed_nor_shipped() -> None:
    ignored = (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()
    left = {"assent.db", "assent.db-wal", "assent.db-shm", "assent.db.lock", "/assent.yaml"}
    assert left <= set(ignored)
    assert "**/assent.db*" in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()


HOOKS_PAGE = (ROOT / "docs/hooks.md").read_text(encoding="utf-8")


@pytest.mark.process
@pytest.mark.parametrize("block", re.findall(r"```python\n(.*?)```", HOOKS_PAGE, re.DOTALL))
def test_the_five_minutes_of_hooks_print_what_the_page_says(block: str, tmp_path: Path) -> None:
    lines = block.rstrip().splitlines()
    told = [line.removeprefix("# ") for line in lines[lines.index("asyncio.run(main())") + 1 :]]
    environ = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT / "sdk")}

    ran = subprocess.run(
        [sys.executable, "-c", block],
        cwd=tmp_path,
        env=environ,
        capture_output=True,
        text=True,
        timeout=HANGS,
        check=True,
    )

    assert told
    assert ran.stdout.splitlines() == told


def test_the_hooks_page_shows_a_configuration_without_fault() -> None:
    example = (ROOT / "examples/assent.yaml").read_text(encoding="utf-8")
    environ = {"SLACK_BOT_TOKEN": "xoxb-1-2-3", "SLACK_APP_TOKEN": "xapp-1-2-3", "FEISHU_APP_SECRET": "s" * 32}
    (shown,) = re.findall(r"```yaml\n(.*?)```", HOOKS_PAGE, re.DOTALL)

    loaded = load_policy(example + shown, environ=environ, channel_types=PLATFORMS)

    assert [declared.use or declared.command for declared in loaded.hooks] == [
        "command-guard",
        "path-guard",
        "rate-limit",
        "python check_payee.py",
        "redact",
        "result-truncate",
    ]
