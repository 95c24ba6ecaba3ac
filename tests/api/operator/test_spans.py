"""Traces: one path of spans from the submission on, by the real OpenTelemetry SDK; and nothing at all without one."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from datetime import timedelta
from typing import TYPE_CHECKING, Any, cast

import httpx2
import pytest
from opentelemetry import baggage, trace
from opentelemetry.context import attach, detach
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from app.telemetry.provider import TracingRefusedError, find_spans, start_provider
from app.usecases.platforms.send_webhooks import SendWebhooks
from assent import AsyncGateway, NotEntitledError, ToolCall
from tests.fixtures.gateway import open_gateway
from tests.fixtures.patience import HANGS
from tests.places import ROOT
from tests.usecases.platforms.test_send_webhooks import Book, hook

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from pathlib import Path

    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.trace import SpanContext

    from app.domain.trail.webhooks import Webhook
    from tests.fixtures.gateway import Gateway
    from tests.fixtures.memory_platform import MemoryPlatform

THEIRS = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = "00f067aa0ba902b7"
PAY = {"payee": "Acme Ltd", "amount": 80000, "account": "DE02-SECRET"}


@pytest.fixture
def exporter(monkeypatch: pytest.MonkeyPatch) -> InMemorySpanExporter:
    """Give this process a provider for one test: the real SDK, which keeps its spans in memory."""
    kept = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(kept))
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: provider)
    monkeypatch.setattr(trace, "get_tracer", provider.get_tracer)
    return kept


@pytest.fixture
async def traced(
    exporter: InMemorySpanExporter, database_url: str, config: Path, platform: MemoryPlatform
) -> AsyncIterator[Gateway]:
    del exporter
    async with open_gateway(database_url, config, platform) as gateway:
        yield gateway


def named(exporter: InMemorySpanExporter, name: str) -> ReadableSpan:
    [span] = [span for span in exporter.get_finished_spans() if span.name == name]
    return span


def ids(span: ReadableSpan) -> tuple[str, str]:
    context = span.get_span_context()
    assert context is not None
    return context_ids(context)


def context_ids(context: SpanContext) -> tuple[str, str]:
    return trace.format_trace_id(context.trace_id), trace.format_span_id(context.span_id)


def carried(traceparent: str) -> tuple[str, str]:
    _, of_trace, of_span, _ = traceparent.split("-")
    return of_trace, of_span


def linked(span: ReadableSpan) -> set[tuple[str, str]]:
    return {
        (trace.format_trace_id(link.context.trace_id), trace.format_span_id(link.context.span_id))
        for link in span.links
    }


def children(exporter: InMemorySpanExporter, span: ReadableSpan) -> set[str]:
    _, mine = ids(span)
    return {
        each.name
        for each in exporter.get_finished_spans()
        if each.parent is not None and trace.format_span_id(each.parent.span_id) == mine
    }


async def test_a_path_is_one_story_from_the_agents_trace_to_the_report(
    traced: Gateway, exporter: InMemorySpanExporter
) -> None:
    g = traced
    theirs = {"traceparent": f"00-{THEIRS}-{PARENT}-01"}
    body = {"tool": "pay", "arguments": PAY | {"amount": 1}, "call_id": "toolu_8"}
    answer = await g.call("POST", "/v1/requests", body, **theirs)
    request = answer.json()["request"]
    await g.quiet()
    await g.press(request)
    await g.claim(request)
    await g.report(request)
    await g.quiet()

    scopes = {span.instrumentation_scope.name for span in exporter.get_finished_spans() if span.instrumentation_scope}
    assert scopes <= {"assent", "assent.hooks"}  # the framework's own repeat what came in
    submitted = named(exporter, "POST /v1/requests")
    assert ids(submitted)[0] == THEIRS
    assert submitted.parent is not None
    assert trace.format_span_id(submitted.parent.span_id) == PARENT
    assert submitted.kind is SpanKind.SERVER
    assert submitted.attributes is not None
    assert submitted.attributes["http.response.status_code"] == 202
    assert {"judge pay", "store write"} <= children(exporter, submitted)
    judged = named(exporter, "judge pay").attributes
    call = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "pay",
        "gen_ai.tool.call.id": "toolu_8",
        "gen_ai.agent.name": "shop",
    }
    assert judged == call
    for name in ("claim", "outcome"):
        span = named(exporter, f"POST /v1/requests/{{request_id}}/{name}")
        assert ids(submitted) in linked(span), name
        assert span.attributes is not None
        assert {**call, "assent.request.id": request["id"]}.items() <= dict(span.attributes).items()
    delivered = [span for span in exporter.get_finished_spans() if span.name == "deliver chat"]
    assert delivered
    assert all(ids(submitted) in linked(span) for span in delivered)
    assert {str(dict(span.attributes or {})["assent.errand"]) for span in delivered} >= {"post", "refresh"}
    assert g.rows(f"SELECT traceparent FROM requests WHERE id = '{request['id']}'") == [
        {"traceparent": f"00-{THEIRS}-{ids(submitted)[1]}-01"}
    ]


async def test_what_a_receiver_is_told_of_a_request_links_to_its_submission(
    traced: Gateway, exporter: InMemorySpanExporter
) -> None:
    g, told = traced, dict[str, str]()

    async def take(_: Webhook, body: bytes, headers: Mapping[str, str]) -> None:
        told[json.loads(body)["id"]] = headers["traceparent"]

    hooks = cast("Any", Book((hook("https://siem.acme.example/", "request.created", "key.created"),)))
    send = SendWebhooks(
        store=g.container.store, book=hooks, clock=g.clock, send=take, every=timedelta(hours=1), spans=g.container.spans
    )
    await send()
    request = (await g.call("POST", "/v1/requests", {"tool": "pay", "arguments": PAY})).json()["request"]
    await g.key("auditor")
    await send()
    spans = [span for span in exporter.get_finished_spans() if span.name == "webhook siem"]
    about = [span for span in spans if dict(span.attributes or {}).get("assent.request.id") == request["id"]]
    assert len(spans) == len(told) > len(about) == 1
    assert linked(about[0]) == {ids(named(exporter, "POST /v1/requests"))}
    assert {carried(each) for each in told.values()} == {ids(span) for span in spans}
    assert {link for span in spans if span not in about for link in linked(span)} == set()


async def test_an_agents_process_that_is_traced_sends_its_trace_along_and_nothing_else_that_it_carries() -> None:
    """Its own process: what it uses of OpenTelemetry is the agent's affair, and here it is the real one."""
    said: list[httpx2.Headers] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        said.append(request.headers)
        return httpx2.Response(403, json={"code": "forbidden", "detail": "no"})

    async def ask() -> None:
        transport = httpx2.MockTransport(answer)
        async with AsyncGateway("http://gateway", "ak_a_b_c", transport=transport) as client:
            with pytest.raises(NotEntitledError):
                await client.take(ToolCall("pay", {}), within=5)

    await ask()
    tracer = TracerProvider().get_tracer("agent")
    with tracer.start_as_current_span("run") as span:
        token = attach(baggage.set_baggage("customer", "Acme Ltd"))
        await ask()
        detach(token)
    untraced, traced = said[0], said[-1]
    assert "traceparent" not in untraced
    assert carried(traced["traceparent"]) == context_ids(span.get_span_context())
    assert "baggage" not in traced


async def test_no_argument_no_person_and_no_payee_stands_in_a_span(
    traced: Gateway, exporter: InMemorySpanExporter
) -> None:
    g = traced
    request = await g.ask(requester="rita@acme.example")
    await g.decide(request, "deny", reason="Acme Ltd is not ours")
    await g.press(request)
    await g.call("POST", "/v1/requests", {"tool": "pay", "arguments": {"payee": ["a"]}, "call_id": 7})
    said = "\n".join(
        str((span.name, dict(span.attributes or {}), [(event.name, event.attributes) for event in span.events]))
        for span in exporter.get_finished_spans()
    )
    for word in ("Acme Ltd", "80000", "DE02", "alice", "rita", "U_ALICE", "acme.example", "not ours"):
        assert word not in said, word
    assert "/v1/requests" in said


async def test_a_failing_hooks_words_stand_in_no_span(
    sqlite_url: str, config: Path, platform: MemoryPlatform, exporter: InMemorySpanExporter
) -> None:
    path = config / "acme.yaml"
    hooks = "hooks:\n  - {id: by-note, on: PreToolUse, tools: [pay], python: tests.api.agents.acme_hooks.by_note}\n"
    await asyncio.to_thread(path.write_text, hooks + await asyncio.to_thread(path.read_text))
    async with open_gateway(sqlite_url, config, platform) as g:
        await g.call("POST", "/v1/requests", {"tool": "pay", "arguments": {"note": "crash", "amount": 1}})
    hook = named(exporter, "hook by-note")
    assert hook.parent is not None
    assert "hook by-note" in children(exporter, named(exporter, "judge pay"))
    assert (hook.events, hook.status.description) == ((), None)


async def test_what_fails_is_marked_by_its_kind_alone(traced: Gateway, exporter: InMemorySpanExporter) -> None:
    def unit(tx: Any) -> None:
        raise ValueError("Acme Ltd")

    with pytest.raises(ValueError, match="Acme"), trace.get_tracer("test").start_as_current_span("around"):
        await traced.container.store.write(unit, org="acme")
    failed = [span for span in exporter.get_finished_spans() if span.name == "store write"][-1]
    assert dict(failed.attributes or {})["error.type"] == "ValueError"
    assert (failed.status.status_code, failed.status.description, failed.events) == (StatusCode.ERROR, None, ())


async def test_what_is_asked_every_few_seconds_leaves_no_span(traced: Gateway, exporter: InMemorySpanExporter) -> None:
    exporter.clear()
    for path in ("/healthz", "/readyz", "/metrics"):
        assert (await traced.http.get(path)).status_code == 200
    await traced.container.sweep()
    await traced.container.replicas()
    assert exporter.get_finished_spans() == ()


async def test_without_a_provider_there_are_no_spans_and_no_request_keeps_a_trace(gateway: Gateway) -> None:
    assert gateway.container.spans is None
    body = {"tool": "pay", "arguments": PAY}
    assert (await gateway.call("POST", "/v1/requests", body, traceparent=f"00-{THEIRS}-{PARENT}-01")).status_code == 202
    assert gateway.rows("SELECT traceparent FROM requests") == [{"traceparent": None}]


ENDPOINT = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}


@pytest.mark.parametrize(
    ("environ", "named"),
    [
        ({}, None),
        ({"OTEL_SERVICE_NAME": "pay-approvals"}, None),
        (ENDPOINT | {"OTEL_SDK_DISABLED": "true"}, None),
        (ENDPOINT | {"OTEL_TRACES_EXPORTER": "none"}, None),
        (ENDPOINT, "assent"),
        ({"OTEL_TRACES_EXPORTER": "console", "OTEL_SERVICE_NAME": "pay-approvals"}, "pay-approvals"),
    ],
)
def test_a_provider_is_there_only_if_the_environment_asks_for_one(
    environ: dict[str, str], named: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[TracerProvider] = []
    monkeypatch.setattr(trace, "set_tracer_provider", given.append)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)  # the SDK has its own way to its settings
    start_provider(environ)
    assert [provider.resource.attributes["service.name"] for provider in given] == ([named] if named else [])
    for provider in given:
        provider.shutdown()


@pytest.mark.heavy
@pytest.mark.process
@pytest.mark.parametrize(("environ", "says"), [({}, "None False"), (ENDPOINT, "Spans True")])
def test_nothing_of_the_sdk_is_imported_until_the_environment_asks_for_it(environ: dict[str, str], says: str) -> None:
    words = [sys.executable, "-c", _STARTED]
    told = subprocess.run(words, capture_output=True, text=True, timeout=HANGS, check=True, cwd=ROOT, env=environ)
    assert told.stdout.split("\n")[0] == says


_STARTED = """
import os, sys
import app.serve, app.main
from app.telemetry.provider import find_spans, start_provider
start_provider(os.environ)
spans = find_spans()
said = [type(spans).__name__.replace("NoneType", "None"), "opentelemetry.sdk.trace" in sys.modules]
print(*said, flush=True)
os._exit(0)
"""


@pytest.mark.parametrize(
    ("environ", "says"),
    [
        ({"OTEL_TRACES_EXPORTER": "zipkin"}, "'zipkin' is none of otlp, console, none"),
        (
            {"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"},
            "'grpc' is not shipped; use http/protobuf",
        ),
    ],
)
def test_what_is_not_shipped_is_refused_by_name(environ: dict[str, str], says: str) -> None:
    assert find_spans() is None
    with pytest.raises(TracingRefusedError, match=says):
        start_provider(environ)


def test_without_the_sdk_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)
    with pytest.raises(TracingRefusedError, match=r"pip install 'assent-gateway\[otel\]'"):
        start_provider({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"})
