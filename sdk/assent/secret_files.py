"""Secrets that stand in files: where `NAME_FILE` holds a path, `NAME` is what that file holds. Nothing else reads one.

What mounts secrets (Kubernetes, systemd's credentials, compose) mounts files, and whoever can see a process's
environment sees none of them. A file is read each time that it is asked for, so one that was replaced is noticed.
"""

from __future__ import annotations

import os
import stat

TYPE_CHECKING = False  # `typing` costs the hook command 3 ms; type checkers know the name
if TYPE_CHECKING:
    from collections.abc import Mapping

SUFFIX = "_FILE"
KEY_BEGINS = "ak_"
_MOST = 65_536


class SecretFileError(ValueError):
    """A secret cannot be had from its file. The text names the fault and its mend, and nothing of what it holds."""


def find_secret(environ: Mapping[str, str], name: str) -> str | None:
    """Return what `name` holds, or what stands in the file that `name`_FILE names; None if neither is set.

    The newline at the end of the file is no part of it. Empty variables count as not set. Raises SecretFileError.
    """
    path = environ.get(name + SUFFIX, "").strip()
    if not path:
        return environ.get(name)
    if environ.get(name, "").strip():
        raise SecretFileError(f"{name} and {name}{SUFFIX} are both set: unset one of them")
    return _secret_in(path, f"{name}{SUFFIX}")


def read_key(path: str) -> str:
    """Return the key that stands in a file, and nothing but a key. Raises SecretFileError."""
    key = _secret_in(path, "the gateway's key")
    if not key.startswith(KEY_BEGINS):
        raise SecretFileError(f"the gateway's key: {path} holds no key of Assent ({KEY_BEGINS}…); nothing was sent")
    return key


def _secret_in(path: str, named: str) -> str:
    try:
        text = _read(path)
    except OSError as error:
        why = f"cannot be read ({error.strerror}): it must be there, and user {os.geteuid()} must be able to read it"
    except UnicodeDecodeError:
        why = "is not UTF-8 text: write the secret into it as text"
    else:
        if text.strip():
            return text
        why = "is empty: write the secret into it"
    raise SecretFileError(f"{named}: {path} {why}")


def find_key(environ: Mapping[str, str]) -> str | None:
    """Return ASSENT_KEY, or what stands in the file that ASSENT_KEY_FILE names.

    A key goes to ASSENT_URL. So nothing but a key is taken out of a file: whoever can set an environment could send
    any other secret of this account there. Raises SecretFileError.
    """
    key = find_secret(environ, "ASSENT_KEY")
    if key is not None and environ.get("ASSENT_KEY_FILE", "").strip() and not key.startswith(KEY_BEGINS):
        raise SecretFileError(
            f"ASSENT_KEY_FILE: what it names holds no key of Assent ({KEY_BEGINS}…); nothing was sent"
        )
    return key


def find_token(environ: Mapping[str, str]) -> str | None:
    """Return ASSENT_REQUESTER_TOKEN, or what stands in the file that ASSENT_REQUESTER_TOKEN_FILE names.

    It is sent with each call, so nothing but a signed token is taken: header, claims and signature. Raises
    SecretFileError.
    """
    name = "ASSENT_REQUESTER_TOKEN"
    token = (find_secret(environ, name) or "").strip()
    parts = token.split(".")
    if token and (len(parts) != 3 or not all(parts) or not token.startswith("eyJ") or not token.isascii()):
        raise SecretFileError(f"{name}: what it names holds no signed token (eyJ….eyJ….…); nothing was sent")
    return token or None


def is_open_to_all(path: str) -> bool:
    """Say whether any account of this machine may read a file."""
    try:
        return bool(os.stat(path).st_mode & stat.S_IROTH)  # noqa: PTH116 - pathlib costs the hook command 10 ms
    except OSError:
        return False


def _read(path: str) -> str:
    # Without waiting: what is no ordinary file (a pipe that nobody writes to) would hold up whoever reads.
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(0, "no ordinary file")
        held = os.read(handle, _MOST + 1)
    finally:
        os.close(handle)
    if len(held) > _MOST:
        raise OSError(0, f"larger than {_MOST:,} bytes")
    text = held.decode("utf-8").rstrip("\r\n")
    if "\0" in text:
        raise OSError(0, "it holds a NUL, and is no text")
    return text
