"""The shapes of `sign_in`: who signs people in, and whose tokens prove who asked."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr

from app.policies.marks.name_words import ONE_LINE, WORD
from app.policies.marks.spans import span_within

_Age = Annotated[timedelta, BeforeValidator(span_within(timedelta(minutes=1), timedelta(hours=24), "from 1m to 24h"))]


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)


class RequestersEntry(_Entry):
    """``{audiences: [portal], actors: {shop-bot: 0oa1}}``: whose tokens prove who asked, when agents hand them over."""

    audiences: list[Annotated[str, Field(min_length=1, max_length=300, pattern=WORD)]] = Field(
        min_length=1, max_length=20
    )
    actors: dict[str, Annotated[str, Field(min_length=1, max_length=255, pattern=ONE_LINE)]] = {}
    max_age: _Age = timedelta(hours=1)


class SignInEntry(_Entry):
    """``{issuer: https://…, client_id: …, client_secret: "${NAME}"}``: who signs people in (OpenID Connect)."""

    issuer: Annotated[str, Field(max_length=500)]
    client_id: Annotated[str, Field(min_length=1, max_length=300, pattern=WORD)]
    client_secret: SecretStr
    label: Annotated[str, Field(min_length=1, max_length=40, pattern=ONE_LINE)] | None = None
    groups: Annotated[str, Field(min_length=1, max_length=100, pattern=WORD)] | None = None
    algorithms: list[Literal["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512"]] = Field(
        default=["RS256", "PS256", "ES256"], min_length=1
    )
    subjects: dict[str, Annotated[str, Field(min_length=1, max_length=255, pattern=ONE_LINE)]] = {}
    private: bool = False
    requesters: RequestersEntry | None = None
