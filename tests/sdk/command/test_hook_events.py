"""Events that no host should write, on the real command before a gateway that allows everything: never an allow."""

from __future__ import annotations

import json
import os
import resource
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from tests.requirements import requirement
from tests.sdk.command.payloads import SAMPLES
from tests.sdk.hook_process import HookLine, event

if TYPE_CHECKING:
    from pathlib import Path

    from tests.sdk.gateway_stub import StubGateway

pytestmark = [pytest.mark.process, requirement("S-08", "S-61")]
ASKING = {sample.host: sample for sample in SAMPLES if not sample.kind}


def spoilt(raw: dict[str, Any]) -> dict[str, bytes]:
    """A host's event, spoilt in each way that is not its members' types (`test_payload_shapes` has those)."""
    whole = json.dumps(raw).encode()
    twice = whole.replace(b'"ls"', b'"ls", "command": "rm -rf /"', 1)
    return {
        "half": whole[: len(whole) // 2],
        "without its last byte": whole[:-1],
        "with more behind": whole + whole,
        "with a byte order mark": b"\xef\xbb\xbf" + whole,
        "UTF-16": whole.decode().encode("utf-16"),
        "a byte that is no UTF-8": b'{"x":"l\xff",' + whole[1:],
        "a bare NUL": b'{"x":"l\x00s",' + whole[1:],
        "a bare line break": b'{"x":"l\ns",' + whole[1:],
        "in a list": b"[" + whole + b"]",
        "in a text": json.dumps(whole.decode()).encode(),
        **({} if twice == whole else {"a key twice, inside": twice}),
        "a key twice": b'{"x":1,"x":2,' + whole[1:],
        "a whole number of 5,000 digits": b'{"x":' + b"1" * 5_000 + b"," + whole[1:],
        "nested without end": b'{"x":' + b"[" * 50_000 + b"," + whole[1:],
        "values without end": b'{"x":[' + b"{}," * 600_000 + b"1]," + whole[1:],
    }


@pytest.mark.parametrize("host", ASKING)
@pytest.mark.sampled(2)
def test_a_spoilt_event_never_lets_a_tool_run(gateway: StubGateway, tmp_path: Path, host: str) -> None:
    sample = ASKING[host]
    gateway.rules.update(dict.fromkeys((sample.tool, "Bash", "Shell"), "allow"))
    line = HookLine(url=gateway.url, folder=tmp_path, host=host)
    for how, content in spoilt(sample.raw).items():
        said = line.run(content)
        assert (how, said.code, said.out) == (how, 2, b"")
        assert "Not approved" in said.err
        assert "sys.set_int_max_str_digits" not in said.err  # the model can do nothing with it
    assert gateway.seen == []


@pytest.mark.parametrize("host", ["claude-code", "codex"])
@pytest.mark.parametrize("wrong", [{"tool_input": 7}, {"tool_name": ""}, {"session_id": 5}])
def test_where_an_exit_code_is_not_heeded_the_no_is_an_answer(
    gateway: StubGateway, tmp_path: Path, host: str, wrong: dict[str, Any]
) -> None:
    raw = {**json.loads(event(moment="PermissionRequest")), **wrong}
    said = HookLine(url=gateway.url, folder=tmp_path, host=host).run(json.dumps(raw).encode())
    assert said.code == 0
    assert said.answer["decision"]["behavior"] == "deny"
    assert "the event has no" in said.answer["decision"]["message"]


def test_an_event_of_too_many_values_is_refused_before_it_takes_memory(hook: HookLine) -> None:
    content = event().replace(b'"touch marker"', b'"' + b"," * 600_000 + b'", "x": [' + b"{}," * 4_000_000 + b"1]")
    process = subprocess.Popen(
        hook.words(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={"PATH": os.environ["PATH"]},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (200 << 20, 200 << 20)),  # noqa: PLW1509 - one thread
    )
    out, err = process.communicate(content, timeout=30)
    assert (process.returncode, out) == (2, b"")
    assert b"more values than a hook keeps (500000)" in err


def test_a_text_full_of_commas_is_no_list_of_values(gateway: StubGateway, hook: HookLine) -> None:
    gateway.rules["Bash"] = "allow"
    text = '\\"' + ",[{" * 170_000
    assert hook.run(event(arguments={"command": text})).decision == "allow"
    assert gateway.seen[0][1]["tool_input"] == {"command": text}
