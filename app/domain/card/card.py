r"""What a person sees of a request: words and values, no platform's markup.

A card is structure. Each channel renders it in the best form its platform has, and none of them invents text: every
sentence on a card comes from here, so that no two platforms, nor the console, can disagree.

Everything that came from outside (arguments, reasons, names) has been made *visible* before it is put here: control,
invisible and direction-changing characters stand as ``\\u{202E}``. Channels must still show it as plain text.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from datetime import datetime

    from app.domain.card.form import Field, Form
    from app.domain.request.action import Action
    from app.domain.text.language import Language


class Tone(StrEnum):
    """The colour of a card: what it asks of the reader at a glance."""

    WAITING = "waiting"  # orange: you are asked
    WARNED = "warned"  # carmine: you are asked, and something speaks against it: another face, and no ready Approve
    GOOD = "good"  # green: approved, or ran well
    BAD = "bad"  # red: denied, failed, or nobody knows what happened
    NEUTRAL = "neutral"  # grey: expired, cancelled, no longer of interest


class Fact(Struct, frozen=True, kw_only=True):
    """One labelled value."""

    label: str
    value: str


class Buttons(Struct, frozen=True, kw_only=True):
    """The live controls of a card.

    Tokens are opaque, at most 200 ASCII characters, and go back to the gateway exactly as they are. ``approve`` is None
    when the card may only be denied: ``Card.withheld`` then says why.
    """

    approve: str | None
    deny: str
    approve_label: str
    deny_label: str
    reason_label: str  # the label of the text box for the reason of a denial
    reason_hint: str
    confirm_title: str  # "Approve?", asked again where the platform can
    confirm_text: str
    cancel_label: str
    typed: Field | None = None  # what must be typed before Approve counts; the field's name is `typed.TYPED`


class Control(Struct, frozen=True, kw_only=True):
    """Something else that can be done from a card. `form` is what must be filled in first, if anything."""

    action: Action
    label: str
    token: str
    form: Form | None = None


class Card(Struct, frozen=True, kw_only=True):
    """One request as one channel's people see it now. Settled cards have no buttons."""

    request_id: str
    revision: int  # of this card in this place; a superseded revision is refused when clicked
    language: Language
    tone: Tone
    headline: str  # "Approval needed" / "Approved" / "Denied" ...
    title: str  # one sentence from the tool's template: "Pay 80000 CNY to Acme Ltd"
    tool: str  # the tool's name
    highlights: tuple[Fact, ...] = ()  # how much and to whom: shown large, above all else
    warnings: tuple[str, ...] = ()  # what speaks against the call, and what may be taken for something else
    warned: int = 0  # how many warnings there are, also those that the card has no room for
    caution: str = ""  # the same in a few words, for titles and for the line that a phone shows
    facts: tuple[Fact, ...]  # who asks, why people are asked, the pinned fields
    arguments: tuple[Fact, ...]  # the rest of the arguments, whole; or their beginnings, and `withheld` says so
    hidden: str | None = None  # how many values are not shown, and that the call runs with them all the same
    agent_says: Fact | None  # the agent's own words, labelled as its claim
    footer: str  # short code, request id
    outcome: str | None  # who decided what when, once settled
    progress: str | None  # "1 of 2 approvals · finance"
    withheld: str | None  # why there is no Approve button
    deadline: datetime | None  # aware, UTC; only while the request is pending
    until: Fact | None = (
        None  # the deadline by the org's clock, with `then`, where the platform has no dates of its own
    )
    then: str | None = None  # what becomes of the call if nobody decides by then
    buttons: Buttons | None
    changes: tuple[Fact, ...] = ()  # what people changed of the call: the argument, and what it was and is
    details: tuple[
        Fact, ...
    ] = ()  # for whoever looks closely: the rule and what tripped it, the deadline to the second
    dialogue: tuple[Fact, ...] = ()  # what was asked back and answered, in order; an answer says that it is a claim
    controls: tuple[Control, ...] = ()  # besides Approve and Deny, the most needed first
    own: bool = False  # one person's own copy, seen by nobody else
    also: tuple[Card, ...] = ()  # other requests that share this message, each with controls of its own

    @property
    def alert(self) -> str:
        """What begins the line that a phone shows: what all that it shows is warned of; "" for nothing."""
        warned = [card for card in (self, *self.also) if card.warned]
        more = sum(card.warned for card in warned[1:])
        return warned_mark(f"{warned[0].caution} +{more}" if more else warned[0].caution) if warned else ""

    @property
    def told(self) -> str:
        """The headline, and what this one request is warned of before it."""
        return f"{warned_mark(self.caution)}{self.headline}"

    @property
    def asks(self) -> bool:
        """Whether people are still asked."""
        return self.tone in {Tone.WAITING, Tone.WARNED}

    def size(self) -> int:
        """The length of the text on the card in UTF-16 units, for a platform's budget: the strictest way to count."""
        said = [self.headline, self.title, self.tool, self.footer, self.outcome, self.progress, self.withheld]
        facts = [*self.highlights, *self.changes, *self.facts, *self.arguments, *self.dialogue, *self.details]
        facts += [fact for fact in (self.agent_says, self.until) if fact]
        texts = [
            *said,
            self.caution,
            *self.warnings,
            self.hidden,
            *(text for fact in facts for text in (fact.label, fact.value)),
        ]
        return sum(units(text) for text in texts if text) + sum(card.size() for card in self.also)


def warned_mark(caution: str) -> str:
    """Return what stands before a headline: what it is warned of, in a few words; nothing for nothing."""
    return f"⚠️ {caution} · " if caution else ""


def units(text: str) -> int:
    """Count UTF-16 units: two for what lies beyond U+FFFF, such as emoji."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2
