"""opencode's plugin, in the language that it is written in: it throws unless the hook says allow."""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from assent.command.hosts.table import HOSTS
from assent.command.setup.settings import plugin
from tests.fixtures.patience import HANGS
from tests.requirements import requirement

if TYPE_CHECKING:
    from tests.sdk.gateway_stub import StubGateway
    from tests.sdk.hook_process import HookLine

NODE = shutil.which("node")
pytestmark = [pytest.mark.process, pytest.mark.skipif(NODE is None, reason="node is not installed, which runs plugins")]
CALL = """
import { Assent } from "./assent.mjs";
const hooks = await Assent({ directory: "/w" });
const output = { args: { command: "ls", force: true } };
try {
  await hooks["tool.execute.before"]({ tool: "bash", sessionID: "s-1", callID: "o-1" }, output);
  await hooks["tool.execute.after"]({ tool: "bash", sessionID: "s-1", callID: "o-1", args: output.args }, {});
  console.log(JSON.stringify({ ran: output.args }));
} catch (error) {
  console.log(JSON.stringify({ thrown: error.message }));
}
"""


def start(hook: HookLine, text: str | None = None) -> subprocess.Popen[bytes]:
    assert NODE is not None
    (hook.folder / "assent.mjs").write_text(text or plugin(HOSTS["opencode"], config=str(hook.config())))
    (hook.folder / "call.mjs").write_text(CALL)
    return subprocess.Popen([NODE, "call.mjs"], cwd=hook.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def end(process: subprocess.Popen[bytes]) -> dict[str, Any]:
    try:
        out, err = process.communicate(timeout=HANGS)
    finally:
        process.kill()
    assert out, err
    return json.loads(out)


def test_an_approved_call_runs_as_people_left_it_and_its_outcome_is_told(gateway: StubGateway, hook: HookLine) -> None:
    process = start(hook)
    gateway.arrived("check")
    gateway.only.arguments = {"command": "ls -l"}
    gateway.decide("req_0001", "approved")
    assert end(process) == {"ran": {"command": "ls -l"}}
    assert gateway.only.state == "succeeded"


@requirement("S-08")
def test_a_denied_call_throws_with_words_for_the_model(gateway: StubGateway, hook: HookLine) -> None:
    gateway.rules["bash"] = "deny"
    assert "rule 'small' forbids" in end(start(hook))["thrown"]


@requirement("S-08")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("hook_command.py", "nothing.py"),
        ('"-I"', '"--no-such-option"'),
        ('"opencode", "--deadline"', '"gemini", "--deadline"'),
        ('const ask = ["', 'const ask = ["/nowhere'),
    ],
)
def test_a_hook_that_cannot_answer_throws(gateway: StubGateway, hook: HookLine, old: str, new: str) -> None:
    gateway.rules["bash"] = "allow"
    text = plugin(HOSTS["opencode"], config=str(hook.config()))
    assert old in text
    assert end(start(hook, text.replace(old, new)))["thrown"]
