"""A device with passkeys, as a browser speaks with one; and which can be made to lie in every part of its answer."""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
from dataclasses import dataclass, field
from typing import Any

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from webauthn.helpers import encode_cbor

PRESENT, VERIFIED, ATTESTED = 0x01, 0x04, 0x40
SITE, ORIGIN = "localhost", "http://localhost:8080"


def text_of(raw: bytes) -> str:
    """Return bytes as base64url."""
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


@dataclass(slots=True, kw_only=True)
class Device:
    """One device with one key."""

    key: ec.EllipticCurvePrivateKey = field(default_factory=lambda: ec.generate_private_key(ec.SECP256R1()))
    credential: bytes = field(default_factory=lambda: secrets.token_bytes(32))
    signs: int = 0
    site: str = SITE
    origin: str = ORIGIN
    flags: int = PRESENT | VERIFIED
    counts: bool = True

    def make(self, options: dict[str, Any], **lies: Any) -> str:
        """Make a passkey, and return the browser's answer."""
        numbers = self.key.public_key().public_numbers()
        cose = {1: 2, 3: -7, -1: 1, -2: numbers.x.to_bytes(32, "big"), -3: numbers.y.to_bytes(32, "big")}
        named = bytes(16) + len(self.credential).to_bytes(2, "big") + self.credential + encode_cbor(cose)
        told = encode_cbor({"fmt": "none", "attStmt": {}, "authData": self._told(ATTESTED, named)})
        said = self._said("webauthn.create", options, **lies)
        return self._answer({"clientDataJSON": text_of(said), "attestationObject": text_of(told)})

    def sign(self, options: dict[str, Any], **lies: Any) -> str:
        """Sign a challenge, and return the browser's answer."""
        self.signs += self.counts
        told, said = self._told(), self._said("webauthn.get", options, **lies)
        signature = self.key.sign(told + hashlib.sha256(said).digest(), ec.ECDSA(hashes.SHA256()))
        return self._answer({
            "clientDataJSON": text_of(said), "authenticatorData": text_of(told), "signature": text_of(signature),
        })  # fmt: skip

    def _told(self, more: int = 0, named: bytes = b"") -> bytes:
        site = hashlib.sha256(self.site.encode()).digest()
        return site + bytes([self.flags | more]) + self.signs.to_bytes(4, "big") + named

    def _said(self, kind: str, options: dict[str, Any], **lies: Any) -> bytes:
        said = {"type": kind, "challenge": options["challenge"], "origin": self.origin, "crossOrigin": False, **lies}
        return json.dumps(said).encode()

    def _answer(self, response: dict[str, str]) -> str:
        name = text_of(self.credential)
        return json.dumps({"id": name, "rawId": name, "type": "public-key", "response": response,
                           "clientExtensionResults": {}})  # fmt: skip
