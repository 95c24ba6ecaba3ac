"""What the trail says of an org beside its requests: keys, versions of the file, switches, permissions, payees."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from app.domain.lifecycle.replayed import Replayed, Said
from app.domain.money.payment import payee_key
from app.domain.trail.audit import Kind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from app.domain.trail.audit import AuditEvent

MUST = (
    "key ", "policy ", "switch ", "standing ", "payee ", "factor of ", "passkey ", "restore ", "value key ", "payment ",
    "payments ",
)  # fmt: skip
"""How the names begin of what no row may say without an event."""

UNDER = ("spent under ", "spent in the row of ", "unsealed payments under ")
"""How the names begin of what was paid under a permission: no event of before it was said tells of it."""

AT_ONCE = "payments at once"
"""Under which name it is counted how many payments were spent without a request."""

_STATUS = {
    Kind.STANDING_PROPOSED: "proposed",
    Kind.STANDING_CONFIRMED: "active",
    Kind.STANDING_ALLOWED: "active",
    Kind.STANDING_REVOKED: "revoked",
    Kind.GLASS_PROPOSED: "proposed",
    Kind.GLASS_BROKEN: "active",
    Kind.GLASS_ENDED: "revoked",
}


def play(so_far: Replayed, event: AuditEvent) -> None:
    """Let an event that is about no request's version say how things stand from now on."""
    act = _ACTS.get(event.record.kind)
    if act is not None:
        act(so_far, event.seq, event.record.facts)


Act = Callable[["Replayed", int, "Mapping[str, Any]"], None]


def _key_made(so_far: Replayed, seq: int, facts: Mapping[str, Any]) -> None:
    key = f"key {facts.get('key')}"
    if key in so_far.said:
        so_far.fault(seq, f"the {key} was made before")
    said = {name: facts.get(name) for name in ("scope", "agent", "person", "label")}
    so_far.said[key] = Said({**said, "revoked": False}, seq)
    so_far.said[f"tools of {key}"] = Said(facts.get("tools"), seq)
    if "expires_at" in facts:
        so_far.said[f"end of {key}"] = Said(facts["expires_at"], seq)


def _key_revoked(so_far: Replayed, seq: int, facts: Mapping[str, Any]) -> None:
    key = f"key {facts.get('key')}"
    made = so_far.value(key)
    if made is None:
        so_far.fault(seq, f"the {key} was revoked, and never made")
        return
    so_far.said[key] = Said({**made, "revoked": True}, seq)


def _loaded(so_far: Replayed, seq: int, facts: Mapping[str, Any]) -> None:
    name = f"policy {facts.get('policy_version')}"
    so_far.said[name] = Said(value=True, seq=seq)
    if "text" in facts:
        so_far.said[f"text of {name}"] = Said(facts["text"], seq)


def _switched(so_far: Replayed, seq: int, facts: Mapping[str, Any]) -> None:
    name = switch_name(facts.get("switch"), facts.get("agent"), facts.get("tool"))
    so_far.said[name] = Said(facts.get("state"), seq)
    if "reason" in facts:
        so_far.said[f"reason of {name}"] = Said(facts["reason"], seq)


def switch_name(name: object, agent: object, tool: object) -> str:
    """Name a switch as both the trail and its row can."""
    return f"switch {name} of {agent or 'every agent'}" + (f" for {tool}" if tool else "")


def _status(kind: Kind) -> Act:
    def act(so_far: Replayed, seq: int, facts: Mapping[str, Any]) -> None:
        name = f"standing {facts.get('standing')}"
        before: dict[str, Any] = so_far.value(name) or {"used": 0}
        said = {
            each: facts[each] for each in ("digest", "until", "proposed_by", "confirmed_by", "used") if each in facts
        }
        if name not in so_far.said and "spent" in facts:  # of none that was given before were all payments sealed
            so_far.said[f"unsealed payments under {name}"] = Said(0, seq)
        so_far.said[name] = Said({**before, **said, "status": _STATUS[kind]}, seq)
        _spent_under(so_far, seq, name, facts)

    return act


def _used(so_far: Replayed, seq: int, facts: Mapping[str, Any]) -> None:
    name = f"standing {facts.get('standing')}"
    before = so_far.value(name)
    if before is None or before["status"] != "active":
        so_far.fault(seq, f"the {name} was used, and was not in force")
        return
    used = facts.get("used", before["used"] + 1)
    if used != before["used"] + 1:
        so_far.fault(seq, f"use {used} of the {name} comes after use {before['used']}")
    so_far.said[name] = Said({**before, "used": used}, seq)
    _spent_under(so_far, seq, name, facts)


def _spent_under(so_far: Replayed, seq: int, name: str, facts: Mapping[str, Any]) -> None:
    """Say what was paid under a permission in all: its payments must add up to it, and its row must say it."""
    spent = facts.get("spent")
    if spent is not None:
        so_far.say(seq, **{f"spent under {name}": spent, f"spent in the row of {name}": spent})


def _payee(*, is_known: bool) -> Act:
    def act(so_far: Replayed, seq: int, facts: Mapping[str, Any]) -> None:
        name = f"payee {payee_key(str(facts.get('payee')))}"
        tails: list[str] = so_far.value(name) or []
        so_far.said[name] = Said(sorted({*tails, str(facts.get("account"))}) if is_known else [], seq)
        _accounts(so_far, seq, f"accounts of {name}", facts, had=bool(tails), is_known=is_known)

    return act


def _accounts(so_far: Replayed, seq: int, name: str, facts: Mapping[str, Any], *, had: bool, is_known: bool) -> None:
    """Say with which accounts a payee is known, and under which spelling: by what their rows keep of each."""
    if not is_known:
        so_far.said[name] = Said([], seq)
    elif "mark" not in facts or (had and name not in so_far.said):  # of a version that did not say it
        so_far.said.pop(name, None)
    else:
        known: list[list[Any]] = so_far.value(name) or []
        rest = [each for each in known if each[2] != facts["mark"]]
        so_far.said[name] = Said(sorted([*rest, [facts.get("payee"), facts.get("account"), facts["mark"]]]), seq)


def _factor(*, is_active: bool) -> Act:
    def act(so_far: Replayed, seq: int, facts: Mapping[str, Any]) -> None:
        name = f"factor of {facts.get('person')}"
        if is_active:
            so_far.said[name] = Said("active", seq)
        else:
            so_far.said.pop(name, None)

    return act


def _passkey(*, is_added: bool) -> Act:
    def act(so_far: Replayed, seq: int, facts: Mapping[str, Any]) -> None:
        name = f"passkey {facts.get('passkey')}"
        if is_added:
            so_far.said[name] = Said(facts.get("person"), seq)
        else:
            so_far.said.pop(name, None)

    return act


def _restored(so_far: Replayed, seq: int, facts: Mapping[str, Any]) -> None:
    so_far.said[f"restore {facts.get('epoch')}"] = Said(facts.get("reason"), seq)


def _spent(so_far: Replayed, seq: int, facts: Mapping[str, Any]) -> None:
    if facts.get("spent"):
        so_far.said[AT_ONCE] = Said((so_far.value(AT_ONCE) or 0) + facts["spent"], seq)


def _secret_known(so_far: Replayed, seq: int, facts: Mapping[str, Any]) -> None:
    """Remember a secret; on an operator's word, what stands of payments without a request holds."""
    name, on_word = f"secret {facts.get('key_id')}", "reason" in facts
    if name in so_far.said and not on_word:
        so_far.fault(seq, f"the {name} became known before: somebody had its memory taken away, and rows sealed anew")
    so_far.said[name] = Said(value=True, seq=seq)
    if "spent" in facts:
        so_far.said.pop(AT_ONCE, None)
        for each in [each for each in so_far.said if each.startswith(UNDER)]:
            del so_far.said[each]
        _spent(so_far, seq, facts)


def _values_destroyed(so_far: Replayed, seq: int, facts: Mapping[str, Any]) -> None:
    so_far.said.update({f"value key {number}": Said("destroyed", seq) for number in facts.get("keys", ())})


_ACTS: Mapping[Kind, Act] = {
    Kind.KEY_CREATED: _key_made,
    Kind.KEY_REVOKED: _key_revoked,
    Kind.ALLOWED: _spent,
    Kind.POLICY_LOADED: _loaded,
    Kind.SWITCH_SET: _switched,
    **{kind: _status(kind) for kind in _STATUS},
    Kind.STANDING_USED: _used,
    Kind.STANDING_SESSION_USED: _used,
    Kind.GLASS_USED: _used,
    Kind.PAYEE_ADDED: _payee(is_known=True),
    Kind.PAYEE_REMOVED: _payee(is_known=False),
    Kind.FACTOR_ADDED: _factor(is_active=True),
    Kind.FACTOR_REMOVED: _factor(is_active=False),
    Kind.PASSKEY_ADDED: _passkey(is_added=True),
    Kind.PASSKEY_REMOVED: _passkey(is_added=False),
    Kind.RESTORED: _restored,
    Kind.SECRET_KNOWN: _secret_known,
    Kind.VALUES_DESTROYED: _values_destroyed,
}
