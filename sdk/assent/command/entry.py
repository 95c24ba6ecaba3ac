"""Reads the command line, and sends a hook's event to the judge or to the reporter."""

from __future__ import annotations

import os
import signal
import time

from assent.command.faults import HookError, InterruptedHookError
from assent.command.options import HELP, USAGE, Options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType

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
        case ["claude-code"] if options.print_settings:
            from assent.command.installation import print_settings

            return print_settings(config=options.config)
        case ["claude-code"]:
            return _hook(options, started)
        case ["doctor", *files] if len(files) <= 1:
            from assent.command.doctor import examine

            return examine(files[0] if files else None, config=options.config)
        case _:
            raise HookError(f"usage: {USAGE}")


def _interrupt(number: int, _frame: FrameType | None) -> None:
    raise InterruptedHookError(f"ended by signal {number}")


def _hook(options: Options, started: float) -> int:
    from assent.command.watch import Watch

    watch = Watch(started=started, deadline=options.deadline)
    watch.start()
    from assent.command import claude_code

    event = claude_code.parse_event(_read_event())
    match event.moment:
        case "PreToolUse":
            from assent.command.judge import Judge

            Judge(options, event, watch).speak()
            return 0
        case "PostToolUse" | "PostToolUseFailure":
            from assent.command.report import report

            watch.shorten(REPORT_WITHIN)
            return report(options, event, within=REPORT_WITHIN)
        case other:
            raise HookError(f"assent-hook answers PreToolUse, PostToolUse and PostToolUseFailure, not {other!r}")


def _read_event() -> bytes:
    parts: list[bytes] = []
    size = 0
    while part := os.read(0, 65536):
        parts.append(part)
        size += len(part)
        if size > LARGEST_EVENT:
            raise HookError("the event is larger than 64 MiB")
    return b"".join(parts)
