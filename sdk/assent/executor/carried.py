"""What became of one request in an executor, as its caller and its log are told."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TypeAlias

from assent.executor.tools import ToolFailed, ToolSucceeded, ToolUnknown
from assent.gate.aftermath import ToolElsewhere

_log = logging.getLogger("assent")


@dataclass(frozen=True, slots=True, kw_only=True)
class NotRun:
    """The tool was not called.

    `code` is the gateway's, or `not_approved`, `not_enforced`, `no_tool`, `under_way`, `not_mine`, `wrong_key`,
    `state_file`.
    """

    code: str
    why: str


Outcome: TypeAlias = ToolSucceeded | ToolFailed | ToolUnknown | ToolElsewhere | NotRun


@dataclass(frozen=True, slots=True, kw_only=True)
class Carried:
    """One request, and what became of it here."""

    request_id: str
    outcome: Outcome


def carried_of(request_id: str, outcome: Outcome) -> Carried:
    """Log what became of a request, and return it."""
    match outcome:
        case NotRun():
            _log.warning("request %s: not run (%s): %s", request_id, outcome.code, outcome.why)
        case ToolUnknown():
            _log.error("request %s: its outcome is unknown, and somebody has to look", request_id)
        case ToolElsewhere():
            _log.warning("request %s: %s", request_id, outcome)
        case _:
            _log.info("request %s: %s", request_id, type(outcome).__name__)
    return Carried(request_id=request_id, outcome=outcome)
