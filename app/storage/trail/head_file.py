"""The file that remembers how far the trail had come, so that a database restored from a backup is noticed.

It stands outside of the database, and must stay outside of its backups: whatever is restored must not bring its own
alibi along. One line of JSON: the epoch, and the (seq, hash) of each org's newest event.
"""

from __future__ import annotations

import json
import os
import re
import secrets
from itertools import starmap
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast
from urllib.parse import unquote, urlsplit

from msgspec import Struct
from sqlalchemy import and_, bindparam, exists, select

from app.domain.errors import UnsealedError
from app.storage.engine.transaction import EVERY_ORG, Statement
from app.storage.place.private_files import PRIVATE
from app.storage.tables.tables import audit_events, audit_heads
from app.storage.trail.audit_chain import is_head
from app.storage.trail.cuts import find_cut, why_unsealed
from app.storage.trail.restores import get_epoch

if TYPE_CHECKING:
    from collections.abc import Mapping

    from app.storage.engine.transaction import Tx

SQLITE = "sqlite:///"
# Of a head that no event bears out, nothing is read but whose it is: its cells may hold anything.
_HEADS = Statement(
    select(audit_heads.c.org, audit_events.c.seq, audit_events.c.hash)
    .outerjoin(
        audit_events,
        and_(
            audit_events.c.org == audit_heads.c.org,
            audit_events.c.seq == audit_heads.c.seq,
            audit_events.c.hash == audit_heads.c.hash,
        ),
    )
    .order_by(audit_heads.c.org)
)
_HASH_AT = Statement(
    select(audit_events.c.hash).where(audit_events.c.org == bindparam("of_org"), audit_events.c.seq == bindparam("at"))
)
# One statement, and of no trail that was cut: there, too, the event that tells of it stays.
_STRAY = Statement(
    select(audit_heads.c.org)
    .where(~exists().where(audit_events.c.org == audit_heads.c.org))
    .order_by(audit_heads.c.org)
)


class HeadFileError(Exception):
    """The file is there and cannot be read as what it should be; the text says how."""


class Doubted(NamedTuple):
    """A head that is not written down, and why: the database says it, and nothing bears it out."""

    org: str
    why: str


class Heads(Struct, frozen=True, kw_only=True):
    """How far a database had come: its epoch, and the newest event of each org as (seq, hash)."""

    epoch: int
    orgs: Mapping[str, tuple[int, str]]


def sqlite_file(database_url: str) -> Path:
    """Return the file that a SQLite URL names."""
    return Path(unquote(database_url.removeprefix(SQLITE).partition("?")[0]))


def head_file_of(database_url: str, state_dir: Path | None) -> Path | None:
    """Say where the file of a database is: beside SQLite's, or in `state_dir`; None where it has no place."""
    if database_url.startswith(SQLITE):
        file = sqlite_file(database_url)
        return (state_dir or file.parent) / f"{file.name}.head"
    if state_dir is None:
        return None
    name = re.sub(r"[^A-Za-z0-9_-]", "_", unquote(urlsplit(database_url).path.strip("/")))
    return state_dir / f"{name or 'assent'}.head"


def read_heads(path: Path) -> Heads | None:
    """Read the file; None if there is none. Raises HeadFileError."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise HeadFileError(getattr(error, "strerror", None) or "it is not text") from None
    try:
        return _parsed(json.loads(text))
    except (ValueError, TypeError, KeyError, AttributeError):
        raise HeadFileError("it is not what a gateway writes") from None


def write_heads(path: Path, heads: Heads) -> None:
    """Write the file whole, or leave the old one. Raises OSError, and HeadFileError for what no reader would take."""
    if not _is_sound(heads):
        raise HeadFileError("it is not what a gateway writes")
    text = json.dumps({"epoch": heads.epoch, "orgs": {org: list(head) for org, head in heads.orgs.items()}})
    # In containers every gateway has the same process id: two with one folder must not write into one file.
    beside = path.with_name(f"{path.name}.{secrets.token_hex(8)}.new")
    try:
        with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE), "w", encoding="utf-8") as file:
            file.write(text + "\n")
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)  # a full disk is not filled with what it could not take


def find_heads(tx: Tx) -> Heads:
    """Read how far the database has come, as far as it can be vouched for; in the scope of all orgs."""
    return look_at_heads(tx, None)[0]


def look_at_heads(tx: Tx, known: Heads | None) -> tuple[Heads, list[Doubted]]:
    """Read how far the database has come, and of what that cannot be told: there it is as far as it was `known` to be.

    A head is taken for what an event bears out, its number and its hash, and that the file's reader takes, too.
    """
    doubted: list[Doubted] = []
    orgs: dict[str, tuple[int, str]] = {}
    for row in tx.all(_HEADS):
        org, head = row["org"], (row["seq"], row["hash"])
        if is_head(*head):
            orgs[org] = head
            continue
        doubted.append(Doubted(str(org), f"the head of the trail of {org} is not that of any of its events"))
        if known is not None and org in known.orgs:
            orgs[org] = known.orgs[org]
    try:
        epoch = get_epoch(tx)
    except UnsealedError as error:
        doubted.append(Doubted(EVERY_ORG, error.detail))
        epoch = known.epoch if known is not None else 0
    return Heads(epoch=epoch, orgs=orgs), doubted


def list_stray_heads(tx: Tx) -> list[str]:
    """Return the orgs that have the head of a trail and not one event; in the scope of all orgs."""
    return [str(row["org"]) for row in tx.all(_STRAY)]


def find_lost(tx: Tx, known: Heads) -> str | None:
    """Say of which org the database has lost events that it once had, or None; in the scope of all orgs.

    A database of a later epoch was restored and declared so since: what it has lost is known. A head that nothing bears
    out shows no loss: the events do.
    """
    now, _ = look_at_heads(tx, known)
    if now.epoch > known.epoch:
        return None
    for org, (seq, digest) in known.orgs.items():
        has = now.orgs.get(org, (-1, ""))[0]
        if has < seq:
            return f"the trail of {org} ends at event {has}, and had come to {seq}"
        row = tx.one(_HASH_AT, of_org=org, at=seq)
        cut = find_cut(tx.of(org)) if row is None else None
        if cut is not None and cut.last >= seq:
            why = why_unsealed(org, cut, tx.seals)  # whoever has the database alone makes no such record
            if why is None and (cut.last > seq or cut.hash == digest):
                continue
            return why or f"event {seq} of the trail of {org}, where it was cut, is not the one that was there"
        if row is None or row["hash"] != digest:
            return f"event {seq} of the trail of {org} is not the one that was there"
    return (
        f"{known.epoch} restores were declared, and the database knows of {now.epoch}"
        if now.epoch < known.epoch
        else None
    )


def _parsed(read: Any) -> Heads:
    orgs = cast("dict[str, list[Any]]", read["orgs"])
    heads = Heads(epoch=read["epoch"], orgs={org: (seq, digest) for org, (seq, digest) in orgs.items()})
    if not _is_sound(heads):
        raise ValueError
    return heads


def _is_sound(heads: Heads) -> bool:
    return type(heads.epoch) is int and heads.epoch >= 0 and all(starmap(is_head, heads.orgs.values()))
