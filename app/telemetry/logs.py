"""Logs: structured, one line an event, without secrets or arguments."""

from __future__ import annotations

import logging
import re
import time
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol

import structlog
from msgspec import json as fast_json

from assent.hooks.ready.redact import redact as without_secrets

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, MutableMapping

    from app.domain.trail.audit import Record
    from app.spec import Spec
    from assent.hooks.engine.observer import HookEvent

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
            event[key] = _redacted(value)
    return event


def _redacted(text: str) -> str:
    return without_secrets(_shapes.pattern.sub(_HIDDEN, text))[0]


def hide_secrets_of(platforms: Iterable[Spec]) -> None:
    """Hide what these platforms' secrets look like in every log of this process, from now on."""
    _shapes.learn(shape for spec in platforms for shape in spec.secret_shapes)
    _plain.clear()


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
    plain = logging.StreamHandler()
    plain.setFormatter(_ActFormatter(log_format))
    _acts.handlers, _acts.propagate = [plain], False
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


_acts = logging.getLogger("assent.acts")
_BLANK = vars(logging.LogRecord("assent.acts", logging.INFO, __file__, 0, "", (), None))
_PLAIN = re.compile(r"[\w.@:/+{}*-]{1,200}")
"""What a line about an act repeats. Anything else could break it, and is left out."""
_is_our_id = re.compile(r"[a-z]{1,5}_[a-z2-7]{32}").fullmatch
"""An id as `RandomIds` makes them: known to be no secret without a look at each shape of one."""
_plain: set[str] = set()
"""Words that were found to be plain: actors, routes and kinds come again and again. Ids do not, and are not kept."""
_MOST_PLAIN = 4096


def log_acts(acts: Iterable[tuple[str, Mapping[str, object]]]) -> None:
    """Say in one line each who did what to which request, all in one write; nothing before `configure_logs`.

    Such lines are made of words of ours, so they take a short way: an agent's call writes half a dozen of them, and the
    library looks up for each of its records which file, line, thread and process it is of. Facts that are None, no
    plain word, or look like a secret, are left out.
    """
    if _acts.handlers:
        _write([_line(event, facts) for event, facts in acts])


def _line(event: str, facts: Mapping[str, object]) -> dict[str, object]:
    line: dict[str, object] = {"event": event}
    for name, fact in facts.items():
        if fact is None or (isinstance(fact, str) and not (fact in _plain or _is_our_id(fact) or _is_plain(fact))):
            continue
        line[name] = fact
    return line


def _write(lines: list[dict[str, object]]) -> None:
    if not lines:
        return
    now = time.time()  # noqa: TID251 - when the lines were written, as in every other one
    record = logging.LogRecord.__new__(logging.LogRecord)
    vars(record).update(_BLANK, msg=lines[0]["event"], lines=lines, created=now)
    for handler in _acts.handlers:
        handler.handle(record)


_REPEATED = ("tool", "rule", "channel", "verdict", "status", "why")
"""Facts of an event of the trail that the log repeats, where they are words of ours and not sentences of anybody."""


class Committed(Protocol):
    """An event of the trail as it was committed, as far as it is told of here."""

    @property
    def at(self) -> datetime:
        """When it happened."""
        ...

    @property
    def record(self) -> Record:
        """What is said of it."""
        ...

    @property
    def request_id(self) -> str | None:
        """Which request it is about."""
        ...

    @property
    def asked_at(self) -> datetime | None:
        """Since when people were asked, where it ends that."""
        ...


def log_records(records: Mapping[str, Iterable[Committed]]) -> None:
    """Say in one line each what a commit put into the trails, by their orgs: all of them in one write."""
    if not _acts.handlers:
        return
    _write([_line_of(org, item) for org, committed in records.items() for item in committed])


def _line_of(org: str, committed: Committed) -> dict[str, object]:
    record, facts = committed.record, committed.record.facts
    said = {name: fact for name in _REPEATED if name in facts and isinstance(fact := facts[name], str)}
    return _line(record.kind, {"org": org, "actor": record.actor, "request": committed.request_id, **said})


def _is_plain(fact: str) -> bool:
    """Say whether a fact is a plain word and no secret, and know it from then on if it is."""
    if not _PLAIN.fullmatch(fact) or _redacted(fact) != fact:
        return False
    if len(_plain) >= _MOST_PLAIN:  # there is no end to what comes from outside
        _plain.clear()
    _plain.add(fact)
    return True


class _ActFormatter(logging.Formatter):
    def __init__(self, log_format: str) -> None:
        super().__init__()
        self._as_json = log_format == "json"

    def format(self, record: logging.LogRecord) -> str:
        lines: list[dict[str, object]] = getattr(record, "lines", [])
        at = _shown(record.created)
        if self._as_json:
            return _encoder.encode_lines([{**line, "level": "info", "timestamp": at} for line in lines])[:-1].decode()
        return "\n".join([_layout(*line) % (at, *line.values()) for line in lines])


@lru_cache(maxsize=256)
def _layout(*names: str) -> str:
    """Lay a line for a console out: there are about as many shapes of it as kinds of events."""
    facts = " ".join([f"{name.replace('%', '%%')}=%s" for name in names[1:]])
    return f"%s [info     ] %-30s {facts}"


_encoder = fast_json.Encoder()


def _shown(created: float) -> str:
    """Return an instant as structlog stamps it. msgspec takes a quarter of `isoformat`'s time, and leaves out zeros."""
    at = datetime.fromtimestamp(created, UTC)
    text = fast_json.encode(at).decode()[1:-2]
    return f"{text}Z" if at.microsecond else f"{text}.000000Z"
