"""Codes of authenticator apps: the vectors of RFC 6238, the skew, and what a phone is given to scan."""

from __future__ import annotations

import base64
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from app.domain.identity.totp import matching_steps, setup_uri, step_at
from tests.requirements import requirement

SECRET = base64.b32encode(b"12345678901234567890").decode()
VECTORS = {  # RFC 6238, appendix B, SHA-1: eight digits, of which an app shows the last six
    59: "94287082",
    1111111109: "07081804",
    1111111111: "14050471",
    1234567890: "89005924",
    2000000000: "69279037",
    20000000000: "65353130",
}


def at(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


@requirement("S-29")
@pytest.mark.parametrize("seconds", VECTORS)
def test_the_vectors_of_the_rfc_are_matched_in_their_own_step(seconds: int) -> None:
    code = VECTORS[seconds][-6:]
    assert matching_steps(SECRET, code, at=at(seconds)) == (seconds // 30,)
    assert matching_steps(SECRET, f"{(int(code) + 1) % 10**6:06}", at=at(seconds)) == ()


@requirement("S-29")
def test_a_code_holds_for_one_step_before_and_after_its_own() -> None:
    code, begins = VECTORS[1234567890][-6:], at(1234567890 // 30 * 30)
    step = step_at(begins)
    second = timedelta(seconds=1)
    for moment in (begins - 30 * second, begins, begins + 29 * second, begins + 59 * second):
        assert matching_steps(SECRET, code, at=moment) == (step,), moment
    for moment in (begins - 31 * second, begins + 60 * second):
        assert matching_steps(SECRET, code, at=moment) == (), moment


@pytest.mark.parametrize("code", ["", "1", "12345678", "abcdef", "١٢٣٤٥٦"])
def test_what_is_no_code_matches_nothing(code: str) -> None:
    assert matching_steps(SECRET, code, at=at(59)) == ()


def test_the_address_names_the_org_the_person_and_the_secret() -> None:
    uri = urlsplit(setup_uri(SECRET, org="acme", person="alice@acme.example"))
    assert (uri.scheme, uri.netloc) == ("otpauth", "totp")
    assert unquote(uri.path) == "/Assent acme:alice@acme.example"
    said = parse_qs(uri.query)
    assert said["secret"] == [SECRET]
    assert said["issuer"] == ["Assent acme"]
    assert said.get("digits", ["6"]) == ["6"]
    assert said.get("period", ["30"]) == ["30"]
