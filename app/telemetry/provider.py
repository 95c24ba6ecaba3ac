"""Whether this process traces: with the provider that it was started with, or that the OTEL_* variables ask for.

Without one nothing of its SDK is imported, and nobody opens a span.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from app.telemetry.spans import Spans

_ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
_PROTOCOLS = ("OTEL_EXPORTER_OTLP_PROTOCOL", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL")
_OURS = "http/protobuf"
_API = "opentelemetry.trace"
_NAMED = "OTEL_PYTHON_TRACER_PROVIDER"
"""What it takes a provider from by itself, once it is imported."""


class TracingRefusedError(Exception):
    """What OTEL_* asks for cannot be had; the text says why, and what to do."""


def find_spans() -> Spans | None:
    """Return what opens spans, if this process has an OpenTelemetry provider; else None."""
    if _API not in sys.modules:  # nobody has given it one
        return None
    from opentelemetry import trace

    if isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider | trace.NoOpTracerProvider):
        return None
    from app.telemetry.spans import Spans

    return Spans()


def start_provider(environ: Mapping[str, str]) -> None:
    """Give this process a provider, if OTEL_* asks for one and it has none. Raises TracingRefusedError."""
    if _NAMED in environ:
        _ = import_module(_API)
    exporter = environ.get("OTEL_TRACES_EXPORTER") or ("otlp" if any(map(environ.get, _ENDPOINTS)) else "none")
    if exporter == "none" or environ.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return
    if find_spans() is not None:
        return
    if exporter not in {"otlp", "console"}:
        raise TracingRefusedError(f"OTEL_TRACES_EXPORTER: {exporter!r} is none of otlp, console, none")
    wished = next(filter(None, map(environ.get, reversed(_PROTOCOLS))), _OURS)
    if exporter == "otlp" and wished != _OURS:
        raise TracingRefusedError(f"OTEL_EXPORTER_OTLP_PROTOCOL: {wished!r} is not shipped; use {_OURS}")
    _provide(exporter, environ)


def _provide(exporter: str, environ: Mapping[str, str]) -> None:
    try:
        from opentelemetry import trace
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter
    except ImportError as error:
        mend = "pip install 'assent-gateway[otel]', or unset them"
        raise TracingRefusedError(
            f"the OTEL_* variables ask for traces, and {error.name} is not here: {mend}"
        ) from None
    named = "OTEL_SERVICE_NAME" in environ or "service.name=" in environ.get("OTEL_RESOURCE_ATTRIBUTES", "")
    ours = {"service.version": version("assent-gateway"), **({} if named else {"service.name": "assent"})}
    provider = TracerProvider(resource=Resource.create(ours))  # its sampler is OTEL_TRACES_SAMPLER's
    exporting = OTLPSpanExporter() if exporter == "otlp" else ConsoleSpanExporter()
    provider.add_span_processor(BatchSpanProcessor(exporting))
    trace.set_tracer_provider(provider)
