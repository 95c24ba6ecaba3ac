r"""What a person sees of a request: words and values, no platform's markup.

A card is structure. Each channel renders it in the best form its platform has, and none of them invents text: every
sentence on a card comes from here, so that Slack, Feishu and the console cannot disagree.

Everything that came from outside (arguments, reasons, names) has been made *visible* before it is put here: control,
invisible and direction-changing characters stand as ``\\u{202E}``. Channels must still show it as plain text.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime


class Language(StrEnum):
    """The language a channel's people read."""

    EN = "en"
    ZH = "zh"


class Tone(StrEnum):
    """The colour of a card: what it asks of the reader at a glance."""

    WAITING = "waiting"  # orange: you are asked
    GOOD = "good"  # green: approved, or ran well
    BAD = "bad"  # red: denied, failed, or nobody knows what happened
    NEUTRAL = "neutral"  # grey: expired, cancelled, no longer of interest


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One labelled value."""

    label: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Buttons:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """One request as one channel's people see it now. Settled cards have no buttons."""

    request_id: str
    revision: int  # of this card in this place; a superseded revision is refused when clicked
    language: Language
    tone: Tone
    headline: str  # "Approval needed" / "Approved" / "Denied" ...
    title: str  # one sentence from the tool's template: "Pay 80000 CNY to Acme Ltd"
    tool: str  # the tool's name
    facts: tuple[Fact, ...]  # what must be seen first: pinned fields, who asks, why, until when
    arguments: tuple[Fact, ...]  # the rest of the arguments, whole
    agent_says: Fact | None  # the agent's own words, labelled as its claim
    footer: str  # short code, request id
    outcome: str | None  # who decided what when, once settled
    progress: str | None  # "1 of 2 approvals · finance"
    withheld: str | None  # why there is no Approve button
    deadline: datetime | None  # aware, UTC; only while the request is pending
    buttons: Buttons | None

    def size(self) -> int:
        """The number of characters of text on the card, for a platform's budget."""
        texts = [self.headline, self.title, self.tool, self.footer, self.outcome, self.progress, self.withheld]
        facts = [*self.facts, *self.arguments, *([self.agent_says] if self.agent_says else [])]
        return sum(len(text) for text in texts if text) + sum(len(f.label) + len(f.value) for f in facts)
