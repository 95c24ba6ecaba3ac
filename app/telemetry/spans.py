"""Spans over the path of a call, where the process traces (`provider.py`): imported only then.

A span holds words of ours, names that the file gives (tools, agents, channels, receivers) and ids; never an argument,
a person, a payee, or what an error says, which may repeat any of them. The names of the attributes are OpenTelemetry's,
for tools and agents those of its conventions for generative AI.

Whoever approves, claims or reports is another call than the one that asked, hours later perhaps. So a request keeps the
trace in which it was submitted, and the spans of all that is done with it link there.
"""

from __future__ import annotations

from contextlib import contextmanager
from importlib.metadata import version
from typing import TYPE_CHECKING

from opentelemetry import trace
from opentelemetry.trace import SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from app.telemetry.tracing import Traced

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Mapping
    from contextlib import AbstractContextManager

    from opentelemetry.context import Context
    from opentelemetry.trace import Span, Tracer
    from opentelemetry.util.types import AttributeValue

    from app.domain.trail.audit import AuditEvent
    from app.telemetry.tracing import Met

_W3C = TraceContextTextMapPropagator()
_CARRIED = frozenset({b"traceparent", b"tracestate"})
_LOOKED_AT = frozenset({"/healthz", "/readyz", "/metrics"})
"""What is asked every few seconds, and is part of no call's path."""
_MOST_LINKS = 8
_SERVER_ERROR = 500


class _HookTracer:
    """Opens the spans of hooks: as the engine asks for them, and without what a failing hook says."""

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer

    def start_as_current_span(
        self, name: str, *, attributes: Mapping[str, AttributeValue] | None = None
    ) -> AbstractContextManager[Span]:
        return self._tracer.start_as_current_span(
            name, attributes=attributes, record_exception=False, set_status_on_exception=False
        )


class Spans:
    """Opens them, with the process's provider."""

    def __init__(self) -> None:
        """Take the tracers."""
        self._tracer = trace.get_tracer("assent", version("assent-gateway"))
        self.hooks = _HookTracer(trace.get_tracer("assent.hooks", version("assent-gateway")))
        """For a span around each hook's judgement."""

    def serves(self, path: str) -> bool:
        """Say whether a call to this path is traced."""
        return path not in _LOOKED_AT

    @contextmanager
    def served(self, method: str, headers: Iterable[tuple[bytes, bytes]]) -> Generator[Span]:
        """Open the span of a call that somebody makes, in their trace if they name one."""
        carried = {name.decode(): value.decode("latin-1") for name, value in headers if name in _CARRIED}
        attributes = {"http.request.method": method}
        with self._opened(method, SpanKind.SERVER, attributes, context=_W3C.extract(carried)) as span:
            yield span

    def answered(self, span: Span, method: str, route: str, status: int) -> None:
        """Say what a call was, and how it was answered."""
        span.update_name(f"{method} {route}")
        span.set_attributes({"http.route": route, "http.response.status_code": status})
        if status >= _SERVER_ERROR:
            span.set_status(Status(StatusCode.ERROR))

    def trace_id(self, span: Span) -> str:
        """Return the id of a span's trace, as logs say it."""
        return trace.format_trace_id(span.get_span_context().trace_id)

    @contextmanager
    def judging(self, tool: str, agent: str, call_id: str | None) -> Generator[None]:
        """Open the span of a call's judgement, by hooks and rules."""
        with self._opened(f"judge {tool}", SpanKind.INTERNAL, _of_call(tool, agent, call_id)):
            yield

    @contextmanager
    def delivering(self, channel: str, errand: str) -> Generator[None]:
        """Open the span of one errand to a platform."""
        attributes = {"assent.channel": channel, "assent.errand": errand}
        with self._opened(f"deliver {channel}", SpanKind.CLIENT, attributes):
            yield

    @contextmanager
    def clicked(self, channel: str) -> Generator[None]:
        """Open the span of what comes in over a channel's long connection."""
        with self._opened(f"click {channel}", SpanKind.SERVER, {"assent.channel": channel}):
            yield

    @contextmanager
    def telling(self, receiver: str, event: AuditEvent, submitted: str | None) -> Generator[dict[str, str]]:
        """Open the span of one message to a receiver, linked to the trace (a `traceparent`) of its request.

        It yields the headers by which the receiver goes on in the message's own trace.
        """
        attributes = {"assent.webhook": receiver, "assent.event.kind": event.record.kind.value}
        if event.request_id is not None:
            attributes["assent.request.id"] = event.request_id
        with self._opened(f"webhook {receiver}", SpanKind.CLIENT, attributes) as span:
            _link(span, submitted)
            yield {"traceparent": _parent(span)}

    @contextmanager
    def transaction(self, lane: str, system: str) -> Generator[Traced]:
        """Open the span of a unit of work and of the wait for its commit, if it is done for a span.

        What it tells of the requests that it read, the span around it says.
        """
        around = trace.get_current_span()
        if not around.is_recording():
            yield Traced()
            return
        traced = Traced(parent=_parent(around))
        attributes = {"db.system.name": system, "db.operation.name": lane}
        with self._opened(f"store {lane}", SpanKind.CLIENT, attributes):
            yield traced
        _note(around, traced.met)

    @contextmanager
    def _opened(
        self, name: str, kind: SpanKind, attributes: Mapping[str, AttributeValue], *, context: Context | None = None
    ) -> Generator[Span]:
        with self._tracer.start_as_current_span(
            name,
            context=context,
            kind=kind,
            attributes=attributes,
            record_exception=False,  # what an error says may repeat arguments
            set_status_on_exception=False,
        ) as span:
            try:
                yield span
            except Exception as error:
                span.set_attribute("error.type", type(error).__name__)
                span.set_status(Status(StatusCode.ERROR))
                raise


def _note(span: Span, met: Mapping[str, Met]) -> None:
    """Say which request something was about, and link to the trace in which each of several was submitted."""
    for each in list(met.values())[:_MOST_LINKS]:
        _link(span, each.traceparent)
    if len(met) == 1:
        [only] = met.values()
        span.set_attributes({"assent.request.id": only.request_id, **_of_call(only.tool, only.agent, only.call_id)})


def _link(span: Span, traceparent: str | None) -> None:
    """Link to the span that a `traceparent` names, unless that is this one."""
    carried = _W3C.extract({"traceparent": traceparent}) if traceparent else None
    submitted = trace.get_current_span(carried).get_span_context() if carried is not None else None
    if submitted is not None and submitted.is_valid and submitted != span.get_span_context():
        span.add_link(submitted)


def _of_call(tool: str, agent: str, call_id: str | None) -> dict[str, AttributeValue]:
    of_id = {"gen_ai.tool.call.id": call_id} if call_id is not None else {}
    return {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": tool, "gen_ai.agent.name": agent, **of_id}


def _parent(span: Span) -> str:
    carried: dict[str, str] = {}
    _W3C.inject(carried, trace.set_span_in_context(span))
    return carried["traceparent"]
