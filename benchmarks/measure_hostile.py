"""N1: how long a neighbour waits while somebody else's call is the worst that is known for whoever reads it.

The inputs once held the gateway for seconds: a shell line of pipes, globs, `eval` upon `eval`, patterns that try
everything, lists that have to be unique, conditions within conditions, JSON of nothing but brackets or members.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from benchmarks.lean_http import Connection, encode
from benchmarks.processes import CONFIG, PAY, gateway
from benchmarks.results import Row, below, milliseconds, times
from benchmarks.run import known

if TYPE_CHECKING:
    from benchmarks.processes import Gateway
    from benchmarks.run import Run

_SIZE = 200_000
"""Characters of a hostile text, where the reader takes as many; a body may have 256 KiB."""
_EVERY = 0.002  # seconds between two calls of the neighbour's
_TOOLS = """
  exec: {}
  note: {}
  form:
    schema:
      properties:
        text: {type: string, pattern: "^([A-Za-z0-9]+[- ]?)+$"}
        items: {type: array, uniqueItems: true}
"""
_RULES = """
  - {id: pattern, tools: [form], when: 'args.text.matches("^([A-Za-z0-9]+[- ]?)+$")', then: allow}
  - {id: nested, tools: [form], when: 'args.items.exists(x, args.items.exists(y, y == x && y == args.text))',
     then: allow}
  - {id: any, tools: [exec, note, form], then: ask, stages: [{of: [finance], need: 1}], channels: [api], timeout: 24h}
"""


def hostile() -> dict[str, bytes | dict[str, Any]]:
    """Return the calls: a tool with its arguments, or a body that is no JSON."""
    letters = "a" * 83 + "!"
    return {
        "pipes": {"tool": "exec", "arguments": {"command": "a|" * (_SIZE // 2)}},
        "globs": {"tool": "exec", "arguments": {"command": f"cat ~/{'[' * _SIZE}"}},
        "evals": {"tool": "exec", "arguments": {"command": "eval " * (_SIZE // 5) + "ls"}},
        "substitutions": {"tool": "exec", "arguments": {"command": "$(" * 5_000 + "ls" + ")" * 5_000}},
        "quotes": {"tool": "exec", "arguments": {"command": "\"'" * (_SIZE // 4)}},
        "a pattern": {"tool": "form", "arguments": {"text": letters, "items": []}},
        "a long pattern": {"tool": "form", "arguments": {"text": "a" * _SIZE + "!", "items": []}},
        "a unique list": {"tool": "form", "arguments": {"text": "a", "items": [[each] for each in range(4_000)]}},
        "a condition in a condition": {"tool": "form", "arguments": {"text": "a", "items": list(range(4_000))}},
        "a text": {"tool": "note", "arguments": {"text": "a\u0301\u200b" * (_SIZE // 5)}},
        "what looks like secrets": {"tool": "note", "arguments": {"text": "key=sk-" * (_SIZE // 7)}},
        "members": {"tool": "note", "arguments": {f"m{each}": each for each in range(9_000)}},
        "depth": b'{"tool": "note", "arguments": ' + b"[" * _SIZE,
        "digits": b'{"tool": "note", "arguments": {"n": ' + b"9" * _SIZE + b"}}",
    }


async def measure_hostile(run: Run) -> list[Row]:
    """N1: the longest wait of a neighbour, of all that it called meanwhile, beside ordinary calls in their place."""
    rules = CONFIG.replace("default: deny", "default: deny\nguards: on")
    rules = rules.replace("\ntools:\n", f"\ntools:{_TOOLS}").replace("\nrules:\n", f"\nrules:{_RULES}")
    server = await gateway(run.databases.folder / "hostile", run.databases.new("sqlite"), rules=rules)
    worst = hostile()
    ordinary = [{"tool": "pay", "arguments": PAY}] * len(worst)
    longest = dict[str, float]()

    async def during(calls: dict[str, bytes | dict[str, Any]]) -> float:
        waited = {name: await _neighbours_wait(server, body) for name, body in calls.items()}
        longest.update({name: max(longest.get(name, 0.0), seconds) for name, seconds in waited.items()})
        return max(waited.values())

    async with server:
        await during({"first": ordinary[0]})  # what is made once is there now
        taken = await run.medians(
            "N1 a neighbour's longest wait",
            "ms",
            {
                "hostile": lambda: during(worst),
                "ordinary": lambda: during({f"ordinary {index}": body for index, body in enumerate(ordinary)}),
            },
            scale=1e3,
        )
    waited, beside = known(taken["hostile"]), known(taken["ordinary"])
    slowest = max(worst, key=longest.__getitem__)
    return [
        Row(
            id="N1",
            title=f"one hostile call ({len(worst)} kinds): longest wait of a neighbour, SQLite",
            measured=f"{milliseconds(waited)} ({slowest})",
            reference=f"beside an ordinary call {milliseconds(beside)}",
            ratio=times(waited, beside),
            must=(below(waited, 0.1, "100 ms"),),
            stretch=(below(waited, 0.02, "20 ms"),),
            figures={"hostile": waited, "ordinary": beside},
        )
    ]


async def _neighbours_wait(server: Gateway, body: bytes | dict[str, Any]) -> float:
    """Return the longest that a neighbour waits for an answer from the moment that a call is sent to its own end."""
    theirs, ours = await Connection.open(server.port), await Connection.open(server.port)
    asks = encode("POST", "/v1/requests", key=server.keys.agent, body={"tool": "read_ledger", "arguments": {}})
    head = encode("POST", "/v1/requests", key=server.keys.agent, body={})
    if isinstance(body, bytes):
        sent = head.replace(b"content-length: 2\r\n\r\n{}", b"content-length: %d\r\n\r\n%b" % (len(body), body))
    else:
        sent = encode("POST", "/v1/requests", key=server.keys.agent, body=body)
    waits: list[float] = []
    try:
        await theirs.send(asks)  # a connection's first call is slower
        answer = asyncio.ensure_future(ours.send(sent))
        while not answer.done() or len(waits) < 5:
            said = await theirs.send(asks)
            assert said.status == 200, said.content[:300]
            waits.append(said.at - said.sent_at)
            await asyncio.sleep(_EVERY)
        assert (await answer).status in {200, 202, 413, 422}, (await answer).content[:300]
    finally:
        theirs.close()
        ours.close()
    return max(waits)
