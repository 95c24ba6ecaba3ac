"""The verdict on one call: ask the gateway, wait for people, take the approval, and only then say allow.

What is foreseen to go wrong becomes a denial with a reason for the model; what is not, raises, and the hook ends with
exit code 2. There is one way to an allow without a person (the gateway said so) and one with (a claim of this call
succeeded).

The call is held by the gateway until people have decided (`wait`, docs/api.md#the-one-call), but it does not name the
claim: whoever is frozen while held (a laptop that sleeps, SIGSTOP) is still connected, and would be claimed for; killed
then, its approval would be spent on nothing, and the same call, made again, would ask people again. So the hook claims
itself, awake, with its host there.
"""

from __future__ import annotations

import os
import time

from assent.client.messages import (
    CODE_OF_STATE,
    RefusalCode,
    allowed,
    approved,
    call_again,
    code_of_fault,
    left_to_executor,
    refusal,
    run_by_executor,
    still_waiting,
)
from assent.command.exchange import MINIMAL, exchange, pause, persist, quote
from assent.command.faults import AwayError, HookError, RefusedError
from assent.command.hosts.event import plain, same
from assent.command.hosts.row import LONGEST_REASON
from assent.command.identity import load_identity
from assent.command.shapes import as_object, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from assent.command.hosts.event import Event
    from assent.command.options import Options
    from assent.command.watch import Watch

HOLD = 25.0
MOST_LEAD = 5.0
_ANSWERED_WITHIN = 10.0  # besides what it holds
CLAIM_WITHIN = 6.0  # less than the watch's grace
GOODBYE_WITHIN = 2.0
LOOKED_UP_WITHIN = 20.0
"""How long an outcome that became unknown is still waited for: an executor may ask its tool what came of it."""
_LONGEST_RESULT = 6_000  # of an executor's result, of what Claude Code shows a model
_CLAIM = {
    "already_claimed": RefusalCode.ALREADY_CLAIMED,
    "grant_lapsed": RefusalCode.LAPSED,
    "digest_mismatch": RefusalCode.DIGEST_MISMATCH,
    "paused": RefusalCode.PAUSED,
}


class Judge:
    """One event that asks about a call, on its way to an answer."""

    _doubtful_until: float | None = None
    """Until when an unknown outcome is waited for, once it is one."""

    def __init__(self, options: Options, event: Event, watch: Watch) -> None:
        self._event = event
        self._watch = watch
        self._patience = options.patience
        self._lead = min(MOST_LEAD, watch.remaining() / 4)
        """How long before the deadline the gateway shall say "not yet": a slow answer must not read as none."""
        self._form = event.answering
        self._fixed_input = options.fixed_input or not self._form.arguments
        self._identity = load_identity(options.config)
        self._request: dict[str, Any] = {}
        self._context: list[str] = []  # what the gateway's hooks tell the model besides
        self._claim_id: str | None = None
        """The claim that was sent and not yet answered for."""
        watch.last_word = self._last_word

    def speak(self) -> None:
        """Find the verdict and write it out. If anything raises after a claim, the gateway is told that nothing ran."""
        try:
            self._watch.answer(self._verdict())
        except BaseException:
            self._give_back()
            raise

    def _verdict(self) -> bytes:
        try:
            answer = self._submit()
            self._context = _texts(answer.get("context"))
            match answer.get("decision"):
                case "allow":
                    return self._allowed(answer)
                case "deny" if answer.get("request") is None:
                    return self._denied(answer)
                case "ask" | "deny":
                    self._remember(answer.get("request"))
                    return self._decided()
                case _:
                    return self._deny(RefusalCode.GATEWAY_AWAY, reason="an answer without a decision")
        except RefusedError as refused:
            return self._refused(refused)
        except AwayError as away:
            self._give_back()
            note = f"assent-hook: the gateway at {self._identity.url} does not answer: {away}\n"
            os.write(2, note.encode(errors="replace"))  # for the operator; the host shows the model only the answer
            return self._deny(RefusalCode.GATEWAY_AWAY, reason=str(away))

    def _allowed(self, answer: dict[str, Any]) -> bytes:
        """Nobody has to be asked. What the gateway's hooks made of the arguments runs, never what they were before."""
        if answer.get("route") is not None:
            return self._deny(RefusalCode.CALL_REFUSED, reason="it may only run in a sandbox, which this hook has not")
        given = answer.get("arguments")
        arguments = as_object(given)
        if given is not None and arguments is None:
            return self._deny(RefusalCode.GATEWAY_AWAY, reason="an answer whose arguments are no object")
        changed = arguments is not None and not same(arguments, self._event.arguments)
        if changed and not self._takes(arguments):
            return self._again(arguments)
        reason = allowed(rule=text(answer, "rule"), reason=text(answer, "reason"))
        return self._event.allow(reason, replaced=arguments if changed else None, context=self._context)

    def _denied(self, answer: dict[str, Any]) -> bytes:
        message = text(answer, "message")
        if text(answer, "hook") and message:
            return self._event.deny(message)
        return self._deny(RefusalCode.DENIED_BY_RULE, rule=text(answer, "rule"), reason=text(answer, "reason"))

    def _submit(self) -> dict[str, Any]:
        """Ask, under one key until there is an answer; a gateway that does not answer is asked for `patience`."""
        event = self._event
        body = {
            "session_id": event.session,
            "tool_name": event.tool,
            "tool_input": event.arguments,
            "tool_use_id": event.call_id,
            "sub_agent": event.sub_agent,
            "user": None,
            **self._proof(),
            "claim": event.words(),
            "cwd": text(event.raw, "cwd"),
            "host_event": event.as_sent(),
        }
        key = f"Idempotency-Key: hook_{os.urandom(16).hex()}\r\n"
        until, attempt = float("inf"), 0
        while True:
            hold = self._hold_now()
            within = hold + _ANSWERED_WITHIN
            held = {**body, "wait": round(hold, 3)}
            try:
                return exchange(self._identity, "POST", "/v1/hooks/PreToolUse", held, headers=key, within=within)
            except AwayError as away:
                until = min(until, time.monotonic() + self._patience)
                left = min(until - time.monotonic(), self._watch.remaining())
                if left <= 0:
                    raise
                attempt += 1
                pause(attempt, at_least=away.retry_after, at_most=left)

    def _proof(self) -> dict[str, str]:
        """The requester's token, if there is one; a gateway from before there were any knows no such member."""
        token = self._identity.requester_token()
        return {} if token is None else {"requester_token": token}

    def _hold_now(self) -> float:
        end = float("inf") if self._doubtful_until is None else self._doubtful_until
        return max(0.0, min(HOLD, self._watch.remaining() - self._lead, end - time.monotonic()))

    def _remember(self, answer: object) -> None:
        request = as_object(answer)
        if request is None or text(request, "id") is None or text(request, "state") is None:
            raise AwayError("an answer that is no request")
        if self._request and request["id"] != self._request["id"]:
            raise HookError("the gateway answered with another request")
        if self._request and "arguments" not in request:  # no more than how it stands: as it is known, or not at all
            if request["state"] != self._request["state"]:
                raise AwayError("an answer that is no request")
            return
        self._request = request

    def _path(self) -> str:
        return f"/v1/requests/{quote(self._request['id'])}"

    def _decided(self) -> bytes:
        attempt = 0
        while self._awaited():
            hold = self._hold_now()
            asked_at = time.monotonic()
            after = 0.0
            try:
                self._remember(
                    exchange(
                        self._identity,
                        "GET",
                        f"{self._path()}{self._hold(hold)}",
                        headers=MINIMAL,
                        within=hold + _ANSWERED_WITHIN,
                    )
                )
            except AwayError as away:
                after = away.retry_after
            if self._awaited():
                held = after == 0.0 and hold > 0 and time.monotonic() - asked_at >= hold / 2
                attempt = 0 if held else attempt + 1
                if not held:  # a fault, or an answer that did not hold: never a busy loop
                    pause(attempt, at_least=after, at_most=max(0.0, self._watch.remaining()))
            if self._watch.remaining() <= 0:
                return self._last_word()
        if self._request.get("enforced") is True:
            return self._carried_out()
        if self._request["state"] == "approved":
            stored = as_object(self._request.get("arguments"))
            if not self._takes(stored):
                return self._again(stored)
            return self._claim()
        code = CODE_OF_STATE.get(self._request["state"])
        if code is None:
            raise HookError(f"the gateway speaks of the state {self._request['state']!r}, unknown to this version")
        return self._deny(code, reason=text(as_object(self._request.get("settled")), "reason"))

    def _awaited(self) -> bool:
        """Whether it is waited on: what only an executor may run to its end, and a while longer for a lookup's."""
        state = self._request["state"]
        if self._request.get("enforced") is not True:
            return state == "pending"
        if state != "unknown":
            return state in {"pending", "approved", "executing"}
        if self._doubtful_until is None:
            self._doubtful_until = time.monotonic() + LOOKED_UP_WITHIN
        return time.monotonic() < self._doubtful_until

    def _hold(self, seconds: float) -> str:
        since = "" if self._request["state"] == "pending" else f"&since={self._request.get('version')}"
        return f"?wait={seconds:.3f}{since}"

    def _carried_out(self) -> bytes:
        """Deny in any case, for the runtime itself must not run the tool, and tell what the executor made of it."""
        execution, known = as_object(self._request.get("execution")) or {}, self._request
        match known["state"]:
            case "succeeded":
                result = execution.get("result")
                told = None if result is None else plain(result)[:_LONGEST_RESULT]
                return self._event.deny(run_by_executor(told, request_id=known["id"], short_code=text(known, "code")))
            case "failed":
                return self._deny(RefusalCode.EXECUTOR_FAILED, reason=text(execution, "error"))
            case "unknown":
                return self._deny(RefusalCode.OUTCOME_UNKNOWN)
            case "pending_elsewhere":
                return self._deny(RefusalCode.PENDING_ELSEWHERE)
            case state:
                code = CODE_OF_STATE.get(state)
                if code is None:
                    raise HookError(f"the gateway speaks of the state {state!r}, unknown to this version")
                return self._deny(code, reason=text(as_object(known.get("settled")), "reason"))

    def _claim(self) -> bytes:
        claim_id = self._event.claim_id() or f"clm_{os.urandom(32).hex()}"
        self._watch.commit()
        self._claim_id = claim_id
        body = {"digest": self._request.get("digest"), "claim_id": claim_id}
        patience = min(self._patience, CLAIM_WITHIN)
        try:
            claimed = persist(
                self._identity, "POST", f"{self._path()}/claim", body, patience=patience, within=CLAIM_WITHIN
            )
        except RefusedError as refused:
            if refused.status != 409:
                raise
            self._claim_id = None
            return self._deny(_CLAIM.get(refused.code, RefusalCode.CALL_REFUSED), reason=refused.detail)
        arguments = as_object(claimed.get("arguments"))
        if arguments is None or claimed.get("tool") != self._event.tool or not claimed.get("grant_id"):
            self._give_back()
            return self._deny(RefusalCode.DIGEST_MISMATCH)
        changed = not same(arguments, self._event.arguments)
        if self._request.get("proposed") is not None and text(self._request, "message"):
            self._context.append(str(self._request["message"]))  # what people changed of the call
        reason = approved(request_id=self._request["id"], short_code=text(self._request, "code"), changed=changed)
        return self._event.allow(reason, replaced=arguments if changed else None, context=self._context)

    def _takes(self, arguments: dict[str, Any] | None) -> bool:
        """Whether the host can be made to run the call with these arguments."""
        asked = self._event.arguments
        if arguments is None or same(arguments, asked):
            return arguments is not None
        return not self._fixed_input and self._form.takes(asked, arguments)

    def _again(self, arguments: dict[str, Any] | None) -> bytes:
        """Deny, and say which arguments to call with; they are claimed, if at all, by that call."""
        words = call_again(
            plain(arguments or {}),
            request_id=text(self._request, "id"),
            short_code=text(self._request, "code"),
        )
        fits = arguments is not None and len(words) <= LONGEST_REASON
        return self._event.deny(words) if fits else self._deny(RefusalCode.DIGEST_MISMATCH)

    def _give_back(self) -> None:
        claim_id, self._claim_id = self._claim_id, None
        if claim_id is None:
            return
        body = {
            "claim_id": claim_id,
            "status": "failed",
            "result": None,
            "error": "the hook could not hand on the approval; the tool did not run",
        }
        try:
            path = f"{self._path()}/outcome"
            exchange(self._identity, "POST", path, body, headers=MINIMAL, within=GOODBYE_WITHIN)
        except (AwayError, RefusedError):
            return  # the lease will mark it unknown

    def _last_word(self) -> bytes:
        if not self._request:
            return self._deny(RefusalCode.GATEWAY_AWAY)
        request_id, code = self._request["id"], text(self._request, "code")
        enforced = self._request.get("enforced") is True
        if enforced and self._request["state"] == "unknown":
            return self._deny(RefusalCode.OUTCOME_UNKNOWN)
        if enforced and self._request["state"] != "pending":
            return self._event.deny(left_to_executor(request_id=request_id, short_code=code))
        return self._event.deny(still_waiting(request_id=request_id, short_code=code, by_executor=enforced))

    def _deny(self, code: RefusalCode, *, rule: str | None = None, reason: str | None = None) -> bytes:
        known = self._request
        words = refusal(code, rule=rule, reason=reason, request_id=text(known, "id"), short_code=text(known, "code"))
        return self._event.deny(words)

    def _refused(self, refused: RefusedError) -> bytes:
        match refused.status:
            case 401:
                return self._deny(RefusalCode.KEY_REFUSED)
            case 403:
                return self._deny(RefusalCode.KEY_REFUSED, reason=refused.detail)
            case 0:
                return self._deny(RefusalCode.GATEWAY_AWAY, reason=refused.detail)
            case _:
                code = code_of_fault(refused.status, refused.code)
                return self._deny(code, reason=f"{refused.status} {refused.detail}".strip())


def _texts(value: object) -> list[str]:
    """The texts of a list; anything else tells the model nothing."""
    if not isinstance(value, list):
        return []
    return [each for each in value if isinstance(each, str)]  # pyright: ignore[reportUnknownVariableType] - decoded JSON
