"""What assent.yaml says of a Feishu (or Lark) channel, refused at load when a secret is missing or too weak."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final, Literal, Self
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
from app.spec import Limits, Pace, read_whole, written_as

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

LIMITS = Limits(
    text_budget=5000,  # UTF-16 units, whatever they say: five thousand of Chinese are 15 KB of a card's 25
    opens_forms=False,
    deduplicates_for=timedelta(minutes=55),  # the platform swallows a key for an hour; clocks and queues need some
    edits_for=timedelta(days=14),
    posts=Pace(every=timedelta(seconds=0.25)),  # five a second in a chat, shared by all bots in it
    edits=Pace(every=timedelta(seconds=0.03)),  # fifty a second of the whole app
)

MIN_ENCRYPT_KEY = 16
"""Characters that the Encrypt Key must have: it is all that makes a forged click fail."""

MIN_VERIFICATION_TOKEN = 8

_HOSTS: Final = ("open.feishu.cn", "open.larksuite.com")
"""Where the platform's API is: an app is of one of them."""

_BASIC: Final = "Credentials & Basic Info (凭证与基础信息) of the app, at open.feishu.cn/app or open.larksuite.com/app"
_STRATEGY: Final = "Events & Callbacks > Encryption Strategy (事件与回调 > 加密策略) of the app"
_SECRETS: Final = {
    "app_secret": (MIN_VERIFICATION_TOKEN, f"the App Secret, from {_BASIC}"),
    "encrypt_key": (MIN_ENCRYPT_KEY, f"the Encrypt Key, set under {_STRATEGY}"),
    "verification_token": (MIN_VERIFICATION_TOKEN, f"the Verification Token, from {_STRATEGY}"),
}
"""How many characters each secret has at least, what it is, and where it is found."""
_IDS: Final = {
    "app_id": (r"cli_[0-9A-Za-z]{2,40}", f"the App ID (cli_…), from {_BASIC}"),
    "chat": (
        r"oc_[0-9A-Za-z]{2,80}",
        "the chat's id (oc_…), not its name: the chat's settings (群设置) show it at their end",
    ),
    "tenant_key": (
        r"[0-9A-Za-z_-]{1,64}",
        "the tenant's key: letters (a to z, A to Z), digits, _ and -, 64 at most; left out, clicks of any tenant count",
    ),
}
"""How each id is written, and what is said of one that is not."""


def is_loopback(url: str) -> bool:
    """Say whether a URL stays on this machine (a simulator, never the platform)."""
    return (urlsplit(url).hostname or "") in LOOPBACK


_FAMILIES = ("feishu.cn", "larksuite.com")
"""The platform's own names: its API and its long connections are beside one another below them."""


def is_own_connection(url: str, *, domain: str) -> bool:
    """Say whether the address of a long connection is one of the platform's, and encrypted.

    Of a domain that is not the platform's own, it is that host or one below it. A simulator on this machine may send us
    anywhere on it.
    """
    there = urlsplit(url)
    host, own = there.hostname or "", urlsplit(domain).hostname or ""
    if "@" in there.netloc or not host:
        return False
    if is_loopback(domain):
        return is_loopback(url)
    family = next((each for each in _FAMILIES if own == each or own.endswith(f".{each}")), own)
    return there.scheme == "wss" and (host == family or host.endswith(f".{family}"))


class FeishuSettings(BaseModel):
    """One app of one tenant, posting to one chat.

    `receive: webhook` needs a public address, the Encrypt Key and the Verification Token; `receive: websocket` opens a
    long connection instead and needs neither.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True, defer_build=True)

    type: Literal["feishu"]
    app_id: str
    app_secret: SecretStr
    encrypt_key: SecretStr = SecretStr("")
    verification_token: SecretStr = SecretStr("")
    encrypt_key_old: SecretStr | None = None
    verification_token_old: SecretStr | None = None
    chat: str
    receive: Literal["webhook", "websocket"] = "webhook"
    language: Literal["zh", "en"] = "zh"
    own_host: bool = Field(default=False, strict=True)
    domain: str = "https://open.feishu.cn"
    tenant_key: str | None = None
    managers: bool = Field(default=False, strict=True)

    @field_validator("app_secret", "encrypt_key", "verification_token")
    @classmethod
    def _trim(cls, secret: SecretStr) -> SecretStr:
        """Drop the line break that a secret file often ends with; it would fail every signature."""
        return SecretStr(secret.get_secret_value().strip())

    @field_validator("encrypt_key_old", "verification_token_old")
    @classmethod
    def _old(cls, secret: SecretStr | None, info: ValidationInfo) -> SecretStr | None:
        """Hold a secret from before to what the present one is held to."""
        if secret is None:
            return None
        trimmed = secret.get_secret_value().strip()
        least, what = _SECRETS[str(info.field_name).removesuffix("_old")]
        if len(trimmed) < least:
            raise ValueError(
                f"{_short(trimmed, least)}: it is {what}, as it was before; leave the line out if none was"
            )
        return SecretStr(trimmed)

    @property
    def encrypt_keys(self) -> tuple[str, ...]:
        """What calls may be encrypted and signed with: while the key is changed, also the one from before."""
        return _texts(self.encrypt_key, self.encrypt_key_old)

    @property
    def verification_tokens(self) -> tuple[str, ...]:
        """What calls may bear."""
        return _texts(self.verification_token, self.verification_token_old)

    @field_validator(*_IDS)
    @classmethod
    def _id(cls, written: str | None, info: ValidationInfo) -> str | None:
        return written_as(_IDS, info.field_name, written)

    @field_validator("domain")
    @classmethod
    def _origin(cls, domain: str, info: ValidationInfo) -> str:
        why = why_no_url(domain, path=False)
        if why is not None:
            raise ValueError(f"must be https://{_HOSTS[0]} or https://{_HOSTS[1]} for Lark, and this one {why}")
        host = urlsplit(domain).hostname or ""
        strange = host not in _HOSTS and not is_loopback(domain)
        if strange and not info.data.get("own_host", True):  # of one that cannot be read, that is what there is to say
            raise ValueError(
                f"is a host that is not the platform's (https://{_HOSTS[0]}, or https://{_HOSTS[1]} for Lark), and the "
                "app secret would be sent there: if it is a deployment of your own (私有化部署) or a proxy, write "
                "own_host: true beside it"
            )
        return domain

    @model_validator(mode="wrap")
    @classmethod
    def _whole(cls, given: object, read: ModelWrapValidatorHandler[Self]) -> Self:
        return read_whole(given, read, _together)


def _together(given: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield what is missing or too weak, and a secret from before that is the present one."""
    webhook = given.get("receive", "webhook") == "webhook"
    for key, (least, what) in _SECRETS.items():
        secret = given.get(key, "")
        if len(secret) < least and (webhook or key == "app_secret"):
            why = ", and without it anyone could forge a click" if key == "encrypt_key" else ""
            mend = "" if key == "app_secret" else "; or choose receive: websocket, which needs none"
            yield key, f"{_short(secret, least)}{why}: it is {what}{mend}"
        elif secret and secret == given.get(f"{key}_old"):
            yield f"{key}_old", f"is {key}: it is the one from before; leave it out where there is none"


def _short(secret: str, least: int) -> str:
    return f"has {len(secret)} characters, fewer than {least}" if secret else "is missing or blank"


def _texts(*secrets: SecretStr | None) -> tuple[str, ...]:
    return tuple(secret.get_secret_value() for secret in secrets if secret is not None)
