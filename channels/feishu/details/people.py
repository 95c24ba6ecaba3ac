"""How an account stands, from what the address book says of it, and what it says only with a scope.

The platform leaves out a field that a scope withholds, and calls that a success: an absent status is *unknown*, never
*deactivated*. Who is unknown is sent cards and decides nothing; what is missing is named wherever somebody looks.
"""

from __future__ import annotations

from typing import Any, cast

from msgspec import Struct

from app.ports import AccountStatus, ChannelUnavailableError

PERSON_PREFIX = "ou_"
"""What a person's id looks like; a chat's begins with ``oc_``."""

STATUS_SCOPE = "contact:user.employee:readonly"
"""What the field ``status`` needs (获取用户受雇信息): neither that of e-mails nor that of basic facts brings it."""

WITHHELD = (
    "Feishu does not tell whether the account is active: "
    f"grant {STATUS_SCOPE} under Permissions & Scopes and publish a new version of the app"
)


def standing(status: Any) -> AccountStatus:
    """Say how a person stands. One clear mark that they cannot sign in is enough; no clear mark that they can is not.

    A mark that is absent or null says nothing; one that is no truth value makes the whole status unknown.
    """
    if status is None:
        return AccountStatus.UNKNOWN
    barred = (status.is_frozen, status.is_resigned, status.is_exited, status.is_unjoin)
    if any(mark is True for mark in barred) or status.is_activated is False:
        return AccountStatus.DEACTIVATED
    clear = all(mark is None or isinstance(mark, bool) for mark in barred)
    return AccountStatus.ACTIVE if status.is_activated is True and clear else AccountStatus.UNKNOWN


class Contact(Struct, frozen=True, kw_only=True):
    """A person as the address book has them."""

    open_id: str
    status: AccountStatus


def people_by_email(answer: Any) -> dict[str, Contact | None]:
    """Read an answer of ``batch_get_id``: whom each address leads to; None: to nobody, or not visible to the app.

    Addresses are folded. One that the answer does not name is not among them: nothing was said of it.
    """
    listed: object = answer.data.user_list if answer.data is not None else None
    found: dict[str, Contact | None] = {}
    for person in _entries(listed):
        email: object = getattr(person, "email", None)
        if not isinstance(email, str):
            continue
        open_id: object = person.user_id
        if open_id is None or open_id == "":
            found.setdefault(email.casefold(), None)
        else:
            found[email.casefold()] = Contact(open_id=_open_id(open_id), status=standing(person.status))
    return found


def person_by_id(answer: Any, open_id: str) -> Contact:
    """Read an answer about the one person who was asked for. Raises ChannelUnavailableError when it is about nobody."""
    person: Any = answer.data.user if answer.data is not None else None
    if person is None or (person.open_id is not None and person.open_id != open_id):
        raise ChannelUnavailableError("Feishu's answer does not name the person who was asked for")
    return Contact(open_id=open_id, status=standing(person.status))


def _entries(listed: object) -> list[Any]:
    entries = cast("list[Any]", listed) if isinstance(listed, list) else []
    return [entry for entry in entries if entry is not None]


def _open_id(told: object) -> str:
    if not isinstance(told, str) or not told.startswith(PERSON_PREFIX):
        raise ChannelUnavailableError("Feishu's answer names somebody by no open_id")
    return told
