"""A platform's secret is changed while people click: both are taken, a third never; what is left over is named."""

from __future__ import annotations

import asyncio
import hmac
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import ValidationError

from app.ports import Severity
from channels.feishu import callback as feishu_callback
from channels.feishu.settings import FeishuSettings
from channels.slack import callback as slack_callback
from channels.slack.settings import SlackSettings
from tests.fixtures.patience import eventually
from tests.fixtures.platforms import open_stage, slack_id
from tests.requirements import requirement

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.fixtures.memory_platform import MemoryPlatform
    from tests.fixtures.platforms import Stage

OLD, THIRD = "the-secret-from-before", "a-secret-of-somebody-else"
WAITING = 8


@pytest.fixture
async def stage(sqlite_url: str, tmp_path: Path, platform: MemoryPlatform) -> AsyncIterator[Stage]:
    """Set a stage on which the secrets from before still count."""
    async with open_stage(
        sqlite_url,
        tmp_path,
        platform,
        slack_more={"signing_secret_old": OLD},
        feishu_more={"encrypt_key_old": OLD, "verification_token_old": f"{OLD}-token"},
    ) as ready:
        yield ready


def use(stage: Stage, secret: str, token: str) -> None:
    """Let the platforms sign with other secrets from now on."""
    stage.slack.world.signing_secret = secret
    app = stage.feishu.platform.app
    stage.feishu.platform.app = replace(app, encrypt_key=secret, verification_token=token)


@requirement("S-04", "S-05")
@pytest.mark.heavy
async def test_no_genuine_click_is_refused_while_the_secrets_change_under_load(stage: Stage) -> None:
    slack_secret, app = stage.slack.world.signing_secret, stage.feishu.platform.app
    asked = [await stage.ask(arguments={"payee": "Acme Ltd", "amount": n, "account": "DE1"}) for n in range(WAITING)]
    use(stage, OLD, f"{OLD}-token")

    async def on_slack(request: dict[str, Any]) -> int | None:
        ts = stage.slack_ts(request)
        return (await stage.slack.click(slack_id("alice"), stage.slack.room.id, ts, "assent_approve")).status

    async def on_feishu(request: dict[str, Any]) -> int | None:
        press = await stage.feishu.approve(stage.feishu_ids["bob"], stage.feishu_message(request))
        return 200 if press.error is None else press.error

    async def changed(after: int) -> None:
        await eventually(lambda: len(stage.gateway.rows("SELECT 1 FROM decisions")) >= after)
        stage.slack.world.signing_secret, stage.feishu.platform.app = slack_secret, app

    half = WAITING // 2
    clicks = [press(request) for n, request in enumerate(asked) for press in (on_slack, on_feishu) if n < half]
    clicked, _ = await asyncio.gather(asyncio.gather(*clicks), changed(1))
    clicked += await asyncio.gather(*(press(request) for request in asked[half:] for press in (on_slack, on_feishu)))
    assert clicked == [200] * 2 * WAITING
    assert [await stage.state(request) for request in asked] == ["approved"] * WAITING


@requirement("S-04")
async def test_a_third_secret_is_refused_and_so_is_a_pair_of_key_and_foreign_token(stage: Stage) -> None:
    request = await stage.ask()
    assert await stage.feishu.verify_address()
    for secret, token in ((THIRD, f"{OLD}-token"), (OLD, THIRD)):
        use(stage, secret, token)
        assert (await stage.feishu.approve(stage.feishu_ids["bob"], stage.feishu_message(request))).status == 401
    use(stage, THIRD, THIRD)
    pressed = await stage.slack.click(slack_id("alice"), stage.slack.room.id, stage.slack_ts(request), "assent_approve")
    assert pressed.status == 401
    assert not await stage.feishu.verify_address()
    use(stage, OLD, f"{OLD}-token")
    assert await stage.feishu.verify_address()
    assert await stage.state(request) == "pending"


@requirement("S-05")
async def test_every_secret_is_compared_in_constant_time_whichever_matches(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared: list[tuple[bytes, bytes]] = []
    compare = hmac.compare_digest

    def counting(first: bytes, second: bytes) -> bool:
        compared.append((first, second))
        return compare(first, second)

    monkeypatch.setattr(slack_callback.hmac, "compare_digest", counting)
    assert slack_callback.hmac is feishu_callback.hmac  # one module: counted for both
    request, per_click = await stage.ask(), list[int]()
    for secret, token in ((None, None), (OLD, f"{OLD}-token")):
        if secret is not None and token is not None:
            use(stage, secret, token)
        given = stage.slack.signed({"type": "message_action"})
        compared.clear()
        assert (await stage.slack.send_raw(*given)).status == 200
        per_click.append(sum(first.startswith(b"v0=") for first, _ in compared))
        compared.clear()
        await stage.feishu.verify_address()
        per_click.append(sum(len(pair) for pair in compared))
    assert per_click[:2] == per_click[2:]
    assert per_click[0] == 2
    assert await stage.state(request) == "pending"


async def test_doctor_names_each_secret_from_before_that_still_counts(stage: Stage) -> None:
    channels = stage.gateway.container.channels.all().values()
    found = [
        finding.what.split()[0]
        for channel in channels
        for finding in await channel.examine()
        if finding.severity is Severity.WARNING and "_old is set" in finding.what
    ]
    assert sorted(found) == ["encrypt_key_old", "signing_secret_old", "verification_token_old"]


SLACK = {"type": "slack", "bot_token": "xoxb-12345678", "signing_secret": "0123456789abcdef", "channel": "C0PAY"}
FEISHU = {
    "type": "feishu", "app_id": "cli_a5fb0ae6a4c8d00e", "app_secret": "an-app-secret", "chat": "oc_1234",
    "encrypt_key": "an-encrypt-key-of-ours", "verification_token": "a-verification-token",
}  # fmt: skip


@pytest.mark.parametrize(
    ("settings", "given", "name"),
    [
        (SlackSettings, SLACK, "signing_secret"),
        (FeishuSettings, FEISHU, "encrypt_key"),
        (FeishuSettings, FEISHU, "verification_token"),
    ],
)
@pytest.mark.parametrize("weak", ["", "   ", "abc", "the same"])
def test_a_secret_from_before_is_as_strong_as_the_present_one_and_another(
    settings: type[SlackSettings | FeishuSettings], given: dict[str, str], name: str, weak: str
) -> None:
    assert settings.model_validate(given | {f"{name}_old": OLD})
    with pytest.raises(ValidationError, match=f"{name}_old"):
        settings.model_validate(given | {f"{name}_old": given[name] if weak == "the same" else weak})
