"""What assent.yaml says of a Feishu (or Lark) channel, refused at load when a secret is missing or too weak."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationInfo, field_validator, model_validator

from app.spec import Limits, Pace

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

_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


def is_loopback(url: str) -> bool:
    """Say whether a URL stays on this machine (a simulator, never the platform)."""
    return (urlsplit(url).hostname or "") in _LOOPBACK


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

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    type: Literal["feishu"]
    app_id: Annotated[str, Field(pattern=r"^cli_[0-9A-Za-z]{2,40}$")]
    app_secret: SecretStr
    encrypt_key: SecretStr = SecretStr("")
    verification_token: SecretStr = SecretStr("")
    encrypt_key_old: SecretStr | None = None
    verification_token_old: SecretStr | None = None
    chat: Annotated[str, Field(pattern=r"^oc_[0-9A-Za-z]{2,80}$")]
    receive: Literal["webhook", "websocket"] = "webhook"
    language: Literal["zh", "en"] = "zh"
    domain: str = "https://open.feishu.cn"
    tenant_key: Annotated[str, Field(pattern=r"^[0-9A-Za-z_-]{1,64}$")] | None = None
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
        least = MIN_ENCRYPT_KEY if info.field_name == "encrypt_key_old" else MIN_VERIFICATION_TOKEN
        if len(trimmed) < least:
            raise ValueError(
                f"{info.field_name} is shorter than {least} characters: leave the line out if there is none."
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

    @field_validator("domain")
    @classmethod
    def _origin(cls, domain: str) -> str:
        parts = urlsplit(domain)
        plain_origin = parts.netloc and "@" not in parts.netloc and not (parts.path or parts.query or parts.fragment)
        if not plain_origin or (parts.scheme != "https" and not (parts.scheme == "http" and is_loopback(domain))):
            raise ValueError(
                "domain must be https://open.feishu.cn or https://open.larksuite.com (an https origin without a path; "
                "http only for a simulator on this machine)."
            )
        return domain

    @model_validator(mode="after")
    def _secrets(self) -> FeishuSettings:
        if len(self.app_secret.get_secret_value()) < MIN_VERIFICATION_TOKEN:
            raise ValueError(
                "app_secret is missing or too short: copy App Secret from the app's Credentials & Basic Info page."
            )
        if self.receive == "websocket":
            return self
        if len(self.encrypt_key.get_secret_value()) < MIN_ENCRYPT_KEY:
            raise ValueError(
                f"encrypt_key is missing or shorter than {MIN_ENCRYPT_KEY} characters: without it anyone could forge a "
                "click. Set one under Events & Callbacks > Encryption Strategy, or choose receive: websocket."
            )
        if len(self.verification_token.get_secret_value()) < MIN_VERIFICATION_TOKEN:
            raise ValueError(
                "verification_token is missing or too short: copy it from Events & Callbacks > Encryption Strategy, or "
                "choose receive: websocket."
            )
        for name in ("encrypt_key", "verification_token"):
            if getattr(self, name) == getattr(self, f"{name}_old"):
                raise ValueError(f"{name}_old is {name}: it is the one from before; leave it out where there is none.")
        return self


def _texts(*secrets: SecretStr | None) -> tuple[str, ...]:
    return tuple(secret.get_secret_value() for secret in secrets if secret is not None)
