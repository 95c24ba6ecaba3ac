"""The lines of `assent doctor` about issuers: who answers, who does not, and what does not work without them."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from app.cli.doctor.doctor import examine_all
from app.cli.doctor.issuers import look_at_issuers
from app.domain.identity.provider import Handed, Provider
from app.ports import Severity
from app.usecases.signing_in.issuer import UnreachedError
from tests.fixtures.gateway import START
from tests.storage.rig import ManualClock

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

ISSUER = "https://login.acme.example"
SAID = {"issuer": ISSUER, **{f"{each}_endpoint": f"{ISSUER}/{each}" for each in ("authorization", "token")}}
SAID["jwks_uri"] = f"{ISSUER}/keys"
KEYS = {"keys": [{"kty": "RSA", "use": "sig"}]}


class Stand:
    """An issuer, as it answers one who asks from here."""

    def __init__(self, said: Mapping[str, Any] | None, keys: Mapping[str, Any]) -> None:
        self.said, self.keys = said, keys
        self.asked: list[str] = []

    async def __call__(
        self, method: str, url: str, *, private: bool, body: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> bytes:
        assert (method, private, body, headers) == ("GET", False, b"", None)
        self.asked.append(url)
        if self.said is None:
            raise UnreachedError("no answer within 5 seconds")
        return json.dumps(self.keys if url == SAID["jwks_uri"] else self.said).encode()


async def told(stand: Stand, *, handed: bool = True, demanding: bool = True) -> tuple[Severity, str, str]:
    takes = Handed(audiences=("portal",), actors={}, max_age=ManualClock(START).now() - START) if handed else None
    corp = Provider(
        name="corp", issuer=ISSUER, client_id="a", secret="s", label="Corp", groups=None, algorithms=("RS256",),
        subjects={}, private=False, handed=takes,
    )  # fmt: skip
    rules = [SimpleNamespace(id="plain", proved=False), SimpleNamespace(id="wires", proved=demanding)]
    loaded = SimpleNamespace(providers=(corp,), policy=SimpleNamespace(org="acme", rules=rules))
    (found,) = await look_at_issuers(cast("Any", loaded), ManualClock(START), fetch=stand)
    return found.severity, found.what, found.mend


async def test_an_issuer_that_answers_is_said_to_and_what_it_does() -> None:
    stand = Stand(SAID, KEYS)
    found = await told(stand)
    assert found[:2] == (Severity.OK, "acme: sign_in.corp: answers; it signs people in, and its tokens prove who asked")
    assert stand.asked == [f"{ISSUER}/.well-known/openid-configuration", f"{ISSUER}/keys"]
    assert (await told(stand, handed=False))[1] == "acme: sign_in.corp: answers; it signs people in"


@pytest.mark.parametrize(
    ("stand", "why"),
    [
        (Stand(None, KEYS), "cannot be asked from here: no answer within 5 seconds"),
        (Stand({**SAID, "issuer": "https://other.example"}, KEYS), "cannot be asked from here: it says that it is an"),
        (Stand(SAID, {"keys": []}), "has no key that signs tokens"),
        (Stand(SAID, {"keys": [{"kty": "oct"}]}), "has no key that signs tokens"),
    ],
)
async def test_one_that_does_not_is_an_error_where_a_rule_demands_its_proof_and_a_warning_elsewhere(
    stand: Stand, why: str
) -> None:
    severity, what, mend = await told(stand)
    assert severity is Severity.ERROR
    assert why in what
    assert "rules that demand a proof (wires) refuse" in what
    assert "private: true" in mend
    for less in ({"handed": False}, {"demanding": False}):
        severity, what, _ = await told(stand, **less)
        assert severity is Severity.WARNING
        assert "nobody signs in by way of it" in what


async def test_a_file_without_issuers_has_nothing_to_say_of_them() -> None:
    loaded = SimpleNamespace(providers=())
    assert await look_at_issuers(cast("Any", loaded), ManualClock(START)) == []


@pytest.mark.may_block  # the doctor reads files, and its loop serves nobody else
async def test_the_doctor_asks_the_issuers_of_the_file(
    sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSENT_SECRET", "a secret of more than thirty-two characters")
    monkeypatch.setenv("ASSENT_DATABASE_URL", sqlite_url)
    monkeypatch.setenv("ASSENT_STATE_DIR", str(tmp_path))
    file = tmp_path / "assent.yaml"
    entry = '{issuer: "http://127.0.0.1:1", client_id: a, client_secret: "${CORP}", private: true}'
    file.write_text(f"org: acme\ndefault: deny\nurl: https://assent.acme.example\nsign_in: {{corp: {entry}}}\n")
    said: list[str] = []
    await examine_all(file, {"CORP": "s3cret"}, said.append)
    assert [line for line in said if "sign_in.corp: http://127.0.0.1:1 cannot be asked from here" in line], said
