"""Where the newest call stands, in four steps and a sentence.

It is read from the trail's events, the ledger's lines and what runs. What the story was meant to be has no say in it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, cast

from examples.demo.words import say
from examples.scripted_model import PAY, PAY_BATCH, WIRE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from app.domain.text.language import Language
    from examples.demo.trail import Event

_PAYS = frozenset({PAY, PAY_BATCH, WIRE})
_BEGINS = frozenset({"request.created", "call.allowed", "call.refused"})
_STEPS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Machines:
    """Which processes live. `answers`: the gateway is up, and says so."""

    gateway: bool
    answers: bool
    agent: bool
    executor: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Stand:
    """The first `done` steps are done but for those that were never taken; `mark` is what the last one wears."""

    done: int
    key: str
    tone: str = ""  # "good", "bad", "grey", "wait"
    skipped: frozenset[int] = frozenset()
    mark: str = "✓"
    values: Mapping[str, str] = field(default_factory=dict[str, str])
    also: str = ""  # the key of a second sentence


APPROVER, OWNER = "wang", "li"
_MAY = {"wait": (APPROVER, "wait.other"), "wait.L2": (APPROVER, "wait.other"), "wait.agent": (APPROVER, "wait.other")}


def banner(
    events: Sequence[Event], paid: Sequence[Mapping[str, object]], on: Machines, language: Language, who: str = APPROVER
) -> Banner:
    """Say where the newest call stands, to a visitor (by their key)."""
    stand = _stand(events, paid, on)
    may, other = _MAY.get(stand.key, (who, stand.key))
    if who != may:
        stand = replace(stand, key=other)
    elif who == OWNER and stand.key == "wait.L3":
        stand = replace(stand, key="wait.own")
    sentences = [say(language, stand.key, **stand.values), *([say(language, stand.also)] if stand.also else [])]
    steps = [{"text": say(language, f"step.{number}"), **_step(stand, number)} for number in range(1, _STEPS + 1)]
    return {"key": stand.key, "tone": stand.tone, "hint": " ".join(sentences), "steps": steps}


Banner = dict[str, object]


def _step(stand: Stand, number: int) -> dict[str, str]:
    """Return the state of one step, from 1, and what its circle shows."""
    if number in stand.skipped:
        return {"state": "skipped", "mark": "–"}
    if number <= stand.done:
        return {"state": "done", "mark": stand.mark if number == _STEPS else "✓"}
    return {"state": "next" if number == stand.done + 1 else "", "mark": str(number)}


def _stand(events: Sequence[Event], paid: Sequence[Mapping[str, object]], on: Machines) -> Stand:
    newest = next((event for event in reversed(events) if event["kind"] in _BEGINS), None)
    if newest is None:
        return Stand(done=0, key="none")
    if newest["kind"] == "request.created":
        return _asked(_Story(newest, events, paid), on)
    nobody = frozenset({2, 3})
    if newest["kind"] == "call.refused":
        return Stand(done=4, key="refused", tone="bad", skipped=nobody, mark="✕")
    invoice = json.loads(str(_facts(newest).get("arguments", "{}"))).get("invoice")
    if any(entry["invoice"] == invoice for entry in paid):
        return Stand(done=4, key="allowed.paid", tone="good", skipped=nobody)
    return Stand(done=1, key="allowed", tone="good", skipped=nobody)


class _Story:
    """One request's events, and its lines in the ledger: those that name its grant."""

    def __init__(self, created: Event, events: Sequence[Event], paid: Sequence[Mapping[str, object]]) -> None:
        own = [event for event in events if event["request_id"] == created["request_id"]]
        self.kinds = [str(event["kind"]) for event in own]
        self.last = {str(event["kind"]): _facts(event) for event in own}
        facts = self.last["request.created"]
        self.tool = str(facts.get("tool"))
        self.level = str(facts.get("assurance"))
        self.pays = self.tool in _PAYS
        self.payment = cast("Mapping[str, Any]", facts.get("payment") or {})
        grant = self.last.get("grant.claimed", {}).get("grant")
        self.lines = [entry for entry in paid if grant is not None and entry["grant"] == grant]

    @property
    def settled(self) -> bool:
        """Say whether every card that was posted has been settled."""
        return self.kinds.count("card.retired") >= self.kinds.count("card.posted") > 0

    @property
    def paid_as_approved(self) -> bool:
        """Say whether the ledger has exactly the approved sum, each invoice once."""
        sums: dict[str, Decimal] = {}
        for entry in self.lines:
            currency = str(entry["currency"])
            sums[currency] = sums.get(currency, Decimal(0)) + Decimal(str(entry["amount"]).replace(",", ""))
        approved = {currency: Decimal(str(total)) for currency, total in self.payment.get("totals", {}).items()}
        return sums == approved and len({entry["invoice"] for entry in self.lines}) == len(self.lines)

    @property
    def what(self) -> str:
        """Say what was approved: how much to whom."""
        totals = self.payment.get("totals", {})
        sums = " + ".join(f"{currency} {Decimal(str(total)):,}" for currency, total in totals.items())
        return f"{sums} → {', '.join(self.payment.get('payees', []))}"


def _asked(story: _Story, on: Machines) -> Stand:
    end = next((kind for kind in reversed(story.kinds) if kind in _ENDS), None)
    if end is not None and story.lines and not end.startswith("execution."):
        return Stand(done=4, tone="bad", key="paid.against", mark="!")
    if end is not None:
        return _ENDS[end](story, on)
    if "grant.claimed" in story.kinds:
        return Stand(done=3, tone="wait" if _is_dead(story, on) else "good", key=_running(story, on))
    if "request.approved" in story.kinds:
        return Stand(done=3, tone="good", key=_approved(story, on))
    if "card.posted" not in story.kinds:
        return Stand(done=1, tone="wait", key="held" if on.gateway else "wait.gateway")
    return Stand(done=2, tone="wait", key=_waiting(story, on))


def _waiting(story: _Story, on: Machines) -> str:
    if not on.gateway:
        return "wait.gateway"
    if not on.answers:
        return "wait.starting"
    if story.level in {"L2", "L3"}:
        return f"wait.{story.level}"
    return "wait" if on.agent else "wait.agent"


def _approved(story: _Story, on: Machines) -> str:
    if not on.gateway:
        return "approved.gateway"
    if story.tool == WIRE:
        return "approved" if on.executor else "approved.executor"
    return "approved" if on.agent else "approved.agent"


def _is_dead(story: _Story, on: Machines) -> bool:
    return not (on.executor if story.tool == WIRE else on.agent)


def _running(story: _Story, on: Machines) -> str:
    if _is_dead(story, on):
        if not story.lines:
            return "runs.dead"
        return "runs.dead.booked" if story.tool == WIRE else "runs.dead.paid"
    return "runs.booked" if story.lines and story.tool == WIRE else "runs"


# --- how it ended -----------------------------------------------------------------------------------------------------


def _succeeded(story: _Story, _: Machines) -> Stand:
    settled = "paid.settled" if story.settled else ""
    if not story.pays:
        return Stand(done=4, tone="good", key="ran", also=settled)
    if not story.paid_as_approved:
        return Stand(done=4, tone="bad", key="paid.other", mark="!")
    return Stand(done=4, tone="good", key="paid", values={"what": story.what}, also=settled)


def _failed(story: _Story, _: Machines) -> Stand:
    key = "failed.ran" if not story.pays else "failed.booked" if story.lines else "failed"
    return Stand(done=4, tone="bad", key=key, mark="✕")


def _unknown(story: _Story, on: Machines) -> Stand:
    if story.tool == WIRE:
        key = "unknown" if on.executor else "unknown.dead"
    else:
        key = "unknown.agent.booked" if story.lines else "unknown.agent"
    return Stand(done=4, tone="bad", key=key, mark="?")


def _reconciled(story: _Story, on: Machines) -> Stand:
    if story.last["execution.reconciled"].get("status") != "succeeded":
        return _failed(story, on) if story.lines else Stand(done=4, tone="grey", key="reconciled.not", mark="✕")
    if not story.pays:
        return Stand(done=4, tone="good", key="ran")
    if not story.paid_as_approved:
        return Stand(done=4, tone="bad", key="paid.other", mark="!")
    return Stand(done=4, tone="good", key="reconciled", also="paid.settled" if story.settled else "")


def _denied(story: _Story, on: Machines) -> Stand:
    key = "denied.ran" if not story.pays else "denied" if on.agent else "denied.agent"
    return Stand(done=4, tone="bad", key=key, mark="✕")


def _not_decided(key: str, *, decided: bool = False):  # noqa: ANN202 - one of `_ENDS`
    def stand(story: _Story, _: Machines) -> Stand:
        skipped = {number for number, was in ((2, "card.posted" in story.kinds), (3, decided)) if not was}
        own = f"{key}.ran" if key == "expired" and not story.pays else key
        return Stand(done=4, tone="grey", key=own, skipped=frozenset(skipped), mark="–")

    return stand


_ENDS = {
    "execution.succeeded": _succeeded,
    "execution.failed": _failed,
    "execution.unknown": _unknown,
    "execution.reconciled": _reconciled,
    "execution.pending_elsewhere": lambda *_: Stand(done=3, tone="wait", key="elsewhere"),
    "request.denied": _denied,
    "request.expired": _not_decided("expired"),
    "request.cancelled": _not_decided("cancelled"),
    "request.undeliverable": _not_decided("undeliverable"),
    "grant.lapsed": _not_decided("lapsed", decided=True),
    "grant.revoked": _not_decided("revoked", decided=True),
}


def _facts(event: Event) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", event["facts"])  # the trail's own JSON
