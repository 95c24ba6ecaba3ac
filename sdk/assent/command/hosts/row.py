"""What a host is made of: how it is answered, how it keeps time, where its settings are.

Four ideas carry all hosts. An *event* is of one of a few kinds (a call, its end, the session's end, or one that decides
nothing). A *form* says at which places of the answer the verdict, the reason and new arguments stand. A *timer* says in
which unit a host counts and how far. A *place* says which file calls the hook, and in which shape. A host is a row of
these; nothing else in this package knows a host by its name.
"""

from __future__ import annotations

import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

LONGEST_REASON = 9_000  # Claude Code cuts strings at 10,000
RAN, FAILED, OVER, SEEN = "ran", "failed", "over", "seen"
"""What an event tells that asks nothing: the tool has run, or failed; the session is over; nothing that we answer."""


class Form:
    """How a host is answered: the places of the answer, written `outer.inner`; "" where the host has none.

    Of what a host was not seen to take, nothing is said: members that it does not know make some of them drop the
    whole answer, and then the tool runs.
    """

    def __init__(  # each place is one keyword of a row
        self,
        verdict: str,
        *,
        reasons: Sequence[str],
        arguments: str = "",
        merges: bool = False,
        context: str = "",
        event: str = "",
        says_why_allowed: bool = False,
        silent_allow: bool = False,
        heeds_exit: bool = True,
    ) -> None:
        """Describe it: `merges` new arguments into the old ones, `silent_allow` is said by saying nothing."""
        self.verdict = verdict
        self.reasons = reasons
        self.arguments = arguments
        self.merges = merges
        self.context = context
        self.event = event
        self.says_why_allowed = says_why_allowed
        self.silent_allow = silent_allow
        self.heeds_exit = heeds_exit
        """Whether exit code 2 means no; else only an answer does."""

    def takes(self, asked: dict[str, Any], instead: dict[str, Any]) -> bool:
        """Whether the host can be made to run a call with `instead`: where it merges, nothing may have been dropped."""
        return bool(self.arguments) and (not self.merges or _keeps_all(asked, instead))

    def allow(
        self, event: str, reason: str, *, replaced: dict[str, Any] | None = None, context: Sequence[str] = ()
    ) -> bytes:
        """The tool may run; `replaced` are the arguments to run it with, `context` what the model is told besides."""
        if self.silent_allow and replaced is None:
            return b""
        if replaced is not None and not self.arguments:
            raise ValueError("this host runs a call only as it was made")
        answer: dict[str, Any] = {}
        if self.event:
            _put(answer, self.event, event)
        _put(answer, self.verdict, "allow")
        for place in self.reasons if self.says_why_allowed else ():
            _put(answer, place, reason[:LONGEST_REASON])
        if replaced is not None:
            _put(answer, self.arguments, replaced)
        if self.context and context:
            _put(answer, self.context, "\n".join(context)[:LONGEST_REASON])
        return _line(answer)

    def deny(self, event: str, reason: str) -> bytes:
        """The tool may not run; the reason reaches the model."""
        answer: dict[str, Any] = {}
        if self.event:
            _put(answer, self.event, event)
        _put(answer, self.verdict, "deny")
        for place in self.reasons:
            _put(answer, place, reason[:LONGEST_REASON])
        return _line(answer)


def _put(answer: dict[str, Any], place: str, value: object) -> None:
    *outer, inner = place.split(".")
    for name in outer:
        answer = answer.setdefault(name, {})
    answer[inner] = value


def _line(answer: dict[str, Any]) -> bytes:
    return json.dumps(answer, allow_nan=False).encode() + b"\n"


def _keeps_all(asked: object, instead: object) -> bool:
    """Whether merging `instead` into `asked` yields `instead`, however deep the host merges."""
    if not isinstance(asked, dict) or not isinstance(instead, dict):
        return True
    old: dict[str, Any] = asked  # pyright: ignore[reportUnknownVariableType] - decoded JSON
    new: dict[str, Any] = instead  # pyright: ignore[reportUnknownVariableType]
    return all(name in new and _keeps_all(value, new[name]) for name, value in old.items())


class Timer:
    """How a host keeps the time of a hook: the key, what it is without one, how much it counts to a second, how far."""

    def __init__(
        self, key: str, *, default: float, per_second: int = 1, most: int = 2_147_483, seconds_below: int = 0
    ) -> None:
        """Describe it: numbers `seconds_below` are seconds even where the unit is smaller."""
        self.key = key
        self.default = default
        self.per_second = per_second
        self.most = most  # hosts keep their timers in 32 bits of milliseconds; beyond, they fire at once
        self.seconds_below = seconds_below

    @property
    def unit(self) -> str:
        """The unit's name, for people."""
        return "seconds" if self.per_second == 1 else "milliseconds"

    def seconds(self, value: float) -> float:
        """How long that is which stands in the settings."""
        return value if value < self.seconds_below else value / self.per_second

    def written(self, seconds: int) -> int:
        """What to write for so many seconds."""
        return seconds * self.per_second


class Place:
    """The file that calls the hook, below the home folder; the entry's constant members; the shape around it."""

    def __init__(
        self,
        file: str,
        *,
        nested: bool = True,
        command: str = "command",
        entry: Mapping[str, Any],
        gate: Mapping[str, Any] | None = None,
        top: Mapping[str, Any] | None = None,
        off: Mapping[str, Any] | None = None,
    ) -> None:
        """Describe it: `gate` are members of the entry that decides, `off` what would switch all hooks off."""
        self.file = file
        self.nested = nested
        self.command = command
        self.entry = entry
        self.gate = gate or {}
        self.top = top or {}
        self.off = off or {}


class Host:
    """One agent program."""

    def __init__(
        self,
        name: str,
        *,
        program: str,
        asks: Mapping[str, Form],
        tells: Mapping[str, str],
        timer: Timer | None,
        place: Place,
        installs: Sequence[str],
        session: Sequence[str] = ("session_id",),
        tool: Sequence[str] = ("tool_name",),
        arguments: Sequence[str] = ("tool_input",),
        call_id: Sequence[str] = (),
        sub_agent: str = "",
        arguments_as_text: bool = False,
        event_of: Callable[[dict[str, Any]], str | None] | None = None,
        call_of: Callable[[dict[str, Any], str], tuple[str, dict[str, Any]] | None] | None = None,
        went_wrong: tuple[str, str] = ("", ""),
        trust: str = "",
        note: str = "",
        oldest: tuple[int, ...] = (),
    ) -> None:
        """Describe it; see `table`."""
        self.name = name
        self.program = program
        self.asks = asks
        self.tells = tells
        self.timer = timer
        self.place = place
        self.installs = installs
        """The events for which the hook belongs into the settings; the first is the one that decides."""
        self.session = session
        self.tool = tool
        self.arguments = arguments
        self.call_id = call_id
        self.sub_agent = sub_agent
        self.arguments_as_text = arguments_as_text
        self.event_of = event_of
        self.call_of = call_of
        self.went_wrong = went_wrong
        """A place in the event after a run, and the word there that means success ("": all there is a fault)."""
        self.trust = trust
        self.note = note
        self.oldest = oldest

    @property
    def deadline(self) -> float:
        """By when to answer where nothing is said: before the timer that the host has without a setting."""
        return 86_385.0 if self.timer is None else self.timer.default - min(30.0, self.timer.default / 6)

    @property
    def gate(self) -> str:
        """The event that decides."""
        return self.installs[0]
