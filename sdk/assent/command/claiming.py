"""The claim of one call: under which name it is sent, and how it is given back when nobody can use it.

A call that names a claim may have claimed as soon as it is sent, whatever becomes of its answer. So the right to end
the hook is taken first (`Watch`), and let go when an answer says that nothing was claimed. Whoever leaves without such
an answer gives back what may have been claimed: the gateway is told that the tool did not run.
"""

from __future__ import annotations

import os
import signal
import time

from assent.command.exchange import exchange, quote
from assent.command.faults import AwayError, RefusedError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from assent.command.hosts.event import Event
    from assent.command.identity import Identity
    from assent.command.watch import Watch

GOODBYE_WITHIN = 2.0
_CLAIMED_BY = 0.3
_ANSWERED_BY = 10.0
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class Claiming:
    """`at_once`: whether calls name the claim, so that what people approve is handed over with their answer."""

    def __init__(self, identity: Identity, watch: Watch, event: Event, *, at_once: bool) -> None:
        self._identity = identity
        self._watch = watch
        self._event = event
        self._name = ""
        self.at_once = at_once
        self.sent = False
        """Whether a claim was sent that is not answered for."""

    def name(self) -> str:
        """The claim's id: the same for each attempt, and for the report after the tool."""
        self._name = self._name or self._event.claim_id() or f"clm_{os.urandom(32).hex()}"
        return self._name

    def begin(self) -> str:
        """Take the right to end, for a claim that is sent next; its id. Raises `HookError` (too late, nobody there)."""
        self._watch.commit()
        self.sent = True
        return self.name()

    def nothing(self) -> None:
        """It was answered, and nothing was claimed."""
        self.sent = False
        self._watch.let_go()

    def ask(self, method: str, path: str, body: object = None, *, hold: float, headers: str = "") -> dict[str, Any]:
        """One call that the gateway may hold, and may claim by: then nobody else ends the hook until it is answered."""
        if not self.at_once:
            return exchange(self._identity, method, path, body, headers=headers, within=hold + _ANSWERED_BY)
        self.begin()
        within = min(hold + _ANSWERED_BY, max(0.05, self._watch.remaining()))
        try:
            answer = exchange(self._identity, method, path, body, headers=headers, within=within, held=self._watch.hold)
        except RefusedError:
            self.nothing()
            raise
        if answer.get("decision") != "claimed":
            self.nothing()
        return answer

    def give_back(self, request_id: str | None) -> None:
        """Say that nothing ran under a claim that was sent, if it was claimed at all; nobody interrupts that."""
        if not self.sent:
            return
        self.sent = False
        for number in SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        end = time.monotonic() + GOODBYE_WITHIN
        for again in (True, False):
            try:
                if self._given_back(request_id, end) or not again:
                    return
            except (AwayError, RefusedError):
                if not again:
                    return  # the lease will mark it unknown
            time.sleep(_CLAIMED_BY)  # a claim that was under way when we hung up has come by then

    def _given_back(self, request_id: str | None, end: float) -> bool:
        from assent.command.report import find_claimed, left_until

        session = self._event.session
        if request_id is None and session is not None:
            request_id = find_claimed(self._identity, session, self.name(), end)
        if request_id is None:
            return False
        body = {
            "claim_id": self.name(),
            "status": "failed",
            "result": None,
            "error": "the hook could not hand on the approval; the tool did not run",
        }
        path = f"/v1/requests/{quote(request_id)}/outcome"
        exchange(self._identity, "POST", path, body, within=left_until(end))
        return True
