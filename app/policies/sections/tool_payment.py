"""Where a tool's payments stand: paths that exist, that people may see, and that can be read exactly."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.domain.money.payment import PaymentFields
from app.policies.marks.entries import read_entry
from app.policies.marks.schema_paths import place_of
from app.policies.models.file_models import PaymentEntry

if TYPE_CHECKING:
    from app.domain.call.tool import Tool
    from app.domain.text.canonical import JsonValue
    from app.policies.marks.yaml_marks import MarkedYaml, Path

_BOUND = ("amount", "currency", "payee")
_APART = ("account", "reference", "minor_units")
_INSTEAD: dict[str, JsonValue] = {part: part for part in _BOUND}
"""Other places of the file name the payments of a tool whose own words for them are at fault."""
_PARTS = (*_BOUND, "account", "reference")


def read_payment(marked: MarkedYaml, path: Path, raw: dict[str, JsonValue] | None, tool: Tool) -> PaymentFields | None:
    """Return where the payments of a tool stand; None if it has none or they are at fault."""
    if raw is None:
        return None
    entry = read_entry(marked, path, raw, PaymentEntry, apart=_APART, instead=_INSTEAD)
    if entry is None:
        return None
    fields = PaymentFields(
        amount=entry.amount,
        currency=entry.currency,
        payee=entry.payee,
        account=entry.account,
        reference=entry.reference,
        minor_units=entry.minor_units,
    )
    if tool.writes is False:
        marked.report(
            path, 'is no part of a tool that says "writes: false": it would pay while writing is switched off'
        )
    _refuse_same(marked, path, fields)
    _refuse_hidden(marked, path, fields, tool)
    _refuse_misplaced(marked, path, fields, tool)
    return fields


def shown_paths(fields: PaymentFields | None, tool: Tool) -> tuple[str, ...]:
    """Return what of payments must be seen before one may approve: all that is not sensitive."""
    return tuple(path for path in fields.paths if not tool.hides(path)) if fields else ()


def _parts(fields: PaymentFields) -> list[tuple[str, str]]:
    found: list[tuple[str, str | None]] = [(part, getattr(fields, part)) for part in _PARTS]
    return [(part, dotted) for part, dotted in found if dotted is not None]


def _refuse_same(marked: MarkedYaml, path: Path, fields: PaymentFields) -> None:
    taken: dict[str, str] = {}
    for part, dotted in _parts(fields):
        other = taken.setdefault(dotted, part)
        if other != part and part in _BOUND:
            marked.report((*path, part), f'"{dotted}" is the {other} already')


def _refuse_hidden(marked: MarkedYaml, path: Path, fields: PaymentFields, tool: Tool) -> None:
    for part in _BOUND:
        dotted = str(getattr(fields, part))
        if tool.hides(dotted):
            why = f'"{dotted}" is sensitive: nobody can approve a payment whose {part} they do not see'
            marked.report((*path, part), why, "only the account and the reference may be hidden")


def _refuse_misplaced(marked: MarkedYaml, path: Path, fields: PaymentFields, tool: Tool) -> None:
    """Note paths that the schema lacks, or through other lists than the amount's, and amounts that may be floats."""
    amount = place_of(fields.amount, tool.schema, tool.name)
    for part, dotted in _parts(fields):
        place = place_of(dotted, tool.schema, tool.name)
        if place.fault is not None:
            marked.report((*path, part), place.fault, place.hint)
        elif len(place.lists) > 1:
            marked.report((*path, part), f'"{dotted}" goes through a list within a list: each payment has one of each')
        elif place.lists and amount.fault is None and place.lists != amount.lists:
            listed = ".".join(place.lists[0])
            why = f'"{dotted}" goes through the list "{listed}", and the amount does not: which belongs to which?'
            marked.report((*path, part), why)
        elif part == "amount":
            _refuse_inexact(marked, (*path, part), dotted, place.types, fields)


def _refuse_inexact(marked: MarkedYaml, path: Path, dotted: str, types: tuple[str, ...], fields: PaymentFields) -> None:
    wanted = "integer" if fields.minor_units else "string or integer"
    if "number" in types:
        marked.report(path, f'the schema has "{dotted}" as a number, which may be a float', f"write {wanted}")
    elif types and not {"integer"} & {*types} and (fields.minor_units or "string" not in types):
        marked.report(path, f'the schema has "{dotted}" as {" or ".join(types)}: no amount', f"write {wanted}")
