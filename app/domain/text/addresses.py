"""Which addresses a name may lead to: public ones, unless the file says otherwise, and never a cloud's metadata."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import Final
from urllib.parse import urlsplit

LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})
"""The names of this machine that may be written down as such."""

_CARRIERS: Final = tuple(map(IPv6Network, ("64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "2001::/32", "::/96")))
_METADATA: Final = frozenset(
    map(ip_address, ("169.254.169.254", "169.254.170.2", "100.100.100.200", "168.63.129.16", "fd00:ec2::254"))
)


def why_not(address: str, *, host: str, private: bool) -> str | None:
    """Say why nothing may be sent to an address that `host` leads to; None: it may be.

    `private`: the file says that the host is in a network of one's own.
    """
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return "it is no address"
    plain = _plain(found)
    if host in LOOPBACK:
        return None if plain.is_loopback else "it is not this machine, as its name says"
    if plain in _METADATA or plain.is_link_local:
        return "it is where a cloud keeps its metadata"
    if plain.is_multicast or plain.is_unspecified or plain.is_reserved:
        return "nobody's address"
    if plain.is_loopback or any(isinstance(plain, IPv6Address) and plain in net for net in _CARRIERS):
        return "it leads back to this machine, or through a tunnel to any"
    if not plain.is_global and not private:
        return "it is in a private network: private: true allows that"
    return None


def other_port(url: str | None, port: int) -> int | None:
    """Return the port of this machine that an address leads to instead of `port`; None: it leads there, or elsewhere.

    Only http is looked at: the gateway itself speaks nothing else, so that https on this machine is a proxy's.
    """
    parts = urlsplit(url or "")
    if parts.scheme != "http" or parts.hostname not in LOOPBACK:
        return None
    named = parts.port or 80
    return None if named == port else named


def at_port(url: str, port: int) -> str:
    """Return the same address at another port."""
    parts = urlsplit(url)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    return parts._replace(netloc=f"{host}:{port}").geturl()


def _plain(found: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    """Return the address that is meant: one of the old kind can be written in the new one's."""
    return (found.ipv4_mapped or found) if isinstance(found, IPv6Address) else found
