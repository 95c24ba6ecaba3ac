"""Where the gateway is and who this agent is: the user's own configuration, else the environment; never the project.

`~/.config/assent/agent.json` holds `{"url": "https://…", "key": "ak_…", "ca": "/path/ca.pem"}` (`ca` is optional, and
so is `requester_token_file`, the file into which whoever signs the person in puts their ID token). It
must belong to the user (or root) and be closed to everyone else. When it exists, ASSENT_URL and ASSENT_KEY are not
looked at: a project's settings can set a hook's environment, and must not be able to send it to another gateway. The
home folder is asked of the system, not of $HOME, for the same reason; an account that the system does not know
(`docker run --user`) has none, and no file. `--config env` takes the environment alone.
"""

from __future__ import annotations

import json
import os
import stat

from assent.client.address import MALFORMED_KEY, is_sound_key, parse_address
from assent.command.faults import HookError
from assent.command.shapes import as_object

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

PLACE = ".config/assent/agent.json"
TOKEN = "ASSENT_REQUESTER_TOKEN"  # noqa: S105 - the name of one


class Identity:
    """One gateway and one key; `source` says where they come from."""

    __slots__ = ("base", "ca", "host", "key", "port", "secure", "source", "token_from")

    def __init__(
        self, *, url: object, key: object, ca: object, source: str, token_from: Mapping[str, str] | None = None
    ) -> None:
        if not isinstance(url, str) or not isinstance(key, str) or not url or not key:
            raise HookError(f"no gateway or no key: {source} must hold 'url' and 'key'")
        if not is_sound_key(key):
            raise HookError(f"the key is malformed ({source}): {MALFORMED_KEY}")
        try:
            self.secure, self.host, self.port, self.base = parse_address(url)
        except ValueError as fault:
            raise HookError(f"{fault} ({source})") from fault
        self.key = key
        self.ca = ca if isinstance(ca, str) and ca else None
        self.source = source
        self.token_from = token_from or {}
        """Where the requester's token is, written as an environment."""

    @property
    def url(self) -> str:
        """The gateway's address, for people."""
        name = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.secure else 'http'}://{name}:{self.port}{self.base}"

    def requester_token(self) -> str | None:
        """The ID token of the person for whom the agent works, read anew; None, with a note, where it cannot be had."""
        if not self.token_from:
            return None
        from assent.secret_files import SecretFileError, find_token

        try:
            return find_token(self.token_from)
        except SecretFileError as fault:  # the call goes on, and proves nobody
            os.write(2, f"assent: who asks is not proved: {fault}\n".encode(errors="replace"))
            return None


def load_identity(config: str | None) -> Identity:
    """The identity named by `--config`, or the user's file, or the environment. Raises `HookError`."""
    path = config or _user_file()
    if path is None or path == "env" or (config is None and not os.path.lexists(path)):
        url, key = os.environ.get("ASSENT_URL"), _key()
        if not url or not key:
            raise HookError(f"no gateway or no key{_mend(config, path)}")
        return Identity(url=url, key=key, ca=None, source="environment", token_from=_token_from(config))
    try:
        return _read(path)
    except HookError as fault:
        if config is None:
            raise HookError(f"{fault}{_not_read(path)}") from fault
        raise


def _mend(config: str | None, path: str | None) -> str:
    """What was looked for, and what to do, where neither a file nor the environment says who this is."""
    setting = "set ASSENT_URL and ASSENT_KEY (or ASSENT_KEY_FILE)"
    if config == "env":
        return f" in the environment: {setting}"
    if path is None:
        nobody = f"the account (uid {os.getuid()}) has no entry in passwd, and so no home with a {PLACE}"
        return f": {nobody}; {setting}, or name a file with --config{_not_read(path)}"
    return f": there is no {path}; write 'url' and 'key' into it (mode 0600), or {setting}{_not_read(path)}"


def _not_read(path: str | None) -> str:
    """Say so where a file stands in what $HOME says, and another is meant."""
    other = f"{os.environ.get('HOME', '')}/{PLACE}"
    if not os.path.lexists(other) or (path is not None and os.path.realpath(other) == os.path.realpath(path)):
        return ""
    return f". {other} is not read: the home that counts is the account's in passwd, not $HOME"


def _key() -> str | None:
    from assent.secret_files import SecretFileError, find_key

    try:
        return find_key(os.environ)
    except SecretFileError as fault:
        raise HookError(str(fault)) from fault


def _token_from(config: str | None) -> dict[str, str]:
    """Say where the environment has the token. A file only where the environment was asked for (`--config env`).

    Else whoever sets a hook's environment could have any token of this account sent to a gateway of theirs.
    """
    names = (TOKEN, f"{TOKEN}_FILE") if config == "env" else (TOKEN,)
    return {name: value for name in names if (value := os.environ.get(name, "")).strip()}


def _user_file() -> str | None:
    """The path of the account's own file; None where the system knows no home of this account."""
    import pwd

    try:
        return f"{pwd.getpwuid(os.getuid()).pw_dir}/{PLACE}"
    except KeyError:
        return None


def _read(path: str) -> Identity:
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - pathlib costs 10 ms
            facts = os.fstat(file.fileno())
            text = file.read(65536)
        body = as_object(json.loads(text))
    except (OSError, ValueError) as error:
        raise HookError(f"{path} cannot be read: {error}") from error
    if not stat.S_ISREG(facts.st_mode) or facts.st_mode & 0o077 or facts.st_uid not in {os.getuid(), 0}:
        raise HookError(f"{path} must be a file of yours that nobody else can read: chmod 600")
    if body is None:
        raise HookError(f"{path} must hold a JSON object")
    token = body.get("requester_token_file")
    token_from = {f"{TOKEN}_FILE": token} if isinstance(token, str) and token else None
    return Identity(url=body.get("url"), key=body.get("key"), ca=body.get("ca"), source=path, token_from=token_from)
