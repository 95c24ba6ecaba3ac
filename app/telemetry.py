"""Logs and figures: structured, one line an event, without secrets or arguments."""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING, Any

import structlog
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from assent.hooks.ready.redact import redact as without_secrets

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, MutableMapping

    from app.spec import Spec
    from assent.hooks.engine.observer import HookEvent, Tracer

log = structlog.get_logger("assent.hooks")
_SECRET_NAMES = re.compile(
    r"secret|token|password|authorization|signature|api_?key|response_url|trigger", re.IGNORECASE
)
_OUR_SHAPES = (r"ak_[a-z2-7]+_[a-z2-7]+_[0-9a-f]+", r"a1\.[0-9a-f]{8}\.[\w.]+", r"Bearer\s+\S+")
_HIDDEN = "[redacted]"


class _Shapes:
    """What secrets look like: the gateway's own, and those of the platforms that this process knows so far.

    Every log may meet the others' too, which `assent` knows.
    """

    def __init__(self) -> None:
        self._known: dict[str, None] = {}
        self.learn(_OUR_SHAPES)

    def learn(self, shapes: Iterable[str]) -> None:
        known = self._known | dict.fromkeys(shapes)
        if known != self._known:
            self._known = known
            self.pattern = re.compile(rf"\b(?:{'|'.join(f'(?:{shape})' for shape in known)})")


_shapes = _Shapes()  # logging is the process's, and so is what it hides


def redact(_logger: object, _name: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Hide secrets in a log event, by name and by shape. The one processor that every event passes."""
    for key, value in event.items():
        if _SECRET_NAMES.search(key):
            event[key] = _HIDDEN
        elif isinstance(value, str):
            event[key] = without_secrets(_shapes.pattern.sub(_HIDDEN, value))[0]
    return event


def hide_secrets_of(platforms: Iterable[Spec]) -> None:
    """Hide what these platforms' secrets look like in every log of this process, from now on."""
    _shapes.learn(shape for spec in platforms for shape in spec.secret_shapes)


def _one_line(_logger: object, _name: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Keep what came from outside from forging lines or driving a terminal."""
    for key, value in event.items():
        if isinstance(value, str) and key not in {"exception", "stack"} and not value.isprintable():
            event[key] = value.encode("unicode_escape").decode()
    return event


def _behind_a_bar(_logger: object, _name: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Put each line of a trace behind a bar: it repeats what came from outside, and must not pass for an event."""
    for key in ("exception", "stack"):
        if isinstance(text := event.get(key), str):
            event[key] = "\n".join(f"  | {_printable(line)}" for line in text.split("\n"))
    return event


def _printable(line: str) -> str:
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in line)


def configure_logs(log_format: str, platforms: Collection[Spec] = ()) -> None:
    """Set up structlog, and pass the standard library's records through the same processors.

    Of `platforms`, the secrets are hidden and the libraries are quieter.
    """
    hide_secrets_of(platforms)
    final: list[Any] = (
        [structlog.processors.JSONRenderer()]
        if log_format == "json"
        else [_behind_a_bar, structlog.dev.ConsoleRenderer(colors=False)]
    )
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
        redact,
        _one_line,
    ]
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
    formatter = structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=shared,
        processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *final],
    )
    handler = logging.StreamHandler()
    handler.setFormatter(formatter)
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(logging.INFO)
    theirs = [name for spec in platforms for name in spec.loggers]
    for noisy in ("apscheduler", "httpx", "httpx2", "urllib3", "asyncio", *theirs):
        logging.getLogger(noisy).setLevel(logging.WARNING)


def log_deed(event: HookEvent) -> None:
    """Log what a hook did: who and about what, never why, for a hook's reason may repeat arguments."""
    log.info(
        "hook.acted",
        deed=event.deed.value,
        hook=event.hook,
        moment=event.moment.value,
        agent=event.agent,
        tool=event.tool_name,
        call_id=event.call_id,
    )


def find_tracer() -> Tracer | None:
    """Return a tracer for the hooks' spans, if this process was started with an OpenTelemetry provider; else None."""
    from opentelemetry import trace

    if isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider | trace.NoOpTracerProvider):
        return None
    return trace.get_tracer("assent.hooks")


class Telemetry:
    """The figures of one process, in a registry of its own."""

    def __init__(self) -> None:
        """Declare them."""
        self.registry = CollectorRegistry()
        self.events = Counter(
            "assent_events", "What this process wrote into the trail, by kind", ["kind"], registry=self.registry
        )
        self.callbacks_rejected = Counter(
            "assent_callbacks_rejected", "Calls of a channel that did not verify", ["channel"], registry=self.registry
        )
        self.access_refused = Counter(
            "assent_access_refused", "Attempts that were refused, by the code of why", ["code"], registry=self.registry
        )
        self.http = Histogram(
            "assent_http_seconds",
            "Time to answer, by route and status; held calls are not counted",
            ["route", "status"],
            registry=self.registry,
        )
        self._http_by: dict[tuple[str, int], Histogram] = {}
        self._events_by: dict[str, Counter] = {}
        self._waiting = Gauge("assent_waiting_calls", "Callers that are held now", registry=self.registry)
        self._trouble = Gauge(
            "assent_database_trouble", "1 while the database cannot be used, by why", ["why"], registry=self.registry
        )
        self._outbox = Gauge("assent_outbox_rows", "Outbox rows by status", ["status"], registry=self.registry)

        self._replicas = Gauge("assent_replicas", "Gateways that work on this database now", registry=self.registry)
        self._differ = Gauge(
            "assent_replicas_differ", "1 while they differ in what must be the same", ["matter"], registry=self.registry
        )
        self._webhooks = Gauge(
            "assent_webhook_failing_seconds",
            "How long a receiver has taken nothing of what it is told",
            ["webhook"],
            registry=self.registry,
        )
        self._access = Gauge(
            "assent_channel_access_trouble",
            "1 while a channel's access cannot be renewed: lost until a person mends it, or not now",
            ["channel", "how"],
            registry=self.registry,
        )

    def answered(self, route: str, status: int, seconds: float) -> None:
        """Count an answer. Looking a label up costs more than counting, so it is done once a label."""
        child = self._http_by.get((route, status))
        if child is None:
            child = self._http_by[route, status] = self.http.labels(route=route, status=str(status))
        child.observe(seconds)

    def wrote(self, kind: str) -> None:
        """Count an event of the trail."""
        child = self._events_by.get(kind)
        if child is None:
            child = self._events_by[kind] = self.events.labels(kind=kind)
        child.inc()

    def render(
        self,
        *,
        waiting: int,
        outbox: Mapping[str, int] | None,
        trouble: str | None = None,
        replicas: int = 1,
        differ: Iterable[str] = (),
        access: Mapping[str, bool] | None = None,
        webhooks: Mapping[str, float] | None = None,
    ) -> bytes:
        """Return the text that Prometheus scrapes. `outbox`: None where nobody knows; `access`: by channel, if lost."""
        self._webhooks.clear()
        for webhook, seconds in (webhooks or {}).items():
            self._webhooks.labels(webhook=webhook).set(seconds)
        self._access.clear()
        for channel, lost in (access or {}).items():
            self._access.labels(channel=channel, how="lost" if lost else "not_now").set(1)
        self._replicas.set(replicas)
        self._differ.clear()
        for matter in differ:
            self._differ.labels(matter=matter).set(1)
        self._waiting.set(waiting)
        self._trouble.clear()
        if trouble is not None:
            self._trouble.labels(why=trouble).set(1)
        self._outbox.clear()
        for status in ("queued", "done", "dead") if outbox is not None else ():
            self._outbox.labels(status=status).set((outbox or {}).get(status, 0))
        return generate_latest(self.registry)
