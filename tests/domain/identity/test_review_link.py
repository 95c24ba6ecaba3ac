"""A link or a session is worth something to one person, for one request, until an instant, and only as itself."""

from __future__ import annotations

import base64
import json
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from app.domain.identity.review_link import SESSION_FOR, Purpose, SignIn, parse_right, render_token
from app.domain.identity.seals import BadTokenError, Seals
from tests.domain.samples import START
from tests.requirements import requirement

OLD, NEW = "o" * 40, "n" * 40
SEALS = Seals([NEW])
RIGHT = SignIn(
    org="acme",
    person="ann@acme.example",
    request_id="req_1",
    via="chat",
    nonce="way_abc",
    not_after=START + timedelta(minutes=5),
)


@pytest.mark.parametrize("purpose", Purpose)
def test_what_was_sealed_comes_back_whole_until_its_time_is_over(purpose: Purpose) -> None:
    token = render_token(SEALS, purpose, RIGHT)
    assert parse_right(SEALS, purpose, token, now=RIGHT.not_after - timedelta(microseconds=1)) == RIGHT
    with pytest.raises(BadTokenError):
        parse_right(SEALS, purpose, token, now=RIGHT.not_after)


@pytest.mark.parametrize("person", ["金@acme.example", 'a"]@b', "x" * 250 + "@y"])
def test_names_of_any_letters_come_back_whole(person: str) -> None:
    right = replace(RIGHT, person=person)
    token = render_token(SEALS, Purpose.LINK, right)
    assert token.replace(".", "").replace("-", "").replace("_", "").isalnum()  # nothing that a link would escape
    assert parse_right(SEALS, Purpose.LINK, token, now=START) == right


def test_a_session_is_the_same_right_for_half_an_hour() -> None:
    assert RIGHT.session(now=START) == replace(RIGHT, not_after=START + SESSION_FOR)


@requirement("S-21")
def test_a_link_is_no_session_and_a_session_no_link() -> None:
    for made, used in ((Purpose.LINK, Purpose.SESSION), (Purpose.SESSION, Purpose.LINK)):
        with pytest.raises(BadTokenError):
            parse_right(SEALS, used, render_token(SEALS, made, RIGHT), now=START)


@requirement("S-21")
@pytest.mark.parametrize("name", SignIn.__struct_fields__)
def test_no_part_of_what_is_sealed_can_be_exchanged(name: str) -> None:
    version, key_id, text, mac = render_token(SEALS, Purpose.LINK, RIGHT).split(".")
    parts = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    at = SignIn.__struct_fields__.index(name)
    parts[at] = parts[at] + 1 if isinstance(parts[at], int) else f"{parts[at]}x"
    forged = base64.urlsafe_b64encode(json.dumps(parts, separators=(",", ":")).encode()).decode().rstrip("=")
    with pytest.raises(BadTokenError):
        parse_right(SEALS, Purpose.LINK, f"{version}.{key_id}.{forged}.{mac}", now=START)


@requirement("S-21")
@given(st.integers(0, 10_000), st.characters(codec="utf-8"))
def test_one_changed_character_is_enough(at: int, char: str) -> None:
    token = render_token(SEALS, Purpose.SESSION, RIGHT)
    at %= len(token)
    changed = token[:at] + char + token[at + 1 :]
    if changed == token:
        return
    with pytest.raises(BadTokenError):
        parse_right(SEALS, Purpose.SESSION, changed, now=START)


@requirement("S-21")
@given(st.text(max_size=300))
def test_what_is_no_token_is_refused(text: str) -> None:
    with pytest.raises(BadTokenError):
        parse_right(SEALS, Purpose.LINK, text, now=START)


def test_what_is_longer_than_any_token_is_refused_unread() -> None:
    with pytest.raises(BadTokenError):
        parse_right(SEALS, Purpose.LINK, render_token(SEALS, Purpose.LINK, replace(RIGHT, via="x" * 2_000)), now=START)


def test_a_rotation_keeps_open_sessions_and_a_withdrawn_secret_ends_them() -> None:
    token = render_token(Seals([OLD]), Purpose.SESSION, RIGHT)
    assert parse_right(Seals([NEW, OLD]), Purpose.SESSION, token, now=START) == RIGHT
    with pytest.raises(BadTokenError):
        parse_right(SEALS, Purpose.SESSION, token, now=START)
