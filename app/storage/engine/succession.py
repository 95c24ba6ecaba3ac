"""Which of several servers a process writes to: none whose place another one has taken, and no new one unlooked at.

An old primary that comes back knows nothing of the new one. PostgreSQL counts its promotions (the *timeline*): the
newest that was met is kept here, in memory, and looked at with each new connection.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from app.storage.engine.trouble import SupersededError

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.storage.engine.line import Server
    from app.storage.engine.transaction import Tx


class Succession:
    """Shared by the lanes of a store."""

    def __init__(self) -> None:
        """Know nothing yet."""
        self.resume: Callable[[Tx], None] | None = None
        """Runs first in the first transaction that a new connection writes, in the scope of all orgs."""
        self.server: Server | None = None
        """The one that was met last; None on SQLite, and where it does not say."""
        self._lock = threading.Lock()

    def meet(self, server: Server | None) -> None:
        """Take a server for the one in charge. Raises SupersededError if a later one was met before."""
        with self._lock:
            known = self.server
            if known and server and server.system == known.system and server.timeline < known.timeline:
                raise SupersededError
            self.server = server or known
