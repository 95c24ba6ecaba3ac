"""What a channel's package returns, looked at before anybody uses it: its types, its lengths, and what texts hold.

A value that is of no use raises `UnusableError`. A text of a person or of a platform that no database takes (half a
surrogate pair) is mended, and one without end is cut: what is too long for its purpose is refused where that is known.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Final, TypeVar, cast

from msgspec.structs import replace

from app.abilities.directories import Member, ReportsTo
from app.bulkhead.calls import UnusableError
from app.ports import (
    Account,
    AccountStatus,
    Challenge,
    ChannelRefusedError,
    ChannelUnavailableError,
    Click,
    Finding,
    HttpAnswer,
    Ignored,
    MessageRef,
    Severity,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from app.ports import Inbound

T = TypeVar("T")

_ID: Final = 1_000
"""Bytes of an id. An index takes some 2,700, and no platform's is nearly as long."""

_SEALED: Final = 4_000
_TYPED: Final = 10_000
"""Characters that are kept of what a person typed: more than any field takes, so that it is still found too long."""

_WORDS: Final = 1_000
_FIELDS: Final = 100
_FINDINGS: Final = 200
_LONGEST_WAIT: Final = timedelta(days=1)


def message_ref(said: object) -> MessageRef:
    """Where a card is."""
    if not isinstance(said, MessageRef):
        raise UnusableError(f"a MessageRef is {_kind(said)}")
    _id(said.chat_id, "MessageRef.chat_id")
    _id(said.message_id, "MessageRef.message_id")
    _id(said.app_id, "MessageRef.app_id", empty=True)
    _id(said.tenant, "MessageRef.tenant", empty=True)
    return said


def maybe_message_ref(said: object) -> MessageRef | None:
    """The same of what may not be there."""
    return None if said is None else message_ref(said)


def account(said: object) -> Account:
    """Who somebody is."""
    if not isinstance(said, Account):
        raise UnusableError(f"an Account is {_kind(said)}")
    _id(said.account_id, "Account.account_id")
    _id(said.tenant, "Account.tenant", empty=True)
    if not isinstance(said.status, AccountStatus):  # pyright: ignore[reportUnnecessaryIsInstance] - others write it
        raise UnusableError(f"Account.status is {_kind(said.status)}")
    return replace(said, withheld=words(said.withheld))


def maybe_account(said: object) -> Account | None:
    """The same of somebody whom a platform may not know."""
    return None if said is None else account(said)


def account_ids(said: object) -> tuple[str, ...]:
    """Who is in a group. A text is no list of its letters."""
    return tuple(_ids(said, "an account id"))


def message_ids(said: object) -> frozenset[str]:
    """Which messages are not there."""
    return frozenset(_ids(said, "a message id"))


def accounts(said: object) -> Mapping[str, Account | None]:
    """Whose account is which, by what was asked."""
    return _table(said, maybe_account)


def members(said: object) -> Mapping[str, Member]:
    """Who is behind accounts."""
    return _table(said, _member)


def managers(said: object) -> Mapping[str, ReportsTo]:
    """Who is above whom."""
    return _table(said, _reports_to)


def findings(said: object) -> list[Finding]:
    """What `examine` saw."""
    if not isinstance(said, Collection) or isinstance(said, (str, bytes)):
        raise UnusableError(f"the findings are {_kind(said)}")
    return [_finding(each) for each in tuple(cast("Collection[object]", said))[:_FINDINGS]]


def nothing(said: object) -> None:
    """What comes of a call that returns nothing: whatever it is, nobody looks at it."""
    del said


def inbound(said: object) -> Inbound:
    """What a call asks."""
    match said:
        case Click():
            return click(said)
        case Challenge():
            return Challenge(answer=http_answer(said.answer))
        case Ignored():
            return Ignored(why=words(said.why), answer=http_answer(said.answer))
        case _:
            raise UnusableError(f"what it read is {_kind(said)}")


def click(said: Click) -> Click:
    """A press of a button: by somebody, of something, once. What was typed is kept to a length."""
    for name in ("account_id", "chat_id", "event_key"):
        _id(getattr(said, name), f"Click.{name}")
    for name in ("app_id", "tenant", "message_id"):
        _id(getattr(said, name), f"Click.{name}", empty=True)
    _id(said.token, "Click.token", most=_SEALED)
    for name in ("reply_to", "trigger"):
        _id(getattr(said, name), f"Click.{name}", empty=True, most=_SEALED)
    for name in ("wants_form", "via_modal"):
        if not isinstance(getattr(said, name), bool):
            raise UnusableError(f"Click.{name} is {_kind(getattr(said, name))}")
    if said.reason is not None and not isinstance(said.reason, str):  # pyright: ignore[reportUnnecessaryIsInstance] - as above
        raise UnusableError(f"Click.reason is {_kind(said.reason)}")
    reason = None if said.reason is None else _typed(said.reason)
    return replace(said, reason=reason, fields=_fields(said.fields))


def http_answer(said: object) -> HttpAnswer:
    """What a platform is told: JSON, or nothing."""
    if not isinstance(said, HttpAnswer):
        raise UnusableError(f"an HttpAnswer is {_kind(said)}")
    if type(said.status) is not int or not 200 <= said.status <= 599:
        raise UnusableError("HttpAnswer.status is none")
    if said.body is None:
        return said
    if not isinstance(said.body, dict):  # pyright: ignore[reportUnnecessaryIsInstance] - as above
        raise UnusableError(f"HttpAnswer.body is {_kind(said.body)}")
    try:
        json.dumps(said.body, ensure_ascii=False, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError):
        raise UnusableError("HttpAnswer.body is no JSON") from None
    return said


def error(raised: ChannelUnavailableError | ChannelRefusedError) -> None:
    """Make what a package raised, as it may, of use: why it did is stored, and when to come back is waited for."""
    raised.why = words(getattr(raised, "why", "")) or type(raised).__name__
    raised.args = (raised.why,)
    if isinstance(raised, ChannelUnavailableError):
        wish: object = getattr(raised, "retry_after", None)
        raised.retry_after = min(max(wish, timedelta(0)), _LONGEST_WAIT) if isinstance(wish, timedelta) else None
        raised.limited = getattr(raised, "limited", False) is True
        raised.ambiguous = getattr(raised, "ambiguous", True) is not False


def words(said: object, most: int = _WORDS) -> str:
    """Words for the log, the trail and people, whatever they are: mended and cut."""
    if not isinstance(said, str):
        return ""
    return _storable(said[:most]).replace("\0", "\\u{0}")


def is_id(said: object, *, empty: bool = False, most: int = _ID) -> bool:
    """Say whether something can be an id, of so many bytes at most."""
    try:
        _id(said, "", empty=empty, most=most)
    except UnusableError:
        return False
    return True


def _id(said: object, name: str, *, empty: bool = False, most: int = _ID) -> str:
    if not isinstance(said, str):
        raise UnusableError(f"{name} is {_kind(said)}")
    try:
        length = len(said.encode())
    except UnicodeEncodeError:
        raise UnusableError(f"{name} holds half a surrogate pair") from None
    if "\0" in said or length > most or not (said or empty):
        raise UnusableError(f"{name} {'is empty' if not said else 'holds a NUL' if chr(0) in said else 'has no end'}")
    return said


def _ids(said: object, name: str) -> Iterable[str]:
    if not isinstance(said, Collection) or isinstance(said, (str, bytes)):
        raise UnusableError(f"the list of {name}s is {_kind(said)}")
    return [_id(each, name) for each in cast("Collection[object]", said)]


def _table(said: object, of: Callable[[object], T]) -> Mapping[str, T]:
    if not isinstance(said, Mapping):
        raise UnusableError(f"the answers are {_kind(said)}")
    table = cast("Mapping[object, object]", said)
    return {key: of(value) for key, value in table.items() if isinstance(key, str)}


def _member(said: object) -> Member:
    if not isinstance(said, Member):
        raise UnusableError(f"a Member is {_kind(said)}")
    _id(said.email, "Member.email", empty=True)
    return replace(said, account=account(said.account), withheld=words(said.withheld))


def _reports_to(said: object) -> ReportsTo:
    if not isinstance(said, ReportsTo):
        raise UnusableError(f"a ReportsTo is {_kind(said)}")
    _id(said.account_id, "ReportsTo.account_id", empty=True)
    return replace(said, withheld=words(said.withheld))


def _finding(said: object) -> Finding:
    if not isinstance(said, Finding) or not isinstance(said.severity, Severity):  # pyright: ignore[reportUnnecessaryIsInstance] - as above
        raise UnusableError(f"a Finding is {_kind(said)}")
    return Finding(severity=said.severity, what=words(said.what) or "it says nothing", mend=words(said.mend))


def _fields(said: object) -> Mapping[str, str]:
    if not isinstance(said, Mapping):
        raise UnusableError(f"Click.fields is {_kind(said)}")
    given = cast("Mapping[object, object]", said)
    if len(given) > _FIELDS:
        raise UnusableError(f"Click.fields has {len(given)}")
    fields: dict[str, str] = {}
    for name, text in given.items():
        if not isinstance(text, str):
            raise UnusableError(f"one of Click.fields is {_kind(text)}")
        fields[_id(name, "a name of Click.fields")] = _typed(text)
    return fields


def _typed(text: str) -> str:
    return _storable(text[:_TYPED])


def _storable(text: str) -> str:
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _kind(said: object) -> str:
    return type(said).__name__
