"""What is sealed with a secret that this gateway does not have, and another gateway of this database has had.

A rotation that goes too fast leaves such rows, and so does a replica that missed one. Nobody has forged them: they are
refused until the secret is back, and nobody is alarmed of a forgery. An id is taken for a secret's of this database
only where both the memory of it and the trail say so. What whoever has the database alone writes into a row is neither:
that row is forged, as before. To make it look like this they must put in a row of the memory and an event of the trail,
and for that nothing is handed out either; the gateways are not ready, and `assent audit verify` says what was put in.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sqlalchemy import bindparam, func, literal, literal_column, or_, select

from app.domain.identity.api_key import sealed_as
from app.storage.engine.dialect import to_us
from app.storage.engine.transaction import Row, Statement
from app.storage.engine.unreadable import readable
from app.storage.identity.secret_ids import list_seal_ids
from app.storage.tables.secret_tables import api_keys, secret_ids
from app.storage.tables.tables import audit_events, requests, trail_cuts

if TYPE_CHECKING:
    from collections.abc import Iterable

    from app.storage.engine.transaction import Tx

_ID = re.compile(r"[0-9a-f]{8}")
_SEALED = re.compile(r"s1\.([0-9a-f]{8})\.[0-9a-f]+")
_IS_KNOWN = audit_events.c.kind == literal_column("'secret.known'")
_SAID = Statement(
    select(literal(1).label("said"))
    .where(
        audit_events.c.org == bindparam("for_org"),
        _IS_KNOWN,
        audit_events.c.facts.like(literal('%"key_id":"') + bindparam("of_key") + literal('"%')),
    )
    .limit(literal_column("1"))
)
_CARRIED = Statement(
    select(trail_cuts.c.carried)
    .where(trail_cuts.c.org == bindparam("for_org"))
    .order_by(trail_cuts.c.seq.desc())
    .limit(literal_column("1"))
)
_BEGINNING = func.substr(requests.c.seal, literal_column("1"), literal_column("12"))
_SEALS = (
    select(_BEGINNING.label("seal"))
    .where(
        requests.c.org == bindparam("for_org"),
        requests.c.state.in_([literal_column(f"'{state}'") for state in ("pending", "approved", "executing")]),
        requests.c.seal.is_not(None),
    )
    .subquery()
)
_OPEN = Statement(select(_SEALS.c.seal, func.count().label("requests")).group_by(_SEALS.c.seal))
_KEYS = Statement(
    select(api_keys.c.org, api_keys.c.secret_hash).where(
        api_keys.c.revoked_at.is_(None),
        or_(api_keys.c.expires_at.is_(None), api_keys.c.expires_at > bindparam("now")),
    )
)
_SINCE = Statement(
    select(secret_ids.c.known_since).where(
        secret_ids.c.org == bindparam("for_org"), secret_ids.c.key_id == bindparam("of_key")
    )
)
_GIVEN_UP = Statement(
    select(audit_events.c.at, audit_events.c.facts)
    .where(audit_events.c.org == bindparam("for_org"), _IS_KNOWN, audit_events.c.facts.like('%"reason":%'))
    .order_by(audit_events.c.seq.desc())
    .limit(literal_column("1"))
)


def sealing_secret(seal: object) -> str | None:
    """Return the id of the secret that a request's seal names; None: it is no seal of a gateway's."""
    found = _SEALED.fullmatch(seal) if isinstance(seal, str) else None
    return found.group(1) if found is not None else None


def was_had(tx: Tx, key_id: str) -> bool:
    """Say whether a gateway of this org has had the secret of an id: by what is remembered, and by what was said.

    The trail is walked for it, once a process: of a secret that was had nothing is read again.
    """
    had = tx.vault.had if tx.vault is not None else set[tuple[str, str]]()
    if (tx.org, key_id) in had:
        return True
    if not _ID.fullmatch(key_id) or key_id not in list_seal_ids(tx):
        return False
    if tx.one(_SAID, for_org=tx.org, of_key=key_id) is None:
        cut = tx.one(_CARRIED, for_org=tx.org)
        if cut is None or f'"secret {key_id}"' not in str(cut["carried"]):
            return False
    had.add((tx.org, key_id))
    return True


def lacking_secret(tx: Tx, row: Row) -> str | None:
    """Return the id of the secret that a request's row is sealed with, where it lacks here and was had elsewhere."""
    key_id = sealing_secret(row["seal"])
    if key_id is None or tx.seals is None or key_id in tx.seals.key_ids:
        return None
    return key_id if was_had(tx, key_id) else None


def count_open(tx: Tx) -> dict[str, int]:
    """Return how many of the org's open requests are sealed with each secret that was had; others are forged."""
    found: dict[str, int] = {}
    for row in tx.all(_OPEN, for_org=tx.org):
        key_id = str(row["seal"])[3:11]
        if was_had(tx, key_id):
            found[key_id] = found.get(key_id, 0) + row["requests"]
    return found


def lacks_keys(tx: Tx) -> bool:
    """Say whether live API keys of any org are kept under a secret that lacks here, and that nobody gave up since.

    For the scope of all orgs. A secret is given up by `assent reseal`: what hangs on it is dead, and stays so.
    """
    held = tx.seals.key_ids if tx.seals is not None else ()
    hashes = readable("api_keys", tx.all(_KEYS, now=to_us(tx.now())), _hash_of)
    under = {(org, key_id) for org, kept in hashes if (key_id := sealed_as(kept)) is not None}
    return any(_lacks(tx.of(org), key_id) for org, key_id in sorted(under) if key_id not in held)


def given_up(tx: Tx, key_ids: Iterable[str]) -> frozenset[str]:
    """Return those of these secrets that an operator has declared lost, in the org."""
    return frozenset(key_id for key_id in key_ids if _is_given_up(tx, key_id))


def _lacks(tx: Tx, key_id: str) -> bool:
    return was_had(tx, key_id) and not _is_given_up(tx, key_id)


def _is_given_up(tx: Tx, key_id: str) -> bool:
    last, since = tx.one(_GIVEN_UP, for_org=tx.org), tx.one(_SINCE, for_org=tx.org, of_key=key_id)
    if last is None or since is None or f'"key_id":"{key_id}"' in str(last["facts"]):
        return False
    return bool(since["known_since"] <= last["at"])


def _hash_of(row: Row) -> tuple[str, str]:
    if type(row["org"]) is not str or type(row["secret_hash"]) is not str:
        raise TypeError("no text")
    return row["org"], row["secret_hash"]
