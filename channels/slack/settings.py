"""What assent.yaml says of one Slack channel: refused at load, with the way to mend it, or complete."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING, Final, Literal, Self, cast
from urllib.parse import urlsplit

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    SecretStr,
    ValidationInfo,
    field_validator,
    model_validator,
)

from app.domain.text.addresses import LOOPBACK, why_no_url
from app.domain.text.language import Language
from app.spec import Limits, Pace, read_whole, written_as

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

LIMITS: Final = Limits(
    text_budget=9_000,  # of about 13,000 that all blocks may have together; labels and marks need some
    opens_forms=True,
    deduplicates_for=timedelta(0),
    edits_for=timedelta(days=14),
    posts=Pace(every=timedelta(seconds=1.2)),  # about one a second in a channel, and a network's jitter
    edits=Pace(every=timedelta(seconds=1.5), burst=8),  # Tier 3: fifty a minute, the first minute included
)
_SHORTEST_SECRET: Final = 16
_HOOKS: Final = "hooks.slack.com"
_OWN: Final = ("slack.com", "slack-gov.com")
"""The platform's own names: whatever is at or below them is Slack's."""
_BASIC: Final = "Basic Information of the Slack app (api.slack.com/apps)"
_SIGNING: Final = f"the app's Signing Secret, 32 hex characters, from App Credentials under {_BASIC}"
_SECRETS: Final = {
    "signing_secret": _SIGNING,
    "signing_secret_old": f"{_SIGNING}, as it was before; leave the line out if there is none",
    "client_secret": f"the app's Client Secret, 32 hex characters, from App Credentials under {_BASIC}",
}
"""What each secret is, and where it is found."""
_TOKENS: Final = {
    "bot_token": (r"(xoxb-|xoxe\.)", "the app's bot token (xoxb-…), from OAuth & Permissions of the Slack app"),
    "refresh_token": ("xoxe-", "the app's refresh token (xoxe-…), from OAuth & Permissions of the Slack app"),
    "app_token": ("xapp-", f"an app-level token (xapp-…) with connections:write, from App-Level Tokens under {_BASIC}"),
    "scim_token": ("xoxp-", "a user token (xoxp-…) with the scope admin, of an owner and of an app of its own"),
}
"""How each token begins, and what is said of one that does not."""
_IDS: Final = {
    "channel": (
        r"[CGD][A-Z0-9]{2,30}",
        "the conversation's id (C…, G… or D…), not its name: the channel's details in Slack have it",
    ),
    "client_id": (
        r"[0-9]{3,30}\.[0-9]{3,30}",
        f"the app's Client ID, two numbers with a point between them, from App Credentials under {_BASIC}",
    ),
    "team_id": (
        r"[TE][A-Z0-9]{2,30}",
        "the workspace's id (T…, or E… of a Grid), not its name: app.slack.com/client/ has it next, in a browser",
    ),
    "app_id": (r"A[A-Z0-9]{2,30}", f"the app's id (A…), from {_BASIC}"),
}
"""How each id is written, and what is said of one that is not."""


def is_own_socket(url: str, *, api_url: str) -> bool:
    """Say whether an address of Socket Mode is on the API's own host or below it, and encrypted.

    A stand-in on this machine may send us anywhere on it.
    """
    there, api = urlsplit(url), urlsplit(api_url)
    host, own = there.hostname or "", api.hostname or ""
    if "@" in there.netloc or not host:
        return False
    if own in LOOPBACK:
        return host in LOOPBACK
    return there.scheme == "wss" and (host == own or host.endswith(f".{own}"))


class SlackSettings(BaseModel):
    """One Slack app in one workspace, posting to one channel. Raises pydantic's ValidationError on any fault."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True, defer_build=True)

    type: Literal["slack"]
    bot_token: SecretStr | None = None
    refresh_token: SecretStr | None = None
    client_id: str | None = None
    client_secret: SecretStr | None = None
    signing_secret: SecretStr | None = None
    signing_secret_old: SecretStr | None = None
    app_token: SecretStr | None = None
    scim_token: SecretStr | None = None
    channel: str
    receive: Literal["webhook", "socket"] = "webhook"
    language: Language = Language.EN
    own_host: bool = Field(default=False, strict=True)
    api_url: str = "https://slack.com/api/"
    scim_url: str = "https://api.slack.com/scim/v1/"
    team_id: str | None = None
    app_id: str | None = None
    response_host: str = _HOOKS

    @field_validator(*_TOKENS)
    @classmethod
    def _token(cls, token: SecretStr | None, info: ValidationInfo) -> SecretStr | None:
        if token is not None:
            shape, what = _TOKENS[str(info.field_name)]
            if not re.fullmatch(f"{shape}[\\x21-\\x7e]{{4,}}", token.get_secret_value()):
                raise ValueError(f"must be {what}")
        return token

    @field_validator(*_SECRETS)
    @classmethod
    def _signing_secret(cls, secret: SecretStr | None, info: ValidationInfo) -> SecretStr | None:
        if secret is None:
            return None
        text = secret.get_secret_value().strip()
        if len(text) < _SHORTEST_SECRET:
            blank = f"has {len(text)} characters" if text else "is blank"
            raise ValueError(f"{blank}: it is {_SECRETS[str(info.field_name)]}")
        return SecretStr(text)

    @property
    def signing_secrets(self) -> tuple[str, ...]:
        """What Slack's calls may be signed with: while the secret is changed, also the one from before."""
        both = (self.signing_secret, self.signing_secret_old)
        return tuple(secret.get_secret_value() for secret in both if secret is not None)

    @field_validator(*_IDS)
    @classmethod
    def _id(cls, written: str | None, info: ValidationInfo) -> str | None:
        return written_as(_IDS, info.field_name, written)

    @field_validator("api_url", "scim_url")
    @classmethod
    def _api_url(cls, url: str, info: ValidationInfo) -> str:
        why = why_no_url(url)
        if why is not None:
            path = "api" if info.field_name == "api_url" else "scim/v1"
            raise ValueError(f"must be https://HOST/{path}/, and this one {why}")
        _refuse_strange(urlsplit(url).hostname or "", info, "tokens would be sent")
        return url if url.endswith("/") else f"{url}/"

    @field_validator("response_host")
    @classmethod
    def _response_host(cls, host: str, info: ValidationInfo) -> str:
        if why_no_url(f"https://{host}", path=False) is not None:
            raise ValueError("must be a bare host name such as hooks.slack.com")
        _refuse_strange(urlsplit(f"https://{host}").hostname or "", info, "private answers would be sent")
        return host

    @model_validator(mode="before")
    @classmethod
    def _answer_to_the_stand_in(cls, raw: object) -> object:
        """Private answers and SCIM's token go to the API's own host where that is a stand-in on this machine."""
        if not isinstance(raw, dict):
            return raw
        given = cast("dict[str, object]", raw)
        api_url = given.get("api_url")
        if not isinstance(api_url, str) or why_no_url(api_url) is not None:
            return given
        url = urlsplit(api_url)
        if url.hostname not in LOOPBACK:
            return given
        return {"response_host": url.netloc, "scim_url": f"{url.scheme}://{url.netloc}/scim/v1/", **given}

    @model_validator(mode="wrap")
    @classmethod
    def _whole(cls, given: object, read: ModelWrapValidatorHandler[Self]) -> Self:
        return read_whole(given, read, _together)


def _refuse_strange(host: str, info: ValidationInfo, what: str) -> None:
    """Refuse a host that is neither Slack's nor this machine, unless the file says that it is meant."""
    own = host in LOOPBACK or any(host == each or host.endswith(f".{each}") for each in _OWN)
    if not own and not info.data.get("own_host", True):  # of one that cannot be read, that is what there is to say
        mend = "if it is a host of your own, such as a proxy, write own_host: true beside it"
        raise ValueError(f"is at a host that is not Slack's ({' or '.join(_OWN)}), and {what} there: {mend}")


def _together(given: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield what is wrong between keys: what would not work, and where secrets would go that are Slack's."""
    yield from _renewable(given)
    webhook = given.get("receive", "webhook") == "webhook"
    if webhook and not given.get("signing_secret"):
        why = "is missing, and without it nobody can tell Slack's calls from forged ones"
        yield "signing_secret", f"{why}: it is {_SIGNING}; or choose receive: socket, which needs none"
    if given.get("signing_secret_old") and given["signing_secret_old"] == given.get("signing_secret"):
        yield "signing_secret_old", "is signing_secret: it is the one from before; leave it out where there is none"
    if given.get("receive") == "socket" and not given.get("app_token"):
        yield "app_token", f"is missing, which receive: socket needs: it is {_TOKENS['app_token'][1]}"


def _renewable(given: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """One token that lasts, or all that is needed to renew one that does not."""
    if not given.get("refresh_token"):
        if not given.get("bot_token"):
            yield "bot_token", f"is missing: it is {_TOKENS['bot_token'][1]}"
        for key in ("client_id", "client_secret"):
            if given.get(key):
                yield key, "is for refresh_token alone, which is missing: leave it out"
        return
    for key in ("client_id", "client_secret"):
        if not given.get(key):
            yield key, f"is missing, which refresh_token needs: it is from App Credentials under {_BASIC}"
    if given.get("bot_token"):
        yield "bot_token", "stands beside refresh_token: leave it out, the gateway gets its own with the refresh token"
