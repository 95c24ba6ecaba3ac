"""Reads the command line, and sends a hook's event to the judge or to the reporter."""

from __future__ import annotations

import os
import signal
import time

from assent.command.faults import HookError, InterruptedHookError
from assent.command.hosts.table import HOSTS
from assent.command.options import HELP, USAGE, Options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType

    from assent.command.hosts.event import Event
    from assent.command.hosts.row import Host
    from assent.command.watch import Watch

REPORT_WITHIN = 5.0
LARGEST_EVENT = 64 * 1024 * 1024


def run(arguments: list[str]) -> int:
    """Do what the command line says and return the exit code. Whatever raises is the caller's to turn into 2."""
    started = time.monotonic()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):  # a shell starts background jobs with SIGINT ignored
        signal.signal(number, _interrupt)
    for stream in (0, 1, 2):
        os.fstat(stream)  # a closed one would be handed to the next socket
    if arguments in (["--help"], ["-h"]):  # alone: no host that calls a hook may meet text and success
        os.write(1, f"{HELP}\n".encode())
        return 0
    options = Options(arguments)
    match options.words:
        case ["doctor", *words]:
            from assent.command.setup.doctor import examine

            host = HOSTS[words.pop(0)] if words and words[0] in HOSTS else HOSTS["claude-code"]
            if len(words) > 1:
                raise HookError(f"usage: {USAGE}")
            return examine(host, words[0] if words else None, config=options.config)
        case [name] if name in HOSTS and options.print_settings:
            from assent.command.setup.settings import print_settings

            return print_settings(HOSTS[name], config=options.config)
        case [name, *files] if name in HOSTS and options.install != options.uninstall and len(files) <= 1:
            from assent.command.setup.install import change

            path = files[0] if files else None
            return change(HOSTS[name], path, config=options.config, install=options.install, yes=options.yes)
        case [name] if name in HOSTS and not options.install:
            return _hook(HOSTS[name], options, started)
        case _:
            raise HookError(f"usage: {USAGE}; the hosts are {', '.join(HOSTS)}")


def _interrupt(number: int, _frame: FrameType | None) -> None:
    raise InterruptedHookError(f"ended by signal {number}")


def _hook(host: Host, options: Options, started: float) -> int:
    from assent.command.watch import Watch

    watch = Watch(started=started, deadline=options.deadline or host.deadline)
    watch.start()
    from assent.command.hosts.event import Event, members_of, refusal_of

    raw = members_of(_read_event())
    try:
        event = Event(host, raw)
    except HookError as error:
        answer = refusal_of(host, raw, f"Not approved: the approval hook failed ({type(error).__name__}: {error}).")
        if answer is None:
            raise
        watch.answer(answer)
        return 0
    if event.form is not None:
        return _judge(options, event, watch)
    watch.shorten(REPORT_WITHIN)
    match event.kind:
        case "ran" | "failed":
            from assent.command.report import report

            return report(options, event, within=REPORT_WITHIN)
        case "over" if not options.keep_pending:
            from assent.command.report import withdraw

            return withdraw(options, event, within=REPORT_WITHIN)
        case _:
            return 0  # what only tells is heard, and disturbs nobody


def _judge(options: Options, event: Event, watch: Watch) -> int:
    from assent.command.judge import Judge

    try:
        Judge(options, event, watch).speak()
    except BaseException as error:
        if event.answering.heeds_exit:
            raise
        watch.answer(event.deny(f"Not approved: the approval hook failed ({type(error).__name__}: {error})."))
    return 0


def _read_event() -> bytes:
    parts: list[bytes] = []
    size = 0
    while part := os.read(0, 65536):
        parts.append(part)
        size += len(part)
        if size > LARGEST_EVENT:
            raise HookError("the event is larger than 64 MiB")
    return b"".join(parts)
