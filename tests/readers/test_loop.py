"""The worst inputs, posted to a gateway that works: its event loop is never held for longer than a neighbour may wait.

What is measured is the loop's own work (the processor's time of its thread in one step), not the wall's time: a machine
that does other things besides changes nothing.
"""

from __future__ import annotations

import asyncio
import gc
import json
import sys
import time
from itertools import islice
from typing import TYPE_CHECKING, Any

import httpx2
import pytest

from app.domain.text.canonical import MAX_VALUES
from app.settings import Settings
from channels.feishu.simulator.server import serve
from tests.domain.exhibit_files import a_file, a_link, jpeg
from tests.fixtures.gateway import open_gateway
from tests.fixtures.patience import HANGS
from tests.fixtures.review_visits import Visitor, with_url
from tests.readers.measure import LARGEST, SIZES
from tests.readers.readers import READERS
from tests.readers.worst import kept
from tests.requirements import requirement

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator
    from pathlib import Path

    from tests.fixtures.memory_platform import MemoryPlatform

MOST_BYTES: int = Settings.model_fields["max_call_bytes"].default
MOST_SECONDS = 0.1 if sys.gettrace() is None else 0.4  # coverage looks at every line: that is no work of ours
HOLDS = """
  - {id: pattern, tools: [t], when: 'args.text.matches("^([A-Za-z0-9]+[- ]?)+$")', then: allow}
  - {id: nested, tools: [t], when: 'args.items.exists(x, args.items.exists(y, x == y && y == args.text))', then: allow}
  - {id: members, tools: [t], when: 'args.items.all(x, x in args.items)', then: allow}
  - {id: any, tools: [t, u, exec, read, glob, apply_patch], then: ask, stages: [{of: [finance]}], channels: [chat, api]}
"""
SCHEMA = """
  u: {}
  exec: {}
  read: {}
  glob: {}
  apply_patch: {}
  t:
    title: "Do {text} {items}"
    sensitive: [secret]
    schema:
      properties:
        text: {type: string, pattern: "^([A-Za-z0-9]+[- ]?)+$"}
        items: {type: array, uniqueItems: true, items: {anyOf: [{type: string, pattern: "^(a+)+$"}, {}]}}
      patternProperties: {"^(x+)+$": {type: string}}
"""


def items(text: str) -> list[str]:
    return list(text)[: MAX_VALUES // 2]


CALLS: dict[str, Callable[[str], tuple[str, dict[str, Any]]]] = {
    "shell": lambda text: ("exec", {"command": text}),
    "command guard": lambda text: ("exec", {"command": text}),
    "command guard, words": lambda text: ("exec", {"argv": text.split()[: MAX_VALUES // 2]}),
    "command guard, statement": lambda text: ("exec", {"argv": ["cloudctl", "-e", text]}),
    "command guard, verbs": lambda text: ("exec", {"argv": ["cloudctl", *text.split()[: MAX_VALUES // 2]]}),
    "command guard, sent": lambda text: ("exec", {"argv": ["curl", "-X", "POST", f"https://x.io/{text}"]}),
    "path guard, command": lambda text: ("exec", {"command": text}),
    "path guard, path": lambda text: ("read", {"path": text}),
    "path guard, paths": lambda text: ("read", {"paths": text.split("a")[: MAX_VALUES // 2]}),
    "path guard, glob": lambda text: ("glob", {"pattern": text, "path": "/home/u"}),
    "path guard, patch": lambda text: ("apply_patch", {"patch": text}),
    "redaction": lambda text: ("u", {"text": text}),
    "look-alikes": lambda text: ("u", {"text": text}),
    "visible text": lambda text: ("u", {"text": text, text[:200]: text[:200]}),
    "value": lambda text: ("u", {"text": text[: len(text) // 2], "items": items(text)}),
    "call": lambda text: ("t", {"text": text, "items": items(text), "secret": text[:200]}),
    "conditions": lambda text: ("t", {"text": text, "items": items(text)}),
    "schema, text": lambda text: ("t", {"text": text}),
    "schema, list": lambda text: ("t", {"items": [[char] for char in items(text)[: MAX_VALUES // 3]]}),
    "schema, members": lambda text: ("t", dict.fromkeys(text.split("a")[: MAX_VALUES // 2], text[:50])),
}


def body_of(reader: str, text: str) -> bytes:
    """Return the body that brings a text before this reader."""
    if reader == "json":
        return b'{"tool": "u", "arguments": {"a": [' + text.encode()
    if reader == "evidence":
        brought = [a_file(jpeg(scan=text.encode()), "image/jpeg", "a.jpg"), a_link(f"https://a.example/{text[:3_000]}")]
        return json.dumps({"tool": "u", "arguments": {}, "evidence": brought}).encode()
    tool, arguments = CALLS[reader](text)
    return json.dumps({"tool": tool, "arguments": arguments}, ensure_ascii=False).encode()


def bodies(sizes: tuple[int, ...], each: int) -> Iterator[tuple[str, bytes]]:
    """Yield one of `each` inputs that were once too much, in these sizes (or as large as may be), and what it is."""
    for reader, shape in islice(kept(), 0, None, each):
        for size in sizes:
            fitting = size
            while len(body := body_of(reader, shape.of(fitting))) > MOST_BYTES:
                fitting = fitting * 9 // 10
            yield f"{reader}, {size}: {shape}", body


class Steps:
    """What the steps of a loop cost its thread."""

    def __init__(self) -> None:
        self.longest = 0.0

    def take(self) -> float:
        """Return the longest step since the last time, and begin anew."""
        longest, self.longest = self.longest, 0.0
        return longest


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> Iterator[Steps]:
    """Measure every step of the loop."""
    steps, plain = Steps(), asyncio.events.Handle._run

    def run(handle: asyncio.Handle) -> None:
        began = time.thread_time()
        plain(handle)
        steps.longest = max(steps.longest, time.thread_time() - began)

    monkeypatch.setattr(asyncio.events.Handle, "_run", run)
    if sys.gettrace() is not None:  # a page takes coverage so long, beside others, that the database is held for silent
        monkeypatch.setattr("app.storage.engine.watch.Watch._look", lambda _: None)
    gc.collect()
    gc.freeze()  # what the tests before left behind is looked through by no step of this one
    yield steps
    gc.unfreeze()


def test_every_reader_has_its_call() -> None:
    assert {*CALLS, "json", "evidence"} == set(READERS)


@requirement("S-61")
@pytest.mark.heavy
@pytest.mark.may_block
@pytest.mark.parametrize(
    ("sizes", "each"),
    [
        pytest.param((28_000,), 4, id="some"),
        pytest.param((28_000,), 1, marks=pytest.mark.whole, id="small"),
        pytest.param((LARGEST,), 1, marks=pytest.mark.whole, id="largest"),
        pytest.param(SIZES, 1, marks=[pytest.mark.long, pytest.mark.timeout(3600)], id="all"),
    ],
)
async def test_no_call_holds_the_loop_for_longer_than_a_neighbour_may_wait(
    sqlite_url: str, config: Path, platform: MemoryPlatform, steps: Steps, sizes: tuple[int, ...], *, each: int
) -> None:
    file = config / "acme.yaml"
    text = file.read_text().replace("default: deny\n", "default: deny\nguards: on\n")
    file.write_text(text.replace("\ntools:\n", f"\ntools:{SCHEMA}").replace("\nrules:\n", f"\nrules:{HOLDS}"))
    more: dict[str, Any] = {"max_pending_per_agent": 10_000, "max_cards_per_agent": 10_000, "calls_per_second": 1e9}
    async with (
        open_gateway(sqlite_url, config, platform, **more) as g,
        serve(g.app) as address,
        httpx2.AsyncClient(base_url=address, timeout=HANGS) as http,
    ):
        headers = await g.key("agent:shop") | {"content-type": "application/json"}
        for reader in READERS:  # what is made once is there now
            await http.post("/v1/requests", content=body_of(reader, "ab a"), headers=headers)
        await g.quiet()
        slow, said = dict[str, float](), set[int]()
        for name, body in bodies(sizes, each):
            steps.take()
            said.add((await http.post("/v1/requests", content=body, headers=headers)).status_code)
            await g.quiet()
            if (longest := steps.take()) > MOST_SECONDS:
                slow[name] = round(longest, 3)
    assert not slow
    assert 202 in said
    assert said <= {200, 202, 422}


BIG = {
    "letters": "x",
    "accents": "é",
    "unseen": "\u200b",
    "escaped": '"\\',
    "lines": "\n",
    "letters of others": "\u0430b",
    "far": "𝔸",
    "marks": "e\u0301",
}
"""Of each as much as makes a megabyte of a body."""
SAMPLE = {"lines"}


@requirement("S-61", "S-32")
@pytest.mark.heavy
@pytest.mark.may_block
@pytest.mark.parametrize(
    "shape", [pytest.param(shape, marks=() if shape in SAMPLE else pytest.mark.whole) for shape in BIG]
)
async def test_a_call_of_a_megabyte_holds_the_loop_nowhere_on_its_way(
    sqlite_url: str, config: Path, platform: MemoryPlatform, steps: Steps, shape: str
) -> None:
    file = with_url(config) / "acme.yaml"
    asks = "{id: any, tools: [u], then: ask, stages: [{of: [finance], allow_editor: true}], channels: [chat, api]}"
    text = file.read_text().replace("default: deny\n", "default: deny\nguards: on\n")
    file.write_text(text.replace("\ntools:\n", "\ntools:\n  u: {}\n").replace("\nrules:\n", f"\nrules:\n  - {asks}\n"))
    again = BIG[shape]
    cost = len(json.dumps(again, ensure_ascii=False).encode()) - 2
    arguments = {"text": again * (1_040_000 // cost)}
    more: dict[str, Any] = {"calls_per_second": 1e9}
    async with open_gateway(sqlite_url, config, platform, **more) as g:
        visitor = Visitor(gateway=g)
        slow, sent = dict[str, float](), json.dumps({"tool": "u", "arguments": arguments}, ensure_ascii=False).encode()
        agent, json_type = await g.key("agent:shop"), {"content-type": "application/json"}

        async def within(what: str, call: Awaitable[httpx2.Response], status: int) -> httpx2.Response:
            steps.take()
            said = await call
            await g.quiet()
            assert said.status_code == status, said.text[:500]
            if (longest := steps.take()) > MOST_SECONDS:
                slow[what] = round(longest, 3)
            return said

        small = await g.ask("u", {"text": "ab"})  # what is made once is there now
        asked = await within("ask", g.http.post("/v1/requests", content=sent, headers=agent | json_type), 202)
        request = asked.json()["request"]
        path = f"/v1/requests/{request['id']}"
        await within("read", g.call("GET", path), 200)
        await within("list", g.call("GET", "/v1/requests?open=true"), 200)
        await within("events", g.call("GET", f"{path}/events"), 200)
        await visitor.visit(small)
        await visitor.enter((await visitor.link(request)).json()["url"])
        await within("page", visitor.look(request), 200)
        edited = json.dumps(
            {"verdict": "approve", "digest": request["digest"], "arguments": {"text": again + arguments["text"][:-20]}},
            ensure_ascii=False,
        )
        alice = await g.key("alice@acme.example")
        await within("edit", g.http.post(f"{path}/decisions", content=edited.encode(), headers=alice | json_type), 200)
        await within("page of it", visitor.look(request), 200)
        now = (await g.call("GET", path)).json()
        await within("claim", g.claim(now), 200)
        await within("outcome", g.report(now), 200)
    assert not slow
