"""The arguments of one call as one card shows them: masked, visible, each once; and what it brings along."""

from __future__ import annotations

from datetime import UTC
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from app.domain.call.exhibit import count_files
from app.domain.card.card import Fact
from app.domain.card.payments_shown import ShownPayments
from app.domain.money.amounts import amount_text
from app.domain.money.payment import plain
from app.domain.text.masking import count_hidden, masked
from app.domain.text.paths import steps_of, values_at
from app.domain.text.visible import on_one_line, visible, visible_value
from app.domain.words.say import say

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping
    from datetime import tzinfo

    from app.domain.money.payment import PaymentFields
    from app.domain.request.caution import Caution
    from app.domain.request.request import ConfirmationRequest
    from app.domain.text.canonical import JsonValue
    from app.domain.text.language import Language

_MOST_LARGE = 4  # of everything that is large, nothing is
_LARGE = 80  # characters of an amount or a payee that can stand large; of longer ones the beginning does
_BEGINNING = 40
_MOST_NAMED = 3  # exhibits that a card names, and characters of each name: a card only says that there are some
_LONGEST_NAME = 40
_CURRENCY = ("currency", "currency_code", "ccy")
_PAYEE = frozenset({"payee", "payee_name", "recipient", "beneficiary", "creditor", "to", "收款方", "收款人"})


class Terms(Struct, frozen=True, kw_only=True):
    """How a request is put to the people of one place.

    `money` and `payees` are dotted paths of arguments; without `payees`, a pinned argument that is called like one
    counts. `labels` are what arguments are called, by path. `visible_arguments` are the arguments with texts of the
    shape of secrets taken out, or None for all as they are; `visible_proposed` likewise those that people changed.
    `review` is a sentence that says where a call that no card can carry is seen whole, and decided; `reading` where it
    is seen, for what can be decided nowhere.
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
    reading: str = ""
    page: str = ""  # the address at which people decide about the request on a page of the gateway


class ShownCall:
    """The arguments of one request as one card shows them: masked, visible, each once."""

    def __init__(self, request: ConfirmationRequest, terms: Terms) -> None:
        self.request = request
        self.terms = terms
        call = request.call.arguments
        self._declared = masked(call, request.sensitive)
        given = terms.visible_arguments
        self.values = self._declared if given is None else masked(given, request.sensitive)
        self._found: dict[str, list[tuple[str, JsonValue]]] = {}  # the same paths are asked for again and again
        self.payees = frozenset(terms.payees) or frozenset(p for p in request.pinned if _PAYEE & set(steps_of(p)))
        self._payments = ShownPayments(
            request.payments, request.cautions, terms.language, frozenset(texts_in(self.values, numbers=True))
        )
        large = [p for p in dict.fromkeys((*terms.money, *self.payees)) if self._large(p) and not self._in_lines(p)]
        self._highlighted = tuple(large[:_MOST_LARGE])
        self._begun = tuple(p for p in self.payees if p not in large and self.at(p) and not self._in_lines(p))

    def highlights(self) -> tuple[Fact, ...]:
        """Return how much and to whom: what stands large. Of several payments that is what they come to."""
        own = (self._payments.total(), *self._few_payees()) if self._payments.is_batch else ()
        begun = () if own else tuple(self._beginning(path) for path in sorted(self._begun)[:_MOST_LARGE])
        return (*own, *(self._fact(path) for path in self._highlighted), *begun)

    def _beginning(self, path: str) -> Fact:
        """Return how a payee begins that is too long to stand large: whom, that is never below the buttons alone."""
        fact = self._fact(path)
        begins = " ".join(fact.value.split())[:_BEGINNING]
        return replace(fact, value=say(self.terms.language, "begins", text=begins))

    def large(self) -> tuple[tuple[Fact, ...], tuple[Fact, ...]]:
        """Return the same apart: how much, and to whom."""
        own = (self._payments.total(),) if self._payments.is_batch else ()
        amounts = [path for path in self._highlighted if path not in self.payees]
        payees = tuple(self._fact(path) for path in self._highlighted if path in self.payees)
        return (*own, *map(self._fact, amounts)), payees

    def pinned(self) -> tuple[Fact, ...]:
        """Return the pinned arguments that do not stand large; of several payments all payees, and each of them."""
        own = self._payments.facts()[len(self._few_payees()) :] if self._payments.is_batch else ()
        paths = [path for path in self.request.pinned if path not in self._highlighted and not self._in_lines(path)]
        return (*own, *(self._fact(path) for path in paths if self.at(path)))

    def _few_payees(self) -> tuple[Fact, ...]:
        """Return the payees of several payments, if they are few enough to stand large."""
        payees = self._payments.facts()[:1]
        return tuple(each for each in payees if len(each.value) <= _LARGE)

    def changes(self) -> tuple[Fact, ...]:
        """Return what people changed of the agent's own call: top-level arguments, before and after."""
        request, terms = self.request, self.terms
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
                    after=self._text(self.values[name], name) if name in self.values else "–",
                ),
            )
            for name in sorted({*before, *self.values})
            if request.proposed.get(name) != request.call.arguments.get(name)
        )

    def rest(self) -> tuple[Fact, ...]:
        """Show every argument that is not a fact already.

        Only a pin of one key shows a whole argument. One that goes deeper shows a part of it, so its argument stays
        here; and an argument whose own name holds a dot is no pin's, it stands in quotation marks to tell it from a
        path.
        """
        whole = {path for path in (*self.request.pinned, *self._highlighted) if "." not in path}
        return tuple(
            Fact(
                label=f'"{visible(name)}"' if "." in name else self._label(name),
                value=self._text(value, name if "." not in name else None),
            )
            for name, value in self.values.items()
            if name not in whole and not self._is_told(name, value)
        )

    def evidence(self) -> tuple[Fact, ...]:
        """Return that the call brings something along, and where it is seen: a card shows none of it itself."""
        evidence, language = self.request.call.evidence, self.terms.language
        if not evidence:
            return ()
        files = count_files(evidence)
        counts = (("file", files), ("link", len(evidence) - files))
        told = [say(language, f"evidence.{what}{'.one' if n == 1 else ''}", count=n) for what, n in counts if n]
        names = [on_one_line(each.host or each.title) for each in evidence[:_MOST_NAMED]]
        short = [name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…" for name in names]
        value = say(
            language,
            "evidence.page" if self.terms.page else "evidence.elsewhere",
            what=say(language, "batch.separator").join(told),
            names=say(language, "batch.separator").join([*short, *(["…"] if len(evidence) > _MOST_NAMED else [])]),
            control=say(language, "control.review"),
            request=self.request.id,
        )
        return (Fact(label=say(language, "evidence"), value=value),)

    def count_hidden(self) -> int:
        """Count the values that are not shown as they are."""
        return count_hidden(dict(self.request.call.arguments), dict(self.values))

    def unseen(self) -> list[str]:
        """Return what must be seen and is hidden for its shape. Where the file pins nothing, all must be seen."""
        if self.values is self._declared or self.values == self._declared:
            return []
        pinned = self.request.pinned
        if not pinned:
            return [visible(name) for name, value in self._declared.items() if self.values.get(name) != value]
        return [visible(path) for path in pinned if self.at(path) != list(values_at(self._declared, path))]

    def cautions(self) -> tuple[Caution, ...]:
        """Return what speaks against the call, with texts as this card shows them."""
        return self._payments.cautions()

    def at(self, path: str) -> list[tuple[str, JsonValue]]:
        """Return what stands at a dotted path, as it is shown."""
        if path not in self._found:
            self._found[path] = list(values_at(self.values, path))
        return self._found[path]

    def currency(self, path: str) -> JsonValue:
        """Return the one currency that stands beside an amount, or over all of the call."""
        beside = path.rpartition(".")[0]
        for prefix in dict.fromkeys((f"{beside}." if beside else "", "")):
            found = [value for name in _CURRENCY for _, value in self.at(prefix + name)]
            if len(found) == 1:
                return found[0]
        return None

    def _large(self, path: str) -> bool:
        found = self.at(path)
        simple = all(isinstance(value, str | int) for _, value in found)
        return bool(found) and simple and len(self._fact(path).value) <= _LARGE

    def _in_lines(self, path: str) -> bool:
        """Say whether a path stands in the lines of several payments: what they are paid, or all that it names."""
        if not self._payments.is_batch:
            return False
        terms = self.terms
        if terms.payment is not None and path == terms.payment.amount:
            return True
        return self._payments.tells([value for _, value in self.at(path)])

    def _is_told(self, name: str, value: JsonValue) -> bool:
        """Say whether all of an argument stands in the lines of several payments: rows of their parts, nothing else."""
        paid = self.terms.payment
        if paid is None or not self._payments.is_batch or not isinstance(value, list) or "." in name:
            return False
        rows = [row for row in value if isinstance(row, dict)]
        parts = {path.removeprefix(f"{name}.") for path in paid.paths if path.startswith(f"{name}.")}
        return len(rows) == len(value) and self._payments.tell_rows(rows, parts)

    def _fact(self, path: str) -> Fact:
        return Fact(label=self._label(path), value=", ".join(self._text(value, path) for _, value in self.at(path)))

    def _label(self, path: str) -> str:
        return self.terms.labels.get(path) or visible(path)

    def _text(self, value: JsonValue, path: str | None) -> str:
        amount = None
        paid = self.terms.payment
        if paid is not None and path == paid.amount and paid.minor_units and len(self.request.payments) == 1:
            payment = self.request.payments[0]  # the argument itself is in cents
            amount = amount_text(plain(payment.amount), payment.currency, self.terms.language)
        elif path is not None and path in self.terms.money:
            amount = amount_text(value, self.currency(path), self.terms.language)
        return amount or visible_value(value)


def texts_in(value: JsonValue, *, numbers: bool = False) -> Iterator[str]:
    """Yield every text in a value, names of members too; whole numbers as well, if they are asked for."""
    match value:
        case str():
            yield value
        case list():
            for item in value:
                yield from texts_in(item, numbers=numbers)
        case dict():
            for name, item in value.items():
                yield name
                yield from texts_in(item, numbers=numbers)
        case int() if numbers:
            yield str(value)
        case _:
            return
