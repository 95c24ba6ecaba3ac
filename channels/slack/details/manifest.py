"""The Slack app that a channel of assent.yaml needs, as Slack's own description of one."""

from __future__ import annotations

import re


def manifest(*, name: str, public_url: str, receive: str, rotates: bool = False) -> dict[str, object]:
    """Return the Slack app manifest for a channel of assent.yaml (api.slack.com/reference/manifests).

    `public_url` is the gateway's address; it is not needed with ``receive="socket"``. `rotates`: the bot's tokens last
    for twelve hours, for good. Raises ValueError for webhooks without an https address: Slack takes no other.
    """
    if receive == "webhook" and not re.match(r"https://[^/\s]", public_url):
        raise ValueError(
            "webhooks need the gateway's public address: add --public-url https://assent.acme.example, "
            "or take --receive socket, which needs none"
        )
    scopes = [
        "chat:write",
        "channels:history",  # finds a card after a crash, so that it is not posted twice
        "groups:history",  # the same in private channels
        "im:write",  # opens a person's own conversation, to look for a card of their own
        "im:history",
        "channels:read",  # lets `assent doctor` see whether the app is a member
        "groups:read",
        "users:read",
        "users:read.email",
        "usergroups:read",  # who is in the user groups that assent.yaml names
    ]
    interactivity: dict[str, object] = {"is_enabled": True}
    if receive == "webhook":
        interactivity["request_url"] = f"{public_url.rstrip('/')}/v1/channels/{name}/callback"
    return {
        "display_information": {"name": "Assent", "description": "Approvals for AI agents"},
        "features": {"bot_user": {"display_name": "assent", "always_online": True}},
        "oauth_config": {"scopes": {"bot": scopes}},
        "settings": {
            "interactivity": interactivity,
            "org_deploy_enabled": False,
            "socket_mode_enabled": receive == "socket",
            "token_rotation_enabled": rotates,
        },
    }
