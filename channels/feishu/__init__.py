"""Feishu (or Lark): cards into a chat, clicks back by webhook or over a long connection."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.spec import Need, Setup, Spec, Starter
from channels.feishu.settings import LIMITS, FeishuSettings

if TYPE_CHECKING:
    from app.ports import Channel


def _build(name: str, settings: FeishuSettings) -> Channel:
    from channels.feishu.channel import build

    return build(name, settings)


def _steps(name: str, public_url: str, receive: str) -> str:
    from channels.feishu.examine import setup_steps

    steps = setup_steps(name=name, public_url=public_url, receive=receive)
    return "\n".join(f"{number}. {step}" for number, step in enumerate(steps, 1))


SPEC = Spec(
    kind="feishu",
    title="Feishu",
    settings=FeishuSettings,
    build=_build,
    limits=LIMITS,
    setup=Setup(
        name="setup",
        help="Print the scopes and switches to set in Feishu's console, one by one.",
        receives=("webhook", "websocket"),
        without_address="websocket",
        tell=_steps,
    ),
    starter=Starter(
        lines=(
            "type: feishu",
            'app_id: "${FEISHU_APP_ID}"',
            'app_secret: "${FEISHU_APP_SECRET}"',
            'chat: "${FEISHU_CHAT}"',
            "receive: websocket     # needs no public address; or webhook, with encrypt_key and verification_token",
        ),
        needs=(
            Need(name="FEISHU_APP_ID", where="cli_…: Credentials & Basic Info of the app", example="cli_0example"),
            Need(name="FEISHU_APP_SECRET", where="App Secret: on the same page", example="0123456789abcdefexample"),
            Need(
                name="FEISHU_CHAT",
                where="oc_…: the chat's id, at the end of its settings; add the bot there",
                example="oc_0example",
            ),
        ),
    ),
    has_departments=True,
    verifies_members=True,
    loggers=("Lark",),
    secret_shapes=(r"t-[\w.-]{16,}", r"c-[0-9a-f]{16,}"),
)
