"""The hook over TLS: a certificate of the configured authority, and none other."""

from __future__ import annotations

import ipaddress
import ssl
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.requirements import requirement
from tests.sdk.gateway_stub import StubGateway
from tests.sdk.hook_process import HookLine, event

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.process


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A self-signed certificate for 127.0.0.1, with its key, in one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "stub")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path = tmp_path / "stub.pem"
    path.write_bytes(private + made.public_bytes(serialization.Encoding.PEM))
    return path


def test_a_gateway_whose_certificate_is_configured_is_believed(certificate: Path, tmp_path: Path) -> None:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate)
    with StubGateway(certificate=context) as gateway:
        gateway.rules["Bash"] = "allow"
        assert HookLine(url=gateway.url, folder=tmp_path, ca=str(certificate)).run(event()).decision == "allow"


@requirement("S-08", "S-58")
def test_a_gateway_that_cannot_prove_itself_is_refused_at_once(certificate: Path, tmp_path: Path) -> None:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate)
    with StubGateway(certificate=context) as gateway:
        gateway.rules["Bash"] = "allow"
        said = HookLine(url=gateway.url, folder=tmp_path).run(event())
        assert said.decision == "deny"
        assert "certificate does not prove its identity" in said.reason
        assert gateway.count("check") == 0
