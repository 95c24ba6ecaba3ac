"""What must happen because of a step: values, carried out by use cases in the step's own transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from datetime import datetime


class PostCards(Struct, frozen=True, kw_only=True):
    """Bring the first card to every channel of the request."""


class PostMore(Struct, frozen=True, kw_only=True):
    """Bring the card to further channels, and to people one by one: privately, in each channel of the request."""

    channels: tuple[str, ...] = ()
    people: tuple[str, ...] = ()  # e-mails, as in the file


class AskRequester(Struct, frozen=True, kw_only=True):
    """Bring the requester a card of their own, which shows what was asked and takes the answer."""


class TellEnd(Struct, frozen=True, kw_only=True):
    """Tell whoever asked, and whom the file names besides (`cc`), how it ended: each privately, in one chat."""


class TellApprovers(Struct, frozen=True, kw_only=True):
    """Tell each of them privately, in a chat, that they approved: whoever did it in their name is found out so."""

    people: tuple[str, ...]  # e-mails, as in the file


class Notify(Struct, frozen=True, kw_only=True):
    """Say something under every card that is out there: what changes a card does not ring a bell."""

    note: str  # what is said: see `app.domain.trail.notes`


class RefreshCards(Struct, frozen=True, kw_only=True):
    """Make every copy of the card show the present state."""


class IssueGrant(Struct, frozen=True, kw_only=True):
    """Write the single-use permission."""

    not_after: datetime


class Wake(Struct, frozen=True, kw_only=True):
    """Tell whoever waits for this request to look at the row."""


Effect = PostCards | PostMore | AskRequester | TellEnd | TellApprovers | Notify | RefreshCards | IssueGrant | Wake
