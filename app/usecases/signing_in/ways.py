"""The ways in which people prove who they are, in one place: by a passkey, or by way of an issuer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.usecases.signing_in.elsewhere import Elsewhere
from app.usecases.signing_in.passkeys import Passkeys

if TYPE_CHECKING:
    from app.domain.identity.seals import Seals
    from app.policies.file.policy_book import PolicyBook
    from app.ports import Clock
    from app.storage.engine.store import Store
    from app.usecases.signing_in.issuer import Fetch


class Ways:
    """Builds them."""

    def __init__(self, *, store: Store, book: PolicyBook, seals: Seals, clock: Clock, fetch: Fetch) -> None:
        """Take what they work on."""
        self.passkeys = Passkeys(store=store, book=book, seals=seals)
        self.elsewhere = Elsewhere(store=store, book=book, seals=seals, clock=clock, fetch=fetch)
