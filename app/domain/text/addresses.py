"""Which addresses a name may lead to: public ones, unless the file says otherwise, and never a cloud's metadata.

And what may be written as one: cards, tokens and secrets go where it says, so it means to everybody what it seems to.
"""

from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import Final
from urllib.parse import SplitResult, urlsplit

LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})
"""The names of this machine that may be written down as such."""

_HOST = re.compile(r"(?!-)[A-Za-z0-9-]{1,63}(?<!-)(\.(?!-)[A-Za-z0-9-]{1,63}(?<!-))*")
_NUMBERS = re.compile(r"[0-9.]+|0[xX].*")
_LONGEST_HOST = 253
_CARRIERS: Final = tuple(map(IPv6Network, ("64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "2001::/32", "::/96")))
_METADATA: Final = frozenset(
    map(ip_address, ("169.254.169.254", "169.254.170.2", "100.100.100.200", "168.63.129.16", "fd00:ec2::254"))
)


def why_no_url(url: str, *, path: bool = True, query: bool = False) -> str | None:
    """Say what keeps a text from being an address that something may be sent to; None: nothing does.

    Such an address is https, or plain http to this machine; `path` and `query` say what it may have behind its host.
    The answer goes on from "and this one", and shows nothing of the text: a part of it may be a secret.
    """
    if not url.strip():
        return "is empty"
    if not url.isascii():
        return "has letters outside of a to z: write an international host as xn--…, everything else as %XX"
    if not re.fullmatch(r"[\x21-\x7e]+", url) or "\\" in url:
        return "has a space, a line break, a backslash or a control character in it"
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return "has a host or a port that is none (a port is from 1 to 65535, an IPv6 address stands in [ ])"
    if parts.scheme not in {"https", "http"} or not parts.netloc:
        return "does not begin with https:// and a host"
    if "@" in parts.netloc:
        return "has a user or a password in it: leave both out"
    return _why_no_host(parts.hostname or "", port) or _why_no_rest(parts, url, path=path, query=query)


def _why_no_host(host: str, port: int | None) -> str | None:
    if port == 0:
        return "has the port 0, which is none"
    if host.endswith("."):
        return "has a host that ends in a dot: leave the dot out"
    if ":" in host or _NUMBERS.fullmatch(host):
        try:
            _ = ip_address(host)
        except ValueError:
            return "has a host of digits that is no IP address"
        return None
    if not _HOST.fullmatch(host) or len(host) > _LONGEST_HOST:
        return "has a host that is no name: letters, digits and - between dots"
    return None


def _why_no_rest(parts: SplitResult, url: str, *, path: bool, query: bool) -> str | None:
    if parts.scheme == "http" and parts.hostname not in LOOPBACK:
        return "is plain http, which is for this machine alone (localhost, 127.0.0.1, [::1]): write https"
    if "#" in url:
        return "has a #: leave it and what follows out"
    if "?" in url and not query:
        return "has a ?: leave it and what follows out"
    if parts.path and not path:
        return "has a path: leave out what follows the host, the / too"
    return None


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


def why_not_there(host: str, *, private: bool) -> str | None:
    """Say why nothing may be sent to a host that is written as an address; what a name leads to is seen when it is."""
    try:
        _ = ip_address(host)
    except ValueError:
        return None
    return why_not(host, host=host, private=private)


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
