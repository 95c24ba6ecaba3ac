"""How much is asked of people: the file's `attention`, every key of which may be left out."""

from __future__ import annotations

import re
from datetime import time, timedelta
from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from app.domain.request.request import Risk
from app.domain.rules.attention import Attention, is_quiet
from app.policies.marks.entries import read_entry

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from app.domain.rules.rule import Asking
    from app.policies.marks.yaml_marks import MarkedYaml

_SPAN = re.compile(r"(0|[1-9][0-9]{0,5})([smhd])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
_TIME = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9])")
_LONGEST_READING = timedelta(minutes=1)
_LONGEST_COOL_DOWN = timedelta(days=7)
_LONGEST_MEMORY = timedelta(days=90)
_LONGEST_GROUP = timedelta(hours=1)
_DEFAULTS = Attention()


def _span(most: timedelta, told: str) -> Callable[[object], timedelta]:
    def parse(value: object) -> timedelta:
        match = _SPAN.fullmatch(value) if isinstance(value, str) else None
        if match is None:
            raise ValueError("must be a time such as 5s, 10m or 2h; 0s switches it off")
        span = timedelta(**{_UNITS[match[2]]: int(match[1])})
        if span > most:
            raise ValueError(f"must be {told} at most")
        return span

    return parse


class AttentionEntry(BaseModel):
    """The section. What its times of day mean is looked at below."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)

    cards_per_hour: int | None = Field(default=None, ge=1, le=1000)
    digest: list[str] = Field(default=[], max_length=24)
    quiet: str | None = None
    read_for: Annotated[timedelta, BeforeValidator(_span(_LONGEST_READING, "1m"))] = _DEFAULTS.read_for
    cool_down: Annotated[timedelta, BeforeValidator(_span(_LONGEST_COOL_DOWN, "7d"))] = _DEFAULTS.cool_down
    remember_denials: Annotated[timedelta, BeforeValidator(_span(_LONGEST_MEMORY, "90d"))] = _DEFAULTS.remember_denials
    group: Annotated[timedelta, BeforeValidator(_span(_LONGEST_GROUP, "1h"))] = timedelta(0)


_KEYS = (*AttentionEntry.model_fields,)


def read_attention(marked: MarkedYaml) -> Attention:
    """Return what the file says; what it leaves out, and what is at fault (every fault is noted), has its default."""
    raw = marked.value.get("attention") if isinstance(marked.value, dict) else None
    entry = read_entry(marked, ("attention",), raw, AttentionEntry, apart=_KEYS) if raw is not None else None
    if entry is None:
        return _DEFAULTS
    quiet = _quiet(marked, entry.quiet) if entry.quiet is not None else None
    return Attention(
        cards_per_hour=entry.cards_per_hour,
        digest=_digest(marked, entry.digest, quiet),
        quiet=quiet,
        read_for=entry.read_for,
        cool_down=entry.cool_down,
        remember_denials=entry.remember_denials,
        group=entry.group or None,
    )


def refuse_unreadable(marked: MarkedYaml, attention: Attention, asked: Mapping[str, Asking]) -> None:
    """Note a high risk whose whole window is too short to read its card. `asked` is by what the fault calls it."""
    for name, asking in asked.items():
        if asking.risk is Risk.HIGH and asking.timeout <= attention.read_for:
            marked.report(("attention", "read_for"), f"leaves no time to approve {name}: its timeout is no longer")


def _quiet(marked: MarkedYaml, text: str) -> tuple[time, time] | None:
    begin, _, end = text.partition("-")
    times = (_time(begin.strip()), _time(end.strip()))
    if times[0] is None or times[1] is None:
        marked.report(("attention", "quiet"), "are no hours", 'write "22:00-07:30"')
        return None
    if times[0] == times[1]:
        marked.report(("attention", "quiet"), "must end at another time than it begins", 'write "22:00-07:30"')
        return None
    return (times[0], times[1])


def _digest(marked: MarkedYaml, texts: list[str], quiet: tuple[time, time] | None) -> tuple[time, ...]:
    found: list[time] = []
    for index, text in enumerate(texts):
        path = ("attention", "digest", index)
        at = _time(text)
        if at is None:
            marked.report(path, "is no time of day", 'write "09:00"')
        elif at in found:
            marked.report(path, f"{text} again")
        elif quiet is not None and is_quiet(quiet, at):
            marked.report(path, f"{text} is within the quiet hours, so nothing would go out then")
        else:
            found.append(at)
    return tuple(sorted(found))


def _time(text: str) -> time | None:
    match = _TIME.fullmatch(text)
    return time(int(match[1]), int(match[2])) if match else None
