"""Sessions of people in the console as they are stored: a keyed hash of what the browser holds, and whose it is."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from sqlalchemy import bindparam, delete, insert, select, update

from app.domain.identity.console_session import LASTS, ConsoleSession
from app.domain.people.people import email_key
from app.storage.engine.dialect import from_us, to_us
from app.storage.engine.transaction import Row, Statement, Tx
from app.storage.tables.secret_tables import console_sessions as sessions
from app.storage.tables.secret_tables import sign_outs

if TYPE_CHECKING:
    from datetime import datetime

_OF_ORG = sessions.c.org == bindparam("for_org")
_OF_PERSON = sessions.c.person == bindparam("of_person")
_OPEN = sessions.c.ended_at.is_(None)
_GET = Statement(select(sessions).where(sessions.c.id == bindparam("session_id")))
_ANY = Statement(select(sessions.c.id).where(_OF_ORG).limit(1))
_PUT = Statement(insert(sessions))
_SEE = Statement(
    update(sessions).where(_OF_ORG, sessions.c.id == bindparam("session_id")).values(seen_at=bindparam("at"))
)
_END = Statement(
    update(sessions).where(_OF_ORG, _OPEN, sessions.c.id == bindparam("session_id")).values(ended_at=bindparam("at"))
)
_END_ALL = Statement(update(sessions).where(_OF_ORG, _OPEN, _OF_PERSON).values(ended_at=bindparam("at")))
_END_MINE = Statement(
    update(sessions)
    .where(_OF_ORG, _OPEN, _OF_PERSON, sessions.c.id == bindparam("session_id"))
    .values(ended_at=bindparam("at"))
)
_MINE = Statement(
    select(sessions).where(_OF_ORG, _OPEN, _OF_PERSON).order_by(sessions.c.begun_at.desc(), sessions.c.id)
)
_EVERYBODYS = Statement(
    select(sessions).where(_OF_ORG, _OPEN).order_by(sessions.c.begun_at.desc(), sessions.c.id).limit(bindparam("most"))
)
_OUT = (sign_outs.c.org == bindparam("for_org"), sign_outs.c.person == bindparam("of_person"))
_LEFT = Statement(select(sign_outs.c.at).where(*_OUT))
_LEAVE = Statement(update(sign_outs).where(*_OUT).values(at=bindparam("new_at")))
_FIRST_LEAVE = Statement(insert(sign_outs))
_FORGET = Statement(delete(sessions).where(_OF_ORG, sessions.c.begun_at <= bindparam("at")))


def insert_session(tx: Tx, session: ConsoleSession) -> None:
    """Write a new session, and forget those of the org that are long over."""
    tx.write(_FORGET, for_org=tx.org, at=to_us(session.begun_at - 2 * LASTS))
    tx.write(
        _PUT,
        id=session.id,
        org=session.org,
        person=session.person,
        via=session.via,
        seal=session.seal,
        begun_at=to_us(session.begun_at),
        seen_at=to_us(session.seen_at),
        ended_at=None,
        groups=json.dumps(session.groups) if session.groups else None,
    )


def has_sessions(tx: Tx) -> bool:
    """Say whether anybody of the org has signed in, lately."""
    return tx.one(_ANY, for_org=tx.org) is not None


def find_session(tx: Tx, session_id: str) -> ConsoleSession | None:
    """Read a session by its id, in whichever org it is (the caller does not know its org yet)."""
    row = tx.one(_GET, session_id=session_id)
    return _from_row(row) if row else None


def see_session(tx: Tx, session_id: str, at: datetime) -> None:
    """Keep that a session was used."""
    tx.write(_SEE, for_org=tx.org, session_id=session_id, at=to_us(at))


def end_session(tx: Tx, session_id: str) -> int:
    """End one session; return how many that were."""
    return tx.run(_END, for_org=tx.org, session_id=session_id, at=to_us(tx.now()))


def end_sessions(tx: Tx, person: str) -> int:
    """End all sessions of a person; return how many they were."""
    return tx.run(_END_ALL, for_org=tx.org, of_person=person, at=to_us(tx.now()))


def end_everywhere(tx: Tx, person: str) -> int:
    """End all sessions of a person, and what cards' links have opened for them; return how many sessions they were."""
    leave_everywhere(tx, email_key(person))
    return end_sessions(tx, person)


def end_session_of(tx: Tx, person: str, session_id: str) -> int:
    """End one session of a person; return how many that were: none, if it is somebody else's."""
    return tx.run(_END_MINE, for_org=tx.org, of_person=person, session_id=session_id, at=to_us(tx.now()))


def list_sessions(tx: Tx, person: str) -> list[ConsoleSession]:
    """Return a person's sessions that hold, the newest first."""
    found = [_from_row(row) for row in tx.all(_MINE, for_org=tx.org, of_person=person)]
    now = tx.now()
    return [each for each in found if each.live(now)]


def list_open_sessions(tx: Tx, *, most: int) -> list[ConsoleSession]:
    """Return the sessions of the org that hold, of the newest `most`."""
    now = tx.now()
    return [each for row in tx.all(_EVERYBODYS, for_org=tx.org, most=most) if (each := _from_row(row)).live(now)]


def left_at(tx: Tx, person: str) -> datetime | None:
    """Return when a person (as `email_key`) signed out everywhere last: what a card's link opened before is over."""
    row = tx.one(_LEFT, for_org=tx.org, of_person=person)
    return from_us(row["at"]) if row else None


def leave_everywhere(tx: Tx, person: str) -> None:
    """Keep that a person signs out everywhere now."""
    at = to_us(tx.now())
    if not tx.run(_LEAVE, for_org=tx.org, of_person=person, new_at=at):
        tx.write(_FIRST_LEAVE, org=tx.org, person=person, at=at)


def _from_row(row: Row) -> ConsoleSession:
    return ConsoleSession(
        id=row["id"],
        org=row["org"],
        person=row["person"],
        via=row["via"],
        seal=row["seal"],
        begun_at=from_us(row["begun_at"]),
        seen_at=from_us(row["seen_at"]),
        ended_at=from_us(row["ended_at"]) if row["ended_at"] is not None else None,
        groups=tuple(json.loads(row["groups"])) if row["groups"] else (),
    )
