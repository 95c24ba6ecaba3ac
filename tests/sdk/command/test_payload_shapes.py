"""Every recorded payload with each of its members absent, null, empty or of another type: understood, or a no."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from assent.command.faults import HookError
from assent.command.hosts.event import Event, parse_event
from assent.command.hosts.table import HOSTS
from tests.requirements import requirement
from tests.sdk.command.payloads import SAMPLES, Sample

if TYPE_CHECKING:
    from collections.abc import Iterator

ABSENT = object()
STRANGE: tuple[Any, ...] = (
    ABSENT,
    None,
    "",
    7,
    0,
    True,
    False,
    1.5,
    [],
    ["x"],
    {},
    {"x": 1},
    "strange",
    "\ud83d",
    "{}",
)
ASKS = [sample for sample in SAMPLES if not sample.kind]
TELLS = [sample for sample in SAMPLES if sample.kind]


def changed(sample: Sample) -> Iterator[tuple[str, Any, dict[str, Any]]]:
    """Each member with each strange value."""
    for name in sample.raw:
        for value in STRANGE:
            raw = {k: v for k, v in sample.raw.items() if k != name}
            yield name, value, raw if value is ABSENT else {**raw, name: value}


def read(host: str, raw: dict[str, Any]) -> Event | None:
    """The event; None where it is a fault, which ends in a no. Nothing else may be raised."""
    try:
        return parse_event(HOSTS[host], json.dumps(raw).encode())
    except HookError:
        return None


def numbered(samples: list[Sample]) -> list[str]:
    return [f"{number}-{sample.host}" for number, sample in enumerate(samples)]


@requirement("S-08")
@pytest.mark.parametrize("sample", ASKS, ids=numbered(ASKS))
def test_what_asks_still_asks_about_the_same_call_or_is_a_no(sample: Sample) -> None:
    host = HOSTS[sample.host]
    for name, value, raw in changed(sample):
        event, said = read(sample.host, raw), (name, value)
        if event is None:
            continue
        assert event.form is not None or event.kind in {"ran", "failed"}, said  # never merely seen
        about = (*host.tool, *host.arguments, "command", "file_path", "url", "hook_event_name")
        if event.form is None or name in about:
            assert isinstance(event.tool, str), said
            assert isinstance(event.arguments, dict), said
            continue
        assert (event.tool, event.arguments) == (sample.tool, sample.arguments), said
        assert event.call_id in (sample.call_id, None, value), said
        assert event.session in (sample.session, None, value), said
        assert event.sub_agent in (sample.sub_agent, None, value), said
        no = json.loads(event.deny("because"))
        assert "because" in json.dumps(no), said
        yes = event.allow("fine")
        assert yes == b"" or json.loads(yes), said
        assert len(event.as_sent()) <= 16_384, said


@requirement("S-08")
@pytest.mark.parametrize("sample", ASKS, ids=numbered(ASKS))
def test_absent_null_and_empty_are_the_same(sample: Sample) -> None:
    def told(raw: dict[str, Any]) -> Any:
        event = read(sample.host, raw)
        return event and (event.form is None, event.kind, event.tool, event.call_id, event.session, event.sub_agent)

    for name in sample.raw:
        if name in (*HOSTS[sample.host].arguments, "command", "file_path"):
            continue  # an empty text is a call of its own there, or no object
        absent, null, empty = (
            told({k: v for k, v in sample.raw.items() if k != name}),
            told({**sample.raw, name: None}),
            told({**sample.raw, name: ""}),
        )
        assert absent == null == empty, name


@pytest.mark.parametrize("sample", TELLS, ids=numbered(TELLS))
def test_what_only_tells_is_never_taken_for_a_question(sample: Sample) -> None:
    for name, value, raw in changed(sample):
        event = read(sample.host, raw)
        if event is not None and name not in {"hook_event_name", "hookName", "toolResult", "error", "reason"}:
            assert event.form is None, (name, value)


@requirement("S-08")
@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("raw", [b"", b"null", b"[]", b'"x"', b"7", b"{}", b"{", b"\xff\xfe", b"NaN", b"[" * 100_000])
def test_what_is_no_event_is_a_no(host: str, raw: bytes) -> None:
    if raw == b"{}" and HOSTS[host].event_of is not None:
        assert parse_event(HOSTS[host], raw).kind == "seen"  # an event without a name, and about no call
        return
    with pytest.raises(HookError):
        parse_event(HOSTS[host], raw)
