"""Tell an event of the trail as a sentence: the same on the command line, on pages and wherever else it is read."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from app.domain.money.amounts import CURRENCIES, amount_text
from app.domain.text.language import Language
from app.domain.trail.alarms import Cause
from app.domain.trail.audit import Kind
from app.domain.trail.refused import refused_words
from app.domain.trail.replicas import Matter
from app.domain.words.reasons import reason_in
from app.domain.words.say import CATALOGUE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from app.domain.trail.audit import Record

NOTHING = "–"
"""What stands where an event has not the fact that its sentence names."""

_WHO = "{actor} "
_PHRASES: Mapping[Language, Mapping[str, str]] = {
    Language.EN: {
        "allowed.rule": "nobody was asked: the rule {name} lets an executor run it{because}",
        "allowed.standing": "nobody was asked, and an executor may run it{because}",
        "allowed.glass": "{reason}",
        "alone": ", alone: it was their own, and nobody else might decide",
        "approve": "approved",
        "deny": "denied",
        "withdraw": "took the vote back",
        "asks": "asks people about it{at_level}",
        "asks.nobody": "asks nobody{at_level}",
        "at_level": " at {assurance}",
        "because": ": {reason}",
        "hook": "the hook {hook}",
        "rule": "the rule {rule}",
        "of_error": ": {error}",
        "of_tool": ", the tool {tool}",
        "payment": " ({sums} to {payees})",
        "proved": " for {asker}, who signed in at {issuer}",
        "warned": " ({cautions})",
    },
    Language.ZH: {
        "allowed.rule": "未询问任何人：规则 {name} 允许执行器执行{because}",
        "allowed.standing": "未询问任何人，执行器可执行{because}",
        "allowed.glass": "{reason}",
        "alone": "（独自决定：本人的申请，且无他人可决定）",
        "approve": "批准",
        "deny": "拒绝",
        "withdraw": "撤回表决",
        "asks": "要求人工审批{at_level}",
        "asks.nobody": "无需询问任何人{at_level}",
        "at_level": "（{assurance}）",
        "because": "：{reason}",
        "hook": "钩子 {hook}",
        "rule": "规则 {rule}",
        "of_error": "：{error}",
        "of_tool": "（工具 {tool}）",
        "payment": "（{sums}，付给 {payees}）",
        "proved": "（代 {asker}，已在 {issuer} 登录核实）",
        "warned": "（{cautions}）",
    },
}
"""What sentences say only of some events: how somebody voted, at which level, why, how much to whom."""


BROKEN = "standing:gls_"
"""How `allowed_by` begins of what ran under a broken glass."""
_WAYS = frozenset({"channel", "via"})
_CALLED: Mapping[str, tuple[str, str]] = {
    "cli": ("the command line", "命令行"),
    "console": ("the console", "控制台"),
    "passkey": ("a passkey", "通行密钥"),
}


class _Facts(dict[str, str]):
    """An event's facts as texts; one that it has not reads "–"."""

    def __missing__(self, key: str) -> str:
        return NOTHING


def told(
    record: Record,
    language: Language,
    *,
    who: str | None = None,
    shown: Callable[[object], str] = str,
    beside: bool = False,
) -> str:
    """Return the sentence of an event. `who` names whoever did it, else the trail's own name; `shown` writes a fact.

    With `beside`, the reader sees that name beside the sentence, which then does not begin with it.
    """
    facts = _Facts({name: _text(value, shown) for name, value in record.facts.items() if value not in (None, "", [])})
    facts["actor"] = record.actor if who is None else who
    facts["matters"] = _matters(facts, language)
    if record.kind is Kind.CLICK_REFUSED:
        facts["why"] = refused_words(facts["why"], language)
    facts["alarm"] = _alarm(facts, language)
    if "cautions" in facts:
        facts["cautions"] = ", ".join(_caution(each, language) for each in facts["cautions"].split(", "))
    for fact in _WAYS & facts.keys():
        facts[fact] = way_told(facts[fact], language)
    unasked = record.kind is Kind.APPROVED and "allowed_by" in facts  # no person gave this approval
    if unasked:
        facts["reason"] = reason_in(facts["reason"], language, ())
    _add_phrases(facts, record, language, shown)
    sentence = record.kind.en if language is Language.EN else record.kind.zh
    if unasked:
        by, _, facts["name"] = facts["allowed_by"].partition(":")
        glass = facts["allowed_by"].startswith(BROKEN)
        sentence = _PHRASES[language]["allowed.glass" if glass else f"allowed.{by if by == 'rule' else 'standing'}"]
    return (sentence.removeprefix(_WHO) if beside else sentence).format_map(facts)


def way_told(name: str, language: Language) -> str:
    """Return what people call a way to the gateway that is no channel of the file; a channel's name as it is."""
    en, zh = _CALLED.get(name, (name, name))
    return en if language is Language.EN else zh


def _add_phrases(facts: _Facts, record: Record, language: Language, shown: Callable[[object], str]) -> None:
    """Add what is said only of some events; "" where it does not apply."""
    phrases = _PHRASES[language]

    def phrase(name: str, *, there: bool = True) -> str:
        return phrases[name].format_map(facts) if there else ""

    facts["alone"] = phrase("alone", there=record.facts.get("alone") is True)
    facts["at_level"] = phrase("at_level", there="assurance" in facts)
    facts["because"] = phrase("because", there="reason" in facts)
    facts["of_error"] = phrase("of_error", there="error" in facts)
    facts["of_tool"] = phrase("of_tool", there="tool" in facts)
    facts["warned"] = phrase("warned", there="cautions" in facts)
    facts["decided_by"] = phrase("hook" if "hook" in facts else "rule")
    facts["asks"] = phrase("asks.nobody" if record.facts.get("stages") == [] else "asks")
    facts["voted"] = phrases.get(facts["verdict"], NOTHING)
    bound = record.facts.get("payment")
    if isinstance(bound, dict):
        payment = cast("Mapping[str, object]", bound)  # the trail's own JSON: `bound_facts` writes it
        totals = cast("Mapping[str, str]", payment["totals"])
        known = {code: amount_text(amount, code, language) for code, amount in totals.items() if code in CURRENCIES}
        sums = [known.get(code) or f"{shown(code)} {shown(amount)}" for code, amount in totals.items()]
        facts["sums"] = " + ".join(sums)
        facts["payees"] = _text(payment["payees"], shown)
    facts["payment"] = phrase("payment", there="sums" in facts)
    proof = record.facts.get("requester_proof")
    if isinstance(proof, dict):
        proved = cast("Mapping[str, object]", proof)  # `RequesterProof.facts` writes it
        facts["asker"], facts["issuer"] = (_text(proved.get(name, NOTHING), shown) for name in ("person", "issuer"))
    facts["proved"] = phrase("proved", there="asker" in facts)


def _caution(kind: str, language: Language) -> str:
    """Name a warning as cards do; by its code where only another release knows it."""
    return CATALOGUE[language].get(f"short.{kind}", kind)


def _alarm(facts: _Facts, language: Language) -> str:
    """Say why there is an alarm, or was."""
    cause = next((cause for cause in Cause if cause.value == facts["cause"]), None)
    return NOTHING if cause is None else (cause.en if language is Language.EN else cause.zh).format_map(facts)


def _matters(facts: _Facts, language: Language) -> str:
    """Say in what gateways differ, and what each of them has."""
    words = {matter: matter.en if language is Language.EN else matter.zh for matter in Matter if matter in facts}
    return "; ".join(f"{word} ({facts[matter]})" for matter, word in words.items()) or NOTHING


def _text(value: object, shown: Callable[[object], str]) -> str:
    """Write a list as people do, each thing once."""
    if not isinstance(value, list):
        return shown(value)
    return ", ".join(dict.fromkeys(shown(each) for each in cast("list[object]", value)))  # the trail's own JSON
