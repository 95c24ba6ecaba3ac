"""`url` in assent.yaml: where people reach the gateway's pages. Anything that is not plainly one is a fault."""

from __future__ import annotations

import pytest

from app.policies.file.policy_file import load_policy
from app.policies.marks.faults import PolicyFaultsError
from tests.requirements import requirement


def url_of(text: str) -> str | None:
    return load_policy(f"org: acme\ndefault: deny\n{text}", environ={}, channel_types={}).policy.url


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("https://assent.acme.example", "https://assent.acme.example"),
        ("https://assent.acme.example/", "https://assent.acme.example"),
        ("https://acme.example:8443/tools/assent/", "https://acme.example:8443/tools/assent"),
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
        ("http://localhost:8080", "http://localhost:8080"),
        ("'http://[::1]:8080'", "http://[::1]:8080"),
    ],
)
def test_an_address_is_taken_without_its_last_slash(written: str, meant: str) -> None:
    assert url_of(f"url: {written}") == meant


def test_without_one_there_are_no_pages() -> None:
    assert url_of("") is None


@requirement("S-57")
@pytest.mark.parametrize(
    "written",
    [
        "http://assent.acme.example",
        "http://127.0.0.1.evil.example",
        "https://user:word@acme.example",
        "https://acme.example?a=b",
        "https://acme.example/#top",
        "https://acme.example/../x",
        "https://acme.example/a b",
        "https://acme.example:99999",
        "https://acme.example:0",
        "https://",
        "//acme.example",
        "acme.example",
        "javascript:alert(1)",
        "ftp://acme.example",
        "''",
        "5",
        "[https://acme.example]",
    ],
)
def test_anything_else_is_a_fault_with_its_line(written: str) -> None:
    with pytest.raises(PolicyFaultsError) as refused:
        url_of(f"url: {written}")
    assert [(fault.path, fault.line) for fault in refused.value.faults] == [("url", 3)]
