"""The policies in force, one per org, and their renewal without a restart.

A new file counts only if it has no fault, and then all of it at once; until then the old one stays in force. Requests
keep the version that judged them, so a renewal never changes what was asked before.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from msgspec.structs import replace

from app.domain.errors import NotFoundError
from app.domain.people.people import Staff
from app.policies.file.policy_file import NAME_IT, LoadedPolicy, load_policy, load_proposed, read_bounded
from app.policies.marks.faults import Fault, PolicyFaultsError
from app.policies.sections.channel_section import secret_names
from assent.secret_files import SecretFileError, find_secret

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from app.domain.people.people import Told
    from app.spec import Spec

_ENDINGS = (".yaml", ".yml")
_GONE = "put it back: what it said last stays in force"
"""What a gateway that runs says of a file that is not there any more."""


def policy_files(source: Path) -> list[Path]:
    """Return the file itself, or the YAML files of the directory by name (hidden ones left out)."""
    if not source.is_dir():
        return [source]
    return sorted(
        path
        for path in source.iterdir()
        if path.suffix in _ENDINGS and not path.name.startswith(".") and path.is_file()
    )


def load_all(source: Path, *, environ: Mapping[str, str], channel_types: Mapping[str, Spec]) -> dict[str, LoadedPolicy]:
    """Load a file, or every file of a directory, by org. Raises PolicyFaultsError with the faults of all files."""
    found: dict[str, LoadedPolicy] = {}
    files: dict[str, str] = {}
    faults: list[Fault] = []
    paths = policy_files(source)
    if not paths:
        faults.append(_fault(source, "has no .yaml file"))
    for path in paths:
        try:
            loaded = load_policy(path, environ=environ, channel_types=channel_types)
        except PolicyFaultsError as error:
            faults.extend(error.faults)
            continue
        org = loaded.policy.org
        if org in found:
            faults.append(_fault(path, f'the org "{org}" has a file already: {files[org]}'))
            continue
        found[org] = loaded
        files[org] = str(path)
    if faults:
        raise PolicyFaultsError(faults)
    return found


def config_check(source: Path, *, environ: Mapping[str, str], channel_types: Mapping[str, Spec]) -> list[Fault]:
    """Return all faults of a file, or of every file of a directory; an empty list means that it would load."""
    try:
        load_all(source, environ=environ, channel_types=channel_types)
    except PolicyFaultsError as error:
        return list(error.faults)
    return []


class PolicyBook:
    """What is in force right now. Reading takes no lock: a renewal replaces the whole book in one assignment."""

    def __init__(self, source: Path, *, environ: Mapping[str, str], channel_types: Mapping[str, Spec]) -> None:
        """Load everything. Raises PolicyFaultsError: a gateway does not start with a file that is at fault."""
        self._source = source
        self._environ = environ
        self._channel_types = channel_types
        self._seen = self._fingerprint()
        self._staff: dict[str, Staff] = {}
        self._managers: dict[str, Mapping[str, Told]] = {}
        self.in_force: Mapping[str, LoadedPolicy] = load_all(source, environ=environ, channel_types=channel_types)
        """By org; another mapping after each renewal."""
        self._refused: tuple[Fault, ...] = ()

    @property
    def refused(self) -> tuple[Fault, ...]:
        """Why the files as they are now are not in force; () if they are."""
        return self._refused

    def orgs(self) -> tuple[str, ...]:
        """Return the orgs that have a policy."""
        return tuple(self.in_force)

    def current(self, org: str) -> LoadedPolicy:
        """Return what is in force for an org. Raises NotFoundError."""
        loaded = self.in_force.get(org)
        if loaded is None:
            raise NotFoundError("no policy for this org")
        return loaded

    def has_person(self, org: str, person: str) -> bool:
        """Say whether an org has somebody now: its file, or a platform's group that counts."""
        loaded = self.in_force.get(org)
        return loaded is not None and loaded.policy.directory.find(person) is not None

    def proposed(self, org: str, text: str) -> LoadedPolicy:
        """Read a text as if it were an org's file, the platforms' groups as they are told now; it comes nowhere.

        Raises PolicyFaultsError. It takes its time with a long text: not for the event loop.
        """
        return self._peopled(org, load_proposed(text, channel_types=self._channel_types))

    def staff(self, org: str, staff: Staff) -> None:
        """Take what the platforms say of their groups into use. A group that is not among its rosters has nobody."""
        if self._staff.get(org) == staff:
            return
        self._staff[org] = staff
        self._people_anew(org)

    def tell_managers(self, org: str, managers: Mapping[str, Told]) -> None:
        """Take what the platforms' directories say of managers, by e-mail, into use. Of who is not there: nothing."""
        if self._managers.get(org, {}) == managers:
            return
        self._managers[org] = dict(managers)
        self._people_anew(org)

    def _people_anew(self, org: str) -> None:
        loaded = self.in_force.get(org)
        if loaded is not None:
            self.in_force = {**self.in_force, org: self._peopled(org, loaded)}

    def _peopled(self, org: str, loaded: LoadedPolicy) -> LoadedPolicy:
        return loaded.staffed(self._staff.get(org, Staff()), self._managers.get(org))

    def changed(self) -> bool:
        """Say whether the files differ from what was last loaded or refused. Reads files: not for the event loop."""
        return self._fingerprint() != self._seen

    def reload(self) -> tuple[Fault, ...]:
        """Take the files as they are now; () if they are in force, else their faults, and the old ones stay in force.

        Channel settings are renewed too, but channels that already run keep theirs until they are built anew.
        """
        seen = self._fingerprint()
        try:
            loaded = load_all(self._source, environ=self._environ, channel_types=self._channel_types)
        except PolicyFaultsError as error:
            self._seen = seen
            self._refused = tuple(replace(each, hint=_GONE) if each.hint == NAME_IT else each for each in error.faults)
            return self._refused
        self.in_force = {org: self._peopled(org, each) for org, each in loaded.items()}
        self._seen = seen
        self._refused = ()
        return ()

    def _fingerprint(self) -> str:
        """Hash names, contents and secrets: two edits within one tick of a file's clock are two edits."""
        hashed = hashlib.sha256()
        for path in policy_files(self._source):
            hashed.update(path.name.encode() + b"\0")
            try:
                written = read_bounded(path)
            except OSError:
                hashed.update(b"unreadable")
                continue
            hashed.update(hashlib.sha256(written).digest())
            for name in sorted(secret_names(written.decode("utf-8", "replace"))):
                hashed.update(self._stands_in_file(name))
        return hashed.hexdigest()

    def _stands_in_file(self, name: str) -> bytes:
        """Hash a secret that stands in a file: whoever replaces it changes what is in force."""
        try:
            secret = find_secret(self._environ, name) or ""
        except SecretFileError as fault:
            secret = str(fault)
        return hashlib.sha256(secret.encode()).digest()


def _fault(path: Path, message: str) -> Fault:
    return Fault(file=str(path), line=1, column=1, path="", message=message)
