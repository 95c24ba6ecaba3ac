"""Button tokens open exactly one card in one place; codes and key hashes belong to this gateway's secrets."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from app.domain.identity.seals import BadTokenError, Place, SealedClick, Seals, WeakSecretError, parse_token
from app.domain.request.action import Action
from tests.requirements import requirement

OLD, NEW = "o" * 40, "n" * 40
SEALS = Seals([NEW])
PLACE = Place(org="acme", request_id="req_1", digest="d" * 64, revision=1, channel="pay-slack", chat_id="C1")
HANDLE = "abcdef0123456789"


def sealed(action: Action = Action.APPROVE, *, seals: Seals = SEALS, place: Place = PLACE) -> SealedClick:
    return parse_token(seals.token(action, HANDLE, place))


@pytest.mark.parametrize("secrets", [[], [""], ["x" * 31], [" " * 40], [NEW, "short"]])
def test_weak_secrets_are_refused(secrets: list[str]) -> None:
    with pytest.raises(WeakSecretError):
        Seals(secrets)


@pytest.mark.parametrize("action", Action)
def test_a_token_opens_its_own_card(action: Action) -> None:
    click = sealed(action)
    assert (click.action, click.handle) == (action, HANDLE)
    SEALS.verify(click, PLACE)


@requirement("S-21")
@pytest.mark.parametrize(
    "other",
    [
        {"org": "beta"},
        {"request_id": "req_2"},
        {"digest": "e" * 64},
        {"revision": 2},
        {"channel": "pay-feishu"},
        {"chat_id": "C2"},
        {"channel": "pay-slackC", "chat_id": "1"},  # the same letters, cut elsewhere
    ],
)
def test_a_token_opens_nothing_else(other: dict[str, Any]) -> None:
    with pytest.raises(BadTokenError):
        SEALS.verify(sealed(), replace(PLACE, **other))


@requirement("S-21")
@pytest.mark.parametrize(
    "other",
    [
        *({"action": action} for action in Action if action is not Action.APPROVE),
        {"handle": "abcdef0123456780"},
        {"mac": "0" * 40},
        {"mac": ""},
        {"key_id": "0" * 8},
    ],
)
def test_no_part_of_a_token_can_be_exchanged(other: dict[str, Any]) -> None:
    with pytest.raises(BadTokenError):
        SEALS.verify(replace(sealed(), **other), PLACE)


@requirement("S-21")
@given(st.text(max_size=220))
def test_what_is_no_token_is_refused_before_anything_is_looked_up(text: str) -> None:
    with pytest.raises(BadTokenError):
        SEALS.verify(parse_token(text), PLACE)


@requirement("S-21")
@given(st.integers(0, 10_000), st.characters(codec="utf-8"))
def test_one_changed_character_is_enough(at: int, char: str) -> None:
    token = SEALS.token(Action.APPROVE, HANDLE, PLACE)
    at %= len(token)
    changed = token[:at] + char + token[at + 1 :]
    if changed == token:
        return
    with pytest.raises(BadTokenError):
        SEALS.verify(parse_token(changed), PLACE)


@requirement("S-21")
def test_a_token_is_short_ascii_and_says_nothing_of_the_call() -> None:
    token = SEALS.token(Action.APPROVE, "h" * 32, PLACE)
    assert len(token) <= 200
    assert token.isascii()
    assert not any(part in token for part in ("acme", "req_1", PLACE.digest[:8], "slack", "C1"))


def test_a_rotation_breaks_no_live_card_and_a_withdrawn_secret_does() -> None:
    old, both = Seals([OLD]), Seals([NEW, OLD])
    both.verify(sealed(seals=old), PLACE)
    Seals([NEW]).verify(sealed(seals=both), PLACE)  # the newest seals
    with pytest.raises(BadTokenError):
        Seals([NEW]).verify(sealed(seals=old), PLACE)


def test_a_token_of_another_gateway_is_refused() -> None:
    with pytest.raises(BadTokenError):
        SEALS.verify(sealed(seals=Seals([OLD])), PLACE)


@given(st.text(max_size=20), st.text(max_size=20))
def test_codes_are_eight_unambiguous_letters(nonce: str, digest: str) -> None:
    code = SEALS.code(nonce=nonce, digest=digest)
    assert (len(code), code[4]) == (9, "-")
    assert set(code) <= set("0123456789ABCDEFGHJKMNPQRSTVWXYZ-")
    assert code == SEALS.code(nonce=nonce, digest=digest)


def test_a_code_depends_on_nonce_digest_and_secret() -> None:
    codes = {
        SEALS.code(nonce="n", digest="d"),
        SEALS.code(nonce="m", digest="d"),
        SEALS.code(nonce="n", digest="e"),
        Seals([OLD]).code(nonce="n", digest="d"),
    }
    assert len(codes) == 4


@requirement("S-34")
def test_key_secrets_are_stored_as_keyed_hashes_newest_first() -> None:
    hashes = Seals([NEW, OLD]).key_hashes("k" * 52)
    assert hashes == (*Seals([NEW]).key_hashes("k" * 52), *Seals([OLD]).key_hashes("k" * 52))
    assert len(set(hashes)) == 2
    assert not any("kkkk" in each for each in hashes)
