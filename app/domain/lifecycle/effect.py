"""What must happen because of a step: values, carried out by use cases in the step's own transaction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class PostCards:
    """Bring the first card to every channel of the request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PostMore:
    """Bring the card to further channels, and to people one by one: privately, in each channel of the request."""

    channels: tuple[str, ...] = ()
    people: tuple[str, ...] = ()  # e-mails, as in the file


@dataclass(frozen=True, slots=True, kw_only=True)
class AskRequester:
    """Bring the requester a card of their own, which shows what was asked and takes the answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TellEnd:
    """Tell whoever asked, and whom the file names besides (`cc`), how it ended: each privately, in one chat."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TellApprovers:
    """Tell each of them privately, in a chat, that they approved: whoever did it in their name is found out so."""

    people: tuple[str, ...]  # e-mails, as in the file


@dataclass(frozen=True, slots=True, kw_only=True)
class Notify:
    """Say something under every card that is out there: what changes a card does not ring a bell."""

    note: str  # what is said: see `app.domain.trail.notes`


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshCards:
    """Make every copy of the card show the present state."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IssueGrant:
    """Write the single-use permission."""

    not_after: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Wake:
    """Tell whoever waits for this request to look at the row."""


Effect = PostCards | PostMore | AskRequester | TellEnd | TellApprovers | Notify | RefreshCards | IssueGrant | Wake
