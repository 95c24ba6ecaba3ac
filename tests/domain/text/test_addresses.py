"""Where a name leads decides whether anything is sent there: every way to write an inner address is one."""

from __future__ import annotations

import pytest

from app.domain.text.addresses import why_not
from tests.requirements import requirement

NEVER = (
    "169.254.169.254", "169.254.170.2", "169.254.1.1", "100.100.100.200", "168.63.129.16", "fd00:ec2::254", "fe80::1",
    "fe80::1%eth0", "::ffff:169.254.169.254", "127.0.0.1", "127.8.8.8", "::1", "::ffff:127.0.0.1", "0.0.0.0", "::",
    "224.0.0.1", "ff02::1", "255.255.255.255", "240.0.0.1", "64:ff9b::a9fe:a9fe", "64:ff9b::7f00:1", "2002:7f00:1::1",
    "2001:0:53aa:64c::1", "::7f00:1", "localhost", "", "2130706433", "0x7f.1",
)  # fmt: skip
PRIVATE = (
    "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "100.64.0.1", "fd12:3456::1", "::ffff:10.0.0.1",
)  # fmt: skip
PUBLIC = ("93.184.216.34", "8.8.8.8", "2606:4700::1111", "::ffff:8.8.8.8")


@requirement("S-35")
@pytest.mark.parametrize("private", [False, True])
@pytest.mark.parametrize("address", NEVER)
def test_what_is_nobodys_receiver_is_refused_whatever_the_file_says(address: str, *, private: bool) -> None:
    assert why_not(address, host="siem.example", private=private)


@requirement("S-35")
@pytest.mark.parametrize("address", PRIVATE)
def test_a_private_network_needs_the_files_word(address: str) -> None:
    assert "private: true" in str(why_not(address, host="siem.example", private=False))
    assert why_not(address, host="siem.example", private=True) is None


@requirement("S-35")
@pytest.mark.parametrize("address", PUBLIC)
def test_a_public_address_is_taken(address: str) -> None:
    assert why_not(address, host="siem.example", private=False) is None


@requirement("S-35")
def test_the_name_of_this_machine_leads_to_this_machine_alone() -> None:
    assert why_not("127.0.0.1", host="localhost", private=False) is None
    assert why_not("::1", host="::1", private=False) is None
    for address in ("10.0.0.1", "93.184.216.34", "169.254.169.254"):
        assert why_not(address, host="localhost", private=True)
