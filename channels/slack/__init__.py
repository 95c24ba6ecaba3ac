"""Slack: cards into a conversation, clicks back by webhook or over Socket Mode."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.spec import Need, Setup, Spec, Starter
from channels.slack.settings import LIMITS, SlackSettings

if TYPE_CHECKING:
    from app.ports import Channel


def _build(name: str, settings: SlackSettings) -> Channel:
    from channels.slack.channel import build

    return build(name, settings)


_ROTATING = "rotate-tokens"


def _manifest(name: str, public_url: str, receive: str, switches: frozenset[str]) -> str:
    import json

    from channels.slack.details.manifest import manifest

    described = manifest(name=name, public_url=public_url, receive=receive, rotates=_ROTATING in switches)
    return json.dumps(described, indent=2)


SPEC = Spec(
    kind="slack",
    title="Slack",
    settings=SlackSettings,
    build=_build,
    limits=LIMITS,
    setup=Setup(
        name="manifest",
        help="Print the app manifest to paste into Slack.",
        receives=("webhook", "socket"),
        without_address="socket",
        tell=_manifest,
        switches={
            _ROTATING: "let Slack replace the bot's tokens every twelve hours; it cannot be turned off again, and "
            "assent.yaml then takes refresh_token, client_id and client_secret"
        },
    ),
    starter=Starter(
        lines=(
            "type: slack",
            'bot_token: "${SLACK_BOT_TOKEN}"',
            'app_token: "${SLACK_APP_TOKEN}"',
            'channel: "${SLACK_CHANNEL}"',
            "receive: socket        # needs no public address; or webhook, with signing_secret",
        ),
        needs=(
            Need(
                name="SLACK_BOT_TOKEN",
                where="xoxb-…: OAuth & Permissions of the app, once it is installed",
                example="xoxb-0000-example",
            ),
            Need(
                name="SLACK_APP_TOKEN",
                where="xapp-…: Basic Information, App-Level Tokens, scope connections:write",
                example="xapp-0000-example",
            ),
            Need(
                name="SLACK_CHANNEL",
                where="C…: at the end of the channel's details; /invite the app there",
                example="C0EXAMPLE0",
            ),
        ),
    ),
    verifies_members=True,
    loggers=("slack_sdk",),
    secret_shapes=(r"xox[a-z]-[\w-]+", r"xapp-[\w-]+", r"xoxe\.[\w.-]+", r"https://hooks\.slack\.com/\S+"),
)
