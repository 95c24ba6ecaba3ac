"""What the trail alone says of a request: its events, played again, give what its rows must say.

Also said is where the events contradict each other: an approval without its votes, a grant that was spent twice.
Whoever rewrites a whole chain must then rewrite it into a story that could have happened.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from app.domain.people.assurance import Assurance
from app.domain.trail.audit import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from app.domain.trail.audit import AuditEvent

VOTE_OF = "vote of "
_AS_ASKED = (
    "tool", "session", "call_id", "requester", "owner", "digest", "call_digest", "code", "rule", "policy_version",
    "why", "stages", "channels", "expires_at",
)  # fmt: skip
_OF_A_VOTE = (
    "verdict", "reason", "channel", "account", "tenant", "app", "message", "card_revision", "assurance",
    "on_behalf_of",
)  # fmt: skip
_AS_EDITED = ("digest", "code", "stages", "rule", "policy_version", "channels", "assurance")
_SETTLED = {
    Kind.APPROVED: "approved",
    Kind.DENIED: "denied",
    Kind.EXPIRED: "expired",
    Kind.CANCELLED: "cancelled",
    Kind.UNDELIVERABLE: "undeliverable",
}


class Fault(NamedTuple):
    """Something that does not fit, and the number of the event where it shows first."""

    seq: int
    text: str


class Lacks(Fault):
    """Something that could not be verified here: the secret that it is sealed with is not given."""


class Said(NamedTuple):
    """What an event says, and its number."""

    value: object
    seq: int


@dataclass(slots=True)
class Replayed:
    """What must stand, by name, and what cannot have happened."""

    said: dict[str, Said] = field(default_factory=dict[str, Said])
    faults: list[Fault] = field(default_factory=list[Fault])

    def say(self, seq: int, **values: object) -> None:
        """Let an event say how things stand from now on."""
        self.said.update({name: Said(value, seq) for name, value in values.items()})

    def fault(self, seq: int, text: str) -> None:
        """Name what cannot have happened."""
        self.faults.append(Fault(seq, f"event {seq}: {text}"))

    def value(self, name: str) -> Any:
        """Return what stands."""
        found = self.said.get(name)
        return found.value if found else None


def replay(events: Iterable[AuditEvent]) -> Replayed:
    """Play the events of one request, in their order."""
    so_far = Replayed()
    for event in events:
        if event.request_version is not None:
            _follow(so_far, event)
            so_far.say(event.seq, version=event.request_version)
    return so_far


def is_over(so_far: Replayed) -> bool:
    """Say whether nothing can come of a request any more, and what came of it is known."""
    waits = so_far.value("status") in {None, "pending"} or so_far.value("grant") == "issued"
    return not waits and so_far.value("execution") in {None, "succeeded", "failed"}


def _follow(so_far: Replayed, event: AuditEvent) -> None:
    if (event.record.kind is Kind.CREATED) == bool(so_far.said):
        so_far.fault(event.seq, "a request is asked once, and first of all")
    act = _ACTS.get(event.record.kind)
    if act is not None:
        act(so_far, event, event.record.facts)


Act = Callable[["Replayed", "AuditEvent", "Mapping[str, Any]"], None]


def _asked(so_far: Replayed, event: AuditEvent, facts: Mapping[str, Any]) -> None:
    so_far.say(
        event.seq,
        **{name: facts.get(name) for name in _AS_ASKED},
        agent=event.record.actor.removeprefix("agent:"),
        assurance=facts.get("assurance", Assurance.L1.value),
        payment=facts.get("payment"),
        cautions=facts.get("cautions", []),
        predecessor=facts.get("predecessor"),
        requester_proof=facts.get("requester_proof"),
        bound_until=facts.get("expires_at"),
        edition="",
        status="pending",
        settled_at=None,
        settled_by=None,
        grant=None,
        execution=None,
    )


def _edited(so_far: Replayed, event: AuditEvent, facts: Mapping[str, Any]) -> None:
    for name in [name for name in so_far.said if name.startswith(VOTE_OF)]:
        del so_far.said[name]
    for name in ("why", "payment", "cautions"):  # others by now, and bound by the digest
        so_far.said.pop(name, None)
    known = {name: facts[name] for name in _AS_EDITED if name in facts}
    so_far.say(event.seq, **known, bound_until=so_far.value("expires_at"), edition=f".{event.request_version}")


def _voted(so_far: Replayed, event: AuditEvent, facts: Mapping[str, Any]) -> None:
    who = VOTE_OF + event.record.actor
    if facts.get("digest") != so_far.value("digest"):
        so_far.fault(event.seq, "this vote is about another digest than the one that was asked")
    if facts["verdict"] == "withdraw":
        so_far.said.pop(who, None)
        return
    vote = {name: facts.get(name) for name in _OF_A_VOTE}
    earlier = so_far.value(who)
    at = event.at.isoformat()
    if earlier is not None and {**vote, "at": earlier["at"]} == earlier:
        at = earlier["at"]  # said before, and enough only now
    so_far.said[who] = Said({**vote, "at": at}, event.seq)


def _settled(so_far: Replayed, event: AuditEvent, facts: Mapping[str, Any]) -> None:
    if so_far.value("status") != "pending":
        so_far.fault(event.seq, f"it was {so_far.value('status')} already")
    if "verdict" in facts:
        _voted(so_far, event, facts)
    status = _SETTLED[event.record.kind]
    so_far.say(event.seq, status=status, settled_at=event.at.isoformat(), settled_by=event.record.actor)
    so_far.say(event.seq, settled_reason=facts.get("reason"))
    if status == "approved":
        so_far.say(event.seq, grant="issued", allowed_by=facts.get("allowed_by"))
        if "claim_until" in facts:
            so_far.say(event.seq, claim_until=facts["claim_until"])
        _doubt_approval(so_far, event, facts)


def _doubt_approval(so_far: Replayed, event: AuditEvent, facts: Mapping[str, Any]) -> None:
    """Name what an approval lacks: its time, or its votes. Who may vote is the file's word, and not asked here."""
    until = so_far.value("expires_at")
    if until is not None and event.at.isoformat() >= until:
        so_far.fault(event.seq, f"it was approved after its deadline ({until})")
    if facts.get("allowed_by"):
        return
    level = Assurance(so_far.value("assurance") or Assurance.L1)
    votes: list[Any] = [said.value for name, said in so_far.said.items() if name.startswith(VOTE_OF)]
    worth = [
        vote for vote in votes
        if vote["verdict"] == "approve" and Assurance(vote["assurance"] or Assurance.L1).suffices_for(level)
    ]  # fmt: skip
    stages: list[dict[str, Any]] = so_far.value("stages") or []
    needed = max([1, *(int(stage["need"]) for stage in stages)])
    if len(worth) < needed:
        so_far.fault(event.seq, f"it was approved by {len(worth)} votes where {needed} were needed")


def _extended(so_far: Replayed, event: AuditEvent, facts: Mapping[str, Any]) -> None:
    so_far.say(event.seq, expires_at=facts["until"])


def _widened(so_far: Replayed, event: AuditEvent, facts: Mapping[str, Any]) -> None:
    """Somebody was added, or it was shown to more."""
    if "stages" in facts:
        so_far.say(event.seq, stages=facts["stages"])
    else:  # of a version that did not say it
        so_far.said.pop("stages", None)
    channels = list(so_far.value("channels") or [])
    more = [name for name in facts.get("channels", []) if name not in channels]
    if more:
        so_far.say(event.seq, channels=[*channels, *more])


def _handed_over(so_far: Replayed, event: AuditEvent, facts: Mapping[str, Any]) -> None:
    for who in (event.record.actor, *facts.get("void", [])):
        so_far.said.pop(VOTE_OF + who, None)


def _claimed(so_far: Replayed, event: AuditEvent, facts: Mapping[str, Any]) -> None:
    if so_far.value("grant") != "issued":
        so_far.fault(event.seq, f"a grant was spent that stood as {so_far.value('grant') or 'none'}")
    if facts.get("digest") != so_far.value("digest"):
        so_far.fault(event.seq, "what was claimed is another digest than the one that was approved")
    until = so_far.value("claim_until")
    if until is not None and event.at.isoformat() >= until:
        so_far.fault(event.seq, f"the grant was spent after its end ({until})")
    so_far.say(event.seq, grant="consumed", grant_id=facts.get("grant"), execution="started")
    so_far.say(event.seq, execution_id=facts.get("execution"), claim=facts.get("claim"))
    so_far.say(event.seq, started_at=event.at.isoformat(), ended_at=None, elsewhere_id=None, elsewhere_link=None)


def _ended(so_far: Replayed, event: AuditEvent, facts: Mapping[str, Any]) -> None:
    state = "revoked" if event.record.kind is Kind.REVOKED else "lapsed"
    if so_far.value("grant") != "issued":
        so_far.fault(event.seq, f"a grant ended that stood as {so_far.value('grant') or 'none'}")
    so_far.say(event.seq, grant=state, grant_id=facts.get("grant"))
    if state == "revoked":
        so_far.say(event.seq, revoked_why=facts.get("why"))


def _executed(so_far: Replayed, event: AuditEvent, facts: Mapping[str, Any]) -> None:
    if so_far.value("execution") is None:
        so_far.fault(event.seq, "an outcome was reported of what was never begun")
    so_far.say(event.seq, execution=facts.get("status"), ended_at=event.at.isoformat())
    if event.record.kind is Kind.PENDING_ELSEWHERE:
        so_far.say(event.seq, elsewhere_id=facts.get("elsewhere"), elsewhere_link=facts.get("link"))


_ACTS: Mapping[Kind, Act] = {
    Kind.CREATED: _asked,
    Kind.EDITED: _edited,
    Kind.VOTE: _voted,
    **dict.fromkeys(_SETTLED, _settled),
    Kind.EXTENDED: _extended,
    Kind.ESCALATED: _widened,
    Kind.APPROVER_ADDED: _widened,
    Kind.HANDED_OVER: _handed_over,
    Kind.CLAIMED: _claimed,
    Kind.LAPSED: _ended,
    Kind.REVOKED: _ended,
    **dict.fromkeys((Kind.SUCCEEDED, Kind.FAILED, Kind.UNKNOWN, Kind.PENDING_ELSEWHERE, Kind.RECONCILED), _executed),
}
