"""Keys of values: none is relied on before it was committed, and what cannot be read is kept as it is."""

from __future__ import annotations

import asyncio
import base64
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from app.domain.identity.seals import BadTokenError, Seals
from app.domain.trail.audit import Kind
from app.storage.identity.vault import ValueKey
from app.storage.requests.requests import find_request, save_request
from app.storage.trail.audit_chain import Record
from tests.domain.samples import a_call, a_request
from tests.requirements import requirement
from tests.storage.rig import ORG, given_request, look, open_store, opening

if TYPE_CHECKING:
    from app.storage.engine.transaction import Tx

SEALS = Seals(["a-master-secret-of-the-tests-0123456789"])


class _FaultError(RuntimeError):
    pass


@requirement("S-38")
async def test_a_key_whose_commit_came_to_nothing_encrypts_nothing(database_url: str) -> None:
    request = a_request("req_1", call=a_call(session="s-1"))

    def failing(tx: Tx) -> None:
        opening(request)(tx)
        raise _FaultError

    async with open_store(database_url, seals=SEALS) as store:
        with pytest.raises(_FaultError):
            await store.write(failing, org=ORG)
        assert look(database_url, "SELECT number FROM value_keys") == []
        await store.write(opening(request), org=ORG)
    async with open_store(database_url, seals=SEALS) as store:  # another process
        found = await store.read(lambda tx: find_request(tx, "req_1"), org=ORG)
    assert found is not None
    assert found.call == request.call


@requirement("S-38")
async def test_two_that_begin_at_once_end_with_one_key(database_url: str) -> None:
    async with open_store(database_url, seals=SEALS) as one, open_store(database_url, seals=SEALS) as two:
        both = [one, one] if database_url.startswith("sqlite") else [one, two]
        await asyncio.gather(*(given_request(store, f"req_{n}") for n, store in enumerate(both)))
        for store in both:
            for n in range(2):
                found = await store.read(lambda tx, n=n: find_request(tx, f"req_{n}"), org=ORG)
                assert found is not None
                assert found.call.arguments == a_call().arguments
    assert look(database_url, "SELECT number FROM value_keys") == [(1,)]


@requirement("S-38")
async def test_who_has_no_key_writes_what_it_cannot_read_as_it_was(database_url: str) -> None:
    columns = "SELECT arguments, title, claim FROM requests"
    async with open_store(database_url, seals=SEALS) as store:
        await given_request(store)
    before = look(database_url, columns)
    assert all(value is None or value.startswith("e1.1.") for value in before[0])

    def whole(tx: Tx) -> None:
        found = find_request(tx, "req_1")
        assert found is not None
        assert found.call.arguments == {"": "unreadable"}
        after = replace(found, version=found.version + 1, extensions=1)
        save_request(tx, found, after, whole=True)
        tx.append(Record(kind=Kind.SEALED, actor="test", facts={}), request_id="req_1", request_version=after.version)

    async with open_store(database_url) as store:
        await store.write(whole, org=ORG)
    assert look(database_url, columns) == before
    assert look(database_url, "SELECT extensions FROM requests") == [(1,)]


@requirement("S-38")
async def test_each_orgs_key_is_its_own_and_opens_nowhere_else(sqlite_url: str) -> None:
    async with open_store(sqlite_url, seals=SEALS) as store:
        assert store.vault is not None
        made = [await store.write(lambda tx, org=org: store.vault.newest(tx, org), org=org) for org in (ORG, "globex")]  # pyright: ignore[reportOptionalMemberAccess]
    kept = dict(look(sqlite_url, "SELECT org, wrapped FROM value_keys"))
    assert [each.org for each in made] == [*kept]
    secrets = [each._raw for each in made]
    assert len({*secrets}) == 2
    for org, wrapped in kept.items():
        assert base64.b64encode(secrets[[*kept].index(org)]).decode() not in wrapped
        opened = ValueKey.unwrapped(SEALS, org, 1, wrapped)
        assert opened.read(opened.hide("a value", "a place"), "a place") == "a value"
        for other in ((f"{org}2", 1), (org, 2)):
            with pytest.raises(BadTokenError):
                ValueKey.unwrapped(SEALS, *other, wrapped)
    one, two = made
    with pytest.raises(BadTokenError):
        two.read(one.hide("a value", "a place"), "a place")
