"""`assent check` and `assent hooks list`, as real processes: calls in, answers out, nothing touched."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any, get_args

import pytest

from app.cli.commands import Scopes
from app.domain.identity.api_key import Scope
from tests.fixtures import forked
from tests.fixtures.patience import HANGS
from tests.places import ROOT

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.process

BOUND = HANGS

RULES = """\
org: acme
default: allow
people: {wang@acme.example: {}}
groups: {finance: [wang@acme.example]}
ask: {stages: [{of: [finance]}], channels: [pay-slack]}
channels:
  pay-slack: {type: slack, bot_token: "${NO_SUCH_TOKEN}", signing_secret: "${NO_SUCH_SECRET}", channel: C0PAY0001}
tools:
  pay: {schema: {type: object, properties: {amount: {type: integer}, payee: {type: string}}, required: [amount]}}
  wipe: {requires_confirmation: true}
  bash:
  note:
rules:
  - {id: frozen, tools: [pay], when: 'has(args.payee) && args.payee == "Evil Ltd"', then: deny, reason: Frozen.}
  - {id: large, tools: [pay], when: args.amount > 100, then: ask}
  - {id: buyers, tools: [note], agents: [buyer], then: deny, reason: Buyers take no notes.}
  - {id: everyone, tools: [note], agents: ["*"], then: deny, reason: Nobody takes notes.}
hooks:
  - {on: PreToolUse, tools: [pay], agents: [checked], python: trial_hooks.cap}
  - {on: PreToolUse, tools: [bash], python: trial_hooks.sandboxed, id: sandboxed}
  - {on: PreToolUse, tools: [note], agents: [asker], python: trial_hooks.asking}
  - {on: PreToolUse, tools: [wipe], agents: [broken], command: exit 7, id: scan}
  - {on: PostToolUse, use: result-truncate, options: {limit: 500}}
agents:
  buyer: {}
  checked: {}
  asker: {}
  broken: {}
  intern: {confirm_all_tools: true, hooks: [{on: PreToolUse, use: read-only, id: quiet, priority: 150}]}
webhooks: {siem: {url: "${NO_SUCH_URL}", secret: "${NO_SUCH_SECRET}", kinds: ["request.*"]}}
"""

HOOKS = """\
from assent.hooks.contract.verdicts import ask, deny, modify, route

def cap(ctx):
    if ctx.args["amount"] > 1000:
        return deny("more than 1000")
    return modify({**ctx.args, "amount": 50}) if ctx.args["amount"] > 50 else None

def sandboxed(ctx):
    return route("local")

def asking(ctx):
    return ask("notes are long")
"""


class Desk:
    """A folder with a configuration and its hooks, and a terminal in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "rules.yaml").write_text(RULES)
        (folder / "trial_hooks.py").write_text(HOOKS)
        self.environ = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT), str(ROOT / "sdk")]),
            "ASSENT_DATABASE_URL": "sqlite:////nowhere/at/all.db",
        }

    def run(self, *words: str, stdin: str = "", flags: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
        if not flags:
            return forked.run("app.cli.main", *words, env=self.environ, cwd=self.folder, stdin=stdin, timeout=BOUND)
        return subprocess.run(
            [sys.executable, *flags, "-m", "app.cli.main", *words], input=stdin, env=self.environ, cwd=self.folder,
            capture_output=True, text=True, timeout=BOUND, check=False,
        )  # fmt: skip

    def check(self, *calls: dict[str, Any], words: tuple[str, ...] = ("--config", "rules.yaml")) -> list[Any]:
        done = self.run("check", *words, stdin="".join(f"{json.dumps(call)}\n" for call in calls))
        assert (done.returncode, done.stderr) == (0, "")
        return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


# fmt: off
CALLS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"tool": "pay", "args": {"amount": 5}}, {"decision": "allow", "rule": "default"}),
    ({"tool": "pay", "args": {"amount": 5, "payee": "Evil Ltd"}},
     {"decision": "deny", "rule": "frozen", "reason": "Frozen."}),
    ({"tool": "pay", "args": {"amount": 500}}, {"decision": "ask", "rule": "large"}),
    ({"tool": "pay", "args": {}}, {"decision": "deny", "rule": "arguments"}),
    ({"tool": "pay", "args": {"amount": "5"}}, {"decision": "deny", "rule": "arguments"}),
    # hooks first, and the rules on what they leave
    ({"tool": "pay", "args": {"amount": 5000}, "agent": "checked"},
     {"decision": "deny", "hook": "cap", "reason": "more than 1000"}),
    ({"tool": "pay", "args": {"amount": 500}, "agent": "checked"},
     {"decision": "allow", "rule": "default", "args": {"amount": 50}}),
    ({"tool": "pay", "args": {"amount": 500, "payee": "Evil Ltd"}, "agent": "checked"},
     {"decision": "deny", "rule": "frozen", "reason": "Frozen."}),
    ({"tool": "pay", "args": {"amount": 20}, "agent": "checked"}, {"decision": "allow", "rule": "default"}),
    # deny before ask before route before allow
    ({"tool": "note", "args": {}, "agent": "asker"}, {"decision": "deny", "rule": "everyone"}),
    ({"tool": "bash", "args": {"command": "make"}}, {"decision": "route", "hook": "sandboxed"}),
    ({"tool": "bash", "args": {"command": "make"}, "agent": "intern"},
     {"decision": "deny", "rule": "confirm-all-tools"}),  # nothing carries a sandbox past an approval
    ({"tool": "wipe", "args": {}}, {"decision": "ask", "rule": "requires-confirmation"}),
    ({"tool": "wipe", "args": {}, "agent": "broken"}, {"decision": "deny", "hook": "scan"}),
    # agents
    ({"tool": "note", "args": {}}, {"decision": "allow", "rule": "default"}),
    ({"tool": "note", "args": {}, "agent": "buyer"}, {"decision": "deny", "rule": "buyers"}),
    ({"tool": "note", "args": {}, "agent": "other"}, {"decision": "deny", "rule": "everyone"}),
]
# fmt: on


def test_calls_are_answered_as_the_file_says(desk: Desk) -> None:
    told = desk.check(*(call for call, _ in CALLS))
    assert len(told) == len(CALLS)
    for (call, expected), answer in zip(CALLS, told, strict=True):
        assert {key: answer.get(key) for key in expected} == expected, call
        assert answer["reason"], call
        assert set(answer) - {"decision", "reason", "hook", "rule", "args"} == set(), call
        assert ("args" in answer) == ("args" in expected), call
        assert ("hook" in answer) != ("rule" in answer), call


def test_a_hook_that_asks_is_named(desk: Desk) -> None:
    (desk.folder / "rules.yaml").write_text(RULES.replace('agents: ["*"], then: deny', "agents: [nobody], then: deny"))
    [told] = desk.check({"tool": "note", "args": {}, "agent": "asker"})
    assert told == {
        "decision": "ask",
        "reason": "The hook asking wants people to be asked: “notes are long”.",
        "hook": "asking",
    }


def test_verbose_says_on_standard_error_what_hooks_did_and_nothing_of_what_passed(desk: Desk) -> None:
    calls = ['{"tool": "bash", "args": {"command": "rm -rf /"}}', '{"tool": "bash", "args": {"command": "ls"}}']

    done = desk.run("check", "--verbose", stdin="\n".join(calls))

    assert done.stderr == "[PreToolUse] command-guard blocked exec: rm / deletes the root of the file system\n"
    assert [json.loads(line)["decision"] for line in done.stdout.splitlines()] == ["deny", "allow"]


def test_without_a_file_the_ready_guards_stand_alone(desk: Desk) -> None:
    (desk.folder / "assent.yaml").write_text("org: acme\ndefault: deny\n")
    told = desk.check(
        {"id": "1", "tool": "bash", "args": {"command": "rm -rf /"}, "expect": "block"},
        {"id": "2", "tool": "exec", "args": {"command": "ls -la /tmp"}},
        {
            "tool": "read",
            "args": {"file_path": "/home/wang/.ssh/id_ed25519"},
            "cwd": "/work",
            "user": "w",
            "agent": "a",
        },
        {"tool": "pay", "args": {"amount": 5}},
        words=(),
    )
    assert [(answer["decision"], answer.get("hook")) for answer in told] == [
        ("deny", "command-guard"),
        ("allow", None),
        ("deny", "path-guard"),
        ("allow", None),
    ]


def test_a_bad_line_is_told_with_its_number_and_the_others_go_on(desk: Desk) -> None:
    good = json.dumps({"tool": "pay", "args": {"amount": 1}})
    lines = [
        good,
        "not json",
        '{"tool": "pay"}',
        '{"args": {}}',
        '{"tool": " ", "args": {}}',
        '{"tool": "pay", "args": []}',
        '{"tool": "pay", "args": {}, "agent": 3}',
        '{"tool": "pay", "tool": "note", "args": {}}',
        "[]",
        "",
        good,
    ]
    done = desk.run("check", "--config", "rules.yaml", stdin="\n".join(lines))
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 1
    assert [answer.get("line") for answer in told] == [None, 2, 3, 4, 5, 6, 7, 8, 9, None]
    assert all(answer["error"] for answer in told[1:-1])
    assert [told[0]["decision"], told[-1]["decision"]] == ["allow", "allow"]
    assert "Traceback" not in done.stderr


@pytest.mark.heavy
def test_each_answer_comes_before_the_next_call_is_asked(desk: Desk) -> None:
    words = [sys.executable, "-m", "app.cli.main", "check", "-c", "rules.yaml"]
    with subprocess.Popen(
        words, env=desk.environ, cwd=desk.folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for amount, decision in ((1, "allow"), (500, "ask")):
            process.stdin.write(json.dumps({"tool": "pay", "args": {"amount": amount}}) + "\n")
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["decision"] == decision
        process.stdin.close()
        assert process.wait(timeout=BOUND) == 0


@pytest.mark.parametrize("words", [(), pytest.param(("--config", "rules.yaml"), marks=pytest.mark.heavy)])
def test_checking_loads_neither_server_nor_database_nor_chat(desk: Desk, words: tuple[str, ...]) -> None:
    done = desk.run("check", *words, stdin='{"tool": "note", "args": {}}\n', flags=("-X", "importtime"))
    loaded = {line.rpartition("|")[2].strip().partition(".")[0] for line in done.stderr.splitlines()}
    assert done.returncode == 0, done.stderr[-2000:]
    assert "assent" in loaded
    assert not loaded & {"fastapi", "starlette", "uvicorn", "sqlalchemy", "psycopg", "slack_sdk", "lark_oapi"}
    assert sorted(path.name for path in desk.folder.iterdir() if path.name != "__pycache__") == [
        "rules.yaml",
        "trial_hooks.py",
    ]


@pytest.mark.parametrize("words", [("check",), ("hooks", "list")])
def test_a_faulty_file_is_told_and_nothing_is_answered(desk: Desk, words: tuple[str, ...]) -> None:
    (desk.folder / "rules.yaml").write_text(RULES.replace("trial_hooks.cap", "trial_hooks.cop"))
    done = desk.run(*words, "--config", "rules.yaml", stdin='{"tool": "note", "args": {}}\n')
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("rules.yaml:19: hooks[0].python: trial_hooks has no 'cop'; did you mean 'cap'?")


def test_every_scope_of_a_key_can_be_asked_for() -> None:
    assert set(get_args(Scopes)) == {scope.value for scope in Scope}


def rows(text: str) -> list[list[str]]:
    return [re.split(r"\s{2,}", line) for line in text.splitlines()]


def test_the_hooks_of_a_call_are_listed_in_their_order(desk: Desk) -> None:
    done = desk.run("hooks", "list", "-c", "rules.yaml", "--tool", "Bash", "--agent", "intern")
    assert done.returncode == 0, done.stderr
    assert rows(done.stdout) == [
        ["id", "moment", "priority", "for", "on_error", "timeout", "origin"],
        ["quiet", "PreToolUse", "150", "every tool; agents: intern", "deny", "30s", "rules.yaml:29"],
        ["read-only", "PreToolUse", "100", "every tool", "deny", "30s", "built in"],
        ["sandboxed", "PreToolUse", "0", "bash", "deny", "30s", "rules.yaml:20"],
        ["result-truncate", "PostToolUse", "10", "every tool", "deny", "30s", "rules.yaml:23"],
        ["result-truncate-failures", "PostToolUseFailure", "10", "every tool", "deny", "30s", "rules.yaml:23"],
    ]


def test_the_list_can_be_narrowed_to_a_moment(desk: Desk) -> None:
    done = desk.run("hooks", "list", "-c", "rules.yaml", "--moment", "PostToolUse")
    assert [row[0] for row in rows(done.stdout)] == ["id", "result-truncate"]
    wrong = desk.run("hooks", "list", "-c", "rules.yaml", "--moment", "PostTolUse")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert wrong.stderr == 'unknown moment "PostTolUse"; did you mean "PostToolUse"?\n'


def test_without_a_file_the_ready_guards_are_listed(desk: Desk) -> None:
    done = desk.run("hooks", "list")
    assert [(row[0], row[2], row[-1]) for row in rows(done.stdout)[1:]] == [
        ("command-guard", "100", "built in"),
        ("path-guard", "99", "built in"),
    ]
