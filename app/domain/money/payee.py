"""A payee whom people have put into the register, or taken out of it again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from datetime import datetime


class Payee(Struct, frozen=True, kw_only=True):
    """A payee with one account, as people set it. `removed_at`: no payment before it vouches for them."""

    name: str
    payee_key: str
    account_key: str  # "": no account was named
    account_tail: str
    is_known: bool
    set_by: str
    set_at: datetime
    removed_at: datetime | None = None
