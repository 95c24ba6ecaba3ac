"""What can be checked of a Feishu set-up from here, and the steps in the developer console that cannot."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from app.ports import ChannelRefusedError, ChannelUnavailableError, Finding, Severity
from channels.feishu.details.failures import NotPermittedError, ScopeMissingError
from channels.feishu.details.groups import list_members
from channels.feishu.details.people import STATUS_SCOPE
from channels.feishu.details.reporting import REPORTING_SCOPE

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from channels.feishu.client import FeishuClient
    from channels.feishu.settings import FeishuSettings

_NOBODY = "nobody@assent.invalid"
"""An address that cannot exist: asking for it shows whether asking is allowed."""

_ROTATED = "take it out once the platform uses the new one and every gateway was restarted"

_NO_MESSAGE = "om_assent_doctor"
READ_SCOPE, GROUP_READ_SCOPE = "im:message:readonly", "im:message.group_msg"
"""What it takes to ask for a message: the first in a person's own chat, both in a group."""

_LISTS = (
    ("user groups", "group:assent-doctor", "contact:group:readonly"),
    ("departments", "department:od-assent-doctor", "contact:department.organize:readonly"),
)
"""What has members, one that does not exist, and the scope that its list needs."""


def setup_steps(*, name: str, public_url: str, receive: str) -> list[str]:
    """Return what to do in the developer console (open.feishu.cn or open.larksuite.com), in order.

    Raises ValueError for webhooks without an https address.
    """
    if receive == "webhook" and not re.match(r"https://[^/\s]", public_url):
        raise ValueError(
            "webhooks need the gateway's public address: add --public-url https://assent.acme.example, "
            "or take --receive websocket, which needs none"
        )
    scopes = "Permissions & Scopes (权限管理)"
    callbacks = "Events & Callbacks > Callback Configuration (回调配置)"
    address = f"{public_url.rstrip('/')}/v1/channels/{name}/callback"
    steps = [
        "Create a custom app (企业自建应用); copy App ID and App Secret into assent.yaml and the environment.",
        "Add features > Bot (机器人): switch it on.",
        f"{scopes}: grant im:message:send_as_bot (send and update the cards).",
        f"{scopes}: grant contact:user.id:readonly (find approvers by e-mail).",
        f"{scopes}: grant {STATUS_SCOPE} (获取用户受雇信息: see who has left; without it no click counts).",
        f"{scopes}: grant contact:contact.base:readonly (check approvers whom assent.yaml names by open_id only).",
        f"{scopes}: grant contact:group:readonly (only if assent.yaml takes approvers from user groups, 用户组).",
        f"{scopes}: grant contact:department.organize:readonly (only if it takes them from departments, 部门).",
        f"{scopes}: grant {REPORTING_SCOPE} (获取用户组织架构信息: only with managers: true, see who is whose).",
        f"{scopes}: grant im:chat:readonly (optional: `assent doctor` then sees whether the bot is in the chat).",
        f"{scopes}: grant {READ_SCOPE} (optional: a card that Feishu takes and shows nobody is then noticed).",
        f"{scopes}: grant {GROUP_READ_SCOPE} (optional: the same in groups, whose messages the app could then read).",
        f"{scopes} > Contacts range (通讯录权限范围): include every approver, and those departments.",
        "Version Management > Availability (可用范围): include every approver: nobody else can be messaged.",
    ]
    if receive == "webhook":
        steps += [
            "Events & Callbacks > Encryption Strategy (加密策略): set an Encrypt Key of 16 characters or more.",
            "Copy the Encrypt Key and the Verification Token from the same page into the environment.",
            f"{callbacks}: choose 'Send callbacks to developer's server', enter {address} while the gateway runs.",
        ]
    else:
        steps += [
            f"{callbacks}: choose 'Receive callbacks through persistent connection' (长连接) while the gateway runs.",
            "That switch is another than the one for events on the neighbouring page, which is not needed.",
        ]
    return [
        *steps,
        f"{callbacks} > Add: card.action.trigger (卡片回传交互), not the older version as well: it doubles clicks.",
        "Version Management & Release (版本管理与发布): publish a version; until then nothing above takes effect.",
        "In the approvers' chat: Settings > Bots > add the app's bot; copy the chat id (oc_…) into assent.yaml.",
    ]


async def examine_app(client: FeishuClient, settings: FeishuSettings) -> list[Finding]:
    """Check one app, in the order in which the faults would show."""
    credentials = await _try(
        "the app's credentials",
        client.check_credentials,
        "copy App ID and App Secret anew",
        unreached=f"let this machine reach {settings.domain} over https; the credentials were not looked at",
    )
    if credentials.severity is Severity.ERROR:
        return [credentials]  # everything else would fail for the same reason
    findings = [credentials, await _examine_chat(client, settings.chat)]
    findings.append(
        await _try(
            "looking up approvers by e-mail",
            lambda: client.find_contacts((_NOBODY,)),
            "grant contact:user.id:readonly and publish a new version of the app",
        )
    )
    findings += [await _examine_list(client, *each) for each in _LISTS]
    findings.append(await _examine_messages(client))
    findings += [
        Finding(severity=Severity.WARNING, what=f"{name}_old is set: calls that bear it are taken", mend=_ROTATED)
        for name in ("encrypt_key", "verification_token")
        if getattr(settings, f"{name}_old") is not None
    ]
    if settings.receive == "websocket":
        findings.append(
            await _try(
                "the long connection",
                client.find_endpoint,
                "choose 'Receive callbacks through persistent connection' under Events & Callbacks",
            )
        )
    return findings


async def _examine_chat(client: FeishuClient, chat_id: str) -> Finding:
    what = f"the bot's membership of chat {chat_id}"
    try:
        member = await client.is_in_chat(chat_id)
    except NotPermittedError:
        mend = "grant im:chat:readonly to let this be checked; posting does not need it"
        return Finding(severity=Severity.WARNING, what=f"{what} cannot be checked", mend=mend)
    except (ChannelRefusedError, ChannelUnavailableError) as error:
        return Finding(severity=Severity.ERROR, what=f"{what}: {error.why}", mend="check `chat` in assent.yaml")
    if member:
        return Finding(severity=Severity.OK, what=what)
    mend = "add the app's bot under the chat's Settings > Bots"
    return Finding(severity=Severity.ERROR, what=f"{what}: it is not a member", mend=mend)


async def _examine_list(client: FeishuClient, what: str, nobody: str, scope: str) -> Finding:
    """Ask for a list that does not exist: only a missing scope is worth a word, and only a warning."""
    try:
        await list_members(client, nobody)
    except ScopeMissingError:
        mend = f"grant {scope} and publish a new version of the app, if assent.yaml takes approvers from {what}"
        return Finding(severity=Severity.WARNING, what=f"{what} cannot be read", mend=mend)
    except ChannelUnavailableError as error:
        return Finding(severity=Severity.WARNING, what=f"{what}: {error.why}", mend="try again")
    except ChannelRefusedError:
        pass  # it looked, and there was no such list
    return Finding(severity=Severity.OK, what=f"reading {what}")


async def _examine_messages(client: FeishuClient) -> Finding:
    """Ask for a message that does not exist; whether it may ask for those of a group shows only with a card there."""
    mend = f"grant {READ_SCOPE} and {GROUP_READ_SCOPE} and publish a new version of the app"
    unseen = "nobody notices a card that Feishu took and does not show"
    try:
        await client.is_there(_NO_MESSAGE)
    except NotPermittedError:
        return Finding(severity=Severity.WARNING, what=f"messages cannot be asked for: {unseen}", mend=mend)
    except (ChannelRefusedError, ChannelUnavailableError) as error:
        return Finding(severity=Severity.WARNING, what=f"asking for a message: {error.why}", mend="try again")
    what = f"asking for a message (in groups that takes {GROUP_READ_SCOPE} as well, which does not show from here)"
    return Finding(severity=Severity.OK, what=what)


async def _try(
    what: str, check: Callable[[], Awaitable[object]], mend: str, *, unreached: str = "try again later"
) -> Finding:
    try:
        await check()
    except (ChannelRefusedError, ChannelUnavailableError) as error:
        mend = unreached if isinstance(error, ChannelUnavailableError) else mend
        return Finding(severity=Severity.ERROR, what=f"{what}: {error.why}", mend=mend)
    return Finding(severity=Severity.OK, what=what)
