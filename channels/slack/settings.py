"""What assent.yaml says of one Slack channel: refused at load, with the way to mend it, or complete."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Final, Literal, Self, cast
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationInfo, field_validator, model_validator

from app.domain.text.language import Language
from app.spec import Limits, Pace

LIMITS: Final = Limits(
    text_budget=9_000,  # of about 13,000 that all blocks may have together; labels and marks need some
    opens_forms=True,
    deduplicates_for=timedelta(0),
    edits_for=timedelta(days=14),
    posts=Pace(every=timedelta(seconds=1.2)),  # about one a second in a channel, and a network's jitter
    edits=Pace(every=timedelta(seconds=1.5), burst=8),  # Tier 3: fifty a minute, the first minute included
)
_LOOPBACK: Final = frozenset({"127.0.0.1", "::1", "localhost"})
_SHORTEST_SECRET: Final = 16
_HOOKS: Final = "hooks.slack.com"


def is_own_socket(url: str, *, api_url: str) -> bool:
    """Say whether an address of Socket Mode is on the API's own host or below it, and encrypted.

    A stand-in on this machine may send us anywhere on it.
    """
    there, api = urlsplit(url), urlsplit(api_url)
    host, own = there.hostname or "", api.hostname or ""
    if "@" in there.netloc or not host:
        return False
    if own in _LOOPBACK:
        return host in _LOOPBACK
    return there.scheme == "wss" and (host == own or host.endswith(f".{own}"))


class SlackSettings(BaseModel):
    """One Slack app in one workspace, posting to one channel. Raises pydantic's ValidationError on any fault."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True, defer_build=True)

    type: Literal["slack"]
    bot_token: SecretStr | None = None
    refresh_token: SecretStr | None = None
    client_id: str | None = Field(default=None, pattern=r"^[0-9]{3,30}\.[0-9]{3,30}$")
    client_secret: SecretStr | None = None
    signing_secret: SecretStr | None = None
    signing_secret_old: SecretStr | None = None
    app_token: SecretStr | None = None
    scim_token: SecretStr | None = None
    channel: str
    receive: Literal["webhook", "socket"] = "webhook"
    language: Language = Language.EN
    api_url: str = "https://slack.com/api/"
    scim_url: str = "https://api.slack.com/scim/v1/"
    team_id: str | None = Field(default=None, pattern=r"^[TE][A-Z0-9]{2,30}$")
    app_id: str | None = Field(default=None, pattern=r"^A[A-Z0-9]{2,30}$")
    response_host: str = _HOOKS

    @field_validator("bot_token")
    @classmethod
    def _bot_token(cls, token: SecretStr | None) -> SecretStr | None:
        if token is not None and not re.fullmatch(r"(xoxb-|xoxe\.)[\x21-\x7e]{4,}", token.get_secret_value()):
            msg = "bot_token must be the app's bot token (xoxb-…): copy it from OAuth & Permissions of the Slack app"
            raise ValueError(msg)
        return token

    @field_validator("refresh_token")
    @classmethod
    def _refresh_token(cls, token: SecretStr | None) -> SecretStr | None:
        if token is not None and not re.fullmatch(r"xoxe-[\x21-\x7e]{4,}", token.get_secret_value()):
            msg = "refresh_token must be the app's refresh token (xoxe-…): OAuth & Permissions of the Slack app"
            raise ValueError(msg)
        return token

    @field_validator("app_token")
    @classmethod
    def _app_token(cls, token: SecretStr | None) -> SecretStr | None:
        if token is not None and not re.fullmatch(r"xapp-[\x21-\x7e]{4,}", token.get_secret_value()):
            msg = "app_token must be an app-level token (xapp-…) with connections:write: Basic Information of the app"
            raise ValueError(msg)
        return token

    @field_validator("scim_token")
    @classmethod
    def _scim_token(cls, token: SecretStr | None) -> SecretStr | None:
        if token is not None and not re.fullmatch(r"xoxp-[\x21-\x7e]{4,}", token.get_secret_value()):
            msg = "scim_token must be a user token (xoxp-…) with the scope admin, of an owner and of an app of its own"
            raise ValueError(msg)
        return token

    @field_validator("signing_secret", "signing_secret_old", "client_secret")
    @classmethod
    def _signing_secret(cls, secret: SecretStr | None, info: ValidationInfo) -> SecretStr | None:
        if secret is None:
            return None
        text = secret.get_secret_value().strip()
        if len(text) < _SHORTEST_SECRET:
            shown = "Client Secret" if info.field_name == "client_secret" else "Signing Secret"
            msg = (
                f"{info.field_name} is blank or shorter than {_SHORTEST_SECRET} characters: "
                f"copy the {shown} from Basic Information of the Slack app, or leave the line out"
            )
            raise ValueError(msg)
        return SecretStr(text)

    @property
    def signing_secrets(self) -> tuple[str, ...]:
        """What Slack's calls may be signed with: while the secret is changed, also the one from before."""
        both = (self.signing_secret, self.signing_secret_old)
        return tuple(secret.get_secret_value() for secret in both if secret is not None)

    @field_validator("channel")
    @classmethod
    def _channel(cls, channel: str) -> str:
        if not re.fullmatch(r"[CGD][A-Z0-9]{2,30}", channel):
            msg = (
                "channel must be the conversation's id (C…, G… or D…), not its name: see the channel's details in Slack"
            )
            raise ValueError(msg)
        return channel

    @field_validator("api_url", "scim_url")
    @classmethod
    def _api_url(cls, url: str, info: ValidationInfo) -> str:
        parts = urlsplit(url)
        secure = parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOOPBACK)
        if not secure or not parts.hostname or "@" in parts.netloc or parts.query or parts.fragment:
            path = "api" if info.field_name == "api_url" else "scim/v1"
            msg = f"{info.field_name} must be https://<host>/{path}/ (plain http only for a stand-in on this machine)"
            raise ValueError(msg)
        return url if url.endswith("/") else f"{url}/"

    @field_validator("response_host")
    @classmethod
    def _response_host(cls, host: str) -> str:
        if not re.fullmatch(r"[a-z0-9-]+(\.[a-z0-9-]+)*(:[0-9]{1,5})?", host):
            msg = "response_host must be a bare host name such as hooks.slack.com"
            raise ValueError(msg)
        return host

    @model_validator(mode="before")
    @classmethod
    def _answer_to_the_stand_in(cls, raw: object) -> object:
        """Private answers and SCIM's token go to the API's own host where that is a stand-in on this machine."""
        if not isinstance(raw, dict):
            return raw
        given = cast("dict[str, object]", raw)
        url = urlsplit(str(given.get("api_url", "")))
        if url.hostname not in _LOOPBACK:
            return given
        return {"response_host": url.netloc, "scim_url": f"{url.scheme}://{url.netloc}/scim/v1/", **given}

    @model_validator(mode="after")
    def _renewable(self) -> Self:
        """One token that lasts, or all that is needed to renew one that does not."""
        if self.refresh_token is None:
            if self.bot_token is None:
                msg = "bot_token is missing: copy it from OAuth & Permissions of the Slack app"
                raise ValueError(msg)
            if self.client_secret is not None or self.client_id is not None:
                msg = "client_id and client_secret are for refresh_token alone, which is missing: leave them out"
                raise ValueError(msg)
        elif self.client_id is None or self.client_secret is None:
            msg = "refresh_token needs client_id and client_secret: copy them from Basic Information of the Slack app"
            raise ValueError(msg)
        elif self.bot_token is not None:
            msg = "bot_token and refresh_token: leave bot_token out, the gateway gets its own with the refresh token"
            raise ValueError(msg)
        return self

    @model_validator(mode="after")
    def _reachable(self) -> Self:
        if self.receive == "webhook" and self.signing_secret is None:
            msg = (
                "signing_secret is missing: without it nobody can tell Slack's calls from forged ones. "
                "Copy it from Basic Information of the Slack app, or choose receive: socket"
            )
            raise ValueError(msg)
        if self.signing_secret_old is not None and self.signing_secret_old == self.signing_secret:
            msg = "signing_secret_old is signing_secret: it is the one from before; leave it out where there is none"
            raise ValueError(msg)
        if self.receive == "socket" and self.app_token is None:
            msg = "app_token is missing: receive: socket needs an app-level token (xapp-…) with connections:write"
            raise ValueError(msg)
        return self
