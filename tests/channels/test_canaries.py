"""What an agent's call carries lives a whole life through Slack and Feishu, and lies nowhere in clear behind it."""

from __future__ import annotations

import json
from asyncio import to_thread
from typing import TYPE_CHECKING, Any

import pytest

from app.clock import SystemClock
from app.ports import ChannelRefusedError, ChannelUnavailableError, ContentRefusedError, Post
from channels.feishu.simulator.errors import ApiFaultError
from tests.channels.feishu.conformance_feishu import feishu_stage
from tests.channels.feishu.feishu_cards import a_card
from tests.channels.slack.conformance_slack import CARD, slack_stage
from tests.fixtures.at_rest import at_rest
from tests.fixtures.gateway import ManualClock
from tests.fixtures.platforms import open_stage
from tests.fixtures.spending import cautions, paying, payment, submit
from tests.requirements import requirement

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fixtures.gateway import Gateway
    from tests.fixtures.memory_platform import MemoryPlatform
    from tests.fixtures.platforms import Stage

ACCOUNT, PAYEE, MEMO = "DE02-7731-9920-4417", "Kanarie Holding BV", "for the greenfinch of 7742"
CALL = {"payee": PAYEE, "amount": 80000, "account": ACCOUNT, "memo": MEMO}
CANARIES = (ACCOUNT, PAYEE, MEMO, "Kanarie", "greenfinch", "DE02", "9920-4417")


def found_in(text: str) -> list[str]:
    return [canary for canary in CANARIES if canary in text or json.dumps(canary)[1:-1] in text]


def quotes_the_card(stage: Stage) -> None:
    """Let both platforms refuse the next card, and quote it: what it says, and what it does not even say."""

    def slack(answer: dict[str, Any]) -> dict[str, Any]:
        stage.slack.world.tampers.clear()
        post = stage.slack.calls("chat.postMessage")[-1]
        told = f"invalid text: {json.dumps(post['blocks'])} {ACCOUNT} [json-pointer:/blocks/0/text/text]"
        return {
            "ok": False,
            "error": "invalid_blocks",
            "errors": [told, ACCOUNT],
            "needed": MEMO,
            "response_metadata": {"messages": [told]},
        }

    stage.slack.world.tampers["chat.postMessage"] = slack
    platform = stage.feishu.platform
    check = platform._card

    def feishu(content: object) -> dict[str, object]:
        platform._card = check  # pyright: ignore[reportAttributeAccessIssue] - once
        raise ApiFaultError(
            230099, f"Failed to create card content, ext=ErrCode: 200621; ErrorValue: {content} {ACCOUNT}"
        )

    platform._card = feishu  # pyright: ignore[reportAttributeAccessIssue] - put back by itself


async def lived(stage: Stage) -> None:
    """Ask, be refused with the card quoted, be shown, be clicked, denied, run, and fail."""
    g = stage.gateway
    quotes_the_card(stage)
    first = await stage.ask(arguments=CALL, claim=f"{ACCOUNT} is theirs, says {PAYEE}")
    denied = await stage.feishu.deny(stage.feishu_ids["bob"], stage.feishu_message(first), f"{ACCOUNT} is not theirs")
    assert denied.toast is not None
    assert await stage.state(first) == "denied"
    second = await stage.ask(arguments={**CALL, "amount": 1})
    await stage.click("slack", second, "alice")
    assert (await g.claim(second)).json()["arguments"]["account"] == ACCOUNT
    said = await g.report(second, "failed", error=f"account {ACCOUNT} of {PAYEE} is closed: {MEMO}")
    assert said.status_code == 200, said.text
    gone = await stage.ask(arguments={**CALL, "amount": 2})
    why = {"reason": f"{ACCOUNT} was wrong"}
    assert (await g.call("POST", f"/v1/requests/{gone['id']}/cancel", why)).status_code == 200
    await g.quiet()


@requirement("S-38", "S-34")
@pytest.mark.process
async def test_no_canary_of_a_life_through_slack_and_feishu_is_kept_in_clear(
    database_url: str,
    tmp_path: Path,
    platform: MemoryPlatform,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock: Any = ManualClock() if database_url.startswith("sqlite") else SystemClock()
    async with open_stage(database_url, tmp_path, platform, clock=clock) as stage:
        await lived(stage)
        kinds = [kind for kind, _ in stage.gateway.trail()]
        assert kinds.count("card.bare") == 2, "both platforms refused what the card said, and quoted it"
        rows = stage.gateway.rows("SELECT error FROM outbox WHERE error IS NOT NULL")
        bare = stage.gateway.rows("SELECT facts FROM audit_events WHERE kind = 'card.bare'")
        assert any("/blocks/0/text/text" in row["facts"] for row in bare), "what helps to mend it is kept"
        assert any("230099/200621" in row["facts"] for row in bare)
        kept = await to_thread(at_rest, database_url)
        assert "card.bare" in kept, "it is the right place"
        assert found_in(kept) == []
        assert found_in(json.dumps([*rows, *bare])) == []
    assert found_in(capsys.readouterr().out + caplog.text) == []


@requirement("S-38", "S-34")
async def test_a_client_keeps_codes_and_places_of_what_its_platform_says() -> None:
    slack_says = {
        "invalid_blocks": {"errors": [f"{PAYEE} [json-pointer:/blocks/0/text/text]", ACCOUNT]},
        f"{PAYEE} refused": {},
        "missing_scope": {"needed": MEMO},
    }
    async with slack_stage() as slack:
        for error, more in slack_says.items():
            slack.simulator.world.tampers["chat.postMessage"] = lambda _, error=error, more=more: {
                "ok": False, "error": error, **more,
            }  # fmt: skip
            with pytest.raises((ChannelRefusedError, ChannelUnavailableError)) as caught:
                await slack.channel.post(Post(card=CARD, chat_id=slack.channel.chat_id, key="dlv_1.1"))
            assert found_in(str(caught.value.why)) == []
            assert ("/blocks/0/text/text" in caught.value.why) is bool(more.get("errors"))
    async with feishu_stage() as feishu:
        feishu.simulator.app.tampers["send"] = lambda _: {"code": 230099, "msg": f"ErrCode: 17; ErrorValue: {PAYEE}"}
        with pytest.raises(ContentRefusedError, match="230099/17") as refused:
            await feishu.channel.post(Post(card=a_card(), chat_id=feishu.channel.chat_id, key="dlv_1.1"))
        assert found_in(refused.value.why) == []


@requirement("S-38", "S-34")
@pytest.mark.process
@pytest.mark.parametrize("error", [ContentRefusedError, ChannelRefusedError, ChannelUnavailableError])
async def test_what_any_channel_complains_of_is_kept_short_and_without_the_call(
    gateway: Gateway, error: type[Exception], capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    why = f"invalid_blocks at 17: Pay {PAYEE}, {MEMO}; account: {ACCOUNT.replace('-', ' ')}, {ACCOUNT} " + "x" * 5000
    gateway.platform.faults.extend([error(why)] * 3)
    request = await gateway.ask(arguments=CALL)
    kept = gateway.rows("SELECT error FROM outbox UNION ALL SELECT error FROM deliveries")
    errors = [row["error"] for row in kept if row["error"]]
    assert errors
    assert all(text.startswith("invalid_blocks at 17: Pay") and len(text) <= 400 for text in errors)
    trail = gateway.rows(f"SELECT facts FROM audit_events WHERE request_id = '{request['id']}'")
    everywhere = json.dumps([kept, trail]) + capsys.readouterr().out + caplog.text
    assert found_in(everywhere + await to_thread(at_rest, gateway.url)) == []


@requirement("S-38")
async def test_what_a_complaint_says_to_do_is_kept(gateway: Gateway) -> None:
    what_to_do = "not_in_channel: invite the app to the channel: /invite @app"
    gateway.platform.faults.append(ChannelRefusedError(what_to_do))
    await gateway.ask(arguments=CALL)
    rows = gateway.rows("SELECT error FROM outbox WHERE error IS NOT NULL")
    assert [row["error"] for row in rows] == [what_to_do]


@requirement("S-38")
@pytest.mark.process
async def test_what_a_payment_names_is_no_more_in_clear_than_the_page_of_operations_says(
    sqlite_url: str, tmp_path: Path, platform: MemoryPlatform
) -> None:
    async with paying(sqlite_url, tmp_path / "orgs", platform, duplicates="10d") as g:
        paid = payment("1200", "Acme Ltd", account="DE89 3704 0044 0532", reference="INV-GREENFINCH-7")
        for note in ("first", "again"):
            said = await submit(g, {**paid, "note": note})
            await g.quiet()
        (warned,) = [each for each in cautions(g, said["request"]) if "duplicate" in each]
        assert "INV-GREENFINCH-7" in warned, "earlier references are read all the same"
        kept = await to_thread(at_rest, g.url)
        assert [clear for clear in ("Acme Ltd", "0532") if clear not in kept] == []
        assert [hidden for hidden in ("GREENFINCH", "37040044", "3704 0044") if hidden in kept] == []
