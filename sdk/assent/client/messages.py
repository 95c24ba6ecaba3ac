"""What a model is told about a tool call that may not run, and about one that may.

One module holds the wording, so that the client, the guard and the hook command speak alike. A refusal is short and
final, names what decided (a person, a rule, a deadline: never an approver's name) and closes the way around. Only the
standard library's `enum` is imported: the hook command pays for each import on every tool call.
"""

from __future__ import annotations

from enum import StrEnum

FINAL = (
    "This is final: do not retry or rephrase the call, and do not try to reach the same end another way. Tell the user."
)
CORRECTABLE = (
    "You may correct the arguments and call the tool again, for the same end; whether it runs is then judged anew."
)
_LONGEST_QUOTE = 500


class RefusalCode(StrEnum):
    """Why a call may not run. Stable: agents may branch on it."""

    DENIED = "denied"
    EXPIRED = "expired"
    CANCELLED = "cancelled"
    UNDELIVERABLE = "undeliverable"
    DENIED_BY_RULE = "denied_by_rule"
    LAPSED = "lapsed"
    ALREADY_CLAIMED = "already_claimed"
    DIGEST_MISMATCH = "digest_mismatch"
    STILL_PENDING = "still_pending"
    ALREADY_RAN = "already_ran"
    ALREADY_FAILED = "already_failed"
    EXECUTOR_FAILED = "executor_failed"
    LEFT_TO_EXECUTOR = "left_to_executor"
    OUTCOME_UNKNOWN = "outcome_unknown"
    PENDING_ELSEWHERE = "pending_elsewhere"
    PAUSED = "paused"
    GATEWAY_AWAY = "gateway_away"
    ANSWER_LATE = "answer_late"
    KEY_REFUSED = "key_refused"
    CALL_REFUSED = "call_refused"
    BAD_ARGUMENTS = "bad_arguments"
    BLOCKED = "blocked"
    GATE_FAULT = "gate_fault"
    NOBODY_TO_ASK = "nobody_to_ask"
    SANDBOX_FAULT = "sandbox_fault"
    SANDBOX_UNKNOWN = "sandbox_unknown"
    PROMPT_BLOCKED = "prompt_blocked"
    MODEL_REQUEST_BLOCKED = "model_request_blocked"


_DECIDED = {
    RefusalCode.DENIED: "Not approved: an approver denied this call.",
    RefusalCode.EXPIRED: "Not approved: nobody decided before the deadline, and silence is not consent.",
    RefusalCode.CANCELLED: "Not approved: the request was withdrawn.",
    RefusalCode.UNDELIVERABLE: "Not approved: no approver could be reached.",
    RefusalCode.DENIED_BY_RULE: "Not approved: a rule forbids this call.",
    RefusalCode.LAPSED: "Not run: the approval was not used in time and has lapsed, or was taken back before it was "
    "used.",
    RefusalCode.ALREADY_CLAIMED: "The approval of this call was used already, and it is good for one run. It did not "
    "run here.",
    RefusalCode.DIGEST_MISMATCH: "Not run: what was approved is not what this call would do.",
    RefusalCode.EXECUTOR_FAILED: "The executor of this tool ran the call once, and it failed. It did not run here.",
    RefusalCode.LEFT_TO_EXECUTOR: "The executor of this tool runs the call by itself as soon as it is approved, and "
    "what comes of it is not known yet. It does not run here.",
    RefusalCode.STILL_PENDING: "Not approved yet: this call still waits for a person's decision.",
    RefusalCode.ALREADY_RAN: "This call ran before, once, and succeeded; what it returned was not kept. It did not run "
    "again.",
    RefusalCode.ALREADY_FAILED: "This call ran before, once, and failed. It did not run again.",
    RefusalCode.OUTCOME_UNKNOWN: "This call was handed out to be run once, and it is not known whether it ran. It may "
    "be running still.",
    RefusalCode.PENDING_ELSEWHERE: "This call was approved and sent once, and the service that carries it out asks its "
    "own people now. That is no refusal: it may still be done.",
    RefusalCode.PAUSED: "Not run: people have paused this, and only people can lift the pause.",
    RefusalCode.GATEWAY_AWAY: "Not run here: the approval gateway could not be reached, and no answer means no.",
    RefusalCode.ANSWER_LATE: "No answer of the approval gateway came within the time that this call had. It did not "
    "run here, but what was sent may be asked of people now, or be run by an executor.",
    RefusalCode.KEY_REFUSED: "Not approved: the gateway refused this agent's key; its operator has to set a valid one.",
    RefusalCode.CALL_REFUSED: "Not approved: the approval gateway could not judge this call.",
    RefusalCode.BAD_ARGUMENTS: "Not run: the arguments of this call are not what the tool takes.",
    RefusalCode.BLOCKED: "Not run: a guard blocks this call.",
    RefusalCode.GATE_FAULT: "Not run: a check of this call failed, and a failed check means no.",
    RefusalCode.NOBODY_TO_ASK: "Not run: people would have to approve this call, and nobody can be asked here.",
    RefusalCode.SANDBOX_FAULT: "Not run: this call may only run in a sandbox, and the sandbox failed.",
    RefusalCode.SANDBOX_UNKNOWN: "The sandbox failed, and it is not known whether this call ran or how far it came.",
    RefusalCode.PROMPT_BLOCKED: "The prompt was blocked.",
    RefusalCode.MODEL_REQUEST_BLOCKED: "The request to the model was blocked.",
}
_DECIDED_BY = {
    RefusalCode.DENIED_BY_RULE: "Not approved: rule '{}' forbids this call.",
    RefusalCode.BLOCKED: "Not run: the guard '{}' blocks this call.",
    RefusalCode.GATE_FAULT: "Not run: the check '{}' of this call failed, and a failed check means no.",
    RefusalCode.NOBODY_TO_ASK: "Not run: the guard '{}' wants people to approve this, and nobody can be asked here.",
    RefusalCode.PROMPT_BLOCKED: "The guard '{}' blocked the prompt.",
    RefusalCode.MODEL_REQUEST_BLOCKED: "The guard '{}' blocked the request to the model.",
}
_NOT_TWICE = (
    "Do not repeat it, and do not try to reach the same end another way: it may have run, and people can find out. "
    "Tell the user."
)
_SHOWS = " It shows what came of the call, as soon as that is known."
"""Said of the request of a call that others may have run, or may be running: an executor, or an earlier process."""
_AGAIN = "To ask again later, repeat the very same call: it joins this request."
_ENDINGS = {
    RefusalCode.GATEWAY_AWAY: f"{FINAL} Say, too, that what was sent may have arrived all the same: where an executor "
    "runs this tool, it may still run the call.",
    RefusalCode.STILL_PENDING: f"Do not try to reach the same end another way. {_AGAIN}",
    RefusalCode.LEFT_TO_EXECUTOR: "Do not call it again, and do not try to reach the same end another way: that would "
    "ask for a second run. Tell the user.",
    RefusalCode.ALREADY_CLAIMED: _NOT_TWICE,
    RefusalCode.ALREADY_RAN: "Do not repeat it: it would be done twice.",
    RefusalCode.ALREADY_FAILED: "Running it again needs a new approval. Tell the user.",
    RefusalCode.EXECUTOR_FAILED: "Running it again needs a new approval. Tell the user.",
    RefusalCode.OUTCOME_UNKNOWN: _NOT_TWICE,
    RefusalCode.PENDING_ELSEWHERE: "Do not repeat it, and do not try to reach the same end another way: it would be "
    "done twice. Tell the user.",
    RefusalCode.ANSWER_LATE: "Do not repeat it, and do not try to reach the same end another way: people may still "
    "approve it. Tell the user.",
    RefusalCode.BAD_ARGUMENTS: CORRECTABLE,
    RefusalCode.PROMPT_BLOCKED: "",
    RefusalCode.MODEL_REQUEST_BLOCKED: "",
}
CODE_OF_STATE = {
    "pending": RefusalCode.STILL_PENDING,
    "executing": RefusalCode.OUTCOME_UNKNOWN,
    "succeeded": RefusalCode.ALREADY_RAN,
    "failed": RefusalCode.ALREADY_FAILED,
    "unknown": RefusalCode.OUTCOME_UNKNOWN,
    "pending_elsewhere": RefusalCode.PENDING_ELSEWHERE,
    "denied": RefusalCode.DENIED,
    "expired": RefusalCode.EXPIRED,
    "cancelled": RefusalCode.CANCELLED,
    "undeliverable": RefusalCode.UNDELIVERABLE,
    "lapsed": RefusalCode.LAPSED,
}
"""What it means for a call that its request stands so, and is not this caller's to run. None says of a run: not run."""
STATUS_OF_DECISION = {"ask": 202}
"""The status with which the gateway answers, where that is not 200: what comes with another is not understood."""
_ABOUT_ARGUMENTS = frozenset({"bad_arguments", "bad_json"})


def code_of_fault(status: int | None, code: str) -> RefusalCode:
    """What a problem document (its status and code) means for the call: what the model can correct, or a final no."""
    return RefusalCode.BAD_ARGUMENTS if status == 422 and code in _ABOUT_ARGUMENTS else RefusalCode.CALL_REFUSED


def _quote(text: str) -> str:
    """One bounded line: line breaks and control characters of a foreign text cannot pose as our own sentences."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split()).replace('"', "'")
    return line if len(line) <= _LONGEST_QUOTE else line[: _LONGEST_QUOTE - 1] + "…"


def _reference(request_id: str | None, short_code: str | None) -> str:
    if not request_id:
        return ""
    return f" Request {_quote(request_id)}" + (f", code {_quote(short_code)}." if short_code else ".")


def refusal(
    code: RefusalCode,
    *,
    rule: str | None = None,
    reason: str | None = None,
    request_id: str | None = None,
    short_code: str | None = None,
) -> str:
    """The whole text for a call that is not this caller's to run: `rule` (or guard) decided, `reason` is quoted.

    Of an expired request there is nobody who gave one: what stands there is the gateway's own word for the silence.
    """
    decided = _DECIDED_BY[code].format(_quote(rule)) if rule and code in _DECIDED_BY else _DECIDED[code]
    given = bool(reason and reason.strip()) and code is not RefusalCode.EXPIRED
    why = f' Reason given: "{_quote(reason)}".' if reason and given else ""
    about = _reference(request_id, short_code)
    about += _SHOWS if about and code is RefusalCode.OUTCOME_UNKNOWN else ""
    return f"{decided}{why}{about} {_ENDINGS.get(code, FINAL)}".rstrip()


def still_waiting(*, request_id: str, short_code: str | None, by_executor: bool = False) -> str:
    """The answer that beats the host's own timeout: no decision yet; the same call, asked again, joins the request.

    `by_executor`: it runs without the agent once it is approved, so that a later repetition may be a second call.
    """
    again = (
        "If people approve it, the executor of this tool runs it by itself: do not call it again. Tell the user."
        if by_executor
        else _AGAIN
    )
    return (
        f"Not approved yet: this call still waits for a person's decision.{_reference(request_id, short_code)} "
        f"Do not try to reach the same end another way. {again}"
    )


def replayed(result: str | None, *, request_id: str, short_code: str | None) -> str:
    """What a model is told of a call that ran once already, and is asked for again; `result` is JSON."""
    told = f" Its result: {result}" if result is not None else ""
    return (
        "Done before: this call ran once, and succeeded. It did not run again, and is not to be repeated."
        f"{_reference(request_id, short_code)}{told}"
    )


def run_by_executor(result: str | None, *, request_id: str, short_code: str | None) -> str:
    """What a model is told of a call that an executor ran in the place of its own runtime; `result` is JSON."""
    told = f" Its result: {result}" if result is not None else ""
    return (
        "Done: the executor of this tool ran the call, once, and it succeeded. It does not run here, and is not to be "
        f"called again.{_reference(request_id, short_code)}{told}"
    )


def left_to_executor(*, request_id: str, short_code: str | None) -> str:
    """What a model is told when its runtime cannot wait any longer for what an executor makes of an approved call."""
    return (
        "Approved: the executor of this tool runs the call, and what came of it is not known yet. It does not run here."
        f"{_reference(request_id, short_code)} Do not call it again, and do not try to reach the same end another way: "
        "that would ask for a second run. Tell the user."
    )


def withheld(guard: str, reason: str) -> str:
    """What stands in the place of a result that a hook keeps from the model: the tool has run all the same."""
    return f"The tool has run; the guard '{_quote(guard)}' withholds its result. Reason given: \"{_quote(reason)}\"."


def allowed(*, rule: str | None, reason: str | None) -> str:
    """Why a call runs that nobody had to be asked about."""
    by = f"Allowed by rule '{_quote(rule)}'." if rule else "Allowed by policy."
    return by + (f" {_quote(reason)}" if reason and reason.strip() else "")


def call_again(arguments: str, *, request_id: str | None, short_code: str | None) -> str:
    """What a model is told whose runtime runs a call only as it was made; `arguments` are JSON, whole."""
    return (
        "Not run yet: this call may run only with other arguments, and this runtime cannot change them by itself."
        f"{_reference(request_id, short_code)} Call the same tool again with exactly these arguments: {arguments} "
        "Any other call has to be approved anew."
    )


def approved(*, request_id: str, short_code: str | None, changed: bool = False) -> str:
    """Why a call runs that a person approved; `changed` when the approved arguments replace the ones asked for."""
    note = " The arguments were replaced by the approved ones." if changed else ""
    return f"Approved for one run.{_reference(request_id, short_code)}{note}"
