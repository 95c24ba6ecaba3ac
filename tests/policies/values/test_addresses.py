"""Every address of the file to which a card or a secret goes is held to the same, and it is said what is wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.policies.values.test_wrong_values import changed, faults
from tests.requirements import requirement

if TYPE_CHECKING:
    from tests.policies.values.test_wrong_values import Path_

ADDRESSES: tuple[Path_, ...] = (
    ("url",),
    ("webhooks", "siem", "url"),
    ("sign_in", "okta", "issuer"),
    ("channels", "pay-slack", "api_url"),
    ("channels", "pay-slack", "scim_url"),
    ("channels", "pay-feishu", "domain"),
)
WRONG = {
    "http://there.example": "https",
    "ftp://there.example": "does not begin with https:// and a host",
    "there.example": "does not begin with https:// and a host",
    "//there.example": "does not begin with https:// and a host",
    "https://": "does not begin with https:// and a host",
    "https://me@there.example": "has a user or a password in it",
    "https://slack.com@there.example": "has a user or a password in it",
    "https://there.example.": "has a host that ends in a dot",
    "https://there.example:0": "has the port 0",
    "https://there.example:99999": "has a host or a port that is none",
    "https://[::1": "has a host or a port that is none",
    "https://there_is.example/\\evil.example": "a backslash",
    "https://th ere.example": "has a space",
    "https://there.example\n": "a line break",
    "https://thère.example": "write an international host as xn--…",
    "https://例子.example": "write an international host as xn--…",
    "https://-there.example": "has a host that is no name",
    "https://999.1.1.1": "has a host of digits that is no IP address",
    "https://2130706433": "has a host of digits that is no IP address",
    "https://there.example#top": "has a #",
}


@requirement("S-35", "S-57")
@pytest.mark.parametrize("path", ADDRESSES, ids=lambda path: ".".join(map(str, path)))
def test_what_is_no_address_to_send_to_is_refused_and_it_is_said_why(path: Path_) -> None:
    written = ".".join(map(str, path))
    for url, why in WRONG.items():
        told = [str(fault) for fault in faults(changed(path, url)) if fault.path == written]
        assert [why in each for each in told] == [True], (url, told)


@requirement("S-35")
@pytest.mark.parametrize("path", ADDRESSES[2:], ids=lambda path: ".".join(map(str, path)))
def test_a_secret_is_sent_to_no_address_with_a_query(path: Path_) -> None:
    assert any("has a ?" in fault.message for fault in faults(changed(path, "https://there.example?a=b")))


@requirement("S-35")
@pytest.mark.parametrize("path", ADDRESSES[1:], ids=lambda path: ".".join(map(str, path)))
@pytest.mark.parametrize("host", ["10.0.0.7", "169.254.169.254", "[fd00::1]", "127.0.0.9"])
def test_a_secret_goes_to_no_address_of_a_network_of_ones_own_unless_that_is_said(path: Path_, host: str) -> None:
    assert [fault.path for fault in faults(changed(path, f"https://{host}"))] == [".".join(map(str, path))]
