"""The payee register: people say beforehand whom the org pays, and take out whom it should not know any more.

A payee who was paid once with success is known as well, until people take them out. What is in the register is not
allowed by it: rules and budgets stand, and only the warning of a first payment goes.
"""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

from app.domain.errors import ConflictError, InvalidError, NotFoundError
from app.domain.money.payee import Payee
from app.domain.money.payment import account_key, payee_key
from app.domain.text.visible import visible
from app.domain.trail.audit import Kind, Record
from app.storage.payments.payees import find_payees, list_payees, put_payee, remove_payee
from app.storage.payments.spends import list_paid, lock_spending
from app.usecases.payments.weigh_payees import tail_of

if TYPE_CHECKING:
    from app.domain.errors import AssentError
    from app.storage.engine.store import Store
    from app.storage.engine.transaction import Tx


class Payees:
    """Lists, adds and removes. `by` stands in the trail: a key's id, or ``cli``."""

    def __init__(self, *, store: Store) -> None:
        """Take what it works on."""
        self._store = store

    async def list(self, org: str) -> list[Payee]:
        """Return whom the register knows, a row for each account."""
        return await self._store.read(list_payees, org=org, long=True)

    async def add(self, org: str, name: str, *, account: str | None = None, by: str) -> Payee:
        """Put a payee in, with an account or (then none of theirs is known) without; again, nothing changes.

        Raises InvalidError for a name or an account that cannot be one, and ConflictError where the same payee is known
        under another spelling.
        """
        name, account = _name(name), _account(account)
        key = payee_key(name)

        def unit(tx: Tx) -> Payee | AssentError:
            now = lock_spending(tx)  # whoever weighs a payment finds the register as it is, or as it will be
            of_account = account_key(account)
            earlier = find_payees(tx, [key], [of_account])
            other = next((each.name for each in earlier if each.is_known and each.name != name), None)
            if other is not None:
                return ConflictError(
                    f"the register knows this payee as {visible(other)!r}: use that spelling, or take it out first"
                )
            same = next((each for each in earlier if each.is_known and each.account_key == of_account), None)
            if same is not None:
                return same
            payee = Payee(
                name=name,
                payee_key=key,
                account_key=of_account,
                account_tail=tail_of(account) if account else "",
                is_known=True,
                set_by=by,
                set_at=now,
                # Not after now, as one has it whose row is not as it was sealed: what is paid from now on counts.
                removed_at=max((min(each.removed_at, now) for each in earlier if each.removed_at), default=None),
            )
            mark = put_payee(tx, payee)
            facts = {"payee": name, "account": payee.account_tail} | ({} if mark is None else {"mark": mark})
            tx.append(Record(kind=Kind.PAYEE_ADDED, actor=by, facts=facts))
            return payee

        return await self._store.write(unit, org=org)

    async def remove(self, org: str, name: str, *, by: str) -> None:
        """Take a payee out, with all accounts and in all spellings: the next payment is a first one again.

        Raises NotFoundError for one whom neither the register nor a payment knows.
        """
        name = _name(name)
        key = payee_key(name)

        def unit(tx: Tx) -> AssentError | None:
            now = lock_spending(tx)
            earlier = find_payees(tx, [key])
            since = max((each.removed_at for each in earlier if each.removed_at), default=None)
            paid = any(since is None or each.at > since for each in list_paid(tx, [key]))
            is_doubtful = since is not None and since > now  # a row is there that is not as it was sealed
            if not (paid or is_doubtful or any(each.is_known for each in earlier)):
                return NotFoundError(f"nobody here knows a payee {visible(name)!r}: list the register to see whom")
            remove_payee(tx, key, by=by)
            if not earlier:
                gone = Payee(
                    name=name,
                    payee_key=key,
                    account_key="",
                    account_tail="",
                    is_known=False,
                    set_by=by,
                    set_at=now,
                    removed_at=now,
                )
                put_payee(tx, gone)
            tx.append(Record(kind=Kind.PAYEE_REMOVED, actor=by, facts={"payee": name}))
            return None

        await self._store.write(unit, org=org)


def _name(name: str) -> str:
    plain = unicodedata.normalize("NFC", name.strip())
    if not plain:
        raise InvalidError("a payee needs a name", path="name")
    return plain


def _account(account: str | None) -> str | None:
    if account is None:
        return None
    if not any(map(str.isalnum, account)):
        raise InvalidError("an account has letters or digits", path="account")
    return account
