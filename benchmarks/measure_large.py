"""H3: the processor time that arguments of a megabyte cost on their way through the hook command and the MCP proxy."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import assent
from benchmarks.processes import CONFIG, gateway
from benchmarks.results import Row, at_most, milliseconds, times
from benchmarks.run import known

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.run import Run

SMALL, LARGE = 1_000, 1_000_000
_RULES = CONFIG.replace("read_ledger: {", "mcp__ledger__read_ledger: {writes: false}\n  read_ledger: {").replace(
    "[read_ledger]", "[read_ledger, mcp__ledger__read_ledger]"
)
_HOOK = str(Path(assent.__file__).parent / "hook_command.py")
_BARE = [sys.executable, "-I", "-S"]
_DECODES = """
import json, sys
sys.stdout.write(json.dumps(json.loads(sys.stdin.buffer.read())))
"""
"""What a megabyte costs at least: it is read, decoded, encoded and written once, as for the gateway."""
_RELAYS = """
import json, sys
for line in sys.stdin.buffer:
    call = json.loads(line)
    json.dumps(call)
    sys.stdout.write(json.dumps({"id": call["id"], "jsonrpc": "2.0", "result": {"content": []}}) + "\\n")
    sys.stdout.flush()
"""
"""The same for each line."""
_SERVES = """
import sys
for line in sys.stdin.buffer:
    sys.stdout.buffer.write(line[:40].split(b",")[0] + b',"jsonrpc":"2.0","result":{"content":[]}}\\n')
    sys.stdout.buffer.flush()
"""
"""A server that looks at the number of a call alone, so that its time is none."""


def arguments_of(size: int) -> dict[str, str]:
    """A text as an agent writes it into a file, of so many characters once it is JSON."""
    line = '        print(f"{name:>24}  {amount:,.2f}")\n'
    times_over = size // len(json.dumps(line))
    return {"month": "2026-03", "text": line * times_over}


async def measure_large(run: Run) -> list[Row]:
    """H3, H3b: what a megabyte costs beyond a kilobyte, beside a bare interpreter that decodes and encodes it once."""
    folder = run.databases.folder / "large"
    server = await gateway(folder, run.databases.new("sqlite"), rules=_RULES)
    config = folder / "agent.json"
    config.write_text(json.dumps({"url": f"http://127.0.0.1:{server.port}", "key": server.keys.agent}))
    config.chmod(0o600)
    hook = [*_BARE, _HOOK, "claude-code", "--config", str(config)]
    proxy = [sys.executable, _HOOK, "mcp", "--config", str(config), "--name", "ledger", "--", *_BARE, "-c", _SERVES]
    calls = max(4, int(20 * min(1.0, run.sizes.seconds)))

    async def a_hook(size: int, words: Sequence[str], expect: bytes) -> float:
        """The mean of some whole processes."""
        return sum(_run(words, _event(size), expect) for _ in range(calls)) / calls

    async def a_call(size: int, words: Sequence[str]) -> float:
        """One of many in one process: its start, and a first call, are taken off."""
        first = _talk(words, size, 1)
        return (_talk(words, size, calls + 1) - first) / calls

    async with server:
        of_hook = await run.medians(
            "H3 hook, processor time",
            "ms",
            {
                "1 KB": lambda: a_hook(SMALL, hook, b'"allow"'),
                "1 MB": lambda: a_hook(LARGE, hook, b'"allow"'),
                "bare, 1 KB": lambda: a_hook(SMALL, [*_BARE, "-c", _DECODES], b"tool_input"),
                "bare, 1 MB": lambda: a_hook(LARGE, [*_BARE, "-c", _DECODES], b"tool_input"),
            },
            scale=1e3,
        )
        of_proxy = await run.medians(
            "H3b MCP proxy, processor time of a call",
            "ms",
            {
                "1 KB": lambda: a_call(SMALL, proxy),
                "1 MB": lambda: a_call(LARGE, proxy),
                "bare, 1 KB": lambda: a_call(SMALL, [*_BARE, "-c", _RELAYS]),
                "bare, 1 MB": lambda: a_call(LARGE, [*_BARE, "-c", _RELAYS]),
            },
            scale=1e3,
        )
    return [
        _row("H3", "hook command, processor time with arguments of 1 MB, beyond 1 KB", of_hook, (3, 1.5)),
        _row(
            "H3b",
            "MCP proxy over stdio, processor time of a call with arguments of 1 MB, beyond 1 KB",
            of_proxy,
            (6, 4),
        ),
    ]


def _row(goal: str, title: str, taken: dict[str, float | None], goals: tuple[float, float]) -> Row:
    small, large = known(taken["1 KB"]), known(taken["1 MB"])
    more, bare = large - small, known(taken["bare, 1 MB"]) - known(taken["bare, 1 KB"])
    return Row(
        id=goal,
        title=title,
        measured=f"{milliseconds(more)} ({milliseconds(small)} → {milliseconds(large)})",
        reference=f"python that decodes and encodes it once {milliseconds(bare)}",
        ratio=times(more, bare),
        must=(at_most(more, goals[0], bare, "python"),),
        stretch=(at_most(more, goals[1], bare, "python"),),
        figures={"small": small, "large": large, "python": bare},
    )


def _processor_time() -> float:
    """Return the seconds of processor time that our children took which have ended, and theirs."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _run(words: Sequence[str], stdin: bytes, expect: bytes) -> float:
    """Run a command to its end, and return what it took of the processor."""
    before = _processor_time()
    said = subprocess.run(words, input=stdin, capture_output=True, check=True).stdout
    assert expect in said, said[:300]
    return _processor_time() - before


def _talk(words: Sequence[str], size: int, count: int) -> float:
    """Make so many calls one after the other, and return what the whole of it took of the processor."""
    before = _processor_time()
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for number in range(1, count + 1):
            process.stdin.write(_call(number, size))
            process.stdin.flush()
            said = process.stdout.readline()
            assert b'"result"' in said, said[:300]
            assert b"isError" not in said, said[:300]
        process.stdin.close()
    return _processor_time() - before


def _event(size: int) -> bytes:
    told = {
        "session_id": "s-1",
        "cwd": "/tmp",
        "hook_event_name": "PreToolUse",
        "tool_name": "read_ledger",
        "tool_input": arguments_of(size),
        "tool_use_id": "toolu_1",
    }
    return json.dumps(told).encode()


def _call(number: int, size: int) -> bytes:
    params = {"name": "read_ledger", "arguments": arguments_of(size)}
    return json.dumps({"id": number, "jsonrpc": "2.0", "method": "tools/call", "params": params}).encode() + b"\n"
