"""The hooks of each org, built once for each version of its file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog

from app.domain.errors import UnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.policies.file.policy_book import PolicyBook
    from app.policies.file.policy_file import LoadedPolicy
    from assent.hooks.engine.registry import HookRegistry

log = structlog.get_logger(__name__)


class HookBook:
    """Pairs each loaded file with its hooks, so that a call is judged by one version of both."""

    def __init__(self, book: PolicyBook, build: Callable[[LoadedPolicy], HookRegistry]) -> None:
        """`build` makes the hooks of a file."""
        self._book = book
        self._build = build
        self._built: dict[str, tuple[LoadedPolicy, HookRegistry]] = {}

    def current(self, org: str) -> tuple[LoadedPolicy, HookRegistry]:
        """Return the file in force and its hooks. Raises NotFoundError, UnavailableError.

        The second where the hooks cannot be built: without them nothing is judged, and no call is answered.
        """
        loaded = self._book.current(org)
        built = self._built.get(org)
        if built is None or not built[0].is_load_of(loaded):
            try:
                built = (loaded, self._build(loaded))
            except Exception as error:
                # The file was checked, so this is the machine's fault (a module is gone, …): the text says which.
                log.error("hooks.unbuilt", org=org, error=f"{type(error).__name__}: {error}")  # noqa: TRY400 - see above
                raise UnavailableError("the hooks of this org cannot be built, so nothing is judged") from error
            self._built[org] = built
        return loaded, built[1]

    def prepare(self) -> None:
        """Build what is not built yet, away from the calls. A fault is told at each call."""
        for org in self._book.orgs():
            try:
                self.current(org)
            except UnavailableError:
                continue
