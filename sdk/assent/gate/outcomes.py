"""What becomes of a call at the gate: it ran now, it ran before, or there is no result; each with words for a model."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from assent.client.messages import CODE_OF_STATE, RefusalCode, replayed
from assent.client.models import State, parse_object
from assent.client.unapproved import NotApprovedError

if TYPE_CHECKING:
    from assent.client.models import Request

NOT_RUN = "not run: "
"""How the error of an execution begins whose tool was never called, or stopped before it did anything."""
ABANDONED = "abandoned: "
"""How the reason begins for which a request was withdrawn that nobody waited for any more."""
_LONGEST_RESULT = 8000
_LONGEST_FAULT = 500
_LARGEST_RESULT = 64 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """The tool ran with the approved arguments, here or in an executor, and this is what it returned."""

    result: Any
    request: Request | None = field(default=None, compare=False, repr=False)
    """The request that stood for it; None where nobody had to be asked."""
    changes: str | None = field(default=None, compare=False, repr=False)
    """What people changed of the call, in words for the model."""
    context: tuple[str, ...] = field(default=(), compare=False, repr=False)
    """What the gateway's hooks want the model to be told besides."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """The very same call ran before, and succeeded: nothing ran now, and `result` is what it returned then.

    That is JSON, as it was reported, whatever kind of value the tool returned.
    """

    result: Any
    request: Request = field(compare=False, repr=False)

    @property
    def message(self) -> str:
        """The same, in words for a model that is shown no bare result."""
        return replayed(as_text(self.result), request_id=self.request.id, short_code=self.request.code)


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """There is no result, and the call is not to be run here; an executor, or an earlier process, may have run it.

    `message` is for the model, and says what is known of that; `code` is for programs.
    """

    code: RefusalCode
    rule: str | None = None
    reason: str | None = None
    request: Request | None = field(default=None, compare=False, repr=False)

    @property
    def message(self) -> str:
        """What the model is told."""
        return str(self.as_error())

    def __str__(self) -> str:
        return self.message

    def as_error(self) -> NotApprovedError:
        """Return the same as an exception."""
        return NotApprovedError(self.code, rule=self.rule, reason=self.reason, request=self.request)


def ended(request: Request) -> Replayed | Refused:
    """What a request that is not this caller's to run means for its call: by its state, and never "it did not run"."""
    if request.state is State.SUCCEEDED and _was_kept(request):
        return Replayed(result=request.result, request=request)
    code = CODE_OF_STATE.get(request.state, RefusalCode.CALL_REFUSED)
    reason = request.settled_reason
    if request.state in _AFTER_THE_CLAIM:  # what stands there is of the people who approved it
        reason = request.error if request.state is State.FAILED else None
        if request.enforced and request.state is State.FAILED:
            code = RefusalCode.EXECUTOR_FAILED
    return Refused(code=code, reason=reason, request=request)


_AFTER_THE_CLAIM = {State.EXECUTING, State.SUCCEEDED, State.FAILED, State.UNKNOWN, State.PENDING_ELSEWHERE}


def never_ran(request: Request) -> bool:
    """Say whether nothing came of a request, and nobody said no: the very same call is asked about anew.

    Its holder said that the tool did nothing, or its caller was gone before people had decided.
    """
    if request.state is State.CANCELLED:
        return (request.settled_reason or "").startswith(ABANDONED)
    return request.state is State.FAILED and (request.error or "").startswith(NOT_RUN)


def said_by_tool(error: str) -> str:
    """What a tool, or whoever has it, says of its fault, cut; that a call was not run is nothing that they can say."""
    return (f"it says: {error}" if error.startswith(NOT_RUN) else error)[:_LONGEST_FAULT]


def kept(result: Any) -> Any:
    """The result when it is JSON of a bearable size, else a note in its place: that it is missing must be seen."""
    import json

    try:
        size = len(json.dumps(result, ensure_ascii=False, allow_nan=False).encode())
    except (TypeError, ValueError, RecursionError):
        return {"kept": False, "why": "the result is not JSON"}
    if size > _LARGEST_RESULT:
        return {"kept": False, "why": f"the result has {size} bytes, and {_LARGEST_RESULT} are kept at most"}
    return result


def _was_kept(request: Request) -> bool:
    result = request.result
    note = parse_object(cast("object", result), "'result'") if isinstance(result, dict) else {}
    return note.keys() != {"kept", "why"} or note["kept"] is not False


def as_text(result: Any) -> str | None:
    """A result as one line of JSON, cut to a bearable length; None where there is none."""
    if result is None:
        return None
    import json

    text = json.dumps(result, ensure_ascii=False)
    return text if len(text) <= _LONGEST_RESULT else f"{text[:_LONGEST_RESULT]}… (cut)"
