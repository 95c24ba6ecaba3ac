"""Permissions given beforehand: what standing approvals of a rule may be at most, by two people or for a session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.domain.rules.permits import StandingTerms
from app.domain.rules.session_approval import SessionTerms
from app.policies.marks.entries import read_entry
from app.policies.marks.schema_paths import closed_names, place_of
from app.policies.models.file_models import SessionEntry, StandingEntry

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from decimal import Decimal

    from app.domain.call.name_pattern import NamePattern
    from app.domain.call.tool import Tool
    from app.domain.rules.rule import Asking
    from app.domain.text.canonical import JsonValue
    from app.policies.marks.surroundings import Surroundings
    from app.policies.marks.yaml_marks import MarkedYaml, Path

_PARTS = ("amount", "currency", "payee", "account", "reference")


def read_standing(
    marked: MarkedYaml,
    path: Path,
    raw: dict[str, JsonValue],
    tools: Sequence[NamePattern],
    around: Surroundings,
) -> StandingTerms | None:
    """Return what standing approvals of calls of `tools` may be at most; None if that is at fault."""
    entry = read_entry(marked, path, raw, StandingEntry)
    if entry is None:
        return None
    listed = _named(marked, path, tools, around)
    _refuse_loose(marked, path, entry, listed)
    for index, dotted in enumerate(entry.same):
        if dotted in entry.same[:index]:
            marked.report((*path, "same", index), f'"{dotted}" again')
        for tool in listed:
            _refuse_absent(marked, (*path, "same", index), dotted, tool)
    return StandingTerms(
        lasts=entry.lasts, uses=entry.uses, each=entry.each or {}, total=entry.total or {}, same=tuple(entry.same)
    )


def read_session(
    marked: MarkedYaml,
    path: Path,
    raw: dict[str, JsonValue],
    tools: Sequence[NamePattern],
    around: Surroundings,
) -> SessionTerms | None:
    """Return what one approver may allow for a session at most; None if that is at fault."""
    entry = read_entry(marked, path, raw, SessionEntry)
    if entry is None:
        return None
    listed = _named(marked, path, tools, around)
    paying = [tool for tool in listed if tool.payment is not None]
    if paying and entry.each is None:
        marked.report(path, '"each" is missing: the rule is about payments', "add each: {CNY: 2000}")
    if not paying and entry.each is not None:
        marked.report((*path, "each"), 'means nothing: no tool of the rule has a "payment"')
    for index, dotted in enumerate(entry.differ):
        at = (*path, "differ", index)
        for tool in listed:
            _refuse_absent(marked, at, dotted, tool)
            _refuse_other_payee(marked, at, dotted, tool)
    return SessionTerms(lasts=entry.lasts, uses=entry.uses, each=entry.each or {}, differ=tuple(entry.differ))


def refuse_session_of_more(marked: MarkedYaml, path: Path, asking: Asking) -> None:
    """Note a session's approval where more than one person's click is asked for: nobody could ever make one."""
    if asking.stages and not asking.by_one_click:
        marked.report(path, "is of calls that one person approves at L1 or L2: here it takes more")


def _named(marked: MarkedYaml, path: Path, tools: Sequence[NamePattern], around: Surroundings) -> Sequence[Tool]:
    """Return the tools of the file that are meant; note a pattern, and what is never permitted beforehand."""
    for pattern in tools:
        if pattern.is_glob:
            why = f'needs its tools by name: "{pattern.text}" could come to mean others'
            marked.report(path, why)
    listed = around.named(tools)
    for tool in listed:
        if tool.irreversible:
            marked.report(path, f'there is never a standing approval of "{tool.name}": it is irreversible')
    return listed


def _refuse_other_payee(marked: MarkedYaml, path: Path, dotted: str, tool: Tool) -> None:
    """Note what would let money go elsewhere, or in another currency, than an approver has seen."""
    pays = tool.payment
    if pays is None:
        return
    for what, kept in (("payee", pays.payee), ("account", pays.account), ("currency", pays.currency)):
        if kept is not None and f"{kept}.".startswith(f"{dotted}."):
            marked.report(path, f"holds the {what} of {tool.name}: that is never another than was approved")


def _refuse_loose(marked: MarkedYaml, path: Path, entry: StandingEntry, listed: Sequence[Tool]) -> None:
    """Note terms that leave open how much, or to whom."""
    paying = [tool for tool in listed if tool.payment is not None]
    if not entry.same:
        marked.report((*path, "same"), "is empty: a standing approval of any call at all is no approval")
    if not paying:
        for key in ("each", "total"):
            if getattr(entry, key) is not None:
                marked.report((*path, key), 'means nothing: no tool of the rule has a "payment"')
        return
    for tool in paying:
        payee = tool.payment.payee if tool.payment else ""
        if entry.same and payee not in entry.same:
            why = f"does not name the payee of {tool.name}: money could go to anybody"
            marked.report((*path, "same"), why, f'add "{payee}"')
    for key in ("each", "total"):
        if getattr(entry, key) is None:
            marked.report(path, f'"{key}" is missing: the rule is about payments', f"add {key}: {{CNY: 2000}}")
    refuse_disproportion(marked, path, entry.each or {}, entry.total or {})


def refuse_disproportion(
    marked: MarkedYaml, path: Path, each: Mapping[str, Decimal], total: Mapping[str, Decimal]
) -> None:
    """Note a currency that only one of the two has, and a payment that is more than all together."""
    if not each or not total:
        return
    for currency in each.keys() ^ total.keys():
        lacking = "total" if currency in each else "each"
        marked.report((*path, lacking), f"lacks {currency}: no payment in it could be within both")
    for currency in each.keys() & total.keys():
        if each[currency] > total[currency]:
            marked.report((*path, "each"), f"is more {currency} than the total")


def _refuse_absent(marked: MarkedYaml, path: Path, dotted: str, tool: Tool) -> None:
    """Note what the tool's calls do not have, and a part of its payments that is an argument of another name."""
    meant = getattr(tool.payment, dotted) if tool.payment is not None and dotted in _PARTS else None
    if meant not in {None, dotted} and dotted not in (closed_names(tool.schema) or ()):
        marked.report(
            path, f"is the name of an argument, and {tool.name} has its {dotted} elsewhere", f'write "{meant}"'
        )
        return
    place = place_of(dotted, tool.schema, tool.name)
    if place.fault is not None:
        marked.report(path, place.fault, place.hint)
