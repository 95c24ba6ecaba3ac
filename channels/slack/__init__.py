"""Slack: cards into a conversation, clicks back by webhook or over Socket Mode."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.spec import Setup, Spec
from channels.slack.settings import LIMITS, SlackSettings

if TYPE_CHECKING:
    from app.ports import Channel


def _build(name: str, settings: SlackSettings) -> Channel:
    from channels.slack.channel import build

    return build(name, settings)


def _manifest(name: str, public_url: str, receive: str) -> str:
    import json

    from channels.slack.details.manifest import manifest

    return json.dumps(manifest(name=name, public_url=public_url, receive=receive), indent=2)


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
    ),
    loggers=("slack_sdk",),
    secret_shapes=(r"xox[a-z]-[\w-]+", r"xapp-[\w-]+", r"xoxe\.[\w.-]+", r"https://hooks\.slack\.com/\S+"),
)
