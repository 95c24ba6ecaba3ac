"""Keys kept under a secret that lacks here: nobody is told for good that theirs is none, nor which there are."""

from __future__ import annotations

import base64
import secrets
from typing import TYPE_CHECKING

from app.usecases.reading.keys import _checksum
from tests.fixtures.gateway import SECRET, open_gateway
from tests.requirements import requirement

if TYPE_CHECKING:
    from pathlib import Path

    import httpx2

    from tests.fixtures.gateway import Gateway
    from tests.fixtures.memory_platform import MemoryPlatform

NEW = "another-master-secret-of-the-tests-0123456789"
BOB = "bob@acme.example"


async def rotated(url: str, config: Path, platform: MemoryPlatform) -> dict[str, str]:
    """Make keys under one secret, and use all but the agent's under the next: return their texts."""
    async with open_gateway(url, config, platform) as g:
        for who in ("agent:shop", "auditor", "admin", BOB):
            await g.key(who)
        keys = dict(g.keys)
    async with open_gateway(url, config, platform, secret=f"{NEW},{SECRET}") as g:
        g.keys.update(keys)
        for who in ("auditor", "admin", BOB):
            assert (await g.call("GET", "/v1/requests", who=who)).status_code == 200
    return keys


def made_up(key_id: str | None = None) -> str:
    """Return what reads like a key: of this id, or of one that nobody has."""
    of = key_id or base64.b32encode(secrets.token_bytes(10)).decode().lower()
    secret = base64.b32encode(secrets.token_bytes(32)).decode().lower().rstrip("=")
    return f"ak_{of}_{secret}_{_checksum(of, secret)}"


async def answered(g: Gateway, text: str) -> httpx2.Response:
    return await g.http.get("/v1/requests", headers={"authorization": f"Bearer {text}"})


@requirement("S-34", "S-67")
async def test_a_key_that_cannot_be_checked_is_to_come_again_and_locks_nobody_out(
    database_url: str, config: Path, platform: MemoryPlatform
) -> None:
    keys = await rotated(database_url, config, platform)
    mine = keys["acme/agent:shop"]
    async with open_gateway(database_url, config, platform, secret=NEW) as g:
        g.keys.update(keys)
        for _ in range(40):
            said = await answered(g, mine)
            assert (said.status_code, said.json()["code"], said.headers["Retry-After"]) == (503, "lacking_secret", "30")
            assert "this gateway lacks a secret" in said.json()["detail"]
        assert (await g.call("GET", "/v1/requests", who="auditor")).status_code == 200
        assert (await answered(g, "Bearer")).status_code == 401
    async with open_gateway(database_url, config, platform, secret=f"{NEW},{SECRET}") as g:
        assert (await answered(g, mine)).status_code == 200
        assert (await answered(g, made_up())).status_code == 401
    async with open_gateway(database_url, config, platform, secret=NEW) as g:
        assert (await answered(g, mine)).status_code == 200, "it was used meanwhile"


@requirement("S-34", "S-67")
async def test_a_stranger_learns_from_it_neither_which_keys_there_are_nor_how_to_guess_for_ever(
    database_url: str, config: Path, platform: MemoryPlatform
) -> None:
    keys = await rotated(database_url, config, platform)
    there = {who: keys[f"acme/{who}"].split("_")[1] for who in ("agent:shop", "auditor", BOB)}
    async with open_gateway(database_url, config, platform, secret=NEW) as g:
        g.keys.update(keys)
        assert (await g.call("DELETE", f"/v1/keys/{there[BOB]}", who="admin")).status_code == 204
        # Nobody's, that of a key under the lacking secret, that of one under ours, a revoked one, and its true text.
        texts = [made_up(), *map(made_up, there.values()), keys[f"acme/{BOB}"]]
        said = [await answered(g, text) for text in texts]
        assert {(each.status_code, each.text) for each in said} == {(503, said[0].text)}
        assert {each.headers["Retry-After"] for each in said} == {"30"}
        for guessed in (None, there["agent:shop"]):
            codes = [(await answered(g, made_up(guessed))).status_code for _ in range(25)]
            assert 429 in codes
            assert set(codes) <= {429, 503}


@requirement("S-34", "S-67")
async def test_once_no_key_hangs_on_it_any_more_a_wrong_key_is_final_again(
    database_url: str, config: Path, platform: MemoryPlatform
) -> None:
    keys = await rotated(database_url, config, platform)
    async with open_gateway(database_url, config, platform, secret=NEW) as g:
        assert (await answered(g, made_up())).status_code == 503
        await g.container.seal_standing.again("acme", by=BOB, reason="the old one is lost")
        g.container.keys._lacks = None  # it is believed for some seconds
        assert (await answered(g, made_up())).status_code == 401, "an operator has said that it is lost"
    async with open_gateway(database_url, config, platform, secret="a-third-master-secret-of-the-tests-0123") as g:
        assert (await answered(g, keys["acme/auditor"])).status_code == 503, "the one that came after it is not"


@requirement("S-34", "S-67")
async def test_an_id_that_somebody_wrote_into_a_key_makes_nothing_of_it(either_gateway: Gateway) -> None:
    g = either_gateway
    await g.key("auditor")
    g.rows("UPDATE api_keys SET secret_hash = 'k2.0badcafe.' || substr(secret_hash, 13)")
    g.container.keys._known.forget_all(lambda _: True)
    assert (await g.call("GET", "/v1/requests", who="auditor")).status_code == 401
