"""Values encrypted on their way into a row and decrypted on their way out; value keys are unwrapped once a process.

A value that a row keeps is ``e1.<number>.<base64>``, under the org's own key of that number, with AES-SIV too. What is
bound with it (org, number, this format, and the place: request, row, column) must be the same to read it again, so that
no value can be moved, nor given another key. The org's key is hidden itself: with another secret it is hidden anew, and
no value is touched.

A key is remembered only if it was committed: one that is made in a commit that comes to nothing would leave values that
nobody can read. What cannot be read fails no list: something stands in its place, the alarm is raised, and whoever
would act on the request is refused by its seal, which covers what the values say.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import re
from collections import OrderedDict
from typing import TYPE_CHECKING

import structlog
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESSIV

from app.domain.errors import UnavailableError
from app.domain.identity.seals import BadTokenError, mac_under
from app.storage.identity.secret_ids import list_seal_ids
from app.storage.identity.value_keys import Kept, list_value_keys, put_value_key, rewrap
from app.storage.tables.columns import MISREAD

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from app.domain.identity.seals import Seals
    from app.storage.engine.transaction import Row, Tx

log = structlog.get_logger(__name__)

DESTROYED = "its values went with the org's value key, which was destroyed"
UNREADABLE = "its values cannot be read: they were changed or moved, or their key is another secret's"
_OF_ANOTHER = "what is kept is encrypted under another secret than ASSENT_SECRET has: see `assent doctor`"
_EMPTY = frozenset({None, "", "[]", "{}"})
"""What says nothing, and stays as it is."""
_VALUE = re.compile(r"e1\.([1-9][0-9]{0,8})\.")


class ValueKey:
    """One key of an org for what its rows keep, unwrapped."""

    __slots__ = ("_bound", "_head", "_marking", "_raw", "_siv", "number", "org")

    def __init__(self, org: str, number: int, raw: bytes) -> None:
        """Take the key's own bytes."""
        self.org = org
        self.number = number
        self._raw = raw
        self._siv = AESSIV(raw)
        self._marking = mac_under(hmac.digest(raw, b"assent.mark.v1", "sha256"))
        self._head = f"e1.{number}."
        self._bound = f"e1\n{len(org)}:{org}\n{number}\n"

    @classmethod
    def new(cls, org: str, number: int) -> ValueKey:
        """Make another one."""
        return cls(org, number, AESSIV.generate_key(512))

    @classmethod
    def unwrapped(cls, seals: Seals, org: str, number: int, wrapped: str) -> ValueKey:
        """Read a key that `wrapped` returned. Raises BadTokenError: with these secrets it cannot be."""
        text = seals.read_hidden(wrapped, bound=_place(org, number))
        return cls(org, number, base64.b64decode(text, validate=True))

    def wrapped(self, seals: Seals) -> str:
        """Return the key as it may be kept: encrypted under the newest secret, bound to its org and number."""
        return seals.hide(base64.b64encode(self._raw).decode(), bound=_place(self.org, self.number))

    def hide(self, text: str, place: str) -> str:
        """Encrypt a value for one place: the same text in the same place looks the same, and nowhere else."""
        hidden = self._siv.encrypt(text.encode(), [(self._bound + place).encode()])
        return self._head + binascii.b2a_base64(hidden, newline=False).decode()

    def read(self, hidden: str, place: str) -> str:
        """Decrypt what `hide` made for this place. Raises BadTokenError."""
        try:
            raw = binascii.a2b_base64(hidden[len(self._head) :], strict_mode=True)
            return self._siv.decrypt(raw, [(self._bound + place).encode()]).decode()
        except (InvalidTag, ValueError):
            raise BadTokenError("encrypted for another place, or changed") from None

    def mark(self, text: str) -> str:
        """Return what is found again by the same text, and by nobody who has not this key: HMAC-SHA256."""
        return f"k{self.number}.{self._marking(text).hex()}"


def number_of(text: str) -> int | None:
    """Return the number of the key that a text was encrypted with; None: it stands there as it is."""
    if not text.startswith("e1."):
        return None
    found = _VALUE.match(text)
    return int(found[1]) if found else None


class Vault:
    """The value keys that this process knows."""

    def __init__(self, seals: Seals) -> None:
        """Take the master secrets' seals."""
        self._seals = seals
        self._keys: dict[tuple[str, int], ValueKey] = {}
        self._newest: dict[str, ValueKey] = {}
        self._told: set[tuple[str, str]] = set()
        self.shown: OrderedDict[str, object] = OrderedDict()
        self.had: set[tuple[str, str]] = set()

    def newest(self, tx: Tx, org: str) -> ValueKey:
        """Return the key that an org's values are encrypted with; it is made if there is none that can be read.

        Raises UnavailableError where there is one under the secret that rows are sealed with now, and that is not ours:
        a second key beside it would split what is kept over two secrets.
        """
        known = self._newest.get(org)
        if known is not None:
            return known
        kept = list_value_keys(tx, org)
        found = self._learnt(tx, org, kept)
        if found:
            newest = found[-1]
        elif any(each.wrapped for each in kept) and not set(list_seal_ids(tx)[-1:]) & set(self._seals.key_ids):
            raise UnavailableError(_OF_ANOTHER)
        else:
            newest = ValueKey.new(org, kept[-1].number + 1 if kept else 1)
            put_value_key(tx, org, Kept(newest.number, newest.wrapped(self._seals)))
            tx.fresh_keys.add(org)
        if org not in tx.fresh_keys:
            self._newest[org] = newest
        return newest

    def readable(self, tx: Tx, org: str) -> list[ValueKey]:
        """Return the org's keys that can be read. None is made: there may be none."""
        if org not in self._newest:
            return self._learnt(tx, org, list_value_keys(tx, org))
        return [key for (of, _), key in self._keys.items() if of == org]

    def refresh(self, tx: Tx) -> None:
        """Look at the org's keys as they are kept now; one that was destroyed meanwhile is forgotten."""
        org, kept = tx.org, list_value_keys(tx, tx.org)
        for each in kept:
            if each.wrapped is None and self._keys.pop((org, each.number), None):
                self.shown.clear()
        found = self._learnt(tx, org, kept)
        if found:
            self._newest[org] = found[-1]
        else:
            self._newest.pop(org, None)

    def renew(self, tx: Tx) -> None:
        """Wrap the org's keys with the newest secret, as far as they can be read; make the first one."""
        kept = list_value_keys(tx, tx.org)
        if not kept:
            self.newest(tx, tx.org)
        for each in kept:
            if each.wrapped is None or self._seals.is_newest(each.wrapped):
                continue
            try:
                key = ValueKey.unwrapped(self._seals, tx.org, each.number, each.wrapped)
            except MISREAD:
                continue
            rewrap(tx, each, key.wrapped(self._seals))

    def find(self, tx: Tx, org: str, number: int) -> ValueKey | str:
        """Return a key by its number, or why there is none."""
        known = self._keys.get((org, number))
        if known is not None:
            return known
        kept = list_value_keys(tx, org)
        found = next((key for key in self._learnt(tx, org, kept) if key.number == number), None)
        if found is not None:
            return found
        return DESTROYED if any(each.number == number and each.wrapped is None for each in kept) else UNREADABLE

    def alarm(self, org: str, request_id: str) -> None:
        """Say once a process that something cannot be read and was not destroyed."""
        if (org, request_id) not in self._told:
            self._told.add((org, request_id))
            log.critical("value.unreadable", org=org, request=request_id, why=UNREADABLE)

    def _learnt(self, tx: Tx, org: str, kept: list[Kept]) -> list[ValueKey]:
        found: list[ValueKey] = []
        for each in kept:
            if each.wrapped is None:
                continue
            try:
                key = ValueKey.unwrapped(self._seals, org, each.number, each.wrapped)
            except MISREAD:
                continue  # of another secret: what it encrypted is told apart when it is read
            found.append(key)
            if org not in tx.fresh_keys:
                self._keys[org, each.number] = key
        return found


def hidden(
    tx: Tx, columns: Mapping[str, object], these: Mapping[str, str], *, request_id: str, row_id: str
) -> Mapping[str, object]:
    """Return columns with `these` encrypted, as far as they are among them. Without a key they stay as they are.

    What could not be read, and nobody changed, is kept as it was.
    """
    found: dict[str, object] = {}
    for name, instead in these.items():
        value = columns.get(name)
        if value in _EMPTY or not isinstance(value, str):
            continue
        was = tx.unread.get((row_id, name)) if value == instead else None
        if was is not None:
            found[name] = was
        elif tx.vault is not None:
            found[name] = tx.vault.newest(tx, tx.org).hide(value, f"{request_id}\n{row_id}\n{name}")
    return {**columns, **found} if found else columns


def show(tx: Tx, row: Row, those: Iterable[tuple[Mapping[str, str], str]]) -> None:
    """Decrypt columns in a row of a request, in place; `row["unread"]` says why if one cannot be.

    `those` are columns with what stands for each, and what begins their names in the row.
    """
    row["unread"] = None
    for these, prefix in those:
        row_id = row[prefix + "id"]
        for name, instead in these.items():
            value = row[prefix + name]
            if not isinstance(value, str) or (number := number_of(value)) is None:
                continue
            read = _read(tx, row, number, value, f"{row['id']}\n{row_id}\n{name}")
            if read is None:
                tx.unread[row_id, name] = value
                read = instead
            row[prefix + name] = read


def _read(tx: Tx, row: Row, number: int, value: str, place: str) -> str | None:
    why = UNREADABLE
    if tx.vault is not None:
        key = tx.vault.find(tx, row["org"], number)
        if isinstance(key, ValueKey):
            try:
                return key.read(value, place)
            except BadTokenError:
                pass
        else:
            why = key
        if why != DESTROYED:
            tx.vault.alarm(row["org"], row["id"])
    row["unread"] = why
    return None


def _place(org: str, number: int) -> tuple[str, ...]:
    return ("value-key", org, str(number))
