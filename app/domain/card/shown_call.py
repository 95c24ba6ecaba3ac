"""The arguments of one call as one card shows them: masked, visible, each once, with a warning where they deceive."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC
from typing import TYPE_CHECKING

from app.domain.card.card import Fact
from app.domain.card.payments_shown import ShownPayments
from app.domain.money.amounts import amount_text, has_too_many_decimals
from app.domain.money.payment import plain
from app.domain.text.lookalike import Look, find_lookalikes
from app.domain.text.masking import count_hidden, masked
from app.domain.text.paths import steps_of, values_at
from app.domain.text.visible import visible, visible_value
from app.domain.words.say import say

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping
    from datetime import tzinfo

    from app.domain.money.payment import PaymentFields
    from app.domain.request.request import ConfirmationRequest
    from app.domain.text.canonical import JsonValue
    from app.domain.text.language import Language

_MOST_LARGE = 4  # of everything that is large, nothing is
_LARGE = 80  # characters of an amount or a payee that can stand large; longer ones stand among the facts
_LOOKED_AT = 20_000  # characters of a value that are searched for look-alikes: more than any card can show with Approve
_MOST_WARNINGS = 4
_CURRENCY = ("currency", "currency_code", "ccy")
_PAYEE = frozenset({"payee", "payee_name", "recipient", "beneficiary", "creditor", "to", "收款方", "收款人"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """How a request is put to the people of one place.

    `money` and `payees` are dotted paths of arguments; without `payees`, a pinned argument that is called like one
    counts. `labels` are what arguments are called, by path. `visible_arguments` are the arguments with texts of the
    shape of secrets taken out, or None for all as they are; `visible_proposed` likewise those that people changed.
    `review` is a sentence that says where a call that no card can carry is seen whole.
    """

    language: Language
    name_of: Callable[[str], str]
    zone: tzinfo = UTC
    money: Collection[str] = ()
    payment: PaymentFields | None = None
    payees: Collection[str] = ()
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    visible_arguments: Mapping[str, JsonValue] | None = None
    visible_proposed: Mapping[str, JsonValue] | None = None
    review: str = ""


class ShownCall:
    """The arguments of one request as one card shows them: masked, visible, each once."""

    def __init__(self, request: ConfirmationRequest, terms: Terms) -> None:
        self._request = request
        self._terms = terms
        call = request.call.arguments
        self._declared = masked(call, request.sensitive)
        given = terms.visible_arguments
        self._values = self._declared if given is None else masked(given, request.sensitive)
        self._found: dict[str, list[tuple[str, JsonValue]]] = {}  # the same paths are asked for again and again
        self._payees = frozenset(terms.payees) or frozenset(p for p in request.pinned if _PAYEE & set(steps_of(p)))
        self._payments = ShownPayments(
            request.payments, request.cautions, terms.language, frozenset(_texts(self._values, numbers=True))
        )
        large = [p for p in dict.fromkeys((*terms.money, *self._payees)) if self._large(p) and not self._in_lines(p)]
        self._highlighted = tuple(large[:_MOST_LARGE])

    def highlights(self) -> tuple[Fact, ...]:
        """Return how much and to whom: what stands large. Of several payments that is what they come to."""
        own = (self._payments.total(),) if self._payments.is_batch else ()
        return (*own, *(self._fact(path) for path in self._highlighted))

    def pinned(self) -> tuple[Fact, ...]:
        """Return the pinned arguments that do not stand large; of several payments all payees, and each of them."""
        own = self._payments.facts() if self._payments.is_batch else ()
        paths = [path for path in self._request.pinned if path not in self._highlighted and not self._in_lines(path)]
        return (*own, *(self._fact(path) for path in paths if self._at(path)))

    def changes(self) -> tuple[Fact, ...]:
        """Return what people changed of the agent's own call: top-level arguments, before and after."""
        request, terms = self._request, self._terms
        if request.proposed is None or request.edited_by is None:
            return ()
        given = terms.visible_proposed
        before = masked(request.proposed if given is None else given, request.sensitive)
        person = terms.name_of(request.edited_by)
        return tuple(
            Fact(
                label=say(terms.language, "changed", person=person, field=self._label(name)),
                value=say(
                    terms.language,
                    "changed.value",
                    before=self._text(before[name], name) if name in before else "–",
                    after=self._text(self._values[name], name) if name in self._values else "–",
                ),
            )
            for name in sorted({*before, *self._values})
            if request.proposed.get(name) != request.call.arguments.get(name)
        )

    def rest(self) -> tuple[Fact, ...]:
        """Show every argument that is not a fact already.

        Only a pin of one key shows a whole argument. One that goes deeper shows a part of it, so its argument stays
        here; and an argument whose own name holds a dot is no pin's, it stands in quotation marks to tell it from a
        path.
        """
        whole = {path for path in (*self._request.pinned, *self._highlighted) if "." not in path}
        return tuple(
            Fact(
                label=f'"{visible(name)}"' if "." in name else self._label(name),
                value=self._text(value, name if "." not in name else None),
            )
            for name, value in self._values.items()
            if name not in whole and not self._is_told(name, value)
        )

    def count_hidden(self) -> int:
        """Count the values that are not shown as they are."""
        return count_hidden(dict(self._request.call.arguments), dict(self._values))

    def unseen(self) -> list[str]:
        """Return what must be seen and is hidden for its shape. Where the file pins nothing, all must be seen."""
        if self._values is self._declared or self._values == self._declared:
            return []
        pinned = self._request.pinned
        if not pinned:
            return [visible(name) for name, value in self._declared.items() if self._values.get(name) != value]
        return [visible(path) for path in pinned if self._at(path) != list(values_at(self._declared, path))]

    def warnings(self, most: int | None = _MOST_WARNINGS) -> tuple[str, ...]:
        """Say what speaks against the call, then what may be taken for something else.

        Of these the first `most`, and how many more; None for all.
        """
        found = list(dict.fromkeys(self._warnings()))
        if most is not None and (more := len(found) - most) > 0:
            found[most:] = [say(self._terms.language, "look.more", count=more)]
        return (*self._payments.cautions(), *found)

    def _warnings(self) -> Iterator[str]:
        """Payees first, then the other arguments, then who asks."""
        call, language = self._request.call, self._terms.language
        for path in sorted(self._payees):
            for _, value in self._at(path):
                yield from self._looks(self._label(path), value, strict=True)
        for path in self._terms.money:
            for _, value in self._at(path):
                if has_too_many_decimals(value, self._currency(path)):
                    yield say(language, "look.decimals", where=self._label(path))
        for name, value in self._values.items():
            if name not in self._payees:
                yield from self._looks(self._label(name), {name: value})
        for label, text in (("asks", call.requester or ""), ("asks", call.agent), ("tool", call.tool)):
            yield from self._looks(say(language, label), text)

    def _looks(self, where: str, value: JsonValue, *, strict: bool = False) -> Iterator[str]:
        for text in _texts(value):
            for finding in find_lookalikes(text[:_LOOKED_AT], strict=strict):
                shown = visible(finding.shown) if finding.look is Look.DISGUISED else finding.shown
                yield say(self._terms.language, f"look.{finding.look}", where=where, shown=shown)

    def _large(self, path: str) -> bool:
        found = self._at(path)
        simple = all(isinstance(value, str | int) for _, value in found)
        return bool(found) and simple and len(self._fact(path).value) <= _LARGE

    def _in_lines(self, path: str) -> bool:
        """Say whether a path stands in the lines of several payments: what they are paid, or all that it names."""
        if not self._payments.is_batch:
            return False
        terms = self._terms
        if terms.payment is not None and path == terms.payment.amount:
            return True
        return self._payments.tells([value for _, value in self._at(path)])

    def _is_told(self, name: str, value: JsonValue) -> bool:
        """Say whether all of an argument stands in the lines of several payments: rows of their parts, nothing else."""
        paid = self._terms.payment
        if paid is None or not self._payments.is_batch or not isinstance(value, list) or "." in name:
            return False
        rows = [row for row in value if isinstance(row, dict)]
        parts = {path.removeprefix(f"{name}.") for path in paid.paths if path.startswith(f"{name}.")}
        return len(rows) == len(value) and self._payments.tell_rows(rows, parts)

    def _at(self, path: str) -> list[tuple[str, JsonValue]]:
        if path not in self._found:
            self._found[path] = list(values_at(self._values, path))
        return self._found[path]

    def _fact(self, path: str) -> Fact:
        return Fact(label=self._label(path), value=", ".join(self._text(value, path) for _, value in self._at(path)))

    def _label(self, path: str) -> str:
        return self._terms.labels.get(path) or visible(path)

    def _text(self, value: JsonValue, path: str | None) -> str:
        amount = None
        paid = self._terms.payment
        if paid is not None and path == paid.amount and paid.minor_units and len(self._request.payments) == 1:
            payment = self._request.payments[0]  # the argument itself is in cents
            amount = amount_text(plain(payment.amount), payment.currency, self._terms.language)
        elif path is not None and path in self._terms.money:
            amount = amount_text(value, self._currency(path), self._terms.language)
        return amount or visible_value(value)

    def _currency(self, path: str) -> JsonValue:
        """Return the one currency that stands beside an amount, or over all of the call."""
        beside = path.rpartition(".")[0]
        for prefix in dict.fromkeys((f"{beside}." if beside else "", "")):
            found = [value for name in _CURRENCY for _, value in self._at(prefix + name)]
            if len(found) == 1:
                return found[0]
        return None


def _texts(value: JsonValue, *, numbers: bool = False) -> Iterator[str]:
    """Yield every text in a value, names of members too; whole numbers as well, if they are asked for."""
    match value:
        case str():
            yield value
        case list():
            for item in value:
                yield from _texts(item, numbers=numbers)
        case dict():
            for name, item in value.items():
                yield name
                yield from _texts(item, numbers=numbers)
        case int() if numbers:
            yield str(value)
        case _:
            return
