"""Put the engine and the tables together: requests are locked first and the trail's head last, in every commit."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import unquote

import sqlalchemy as sa

from app.storage.engine.dialect import Sqlite
from app.storage.engine.store import Store
from app.storage.engine.transaction import Together
from app.storage.identity.vault import Vault
from app.storage.place.address import is_postgres, libpq_url
from app.storage.refusals.denials import look_back_together
from app.storage.requests.requests import lock_many
from app.storage.trail.audit_chain import Chains

if TYPE_CHECKING:
    from app.domain.identity.seals import Seals
    from app.ports import Clock, IdFactory
    from app.storage.engine.dialect import Dialect
    from app.storage.engine.postgres import Postgres


def make_store(dialect: Dialect, ids: IdFactory, *, seals: Seals | None) -> Store:
    """Return a store; `start` opens it. `seals` hold the keys of its rows and values: None where it writes none.

    Nobody leaves them out by oversight: what is written without them, every gateway refuses.
    """
    vault = Vault(seals) if seals is not None else None
    chains = Chains()
    together = Together(
        lock=lock_many,
        seek=look_back_together,
        foresee=chains.foresee,
        append=chains.append_all,
        seals=seals,
        vault=vault,
    )
    return Store(dialect, ids, together=together)


def dialect_for(url: str, clock: Clock) -> Sqlite | Postgres:
    """Choose by URL: ``sqlite:///path`` or ``postgresql://…``. Raises ValueError for anything else."""
    if is_postgres(url):
        from app.storage.engine.postgres import Postgres

        return Postgres(libpq_url(url))
    parsed = sa.make_url(url)
    backend = parsed.get_backend_name()
    if backend == "sqlite" and parsed.database not in {None, "", ":memory:"}:
        return Sqlite(unquote(str(parsed.database)), clock)
    raise ValueError(f"ASSENT_DATABASE must be sqlite:///FILE or postgresql://…, not {backend!r}")
