"""The gateway's address and the agent's key, read by one rule for the client and the hook command.

What is wrong with either is said where it is written down, before anything is sent: a port that does not exist would
take the key to another one. No sentence quotes what may hold a secret. Nothing is imported: the hook command starts
with this, once per tool call.
"""

from __future__ import annotations

_LAST_PORT = 65535
_IN_NAMES = ".-_~"
_IN_PATHS = ".-_~:/"


def parse_address(url: object) -> tuple[bool, str, int, str]:
    """http(s)://host[:port][/base], by hand: urllib costs five milliseconds.

    Returns whether it is https, the host, the port, and the path in front of the gateway's own, without a slash at its
    end. Raises ValueError with what is wrong.
    """
    if not isinstance(url, str):
        raise _wrong("it is no text")
    scheme, separator, rest = url.partition("://")
    if scheme.lower() not in {"http", "https"} or not separator:
        raise _wrong("it does not begin with http:// or https://")
    authority, slash, base = rest.partition("/")
    if "@" in authority:
        raise _wrong("it has a user or password in it; the key is given apart from it")
    if "?" in rest or "#" in rest:
        raise _wrong("leave out the ? or # and what follows")
    if authority.startswith("["):
        host, closed, after = authority[1:].partition("]")
        sound = bool(closed) and ":" in host and all(c in "0123456789abcdefABCDEF:." for c in host)
        sound = sound and (not after or after.startswith(":"))
        colon, port = after[:1], after[1:]
    else:
        host, colon, port = authority.partition(":")
        sound = all(c.isalnum() or c in _IN_NAMES for c in host)
    if not host or not sound or not rest.isascii() or not all(c.isalnum() or c in _IN_PATHS for c in base):
        raise _wrong("a host is a name in ASCII or an address, a path is letters, digits and -._~/")
    secure = scheme.lower() == "https"
    return secure, host, _port(port) if colon else (443 if secure else 80), (slash + base).rstrip("/")


def _port(text: str) -> int:
    if not text.isdigit() or len(text) > 5 or not 0 < int(text) <= _LAST_PORT:
        raise _wrong(f"a port is a number from 1 to {_LAST_PORT}; without one, leave out the colon as well")
    return int(text)


def _wrong(why: str) -> ValueError:
    return ValueError(f"the gateway's URL must be http(s)://host[:port]: {why}")


def is_sound_key(key: str) -> bool:
    """Say whether a key can stand in a header: one word of printable ASCII, with nothing around it."""
    return bool(key) and key.isascii() and key.isprintable() and " " not in key


MALFORMED_KEY = "it is one word of printable ASCII (ak_…), without a space or a line's end around it or in it"
"""What a key is, for whoever gave another one."""
