"""The platform's side of the wire, written from its documentation and not from our verifier or its SDK. Pure.

Signing and encryption of callbacks, and the long connection's protobuf frames (message ``pbbp2.Frame``: 1 SeqID,
2 LogID, 3 service, 4 method, 5 repeated Header{1 key, 2 value}, 6 payload_encoding, 7 payload_type, 8 payload,
9 LogIDNew).
"""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.padding import PKCS7

if TYPE_CHECKING:
    from collections.abc import Mapping

CONTROL, DATA = 0, 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """One call to the gateway, byte for byte: what can be sent again, late, or changed."""

    headers: tuple[tuple[str, str], ...]
    body: bytes
    payload: bytes  # what the body decrypts to; what a long connection carries as it is


def encrypt(encrypt_key: str, plaintext: bytes, *, iv: bytes) -> str:
    """Encrypt as the platform does: AES-256-CBC under SHA-256 of the key, PKCS7, IV in front, base64."""
    padder = PKCS7(128).padder()
    padded = padder.update(plaintext) + padder.finalize()
    encryptor = Cipher(algorithms.AES(hashlib.sha256(encrypt_key.encode()).digest()), modes.CBC(iv)).encryptor()
    return base64.b64encode(iv + encryptor.update(padded) + encryptor.finalize()).decode()


def seal(payload: bytes, *, encrypt_key: str, timestamp: int, nonce: str, iv: bytes) -> Delivery:
    """Encrypt and sign a callback. Header names are lower-case on the wire too."""
    body = json.dumps({"encrypt": encrypt(encrypt_key, payload, iv=iv)}).encode()
    signature = hashlib.sha256(f"{timestamp}{nonce}{encrypt_key}".encode() + body).hexdigest()
    headers = (
        ("content-type", "application/json; charset=utf-8"),
        ("x-lark-request-timestamp", str(timestamp)),
        ("x-lark-request-nonce", nonce),
        ("x-lark-signature", signature),
    )
    return Delivery(headers=headers, body=body, payload=payload)


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """One frame of the long connection."""

    method: int
    service: int
    headers: Mapping[str, str]
    payload: bytes = b""
    sequence: int = 0


def encode_frame(frame: Frame) -> bytes:
    """Write a frame as protobuf."""
    out = _number(1, frame.sequence) + _number(2, 0) + _number(3, frame.service) + _number(4, frame.method)
    for key, value in frame.headers.items():
        out += _bytes(5, _bytes(1, key.encode()) + _bytes(2, value.encode()))
    return out + (_bytes(8, frame.payload) if frame.payload else b"")


def decode_frame(raw: bytes) -> Frame:
    """Read a frame. Raises ValueError when it is not one."""
    numbers: dict[int, int] = {}
    headers: dict[str, str] = {}
    payload = b""
    for field, value in _fields(raw):
        if isinstance(value, int):
            numbers[field] = value
        elif field == 5:
            pair = {name: part for name, part in _fields(value) if isinstance(part, bytes)}
            headers[pair[1].decode()] = pair[2].decode()
        elif field == 8:
            payload = value
    if not {1, 2, 3, 4} <= numbers.keys():
        raise ValueError("a required field of the frame is missing")
    return Frame(method=numbers[4], service=numbers[3], sequence=numbers[1], headers=headers, payload=payload)


def _fields(raw: bytes) -> list[tuple[int, int | bytes]]:
    found: list[tuple[int, int | bytes]] = []
    at = 0
    while at < len(raw):
        key, at = _read_varint(raw, at)
        value, at = _read_varint(raw, at)
        match key & 7:
            case 0:
                found.append((key >> 3, value))
            case 2 if at + value <= len(raw):
                found.append((key >> 3, raw[at : at + value]))
                at += value
            case _:
                raise ValueError("not a frame")
    return found


def _read_varint(raw: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(raw):
        byte = raw[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
    raise ValueError("not a frame")


def _varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _bytes(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(value)) + value
