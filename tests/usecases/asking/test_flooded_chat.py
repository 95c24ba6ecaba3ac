"""One agent cannot fill a chat: beyond a bound of cards before people it is told to come back, and nothing is lost."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from app.settings import Settings
from tests.fixtures.gateway import ACME, open_gateway
from tests.requirements import requirement

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fixtures.gateway import Gateway
    from tests.fixtures.memory_platform import MemoryPlatform

LIVE = "SELECT count(*) AS n FROM deliveries WHERE status <> 'retired'"
FEW = 4


async def flood(g: Gateway, many: int, tool: str = "pay", **more: Any) -> list[Any]:
    """Ask as fast as one agent can, each time something else."""
    await g.key("agent:flood")
    bodies = [{"tool": tool, "arguments": {"n": n, "account": "DE02"}, **more} for n in range(many)]
    return await asyncio.gather(*(_asked(g, body) for body in bodies))


async def _asked(g: Gateway, body: dict[str, Any]) -> Any:
    """Ask, and again while the database is said to be away: a busy machine's may be, and then it opened or did not."""
    while True:
        answer = await g.call("POST", "/v1/requests", body, who="agent:flood")
        if answer.status_code != 503:
            return answer
        await asyncio.sleep(float(answer.headers["retry-after"]))


def opened(said: list[Any]) -> list[dict[str, Any]]:
    return [answer.json()["request"] for answer in said if answer.status_code == 202]


@requirement("S-66")
async def test_with_the_settings_as_they_come_one_agent_has_a_hundred_cards_before_people_and_no_more(
    database_url: str, config: Path, platform: MemoryPlatform
) -> None:
    assert Settings.model_fields["max_cards_per_agent"].default == 100
    async with open_gateway(database_url, config, platform) as g:
        said = await flood(g, 150)
        refused = [answer for answer in said if answer.status_code != 202]
        assert len(opened(said)) <= 100
        for answer in refused:
            assert (answer.status_code, answer.headers["retry-after"]) == (429, "5")
            assert "of this agent stand before people as cards already; 100 may" in answer.json()["detail"]
        await g.quiet()
        assert g.rows(LIVE) == [{"n": 100}]
        assert (await g.ask("pay", {"n": 1}, who="agent:neighbour"))["state"] == "pending", "others go on"


@requirement("S-66")
async def test_what_is_decided_makes_room_and_what_stands_in_no_chat_takes_none(
    database_url: str, config: Path, platform: MemoryPlatform
) -> None:
    async with open_gateway(database_url, config, platform, max_cards_per_agent=FEW) as g:
        asked = opened(await flood(g, 3 * FEW))
        assert len(asked) == FEW
        assert {answer.status_code for answer in await flood(g, FEW, "by_api")} == {202}, "nobody sees a card of it"
        for request in asked[:2]:
            assert (await g.decide(request, "deny")).status_code == 200
        assert len(opened(await flood(g, 3 * FEW, session="again"))) == 2


@requirement("S-66")
async def test_what_waits_for_a_digest_stands_before_nobody_yet(
    database_url: str, config: Path, platform: MemoryPlatform
) -> None:
    low = ACME.replace("channels: [chat], timeout: 30d}", "channels: [chat], timeout: 2d, risk: low}")
    low = low.replace("default: deny\n", 'default: deny\nattention: {digest: ["09:00"]}\n')
    (config / "acme.yaml").write_text(low)
    async with open_gateway(database_url, config, platform, max_cards_per_agent=FEW) as g:
        assert len(opened(await flood(g, 3 * FEW, "long"))) == 3 * FEW
        assert len(opened(await flood(g, 3 * FEW))) == FEW, "they leave the places to what goes out at once"
        assert len(opened(await flood(g, 3 * FEW, "long", session="more"))) == 0, (
            "and while those are taken, nothing more"
        )
