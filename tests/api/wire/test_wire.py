"""The wire itself: problem documents, the OpenAPI document, hostile bodies, floods, and the order of checks."""

from __future__ import annotations

import asyncio
import gc
import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import httpx2
import pytest
import structlog

from app.api.wire import bodies
from app.api.wire.problems import STATUS
from app.domain import errors
from app.domain.errors import AssentError
from app.usecases.judging import judge_call
from assent.hooks.ready.off_loop import off_loop
from channels.feishu.simulator.server import serve
from tests.fixtures.gateway import PAY, open_gateway
from tests.fixtures.patience import HANGS
from tests.requirements import requirement

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from pathlib import Path

    from tests.fixtures.gateway import Gateway
    from tests.fixtures.memory_platform import MemoryPlatform

MEDIA = "application/problem+json"


def _tree(error: type[AssentError]) -> Iterator[type[AssentError]]:
    yield error
    for child in error.__subclasses__():
        yield from _tree(child)


# --- problems and OpenAPI ---------------------------------------------------------------------------------------------


def test_every_error_has_a_row_a_code_of_its_own_and_a_title() -> None:
    ours = [error for error in _tree(AssentError) if error.__module__ == errors.__name__]
    assert set(ours) <= set(STATUS)
    codes = [error.code for error in ours]
    assert len(set(codes)) == len(codes)
    assert all(error.title().endswith(".") for error in ours)
    assert all(400 <= status < 600 for status in STATUS.values())


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/no/such/path", 404),
        ("PUT", "/v1/requests", 405),
        ("GET", "/v1/requests/req_unknown", 404),
        ("GET", "/v1/requests?limit=many", 422),
        ("GET", "/v1/requests?cursor=%00", 422),
        ("GET", "/v1/requests?cursor=OTk5OTk5OTk5OTk5OTk5OTk5OTk5OTk5OTk5OTk6eA==", 422),
        ("GET", "/v1/requests?status=maybe", 422),
        ("GET", "/v1/requests/req_unknown?wait=nan", 422),
        ("GET", "/v1/requests/req_unknown?wait=1&since=x", 422),
        ("GET", "/v1/requests/req_unknown?since=x", 422),
        ("GET", "/v1/audit?afetr=1", 422),
        ("GET", "/v1/audit?after=x", 422),
        ("GET", "/v1/audit?after=-1", 422),
        ("GET", "/v1/requests/%00", 404),
        ("GET", "/v1/requests/%ED%A0%80", 422),
        ("GET", "/v1/policies/%00", 404),
    ],
)
@pytest.mark.sampled(4)
async def test_every_fault_is_a_problem_document(either_gateway: Gateway, method: str, path: str, status: int) -> None:
    who = "auditor"
    said = await either_gateway.call(method, path, who=who)
    assert (said.status_code, said.headers["content-type"]) == (status, MEDIA), said.text
    body = said.json()
    assert {"type", "title", "status", "detail", "instance", "code"} <= set(body)
    assert body["status"] == status
    assert body["type"] == f"urn:assent:problem:{body['code']}"


async def test_openapi_names_every_route_its_bodies_and_its_problems(gateway: Gateway) -> None:
    document = (await gateway.http.get("/openapi.json")).json()
    operations = {
        (method.upper(), path): operation
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    }
    assert set(operations) == {
        ("POST", "/v1/requests"),
        ("GET", "/v1/requests"),
        ("GET", "/v1/requests/{request_id}"),
        ("GET", "/v1/requests/{request_id}/events"),
        ("POST", "/v1/requests/{request_id}/decisions"),
        ("POST", "/v1/requests/{request_id}/review-link"),
        ("POST", "/v1/requests/{request_id}/cancel"),
        ("POST", "/v1/requests/{request_id}/reconcile"),
        ("GET", "/v1/requests/{request_id}/evidence/{number}"),
        ("POST", "/v1/requests/{request_id}/lift"),
        ("POST", "/v1/requests/{request_id}/handover"),
        ("POST", "/v1/requests/{request_id}/approvers"),
        ("POST", "/v1/requests/{request_id}/questions"),
        ("POST", "/v1/requests/{request_id}/questions/{question_id}/answer"),
        ("POST", "/v1/requests/{request_id}/remind"),
        ("POST", "/v1/requests/{request_id}/extend"),
        ("POST", "/v1/requests/{request_id}/reopen"),
        ("POST", "/v1/requests/{request_id}/claim"),
        ("POST", "/v1/requests/{request_id}/outcome"),
        ("POST", "/v1/hooks/{event}"),
        ("POST", "/v1/channels/{name}/callback"),
        ("GET", "/v1/events"),
        ("GET", "/v1/audit"),
        ("GET", "/v1/policies/{version}"),
        ("GET", "/v1/keys"),
        ("POST", "/v1/keys"),
        ("DELETE", "/v1/keys/{key_id}"),
        ("GET", "/v1/factors"),
        ("POST", "/v1/factors/invitations"),
        ("POST", "/v1/factors/enrol"),
        ("POST", "/v1/factors/confirm"),
        ("DELETE", "/v1/factors/{person}"),
        ("DELETE", "/v1/factors/{person}/passkeys/{passkey_id}"),
        ("GET", "/v1/switches"),
        ("PUT", "/v1/switches/read-only"),
        ("PUT", "/v1/switches/pause"),
        ("GET", "/v1/standing-approvals"),
        ("POST", "/v1/standing-approvals"),
        ("POST", "/v1/standing-approvals/{standing_id}/confirm"),
        ("DELETE", "/v1/standing-approvals/{standing_id}"),
        ("GET", "/v1/break-glass"),
        ("POST", "/v1/break-glass"),
        ("POST", "/v1/break-glass/{glass_id}/confirm"),
        ("POST", "/v1/break-glass/{glass_id}/end"),
        ("POST", "/v1/break-glass/{glass_id}/review"),
        ("GET", "/v1/payees"),
        ("PUT", "/v1/payees"),
        ("DELETE", "/v1/payees"),
        ("GET", "/healthz"),
        ("GET", "/readyz"),
        ("GET", "/metrics"),
    }
    missing = {
        route: sorted({"401", "422", "503"} - set(operation["responses"]))
        for route, operation in operations.items()
        if route[1].startswith("/v1/") and not {"401", "422", "503"} <= set(operation["responses"])
    }
    assert not missing
    for route, operation in operations.items():
        assert operation.get("summary"), route
        assert route[0] != "POST" or route[1].endswith("callback") or "requestBody" in operation, route
    text = json.dumps(document)
    refs = {part.split('"')[0] for part in text.split('"$ref": "#/components/schemas/')[1:]}
    assert refs <= set(document["components"]["schemas"])
    assert document["security"] == [{"key": []}]


@requirement("S-51")
@pytest.mark.may_block  # the console's log of a traceback reads source files
async def test_a_crash_of_ours_tells_nothing_of_our_insides(gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    async def crash(*_: object, **__: object) -> None:
        raise RuntimeError("SELECT secret FROM vault WHERE password = 'hunter2'")

    await gateway.key("agent:shop")
    monkeypatch.setattr(type(gateway.container.submit), "__call__", crash)
    said = await gateway.call("POST", "/v1/requests", {"tool": "pay", "arguments": {}})
    assert (said.status_code, said.headers["content-type"]) == (500, MEDIA)
    for word in ("hunter2", "SELECT", "Runtime", "Traceback", ".py"):
        assert word not in said.text


@requirement("S-51")
async def test_a_database_that_fails_is_503_without_its_words(gateway: Gateway) -> None:
    request = await gateway.ask("by_api")
    gateway.rows("DROP TABLE executions")
    said = await gateway.call("GET", f"/v1/requests/{request['id']}")
    assert (said.status_code, said.json()["code"]) == (503, "unavailable")
    assert "retry-after" in said.headers
    for word in ("executions", "sqlite", "SELECT", "table"):
        assert word not in said.text


@requirement("S-51")
async def test_logs_hold_no_arguments_keys_or_tokens(gateway: Gateway) -> None:
    g = gateway
    with structlog.testing.capture_logs() as logs:
        request = await g.ask()
        token = g.platform.press(g.card(request), "U_ALICE", "approve").token
        await g.press(request)
        await g.claim(request)
        await g.report(request, "failed", error="the bank said CANARY-7")
    text = repr(logs)
    assert logs
    for secret in ("DE02-SECRET", "CANARY-7", token, *g.keys.values()):
        assert secret not in text


# --- hostile bodies ---------------------------------------------------------------------------------------------------

_HOSTILE = {
    "a key twice": b'{"tool":"pay","arguments":{"amount":1,"amount":2}}',
    "the tool twice": b'{"tool":"ping","tool":"pay","arguments":{}}',
    "NaN": b'{"tool":"pay","arguments":{"amount":NaN}}',
    "Infinity": b'{"tool":"pay","arguments":{"amount":-Infinity}}',
    "1e400": b'{"tool":"pay","arguments":{"amount":1e400}}',
    "an unsafe integer": b'{"tool":"pay","arguments":{"amount":9007199254740993}}',
    "a lone surrogate": b'{"tool":"pay","arguments":{"payee":"\\ud800"}}',
    "a surrogate as a key": b'{"tool":"pay","arguments":{"\\udfff":1}}',
    "a byte order mark": b'\xef\xbb\xbf{"tool":"pay","arguments":{}}',
    "not UTF-8": b'{"tool":"pay","arguments":{"payee":"\xff"}}',
    "UTF-16": '{"tool":"pay","arguments":{}}'.encode("utf-16"),
    "money as a float": b'{"tool":"pay","arguments":{"amount":0.1}}',
    "deep": b'{"tool":"pay","arguments":' + b'{"a":' * 40_000 + b"1" + b"}" * 40_000 + b"}",
    "deep lists": b'{"tool":"pay","arguments":{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}}",
    "a comma too many": b'{"tool":"pay","arguments":{},}',
    "two documents": b'{"tool":"pay","arguments":{}}{}',
    "a list": b"[]",
    "nothing": b"",
    "null": b"null",
    "arguments as a list": b'{"tool":"pay","arguments":[]}',
    "a number as the tool": b'{"tool":1,"arguments":{}}',
    "NUL in the session": b'{"tool":"pay","arguments":{},"session":"a\\u0000b"}',
    "NUL in the claim": b'{"tool":"pay","arguments":{},"claim":"a\\u0000b"}',
}  # fmt: skip


@requirement("S-41", "S-32")
@pytest.mark.parametrize("name", _HOSTILE)
@pytest.mark.heavy
@pytest.mark.sampled(4)
async def test_hostile_json_is_refused_and_leaves_nothing(
    either_gateway: Gateway, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    g = either_gateway
    headers = await g.key("agent:shop")
    before = g.content()
    units, plain = list[str](), g.container.store.write

    async def write(*args: Any, **named: Any) -> Any:
        units.append(str(named.get("about")))
        return await plain(*args, **named)

    monkeypatch.setattr(g.container.store, "write", write)
    said = await g.http.post("/v1/requests", content=_HOSTILE[name], headers=headers)
    assert units == []  # it is refused before anything waits for the database's lock
    assert (said.status_code, said.headers["content-type"]) == (422, MEDIA), said.text[:300]
    assert g.content() == before


@requirement("S-41")
async def test_what_is_accepted_is_kept_to_the_letter(either_gateway: Gateway) -> None:
    arguments = {"payee": "e\u0301 / é / \u0000 / 😀", "amount": 2**53 - 1, "list": [1.5, None, True, {}], "": ""}
    request = await either_gateway.ask("by_api", arguments)
    assert (await either_gateway.read(request))["arguments"] == arguments


@requirement("S-41")
async def test_a_result_is_json_too(either_gateway: Gateway) -> None:
    g = either_gateway
    request = await g.ask("by_api")
    await g.decide(request)
    await g.claim(request)
    headers = await g.key("agent:shop")
    path = f"/v1/requests/{request['id']}/outcome"
    bad = await g.http.post(
        path, content=b'{"claim_id":"claim-1","status":"failed","error":"a\\u0000b"}', headers=headers
    )
    assert bad.status_code == 422
    good = await g.report(request, result={"text": "a\u0000b"})
    assert good.json()["execution"]["result"] == {"text": "a\u0000b"}


@requirement("S-32", "S-33")
@pytest.mark.parametrize("announced", [True, False])
async def test_a_body_over_the_limit_is_cut_off_before_it_is_kept(gateway: Gateway, announced: bool) -> None:
    sent = 0

    async def body() -> AsyncIterator[bytes]:
        nonlocal sent
        for _ in range(1_000):
            sent += 64 * 1024
            yield b" " * 64 * 1024

    headers = await gateway.key("agent:shop")
    if announced:
        headers["content-length"] = str(64_000 * 1024)
    most = gateway.container.settings.max_call_bytes
    for path, limit in (("/v1/requests", most), ("/v1/channels/chat/callback", bodies.MOST_BYTES)):
        sent = 0
        said = await gateway.http.post(path, content=body(), headers=headers)
        assert (said.status_code, said.headers["content-type"]) == (413, MEDIA)
        assert sent <= (0 if announced else 2 * limit)


@requirement("S-32")
async def test_a_call_of_a_megabyte_comes_in_whole_by_default(
    sqlite_url: str, config: Path, platform: MemoryPlatform
) -> None:
    arguments = {"text": "é" * 500_000}
    async with open_gateway(sqlite_url, config, platform) as g:
        request = await g.ask("by_api", arguments)
        await g.decide(request)
        claimed = await g.claim(request)
        assert claimed.json()["arguments"] == arguments
        held = {"tool_name": "by_api", "tool_input": {"text": "x" * 1_000_000}}
        assert (await g.call("POST", "/v1/hooks/PreToolUse", held)).status_code == 202
        for body in ({"tool": "by_api", "arguments": {"text": "x" * 1_114_112}}, {"tool": "by_api", "arguments": {}}):
            said = await g.call("POST", "/v1/requests", body)
            assert said.status_code == (413 if body["arguments"] else 202)
        many = {"tool": "by_api", "arguments": {"numbers": [0] * 20_000}}
        assert (await g.call("POST", "/v1/requests", many)).status_code == 422  # size is not the only bound


@requirement("S-32")
async def test_a_compressed_body_is_not_unpacked(gateway: Gateway) -> None:
    headers = {**await gateway.key("agent:shop"), "content-encoding": "gzip"}
    for content in (b"\x1f\x8b" + b"\0" * 1000, b'{"tool": "by_api", "arguments": {}}'):  # whatever it is
        said = await gateway.http.post("/v1/requests", content=content, headers=headers)
        assert said.status_code == 422
        assert "compressed" in said.json()["detail"]


@requirement("S-32")
async def test_slow_bodies_are_cut_and_others_are_served_meanwhile(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    headers = await gateway.key("agent:shop")
    host = {"content-length": "100", **headers}
    async with serve(gateway.app) as address:
        port = int(address.rsplit(":", 1)[1])

        async def slow() -> bytes:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            lines = "".join(f"{key}: {value}\r\n" for key, value in host.items())
            writer.write(f"POST /v1/requests HTTP/1.1\r\nhost: x\r\n{lines}\r\n{{".encode())
            try:
                return await asyncio.wait_for(reader.read(32), 30)
            finally:
                writer.close()

        monkeypatch.setattr(bodies, "MOST_SECONDS", 60)
        held = [asyncio.ensure_future(slow()) for _ in range(100)]
        await asyncio.sleep(0)
        async with httpx2.AsyncClient(base_url=address, timeout=HANGS) as http:
            assert (await http.get("/v1/requests", headers=headers)).status_code == 200
        assert not any(each.done() for each in held)  # it was served while all of them were being waited for
        for each in held:
            each.cancel()
        monkeypatch.setattr(bodies, "MOST_SECONDS", 0.5)
        answers = await asyncio.gather(*(slow() for _ in range(100)))
    assert {answer[:12] for answer in answers} <= {b"HTTP/1.1 408", b"HTTP/1.1 413", b"HTTP/1.1 422"}


@requirement("S-32")
async def test_one_agents_flood_is_stopped_at_its_quota_and_its_neighbour_is_served(
    database_url: str, config: Path, platform: MemoryPlatform
) -> None:
    async with open_gateway(database_url, config, platform, max_pending_per_agent=20) as g:
        await g.key("agent:flood")
        held = {"tool": "by_api", "arguments": {"n": -2}, "session": "s-1"}
        first = (await g.call("POST", "/v1/requests", held, who="agent:flood")).json()["request"]["id"]
        said = await asyncio.gather(
            *(
                g.call("POST", "/v1/requests", {"tool": "by_api", "arguments": {"n": n}}, who="agent:flood")
                for n in range(200)
            )
        )
        refused = [answer for answer in said if answer.status_code == 429]
        assert len(refused) + sum(answer.status_code == 202 for answer in said) == 200
        assert len(refused) >= 100
        assert all("retry-after" in answer.headers and answer.json()["code"] == "too_many" for answer in refused)
        more = await g.call("POST", "/v1/requests", {"tool": "by_api", "arguments": {"n": -1}}, who="agent:flood")
        assert more.status_code == 429
        again = (await g.call("POST", "/v1/requests", held, who="agent:flood")).json()
        assert (again["attached"], again["request"]["id"]) == (True, first)  # a repetition opens nothing
        assert (await g.ask("by_api", {"n": 1}, who="agent:neighbour"))["state"] == "pending"
        assert (
            await g.call("POST", "/v1/requests", {"tool": "ping", "arguments": {}}, who="agent:flood")
        ).status_code == 200


@requirement("S-32")
async def test_one_key_may_call_only_so_often(sqlite_url: str, config: Path, platform: MemoryPlatform) -> None:
    async with open_gateway(sqlite_url, config, platform, calls_per_second=5) as g:
        said = [await g.call("GET", "/v1/requests") for _ in range(30)]
        assert {answer.status_code for answer in said} == {200, 429}
        assert (await g.call("GET", "/v1/requests", who="agent:other")).status_code == 200


@requirement("S-32")
@pytest.mark.long
async def test_a_hundred_thousand_creations_leave_the_memory_as_it_was(
    sqlite_url: str, config: Path, platform: MemoryPlatform, bounded: bool
) -> None:
    import resource

    async with open_gateway(sqlite_url, config, platform, max_pending_per_agent=100, calls_per_second=1e9) as g:
        await g.key("agent:flood")

        async def flood(count: int) -> int:
            body = {"tool": "by_api", "arguments": {"x": "y" * 1000}}
            said = [(await g.call("POST", "/v1/requests", body, who="agent:flood")).status_code for _ in range(count)]
            return said.count(202)

        await flood(1_000)
        gc.collect()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        opened = await flood(5_000 if bounded else 100_000)
        assert opened == 0
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 * 1024


@requirement("S-33")
async def test_a_caller_is_rejected_before_the_body_is_parsed(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed: list[bytes] = []
    real = bodies.parse_json

    def spy(raw: bytes, **bounds: Any) -> Any:
        parsed.append(raw)
        return real(raw, **bounds)

    monkeypatch.setattr(bodies, "parse_json", spy)
    body = b'{"tool": "pay", "arguments": {}}'
    paths = ["/v1/requests", "/v1/hooks/PreToolUse", "/v1/keys"]
    paths += [f"/v1/requests/x/{act}" for act in ("decisions", "cancel", "claim", "outcome", "reconcile")]
    for path in paths:
        assert (await gateway.http.post(path, content=body)).status_code == 401, path
    wrong = await gateway.key("auditor")
    for path in paths:
        assert (await gateway.http.post(path, content=body, headers=wrong)).status_code == 403, path
    assert parsed == []
    assert (
        await gateway.http.post("/v1/requests", content=body, headers=await gateway.key("agent:shop"))
    ).status_code == 202
    assert parsed == [body]


async def test_pages_are_complete_and_without_repetition(either_gateway: Gateway) -> None:
    g = either_gateway
    made = [(await g.ask("by_api", {"n": n}))["id"] for n in range(7)]
    seen: list[str] = []
    cursor = ""
    while True:
        page = (await g.call("GET", f"/v1/requests?limit=3{cursor}")).json()
        seen += [item["id"] for item in page["items"]]
        if page["next_cursor"] is None:
            break
        cursor = f"&cursor={page['next_cursor']}"
    assert sorted(seen) == sorted(made)
    assert len(seen) == len(set(seen))


async def test_an_agent_finds_its_open_requests_after_a_restart(gateway: Gateway) -> None:
    pending = await gateway.ask("by_api", {"n": 1}, session="s1")
    claimed = await gateway.ask("by_api", {"n": 2}, session="s1")
    done = await gateway.ask("by_api", {"n": 3}, session="s1")
    for request in (claimed, done):
        await gateway.decide(request)
        await gateway.claim(request)
    await gateway.report(done)
    await gateway.ask("by_api", {"n": 4}, session="s2")
    page = await gateway.call("GET", "/v1/requests?open=true&session=s1")
    assert {item["id"] for item in page.json()["items"]} == {pending["id"], claimed["id"]}
    await gateway.advance(timedelta(minutes=11))
    page = await gateway.call("GET", "/v1/requests?open=true&session=s1")
    assert {item["state"] for item in page.json()["items"]} == {"pending", "unknown"}


@requirement("S-61")
@pytest.mark.parametrize(("letters", "beside"), [(100, 0), (5_000, 1), (100_000, 1)])
async def test_only_a_small_call_is_checked_without_looking_how_large_it_is(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch, letters: int, beside: int
) -> None:
    seen: list[object] = []

    async def looked(work: Callable[[Any], Any], value: object) -> object:
        seen.append(value)
        return await off_loop(work, value)

    monkeypatch.setattr(judge_call, "off_loop", looked)
    body = {"tool": "pay", "arguments": {**PAY, "memo": "x" * letters}}
    assert (await gateway.call("POST", "/v1/requests", body)).status_code == 202
    assert len(seen) == beside
