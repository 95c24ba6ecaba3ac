"""HTTP/1.1 with the gateway, by hand over a socket: `http.client` would double the time of a tool call's check.

One connection per exchange (`Connection: close`); no proxies, no redirects, no cookies. A whole answer within its time
and with a JSON object in it, or `AwayError` (may pass) or `RefusedError` (will not).
"""

from __future__ import annotations

import json
import os
import socket
import time

from assent.client.messages import STATUS_OF_DECISION
from assent.command.faults import AwayError, RefusedError
from assent.command.shapes import as_object, unique

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from assent.command.identity import Identity

_LARGEST = 16 * 1024 * 1024
_LARGEST_HEAD = 64 * 1024
_LONGEST_SHOWN = 200
_PASSING = (408, 425, 429)
_FIRST_PAUSE = 0.1
_LAST_PAUSE = 5.0


def quote(text: str) -> str:
    """Percent-encode everything that is not plain."""
    return "".join(
        c if c.isascii() and (c.isalnum() or c in "-._~") else "".join(f"%{b:02X}" for b in c.encode()) for c in text
    )


def pause(attempt: int, *, at_least: float, at_most: float) -> None:
    """Sleep before the next attempt: doubling, jittered over its upper half; `at_least` over half as much again."""
    chance = os.urandom(1)[0] / 510
    span = min(_LAST_PAUSE, _FIRST_PAUSE * 2 ** min(attempt - 1, 16)) * (0.5 + chance)
    time.sleep(max(0.0, min(max(span, at_least * (1 + chance)), at_most)))


def persist(
    identity: Identity,
    method: str,
    path: str,
    body: object = None,
    *,
    patience: float,
    headers: str = "",
    within: float = 10.0,
) -> dict[str, Any]:
    """`exchange`, tried again while the gateway is away and patience (seconds) lasts. Only what is safe to repeat."""
    end, attempt = time.monotonic() + patience, 0
    while True:
        try:
            return exchange(
                identity, method, path, body, headers=headers, within=max(0.05, min(within, end - time.monotonic()))
            )
        except AwayError as away:
            attempt += 1
            left = end - time.monotonic()
            if left <= 0:
                raise
            pause(attempt, at_least=away.retry_after, at_most=left)


MINIMAL = "Prefer: return=minimal\r\n"
"""A header for whoever does not read the answer, or has it: without it, it holds all arguments again."""


def exchange(
    identity: Identity, method: str, path: str, body: object = None, *, headers: str = "", within: float
) -> dict[str, Any]:
    """One call; the answer's JSON object. `within` bounds the whole of it, in seconds."""
    end = time.monotonic() + within
    content = b"" if body is None else json.dumps(body, allow_nan=False, separators=(",", ":")).encode()
    name = f"[{identity.host}]" if ":" in identity.host else identity.host
    head = (
        f"{method} {identity.base}{path} HTTP/1.1\r\nHost: {name}:{identity.port}\r\n"
        f"Authorization: Bearer {identity.key}\r\nAccept: application/json\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n{headers}Connection: close\r\n\r\n"
    )
    try:
        with _connect(identity, end) as connection:
            connection.settimeout(_left(end))
            connection.sendall(head.encode("ascii") + content)
            status, fields, rest = _read_head(connection, end)
            answer = _read_body(connection, end, status, fields, rest)
    except OSError as error:
        raise AwayError(type(error).__name__) from error
    return _judge(status, fields, answer)


def _connect(identity: Identity, end: float) -> socket.socket:
    name = identity.host.encode()  # as bytes: a str would load the IDNA codec; the stubs know only str
    address = (name, identity.port)
    connection = socket.create_connection(address, timeout=_left(end))  # pyright: ignore[reportArgumentType]
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if not identity.secure:
        return connection
    import ssl

    try:
        return ssl.create_default_context(cafile=identity.ca).wrap_socket(connection, server_hostname=identity.host)
    except ssl.SSLCertVerificationError as error:
        connection.close()
        raise RefusedError(
            0, "identity_unproved", f"the gateway's certificate does not prove its identity: {error.verify_message}"
        ) from error
    except BaseException:
        connection.close()
        raise


def _left(end: float) -> float:
    left = end - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


def _more(connection: socket.socket, end: float) -> bytes:
    connection.settimeout(_left(end))
    return connection.recv(65536)


def _read_head(connection: socket.socket, end: float) -> tuple[int, dict[str, str], bytes]:
    taken = b""
    while True:
        head, ended, rest = taken.partition(b"\r\n\r\n")
        if not ended:
            part = _more(connection, end)
            if not part or len(taken) > _LARGEST_HEAD:
                raise AwayError("an answer without an HTTP head")
            taken += part
            continue
        lines = head.decode("latin-1").split("\r\n")
        words = lines[0].split(" ", 2)
        if len(words) < 2 or not words[0].startswith("HTTP/1.") or not words[1].isdigit():
            raise AwayError("an answer that is no HTTP/1.1")
        if words[1].startswith("1"):  # 100 Continue and the like precede the answer
            taken = rest
            continue
        pairs = (line.partition(":") for line in lines[1:])
        return int(words[1]), {name.strip().lower(): value.strip() for name, _, value in pairs}, rest


def _read_body(connection: socket.socket, end: float, status: int, fields: dict[str, str], rest: bytes) -> bytes:
    if status == 204:
        return b""
    if "chunked" in fields.get("transfer-encoding", "").lower():
        return _read_chunks(connection, end, rest)
    length = fields.get("content-length", "")
    if length and (not length.isdigit() or int(length) > _LARGEST):
        raise AwayError("an answer of an impossible length")
    wanted = int(length) if length else _LARGEST
    parts, size = [rest], len(rest)
    while size < wanted:
        part = _more(connection, end)
        if not part:
            if length:
                raise AwayError("an answer that was cut short")
            break
        parts.append(part)
        size += len(part)
    return b"".join(parts)[:wanted]


def _read_chunks(connection: socket.socket, end: float, rest: bytes) -> bytes:
    taken, body = bytearray(rest), bytearray()  # bytes would be copied whole with every part
    while True:
        while (at := taken.find(b"\r\n")) < 0:
            taken += _part(connection, end)
        try:
            size = int(taken[:at].split(b";")[0], 16)
        except ValueError:
            raise AwayError("an answer with broken chunks") from None
        if size < 0 or len(body) + size > _LARGEST:
            raise AwayError("an answer of an impossible length")
        if size == 0:
            return bytes(body)
        del taken[: at + 2]
        while len(taken) < size + 2:
            taken += _part(connection, end)
        body += taken[:size]
        del taken[: size + 2]


def _part(connection: socket.socket, end: float) -> bytes:
    part = _more(connection, end)
    if not part:
        raise AwayError("an answer that was cut short")
    return part


def _judge(status: int, fields: dict[str, str], content: bytes) -> dict[str, Any]:
    try:
        body = as_object(json.loads(content, object_pairs_hook=unique))
    except (ValueError, RecursionError):
        body = None
    if 200 <= status < 300:
        if body is None:
            raise AwayError("an answer that is no JSON object, or in which a key stands twice")
        if status != STATUS_OF_DECISION.get(str(body.get("decision")), 200):
            raise AwayError(f"an answer whose status {status} and decision do not agree")
        return body
    if status >= 500 or status in _PASSING:
        after = fields.get("retry-after", "")
        raise AwayError(f"status {status}", min(float(after), 60.0) if after.isascii() and after.isdigit() else 0.0)
    problem = body or {}
    code = problem.get("code")
    if not isinstance(code, str):
        raise RefusedError(0, "foreign", _foreign(status, fields))
    raise RefusedError(status, code, str(problem.get("detail") or problem.get("title") or ""))


def _foreign(status: int, fields: dict[str, str]) -> str:
    """Say that this is no answer of Assent's, in the words of the client: a login page refuses nobody's key."""
    kind = _plain(fields.get("content-type", "").partition(";")[0]) or "no type"
    told = f"what answers at the gateway's URL is no gateway of Assent: status {status}, {kind}"
    if 300 <= status < 400:
        place = _plain(fields.get("location", "").partition("?")[0]) or "nowhere"
        return f"{told}; it points to {place}, which is not followed: is the URL right?"
    return f"{told}. Does a proxy, or another program, answer there?"


def _plain(text: str) -> str:
    return "".join(c for c in text.strip() if c.isprintable())[:_LONGEST_SHOWN]
