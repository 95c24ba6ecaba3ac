"""What `assent doctor` can see of a Slack channel from here: token, pins, scopes, membership."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from app.ports import ChannelRefusedError, ChannelUnavailableError, Finding, Severity

if TYPE_CHECKING:
    from channels.slack.client import SlackClient
    from channels.slack.settings import SlackSettings

_NEEDED: Final = {
    "chat:write": (Severity.ERROR, "cards cannot be posted"),
    "users:read": (Severity.ERROR, "approvers cannot be looked up"),
    "users:read.email": (Severity.WARNING, "approvers cannot be found by e-mail: give their ids in assent.yaml"),
    "im:write": (Severity.WARNING, "a direct message cannot be looked for: it may be posted twice after a crash"),
    "im:history": (Severity.WARNING, "a direct message cannot be looked for: it may be posted twice after a crash"),
    "usergroups:read": (Severity.WARNING, "a group of approvers that is a Slack user group has nobody in it"),
}
_UNASKED: Final = "a card may be posted twice after a crash, and nobody notices one that Slack took and does not show"
_HISTORY: Final = {"C": "channels:history", "G": "groups:history", "D": "im:history"}


async def examine(client: SlackClient, settings: SlackSettings) -> list[Finding]:
    """Return the findings, best first; an unreachable Slack is a finding as well."""
    try:
        identity = await client.call("auth.test", {})
    except (ChannelRefusedError, ChannelUnavailableError) as error:
        return [Finding(severity=Severity.ERROR, what=error.why, mend=_token_mend(settings, error))]
    team = str(identity.get("team_id") or identity.get("enterprise_id") or "")
    findings = [Finding(severity=Severity.OK, what=f"the token is good for workspace {team or '(unnamed)'}")]
    findings += _pins(settings, team=team, app_id=str(identity.get("app_id") or ""))
    findings += _leftovers(settings)
    findings += _scopes(str(identity["_scopes"]), settings)
    findings.append(await _membership(client, settings))
    return findings


def _token_mend(settings: SlackSettings, error: ChannelRefusedError | ChannelUnavailableError) -> str:
    if isinstance(error, ChannelUnavailableError):
        return f"let this machine reach {settings.api_url} over https (no proxy is used); the tokens were not looked at"
    key = "refresh_token, client_id, client_secret" if settings.refresh_token else "bot_token"
    return f"check {key}: copy what the Slack app's page shows"


def _pins(settings: SlackSettings, *, team: str, app_id: str) -> list[Finding]:
    findings: list[Finding] = []
    if settings.team_id and team and settings.team_id != team:
        what = f"team_id is {settings.team_id}, the token is of {team}"
        findings.append(Finding(severity=Severity.ERROR, what=what, mend=f"set team_id: {team}, or change the token"))
    if settings.app_id and app_id and settings.app_id != app_id:
        what = f"app_id is {settings.app_id}, the token is of {app_id}"
        findings.append(Finding(severity=Severity.ERROR, what=what, mend=f"set app_id: {app_id}, or change the token"))
    if not settings.app_id:
        # No fault: every click is authenticated without it; naming the app only adds a comparison.
        what = f"app_id is not set; the token is of {app_id or 'an app that Slack does not name'}"
        findings.append(Finding(severity=Severity.OK, what=what))
    return findings


def _leftovers(settings: SlackSettings) -> list[Finding]:
    """Name what works now and should not stay: a secret from before, and a token that nobody renews."""
    found: list[Finding] = []
    if settings.signing_secret_old is not None:
        what = "signing_secret_old is set: calls that are signed with it are taken"
        mend = "take it out once Slack signs with the new one and every gateway was restarted"
        found.append(Finding(severity=Severity.WARNING, what=what, mend=mend))
    if settings.bot_token and settings.bot_token.get_secret_value().startswith("xoxe."):
        what = "bot_token is one that expires within twelve hours, and nobody renews it"
        mend = "give refresh_token, client_id and client_secret in its place: the gateway then renews it"
        found.append(Finding(severity=Severity.WARNING, what=what, mend=mend))
    return found


def _scopes(told: str, settings: SlackSettings) -> list[Finding]:
    scopes = {scope.strip() for scope in told.split(",") if scope.strip()}
    if not scopes:
        return [Finding(severity=Severity.WARNING, what="Slack did not say which scopes the token has")]
    history = _HISTORY[settings.channel[0]]
    needed = {**_NEEDED, history: (Severity.WARNING, _UNASKED)}
    missing = [
        Finding(
            severity=severity, what=f"without the scope {scope} {effect}", mend=f"add {scope} and reinstall the app"
        )
        for scope, (severity, effect) in needed.items()
        if scope not in scopes
    ]
    return missing or [Finding(severity=Severity.OK, what="the token has all scopes")]


async def _membership(client: SlackClient, settings: SlackSettings) -> Finding:
    try:
        answer = await client.call("conversations.info", {"channel": settings.channel}, verb="GET")
    except ChannelRefusedError as refusal:
        unknown = "missing_scope" in refusal.why
        severity = Severity.WARNING if unknown else Severity.ERROR
        return Finding(
            severity=severity, what=refusal.why, mend="invite the app to the channel, and grant channels:read"
        )
    except ChannelUnavailableError as error:
        return Finding(severity=Severity.WARNING, what=error.why, mend="try again later")
    match answer.get("channel"):
        case {"is_archived": True}:
            return Finding(
                severity=Severity.ERROR, what=f"{settings.channel} is archived", mend="choose another channel"
            )
        case {"is_member": True} | {"is_im": True}:
            return Finding(severity=Severity.OK, what=f"the app is a member of {settings.channel}")
        case _:
            what = f"the app is not a member of {settings.channel}"
            return Finding(severity=Severity.ERROR, what=what, mend="in the channel: /invite the app")
