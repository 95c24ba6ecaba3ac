"""A key that was revoked is dead for good: whoever has the database alone revives none."""

from __future__ import annotations

from asyncio import to_thread
from typing import TYPE_CHECKING

import pytest
from sqlalchemy.dialects import postgresql, sqlite

from app.storage.engine.dialect import to_us
from app.storage.identity.api_keys import _WITH_TRAIL, put_hash
from app.usecases.proving.trail_walk import Walk
from app.usecases.proving.verify_trail import VerifyTrail
from tests.fixtures.tampering import Stranger
from tests.requirements import requirement

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from tests.fixtures.gateway import Gateway

ALICE = "alice@acme.example"


async def _status(g: Gateway, text: str) -> int:
    """Return what a key is answered; each looks as if it were seen for the first time."""
    g.container.keys._known.forget_all(lambda _: True)
    return (await g.http.get("/v1/requests", headers={"authorization": f"Bearer {text}"})).status_code


def _forget(g: Gateway) -> None:
    """Know no more than a gateway that has just started, or another replica."""
    g.container.keys._revoked.clear()


async def _revoked(g: Gateway) -> tuple[str, Stranger]:
    """Have a key that worked and was revoked; the stranger remembers how the rows were before."""
    text = (await g.key(ALICE))["authorization"].removeprefix("Bearer ")
    assert await _status(g, text) == 200
    stranger = await to_thread(Stranger, g)
    await g.container.keys.revoke("acme", text.split("_")[1])
    assert await _status(g, text) == 401
    return text, stranger


def _null(stranger: Stranger, key_id: str) -> None:
    stranger(f"UPDATE api_keys SET revoked_at = NULL WHERE id = '{key_id}'")


def _whole(stranger: Stranger, key_id: str) -> None:
    stranger(f"DELETE FROM api_keys WHERE id = '{key_id}'")
    stranger.add("api_keys", **next(row for row in stranger.kept["api_keys"] if row["id"] == key_id))


@requirement("S-34", "S-63")
@pytest.mark.parametrize("back", [_null, _whole])
async def test_a_revoked_key_whose_row_is_set_back_opens_nothing(
    either_gateway: Gateway, back: Callable[[Stranger, str], None]
) -> None:
    g = either_gateway
    text, stranger = await _revoked(g)
    key_id = text.split("_")[1]
    await to_thread(back, stranger, key_id)
    _forget(g)
    assert await _status(g, text) == 401
    now = g.container.clock.now()
    assert not any(key.live(now) for key in await g.container.keys.list("acme") if key.id == key_id)
    told = (await VerifyTrail(store=g.container.store, head_file=None)("acme")).faults
    assert any(key_id in fault.text for fault in told), "as long as it stands so"
    await g.container.keys.revoke("acme", key_id)
    assert (await VerifyTrail(store=g.container.store, head_file=None)("acme")).faults == (), "revoked once more"


@requirement("S-34", "S-63")
async def test_nothing_is_left_of_a_revoked_keys_hash(either_gateway: Gateway) -> None:
    g = either_gateway
    text, _ = await _revoked(g)
    key_id, hashed = text.split("_")[1], "SELECT secret_hash FROM api_keys WHERE id = '{}'"
    assert g.rows(hashed.format(key_id)) == [{"secret_hash": "revoked"}]
    await g.container.store.write(lambda tx: put_hash(tx, key_id, "k2.of.later"), org="acme")
    assert g.rows(hashed.format(key_id)) == [{"secret_hash": "revoked"}], "neither of one that is hashed anew meanwhile"
    assert (await VerifyTrail(store=g.container.store, head_file=None)("acme")).faults == ()


@requirement("S-34", "S-63")
async def test_a_gateway_that_knew_a_key_as_revoked_never_takes_it_alive_again(either_gateway: Gateway) -> None:
    g = either_gateway
    text, stranger = await _revoked(g)
    await to_thread(stranger.put_back)  # the trail, too: as if nobody had revoked it
    assert await _status(g, text) == 401
    _forget(g)
    assert await _status(g, text) == 200, "a gateway that never knew"


@requirement("S-34", "S-63")
@pytest.mark.parametrize("carried", [None, "[1]", '{"said": 1}'])
async def test_a_revocation_that_was_cut_off_the_trail_still_holds(
    either_gateway: Gateway, carried: str | None
) -> None:
    g = either_gateway
    text, stranger = await _revoked(g)
    other = await g.key("auditor")
    key_id = text.split("_")[1]
    walk = Walk()
    walk.take((await g.container.read.trail("acme", after=-1, most=1000))[0])
    cut: dict[str, Any] = {"org": "acme", "seq": walk.last[0], "hash": walk.last[1], "first_seq": 0}
    cut |= {"carried": carried or walk.carried(), "cut_at": to_us(g.container.clock.now())}
    await to_thread(stranger.add, "trail_cuts", **cut, prev_hash="", file="", digest="", cut_by="", seal="")
    await to_thread(stranger, "DELETE FROM audit_events WHERE kind = 'key.revoked'")
    await to_thread(_whole, stranger, key_id)
    _forget(g)
    assert await _status(g, text) == (200 if carried else 401), "what no gateway wrote says nothing, and is named"
    assert await _status(g, other["authorization"].removeprefix("Bearer ")) == 200


@requirement("S-34")
async def test_whether_the_trail_says_that_a_key_was_revoked_is_found_by_an_index(either_gateway: Gateway) -> None:
    lite = either_gateway.url.startswith("sqlite")
    dialect: Any = (sqlite if lite else postgresql).dialect()
    asked = str(_WITH_TRAIL.compile(dialect=dialect, compile_kwargs={"literal_binds": True}))

    def plan() -> str:
        with Stranger(either_gateway)._connected() as connection:
            connection.execute("SELECT 1" if lite else "SET enable_seqscan = off")  # of a table that has a few rows
            found = connection.execute(f"EXPLAIN {'QUERY PLAN' if lite else ''} {asked}").fetchall()
            return "\n".join(str(dict(row)) for row in found)

    assert "ix_audit_events_revoked" in await to_thread(plan)
