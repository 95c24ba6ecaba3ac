"""`assent-hook doctor`: what would let a tool run unasked, or keep a good call from running; each with its mend."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

from assent.command.exchange import exchange
from assent.command.faults import AwayError, HookError, RefusedError
from assent.command.hosts.table import HOSTS
from assent.command.identity import load_identity
from assent.command.options import LONGEST, Options
from assent.command.setup import settings as printed
from assent.command.setup.jsonc import entries, read_object
from assent.command.setup.place import home, place_of
from assent.command.shapes import as_list, as_object

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from assent.command.hosts.row import Host, Timer

LEAST_MARGIN = 10.0
LONGEST_MARGIN = 600.0
_RUN_BY_CODEX = frozenset({"command", "mcp_tool", "prompt", "agent"})
_ASK = re.compile(r"^const ask = \[(.*)\];$", re.MULTILINE)


def examine(host: Host, path: str | None, *, config: str | None) -> int:
    """Print every fault of an installation; 0 when there is none, else 1."""
    faults: list[str] = []
    try:
        place = place_of(host, path)
        faults += [*_of_file(host, place), *_of_trust(host, place)]
    except HookError as error:
        place = Path("~") / host.place.file
        faults.append(str(error))
    faults += [*_of_gateway(config), *_of_program(host)]
    for fault in faults:
        print(f"fault: {fault}")  # noqa: T201 - a command's output
    many = "1 fault" if len(faults) == 1 else f"{len(faults)} faults"
    print(f"{place}: {many}" if faults else f"{place}: sound", flush=True)  # noqa: T201
    return 1 if faults else 0


def _of_file(host: Host, place: Path) -> Iterator[str]:
    mend = f"`assent-hook {host.name} --install`"
    try:
        text = place.read_text(encoding="utf-8")
        settings = None if place.suffix == ".js" else read_object(text)
    except FileNotFoundError:
        yield f"there is no {place}: {mend} writes it"
        return
    except (OSError, ValueError) as error:
        yield f"{place} cannot be read: {error}"
        return
    if settings is None:
        yield from _of_plugin(host, text)
        return
    yield from _of_switches(host, settings)
    yield from _of_shape(host, settings)
    yield from _of_gates(host, settings)


def _of_switches(host: Host, settings: dict[str, Any]) -> Iterator[str]:
    for name, value in host.place.off.items():
        if settings.get(name) == value:
            yield f"{name} is set: no hook runs at all; take it out"
    for name, value in host.place.top.items():
        if settings.get(name) != value:
            yield f'"{name}": {value} is missing: the file may be passed over; write it'


def _of_gates(host: Host, settings: dict[str, Any]) -> Iterator[str]:
    mend = f"`assent-hook {host.name} --install` writes"
    asking = [event for event in host.asks if any(_ours(settings, event))]
    gates = [gate for event in asking for gate in _ours(settings, event)]
    if not gates:
        yield f"no {host.gate} hook calls assent-hook; {mend} the lines"
        return
    calls = [event for event in asking if "permission" not in event.casefold()]
    if not calls:
        yield f"only {asking[0]} calls assent-hook: what the host does not ask about runs; {mend} the lines"
    if len(calls) > 1:
        yield f"{' and '.join(calls)} both ask about one call: people are asked twice; keep {host.gate}"
    if not any(matcher in {"*", "", None} for matcher, _ in gates):
        yield f'no {host.gate} entry has the matcher "*": tools outside the matchers run unasked'
    for _, hook in gates:
        yield from _of_gate(host, hook)
    for event in host.installs:
        if host.tells.get(event) in {"ran", "failed"} and not any(_ours(settings, event)):
            yield f"no {event} hook calls assent-hook: outcomes stay unknown; {mend} the lines"


def _ours(settings: dict[str, Any], event: str) -> Iterator[tuple[str | None, dict[str, Any]]]:
    hooks = as_object(settings.get("hooks")) or {}
    for told, index, _, hook in entries(hooks):
        if told == event and printed.is_ours(hook):
            yield hooks[event][index].get("matcher"), hook


def _of_shape(host: Host, settings: dict[str, Any]) -> Iterator[str]:
    """What makes the host pass over entries without a word: another host's events, or another host's shape."""
    for event, _, _, hook in entries(as_object(settings.get("hooks")) or {}):
        if printed.is_ours(hook) and host.place.command not in hook:
            yield f'the command (at {event}) stands under another key than "{host.place.command}"'
        if host.name == "codex" and hook.get("type") not in _RUN_BY_CODEX:
            yield (
                f"a hook of the type {hook.get('type')!r} (at {event}): Codex then drops the whole file; take it out, "
                f"there are {', '.join(sorted(_RUN_BY_CODEX))}"
            )
        if printed.is_ours(hook) and event not in host.asks and event not in host.tells:
            yield f"{host.name} knows no event {event!r}: that entry is never called; it is {host.gate}"


def _of_gate(host: Host, hook: dict[str, Any]) -> Iterator[str]:
    place = host.place
    if hook.get("type", "command") != "command":
        yield f'the hook\'s type is {hook.get("type")!r}, not "command"'
    for name, value in place.gate.items():
        if hook.get(name) != value:
            said = f'"{value}"' if isinstance(value, str) else str(value).lower()
            yield f"{name} is not {said}: a hook that crashes or times out lets the tool run; set it"
    for key in ("async", "asyncRewake", "if", "once"):
        if hook.get(key):
            yield f"'{key}' is set: the hook does not decide every call; take it out"
    try:
        words = shlex.split(printed.command_of(hook))
    except ValueError as error:
        yield f"the command line is not understood: {error}"
        return
    yield from _of_words(host, words, hook)


def _of_words(host: Host, words: list[str], hook: dict[str, Any]) -> Iterator[str]:
    yield from _of_command(words)
    named = next((word for word in words if word in HOSTS), None)
    if named is not None and named != host.name:
        yield (
            f"the command answers as {named}, and {host.name} does not understand that: the tool runs; "
            f"write {host.name} instead of {named}"
        )
        return
    try:
        options = Options(words[words.index(host.name) + 1 :])
    except (HookError, ValueError) as error:
        yield f"the command line is not understood: {error}"
        return
    if host.timer is not None:
        deadline = host.deadline if options.deadline is None else options.deadline
        yield from _of_timeout(host.timer, hook.get(host.timer.key), deadline)


def _of_timeout(timer: Timer, said: object, deadline: float) -> Iterator[str]:
    if said is None:
        timeout, shown = timer.default, f"without a {timer.key}, of {timer.default:g} s"
    elif isinstance(said, bool) or not isinstance(said, int | float) or not 0 < said <= timer.most:
        yield (
            f"the {timer.key} {said!r} is not a number of {timer.unit} up to {timer.most} (beyond, hosts time out at "
            f"once, and the tool runs): set {timer.written(printed.TIMEOUT)}"
        )
        return
    else:
        timeout = timer.seconds(said)
        shown = f"of {timeout:g} s" if timer.per_second == 1 else f"of {timeout:g} s ({said:g} as {timer.unit})"
    if timeout - deadline < LEAST_MARGIN and not (said is None and timeout > deadline):
        yield (
            f"the host's timeout {shown} does not outlast the hook's deadline of {deadline:g} s by {LEAST_MARGIN:g} s: "
            f"it would end the hook first, and the tool runs; set {timer.key} to {timer.written(printed.TIMEOUT)} and "
            f"--deadline to {printed.DEADLINE}"
        )
    elif timeout - deadline > LONGEST_MARGIN:
        yield (
            f"the hook's deadline of {deadline:g} s gives up long before the host's timeout {shown}: "
            f"set --deadline {min(timeout - 15, LONGEST):g}"
        )


def _of_command(words: list[str]) -> Iterator[str]:
    if not words or shutil.which(words[0]) is None:
        yield f"the command {words[0] if words else ''!r} is not found or not executable: --install writes it anew"
    for word in words[1:]:
        if word.endswith("hook_command.py") and not os.access(word, os.R_OK):
            yield f"{word} cannot be read: --install writes it anew"


def _of_plugin(host: Host, text: str) -> Iterator[str]:
    found = _ASK.search(text)
    if found is None:
        yield f"the plugin calls no assent-hook; `assent-hook {host.name} --install` writes it"
        return
    words = [str(word) for word in as_list(read_object(f'{{"words": [{found[1]}]}}').get("words"))]
    yield from _of_words(host, words, {})
    config = words[words.index("--config") + 1] if "--config" in words[:-1] else None
    if text != printed.plugin(host, config=config):
        yield f"the plugin is not the one that this version writes; `assent-hook {host.name} --install` writes it anew"


def _of_trust(host: Host, place: Path) -> Iterator[str]:
    """Codex writes down what its user trusts; whether the hook is still the trusted one it alone can say."""
    if not host.trust or not place.exists():
        return
    try:
        book = Path(os.environ.get("CODEX_HOME", "") or home(" or CODEX_HOME") / ".codex") / "config.toml"
    except HookError as error:
        yield str(error)
        return
    try:
        trusted = str(place.resolve()) in book.read_text(encoding="utf-8") or str(place) in book.read_text("utf-8")
    except OSError:
        trusted = False
    if not trusted:
        yield f"{book} knows of no trust in {place}: {host.trust}"


def _of_gateway(config: str | None) -> Iterator[str]:
    try:
        identity = load_identity(config)
        if not identity.secure and identity.host not in {"127.0.0.1", "::1", "localhost"}:
            yield f"the key goes to {identity.host} in clear text: use https"
        exchange(identity, "GET", "/v1/requests?open=true&limit=1", within=10.0)
    except HookError as error:
        yield str(error)
    except RefusedError as refused:
        if refused.status in {401, 403}:
            yield f"the gateway refuses the key: {refused}"
        else:
            yield f"the gateway does not serve this agent: {refused}" if refused.status else refused.detail
    except AwayError as away:
        yield f"the gateway does not answer: {away}"


def _of_program(host: Host) -> Iterator[str]:
    program = shutil.which(host.program)
    if program is None:
        yield f"{host.program} is not found"
        return
    if not host.oldest:
        return
    try:
        told = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=30, check=False).stdout  # noqa: S603 - found on PATH
    except (OSError, subprocess.TimeoutExpired) as error:
        yield f"{host.program} --version fails: {error}"
        return
    version = re.match(r"(\d+)\.(\d+)\.(\d+)", told)
    if version is None:
        yield f"{host.program} --version says {told.strip()!r}"
    elif tuple(int(part) for part in version.groups()) < host.oldest:
        needed = ".".join(map(str, host.oldest))
        yield f"{host.program} {version[0]} ignores {', '.join(host.place.gate)}; it takes {needed} or newer"
