"""Which files of a shown directory are hidden: secrets by their names, wherever they lie in it. Looks at the disk.

A name in `SECRETS` is compared with the last part of each path below the directory, without regard to case; one with a
slash with as many last parts as it has. `*`, `?` and `[…]` stay within a part. What is found is covered as it was when
the sandbox started: what the command itself makes, and copies under other names, are not.
"""

from __future__ import annotations

import os
import re
from fnmatch import fnmatchcase, translate
from pathlib import Path
from typing import TYPE_CHECKING

from assent.hooks.contract.sandbox import SandboxFault

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

SECRETS = (
    # settings with secrets in them
    ".env", ".env.*", ".env-*", ".env_*", "*.env", ".envrc", ".envrc.*", ".dev.vars", ".secrets",
    # keys, and what holds them
    ".ssh", "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "id_*_sk", "*.pem", "*.key", "*.p8", "*.p12", "*.pfx",
    "*.jks", "*.keystore", "*.ppk", "*.kdbx", "*.keytab", ".gnupg", ".password-store", ".vault-token", ".vault_pass*",
    # logins at clouds
    ".aws", ".azure", ".kube", "kubeconfig", ".config/gcloud", "application_default_credentials.json",
    "client_secret*.json", "service-account*.json", "service_account*.json", "credentials.json", ".terraformrc",
    # logins elsewhere
    ".docker", ".config/gh", ".netrc", "_netrc", ".npmrc", ".pypirc", ".git-credentials", ".pgpass", ".my.cnf",
    ".htpasswd", ".cargo/credentials", ".cargo/credentials.toml", ".m2/settings.xml",
    # what agents keep
    ".claude", ".claude.json", ".codex", ".credentials.json",
)  # fmt: skip
"""Names of files and folders that a sandbox hides wherever they lie in a directory that it shows."""


def _any_of(patterns: Iterable[str]) -> Callable[[str], object]:
    """What says whether a name in lower case fits one of the patterns."""
    return re.compile("|".join(translate(pattern) for pattern in patterns) or r"(?!)").match


_SAMPLE = _any_of(("*.example", "*.sample", "*.template", "*.dist", ".env.schema"))
"""What a project shows to everybody: never hidden."""

MOST_ENTRIES = 100_000
_MOST_COVERS = 1000


def covers(shown: Sequence[str], hidden: Sequence[str], *, most: int = MOST_ENTRIES) -> Iterator[str]:
    """Bubblewrap's words that lay an empty folder, or a device that nobody may open, over each secret in `shown`.

    `hidden` are names as `SECRETS` has them, or absolute paths. Raises SandboxFault where the directories hold more
    than `most` entries: then nobody has looked at all of them.
    """
    folders = [Path(folder).resolve() for folder in shown]
    absolute = [Path(os.path.realpath(name)) for name in hidden if Path(name).is_absolute()]
    secrets = {*absolute, *_found(folders, _Names(hidden), most)}
    inside = sorted(
        path for path in secrets if any(path.is_relative_to(folder) for folder in folders) and path.exists()
    )
    if len(inside) > _MOST_COVERS:
        raise SandboxFault(
            f"more than {_MOST_COVERS} files of the working directory have to be hidden from the sandbox; "
            "work in a smaller directory within it",
            started=False,
        )
    for path in inside:
        if path.is_dir():
            yield from ("--perms", "0000", "--size", "4096", "--tmpfs", str(path), "--remount-ro", str(path))
        else:
            yield from ("--ro-bind", "/dev/null", str(path))


def refuse_secret(folder: str, hidden: Sequence[str]) -> None:
    """Refuse a working directory that is a secret itself, or lies in one. Raises SandboxFault."""
    names = _Names(hidden)
    for path in (Path(folder), *Path(folder).parents):
        if names.hide(path.name, str(path)):
            raise SandboxFault(
                f"the sandbox does not open {folder!r}: {path.name!r} is hidden from it; work in a project's directory",
                started=False,
            )


class _Names:
    """The names to hide. Nearly all entries of a tree are passed by with one look at a pattern."""

    def __init__(self, hidden: Sequence[str]) -> None:
        patterns = [name.strip("/").lower() for name in hidden if not Path(name).is_absolute()]
        self._last = _any_of(pattern.rpartition("/")[2] for pattern in patterns)
        self._whole = [tuple(pattern.split("/")) for pattern in patterns]

    def hide(self, name: str, path: str) -> bool:
        """Whether the entry `name`, which lies at `path`, is hidden."""
        name = name.lower()
        if not self._last(name) or _SAMPLE(name):
            return False
        parts = path.lower().split("/")
        return any(all(map(fnmatchcase, parts[-len(each) :], each)) for each in self._whole if len(each) <= len(parts))


def _found(folders: Sequence[Path], names: _Names, most: int) -> Iterator[Path]:
    """The secrets below the folders; a link of a secret's name counts for what it points to."""
    waiting = [str(folder) for folder in folders]
    looked = 0
    while waiting:
        for entry in _entries(waiting.pop()):
            looked += 1
            if looked > most:
                raise SandboxFault(
                    f"the working directory has more than {most:,} files, too many to look through for secrets that "
                    "the sandbox must not see; work in a smaller directory within it",
                    started=False,
                )
            if names.hide(entry.name, entry.path):
                yield Path(os.path.realpath(entry.path))  # unlike `resolve`, it takes a link to itself
            elif entry.is_dir(follow_symlinks=False):
                waiting.append(entry.path)


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except (FileNotFoundError, NotADirectoryError):  # gone meanwhile, or a readable place that bubblewrap will refuse
        return []
    except PermissionError:  # the sandbox is no more than this process, and cannot read it either
        return []
