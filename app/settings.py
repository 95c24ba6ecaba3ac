"""The process's settings, from the environment: read once, by `main` and `cli` alone."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from datetime import timedelta
from ipaddress import IPv6Address, ip_network
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr, field_validator
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, NoDecode, PydanticBaseSettingsSource, SettingsConfigDict

from app.domain.identity.seals import MIN_SECRET
from app.storage.place.address import SCHEMES, is_postgres, is_readable
from assent.secret_files import SecretFileError, find_secret

PREFIX = "ASSENT_"
IN_FILES = ("secret", "database_url", "operations_token", "backup_url")
"""The settings that are secrets: ``ASSENT_<NAME>_FILE`` names the file that one stands in."""


_SPAN = re.compile(r"([0-9]{1,6})(ms|s|m|h|d)")
_UNITS = {"ms": "milliseconds", "s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
_HOST = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def _read_span(value: object) -> object:
    """Take a span as assent.yaml has it, such as ``15m``; ISO 8601 is left to the library."""
    match = _SPAN.fullmatch(value.strip()) if isinstance(value, str) else None
    return timedelta(**{_UNITS[match[2]]: int(match[1])}) if match else value


def _within(most: timedelta, told: str) -> AfterValidator:
    """Refuse a span that is none, or too long: what is never looked at again is switched off."""

    def check(value: timedelta) -> timedelta:
        if not timedelta(0) < value <= most:
            raise ValueError(f"must be more than 0s, and {told} at most")
        return value

    return AfterValidator(check)


_Beat = Annotated[timedelta, BeforeValidator(_read_span), _within(timedelta(hours=1), "1h")]
_Patience = Annotated[timedelta, BeforeValidator(_read_span), _within(timedelta(days=30), "30d")]


def from_files(environ: Mapping[str, str]) -> dict[str, object]:
    """Return the settings that stand in files; of one that cannot be read, the fault, which its field raises."""
    told = {name.upper(): value for name, value in environ.items()}
    found: dict[str, object] = {}
    for name in IN_FILES:
        variable = f"{PREFIX}{name.upper()}"
        if not told.get(f"{variable}_FILE", "").strip():
            continue
        try:
            found[name] = find_secret(told, variable)
        except SecretFileError as fault:
            found[name] = fault
    return found


def is_of_its_file(fault: Mapping[str, Any]) -> bool:
    """Say whether a fault of Pydantic's is that of a secret's file: its text has its mend."""
    return isinstance(fault.get("ctx", {}).get("error"), SecretFileError)


class _Files(PydanticBaseSettingsSource):
    """The files that the process's environment names."""

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:  # noqa: ARG002 - the library asks so
        return from_files(os.environ).get(field_name), field_name, False

    def __call__(self) -> dict[str, Any]:
        return from_files(os.environ)


class Settings(BaseSettings):
    """Every knob, as ``ASSENT_<NAME>``. What concerns an org is in its assent.yaml instead."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, frozen=True, extra="ignore")

    secret: Annotated[tuple[SecretStr, ...], NoDecode] = Field(
        description="what seals buttons and keys; several, separated by commas, while one is rotated out (newest first)"
    )
    database_url: str = "sqlite:///assent.db"
    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535)] = 8080
    log_format: Literal["json", "console"] = "console"
    max_pending_per_agent: Annotated[int, Field(ge=1)] = 1_000
    max_cards_per_agent: Annotated[int, Field(ge=1)] = 100
    max_waiters: Annotated[int, Field(ge=1)] = 50_000
    operations_token: SecretStr | None = Field(default=None, description="what /metrics and /openapi.json then ask for")
    hook_processes: Annotated[int, Field(ge=1)] = 16
    hook_environment: str = Field(default="", description="names, separated by commas, that command hooks see besides")
    hook_user: str | None = Field(default=None, description="whom command hooks run as; the gateway must be root")
    max_connections: Annotated[int, Field(ge=16)] = 60_000
    trusted_proxies: str = Field(
        default="", description="addresses and networks, separated by commas, that say whom a call comes from"
    )
    max_call_bytes: Annotated[int, Field(ge=16_384, le=2_097_152)] = Field(
        default=1_114_112,
        description="of a call with its arguments, as it comes in; a card shows the beginning of long ones",
    )
    max_streams: Annotated[int, Field(ge=1)] = 500
    calls_per_second: Annotated[float, Field(gt=0)] = 500
    tick: _Beat = Field(default=timedelta(seconds=1), description="how often the clock is looked at")
    poll: _Beat = Field(default=timedelta(seconds=2), description="the slow poll behind every wake-up")
    backup_url: SecretStr | None = Field(default=None, description="whom `assent backup` connects as on PostgreSQL")
    synchronous_standby: bool = Field(
        default=False, description="whether a commit is answered only when the standby has it: a failover loses nothing"
    )
    state_dir: Path | None = Field(
        default=None, description="where it is kept how far the trail has come; beside the file for SQLite"
    )
    give_up_after: _Patience = Field(
        default=timedelta(minutes=15),
        description="how long an unreachable platform is tried with a new card",
    )

    @field_validator("database_url")
    @classmethod
    def _known_database(cls, value: str) -> str:
        if not value.startswith(("sqlite:///", *SCHEMES)):
            raise ValueError("is sqlite:///FILE or postgresql://…")
        if is_postgres(value) and not is_readable(value):
            # Not with what stands there: of an unquoted password it would show a part.
            raise ValueError("cannot be read: write / @ : # ? in the password as %2F %40 %3A %23 %3F")
        return value

    @field_validator("host")
    @classmethod
    def _said_host(cls, value: str) -> str:
        if not value.strip():  # a socket takes it for every address of the machine
            raise ValueError("is empty: write 127.0.0.1 for this machine, 0.0.0.0 for every address of it")
        if not _HOST.fullmatch(value) and not _is_ipv6(value):
            raise ValueError("is a name or an address alone, such as 0.0.0.0 or ::; the port is ASSENT_PORT")
        return value

    @field_validator("operations_token", "state_dir", "backup_url", mode="before")
    @classmethod
    def _said(cls, value: object) -> object:
        if isinstance(value, str) and not value.strip():  # it expanded to nothing: whoever wrote it meant something
            raise ValueError("is empty: say what it is, or leave it out")
        return value

    @field_validator("backup_url")
    @classmethod
    def _known_backup(cls, value: SecretStr | None) -> SecretStr | None:
        url = value.get_secret_value() if value is not None else "sqlite:///"  # of which a backup asks for no address
        if not url.startswith("sqlite:///") and not (is_postgres(url) and is_readable(url)):
            raise ValueError(
                "is postgresql://ROLE:PASSWORD@HOST/DATABASE; in the password, write / @ : # ? as %2F %40 …"
            )
        return value

    @field_validator("hook_environment")
    @classmethod
    def _of_names(cls, value: str) -> str:
        for name in filter(None, (each.strip() for each in value.split(","))):
            if not _VARIABLE.fullmatch(name):
                raise ValueError(f"{name[:40]!r} is no name of a variable: write names alone, with commas")
        return value

    @field_validator("hook_user")
    @classmethod
    def _known_account(cls, value: str | None) -> str | None:
        from assent.hooks.commands.spawn import check_account

        if value is not None:
            check_account(value)
        return value

    @field_validator("trusted_proxies")
    @classmethod
    def _known_networks(cls, value: str) -> str:
        for part in filter(None, (each.strip() for each in value.split(","))):
            try:
                _ = ip_network(part)
            except ValueError:
                raise ValueError(f"{part!r} is no address and no network; whoever it names may say who calls") from None
        return value

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        *_others: PydanticBaseSettingsSource,
        **_more: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Read the environment, and the files that it names."""
        return (init_settings, _Files(settings_cls), env_settings)

    @field_validator("secret", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        return tuple(part.strip() for part in value.split(",")) if isinstance(value, str) else value

    @field_validator("secret")
    @classmethod
    def _strong(cls, value: tuple[SecretStr, ...]) -> tuple[SecretStr, ...]:
        if not value or any(len(secret.get_secret_value()) < MIN_SECRET for secret in value):
            raise ValueError(f"needs at least {MIN_SECRET} characters; `assent secret` makes one")
        return value

    @field_validator(*IN_FILES, mode="before")  # the last one, so it is the first to be asked
    @classmethod
    def _read(cls, value: object) -> object:
        if isinstance(value, SecretFileError):
            raise value
        return value


def _is_ipv6(value: str) -> bool:
    try:
        _ = IPv6Address(value)
    except ValueError:
        return False
    return True
