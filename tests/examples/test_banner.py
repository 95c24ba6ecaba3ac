"""The demo's banner says what the trail, the ledger and the processes say, whatever the story was meant to be."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.text.language import Language
from app.domain.trail.audit import Kind
from examples.demo.banner import Machines, banner
from examples.demo.words import say, words

if TYPE_CHECKING:
    from collections.abc import Sequence

ALIVE = Machines(gateway=True, answers=True, agent=True, executor=True)
NO_GATEWAY = Machines(gateway=False, answers=False, agent=True, executor=True)
STARTING = Machines(gateway=True, answers=False, agent=True, executor=True)
NO_AGENT = Machines(gateway=True, answers=True, agent=False, executor=True)
NO_EXECUTOR = Machines(gateway=True, answers=True, agent=True, executor=False)
PAY, WIRE, DROP = "oa__purchase_pay", "bank__wire", "db__drop_table"
TWO_CARDS = ("card.posted", "card.posted")
SETTLED = ("card.retired", "card.retired")
CLAIMED = ("request.approved", "grant.claimed")

PAID = {"grant": "gra_1", "amount": 80_000, "currency": "CNY", "invoice": "2026-0118"}
BOOKED = {**PAID, "amount": "80,000.00"}
BY_RULE = {"grant": "none: a rule allowed it", "amount": 3_200, "currency": "CNY", "invoice": "2026-0121"}


def story(
    *kinds: str, tool: str = PAY, level: str = "L1", request: str = "req_1", **facts: Any
) -> list[dict[str, Any]]:
    """Return the events of one request; `facts` are those of the last event."""
    created: dict[str, Any] = {"tool": tool, "assurance": level}
    if tool != DROP:
        created["payment"] = {"totals": {"CNY": "80000"}, "payees": ["恒通钢铁"]}
    told = {"request.created": created, "grant.claimed": {"grant": "gra_1"}}
    events = [
        {"kind": kind, "request_id": request, "facts": told.get(kind, {})} for kind in ("request.created", *kinds)
    ]
    if facts:
        events[-1]["facts"] = facts
    return events


def sent(*kinds: str, **how: Any) -> list[dict[str, Any]]:
    """Return a story whose two cards were posted."""
    return story(*TWO_CARDS, *kinds, **how)


def ran(*kinds: str, **how: Any) -> list[dict[str, Any]]:
    """Return a story whose approval was taken."""
    return sent(*CLAIMED, *kinds, **how)


def settled(status: str, tool: str = WIRE) -> list[dict[str, Any]]:
    """Return a story whose unknown outcome was settled afterwards."""
    return ran("execution.unknown", "execution.reconciled", tool=tool, status=status)


def allowed(invoice: str = "2026-0121", kind: str = "call.allowed") -> dict[str, Any]:
    arguments = json.dumps({"payee": "晨光文具", "amount": 3_200, "invoice": invoice})
    return {"kind": kind, "request_id": None, "facts": {"tool": PAY, "arguments": arguments}}


def shown(
    events: Sequence[dict[str, Any]], paid: Sequence[dict[str, Any]] = (), on: Machines = ALIVE, who: str = "wang"
) -> dict[str, Any]:
    return banner(cast("Any", events), paid, on, Language.EN, who)


def marks(found: dict[str, Any]) -> str:
    """Return what the four circles show, with a skipped one in brackets."""
    return " ".join(
        f"({step['mark']})" if step["state"] == "skipped" else step["mark"] for step in cast("Any", found["steps"])
    )


STATES: list[tuple[str, list[dict[str, Any]], list[dict[str, Any]], Machines, str, str]] = [
    ("nothing yet", [], [], ALIVE, "none", "1 2 3 4"),
    ("asked", story(), [], ALIVE, "held", "✓ 2 3 4"),
    ("asked, no gateway", story(), [], NO_GATEWAY, "wait.gateway", "✓ 2 3 4"),
    ("waits", sent(), [], ALIVE, "wait", "✓ ✓ 3 4"),
    ("waits, typed", sent(level="L2"), [], ALIVE, "wait.L2", "✓ ✓ 3 4"),
    ("waits, proved", sent(tool=DROP, level="L3"), [], ALIVE, "wait.L3", "✓ ✓ 3 4"),
    ("waits, no gateway", sent(), [], NO_GATEWAY, "wait.gateway", "✓ ✓ 3 4"),
    ("waits, starting", sent(), [], STARTING, "wait.starting", "✓ ✓ 3 4"),
    ("waits, no agent", sent(), [], NO_AGENT, "wait.agent", "✓ ✓ 3 4"),
    ("approved", sent("request.approved"), [], ALIVE, "approved", "✓ ✓ ✓ 4"),
    ("approved, no gateway", sent("request.approved"), [], NO_GATEWAY, "approved.gateway", "✓ ✓ ✓ 4"),
    ("approved, no agent", sent("request.approved"), [], NO_AGENT, "approved.agent", "✓ ✓ ✓ 4"),
    ("a payment of the agent's, no executor", sent("request.approved"), [], NO_EXECUTOR, "approved", "✓ ✓ ✓ 4"),
    ("a wire, no executor", sent("request.approved", tool=WIRE), [], NO_EXECUTOR, "approved.executor", "✓ ✓ ✓ 4"),
    ("a wire, no agent", sent("request.approved", tool=WIRE), [], NO_AGENT, "approved", "✓ ✓ ✓ 4"),
    ("runs", ran(), [], ALIVE, "runs", "✓ ✓ ✓ 4"),
    ("a wire runs, not booked", ran(tool=WIRE), [], ALIVE, "runs", "✓ ✓ ✓ 4"),
    ("a wire runs, booked", ran(tool=WIRE), [BOOKED], ALIVE, "runs.booked", "✓ ✓ ✓ 4"),
    ("killed, booked", ran(tool=WIRE), [BOOKED], NO_EXECUTOR, "runs.dead.booked", "✓ ✓ ✓ 4"),
    ("killed, not booked", ran(tool=WIRE), [], NO_EXECUTOR, "runs.dead", "✓ ✓ ✓ 4"),
    ("agent killed, paid", ran(), [PAID], NO_AGENT, "runs.dead.paid", "✓ ✓ ✓ 4"),
    ("paid", ran("execution.succeeded"), [PAID], ALIVE, "paid", "✓ ✓ ✓ ✓"),
    ("said, not in the ledger", ran("execution.succeeded"), [], ALIVE, "paid.other", "✓ ✓ ✓ !"),
    ("paid twice", ran("execution.succeeded"), [PAID, PAID], ALIVE, "paid.other", "✓ ✓ ✓ !"),
    ("another sum", ran("execution.succeeded"), [{**PAID, "amount": 1}], ALIVE, "paid.other", "✓ ✓ ✓ !"),
    ("ran", ran("execution.succeeded", tool=DROP), [], ALIVE, "ran", "✓ ✓ ✓ ✓"),
    ("failed", ran("execution.failed"), [], ALIVE, "failed", "✓ ✓ ✓ ✕"),
    ("failed, yet booked", ran("execution.failed"), [PAID], ALIVE, "failed.booked", "✓ ✓ ✓ ✕"),
    ("no payment failed", ran("execution.failed", tool=DROP), [], ALIVE, "failed.ran", "✓ ✓ ✓ ✕"),
    ("unknown", ran("execution.unknown", tool=WIRE), [BOOKED], ALIVE, "unknown", "✓ ✓ ✓ ?"),
    ("unknown, dead", ran("execution.unknown", tool=WIRE), [], NO_EXECUTOR, "unknown.dead", "✓ ✓ ✓ ?"),
    ("the agent's unknown", ran("execution.unknown"), [], ALIVE, "unknown.agent", "✓ ✓ ✓ ?"),
    ("the agent's, paid", ran("execution.unknown"), [PAID], ALIVE, "unknown.agent.booked", "✓ ✓ ✓ ?"),
    ("settled: paid", settled("succeeded"), [BOOKED], ALIVE, "reconciled", "✓ ✓ ✓ ✓"),
    ("settled: not paid", settled("failed"), [], ALIVE, "reconciled.not", "✓ ✓ ✓ ✕"),
    ("settled as paid, not booked", settled("succeeded"), [], ALIVE, "paid.other", "✓ ✓ ✓ !"),
    ("settled as not paid, yet booked", settled("failed"), [BOOKED], ALIVE, "failed.booked", "✓ ✓ ✓ ✕"),
    ("settled, no payment", settled("succeeded", DROP), [], ALIVE, "ran", "✓ ✓ ✓ ✓"),
    ("others are asked", ran("execution.pending_elsewhere", tool=WIRE), [], ALIVE, "elsewhere", "✓ ✓ ✓ 4"),
    ("denied", sent("request.denied"), [], ALIVE, "denied", "✓ ✓ ✓ ✕"),
    ("denied, no agent", sent("request.denied"), [], NO_AGENT, "denied.agent", "✓ ✓ ✓ ✕"),
    ("no payment denied", sent("request.denied", tool=DROP), [], ALIVE, "denied.ran", "✓ ✓ ✓ ✕"),
    ("expired", sent("request.expired"), [], ALIVE, "expired", "✓ ✓ (–) –"),
    ("no payment expired", sent("request.expired", tool=DROP), [], ALIVE, "expired.ran", "✓ ✓ (–) –"),
    ("cancelled", sent("request.cancelled"), [], ALIVE, "cancelled", "✓ ✓ (–) –"),
    ("nobody reached", story("request.undeliverable"), [], ALIVE, "undeliverable", "✓ (–) (–) –"),
    ("lapsed", sent("request.approved", "grant.lapsed"), [], ALIVE, "lapsed", "✓ ✓ ✓ –"),
    ("taken back", sent("request.approved", "grant.revoked"), [], ALIVE, "revoked", "✓ ✓ ✓ –"),
    ("denied, yet in the ledger", ran("request.denied"), [PAID], ALIVE, "paid.against", "✓ ✓ ✓ !"),
    ("allowed", [*sent("request.denied"), allowed()], [], ALIVE, "allowed", "✓ (–) (–) 4"),
    ("allowed and paid", [*sent("request.denied"), allowed()], [BY_RULE], ALIVE, "allowed.paid", "✓ (–) (–) ✓"),
    ("allowed, another is paid", [allowed("2026-0122")], [BY_RULE], ALIVE, "allowed", "✓ (–) (–) 4"),
    ("refused", [allowed(kind="call.refused")], [], ALIVE, "refused", "✓ (–) (–) ✕"),
    ("the newest counts", [*story("request.denied"), *sent(request="req_2")], [], ALIVE, "wait", "✓ ✓ 3 4"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("events", "paid", "on", "key", "circles"), [s[1:] for s in STATES], ids=[s[0] for s in STATES]
)
def test_every_state_is_said_as_the_rows_have_it(
    events: list[dict[str, Any]], paid: list[dict[str, Any]], on: Machines, key: str, circles: str
) -> None:
    found = shown(events, paid, on)
    assert found["key"] == key
    assert marks(found) == circles


def test_every_sentence_of_the_banner_is_reached_by_a_state() -> None:
    reached = {key for *_, key, _ in STATES} | {"wait.other", "wait.own", "paid.settled"}
    about = ("none", "held", "wait", "approved", "runs", "paid", "ran", "failed", "denied", "expired", "cancelled")
    rest = ("undeliverable", "lapsed", "revoked", "unknown", "reconciled", "elsewhere", "allowed", "refused")
    known = {key for key in words(Language.EN) if key.partition(".")[0] in {*about, *rest}}
    assert known == reached


def test_all_cards_are_settled_only_when_they_are() -> None:
    paid = (*TWO_CARDS, *CLAIMED, "execution.succeeded")
    all_of_them = say(Language.EN, "paid.settled")
    assert all_of_them not in shown(story(*paid, "card.retired"), [PAID])["hint"]
    assert shown(story(*paid, *SETTLED), [PAID])["hint"].endswith(all_of_them)


def test_whoever_may_not_decide_is_not_told_to_press() -> None:
    waiting, own = sent(), sent(tool=DROP, level="L3")
    assert [shown(waiting, who=who)["key"] for who in ("wang", "li", "mallory")] == ["wait", "wait.other", "wait.other"]
    assert [shown(own, who=who)["key"] for who in ("wang", "li", "mallory")] == ["wait.L3", "wait.own", "wait.L3"]


UNPAID = {
    "failed", "reconciled.not", "runs.dead", "unknown.agent", "denied", "denied.agent", "expired", "cancelled",
    "undeliverable", "lapsed", "revoked",
}  # fmt: skip
_KINDS = st.lists(st.sampled_from([kind.value for kind in Kind]), max_size=9)
_LINES = st.lists(st.sampled_from([PAID, BY_RULE, {**PAID, "invoice": "2026-0999"}]), max_size=3)
_ON = st.builds(Machines, gateway=st.booleans(), answers=st.booleans(), agent=st.booleans(), executor=st.booleans())


@given(kinds=_KINDS, lines=_LINES, on=_ON, tool=st.sampled_from([PAY, WIRE, DROP]))
def test_whatever_happens_it_never_says_unpaid_over_a_line_of_the_ledger_nor_paid_without_one(
    kinds: list[str], lines: list[dict[str, Any]], on: Machines, tool: str
) -> None:
    events = story(*kinds, tool=tool)
    found = shown(events, lines, on)
    newest = next(e for e in reversed(events) if e["kind"] in {"request.created", "call.allowed", "call.refused"})
    of_it = [line for line in lines if "grant.claimed" in kinds and line["grant"] == "gra_1"]
    if newest["kind"] == "request.created" and newest is events[0]:
        assert found["key"] not in {"paid", "reconciled"} or sum(line["amount"] for line in of_it) == 80_000
        assert not of_it or found["key"] not in UNPAID
    assert found["tone"] != "good" or found["key"] != "paid.other"


@pytest.mark.parametrize("key", words(Language.EN))
def test_each_sentence_is_said_in_one_language(key: str) -> None:
    en, zh = words(Language.EN)[key], words(Language.ZH)[key]
    assert not any("\u4e00" <= char <= "\u9fff" for char in en)
    assert en != zh or key == "log.error"
    latin = "".join(char if char.isascii() and char.isalpha() else " " for char in zh).split()
    assert {word for word in latin if word not in KNOWN_LATIN} == set(), zh


KNOWN_LATIN = {
    "Assent",
    "AI",
    "code",
    "assent",
    "link",
    "kill",
    "UTC",
    "pid",
    "until",
    "state",
    "number",
    "count",
    "what",
}
