"""What the gateway is made of, by its lock: a bill of materials (CycloneDX) and the notices. A program writes both.

Made on Linux with the image's Python: what only other systems need is named in the bill, and has no notice.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path

from packaging.utils import canonicalize_name

from tests.fixtures.patience import HANGS
from tests.places import ROOT

BILL = ROOT / "sbom.cdx.json"
NOTICES = ROOT / "THIRD-PARTY-NOTICES.txt"

ALLOWED = frozenset(
    {"Apache-2.0", "BSD License", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "MIT-0", "PSF-2.0", "Unlicense"}
)
"""Licences under which anything may come in."""

ALLOWED_FOR = {
    ("certifi", "MPL-2.0"),  # data, unchanged
    ("psycopg", "LGPL-3.0-only"),  # used as a library, unchanged, and replaceable in the image
    ("psycopg-binary", "LGPL-3.0-only"),
}
"""Licences with more conditions: for these packages, as they are used, and for no other."""

_SPDX = {
    "Apache Software License": "Apache-2.0",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
}
_PIN = re.compile(r"^([a-z0-9._-]+)(?:\[[^\]]*\])?==(\S+)(?: ; ([^\\\n]*))?", re.MULTILINE)
_TEXT = re.compile(r"dist-info/(licenses/.*|(licen[sc]e|copying|notice|authors)[^/]*)$", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """One of the lock's. `licences` is empty for one that this system does not install."""

    name: str
    version: str
    licences: tuple[str, ...]
    texts: tuple[str, ...]


@cache
def packages() -> tuple[Package, ...]:
    """Return what the lock pins, by name, with what this environment says of it."""
    lock = (ROOT / "requirements/gateway.txt").read_text(encoding="utf-8")
    pins = sorted((canonicalize_name(name), version) for name, version, _ in _PIN.findall(lock))
    told = _licences([name for name, _ in pins])
    return tuple(
        Package(name=name, version=version, licences=told.get((name, version), ()), texts=_texts(name, version))
        for name, version in pins
    )


def refused(package: Package) -> list[str]:
    """Find the licences of a package that it may not come in under; where there is a choice, all must be allowed."""
    parts = (part.strip("() ") for name in package.licences for part in re.split(r"\b(?:AND|OR|WITH)\b", name))
    return [part for part in parts if part not in ALLOWED and (package.name, part) not in ALLOWED_FOR]


def bill() -> str:
    """Write the bill of materials: no time and no number of its own, so that the same lock gives the same text."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    ours = {
        "bom-ref": project["name"],
        "type": "application",
        "name": project["name"],
        "version": project["version"],
        "licenses": [{"license": {"id": project["license"]}}],
    }
    parts = [
        {
            "bom-ref": f"pkg:pypi/{package.name}@{package.version}",
            "type": "library",
            "name": package.name,
            "version": package.version,
            "purl": f"pkg:pypi/{package.name}@{package.version}",
            "licenses": [_licence(name) for name in package.licences],
        }
        for package in packages()
    ]
    whole = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": ours},
        "components": parts,
        "dependencies": [{"ref": ours["bom-ref"], "dependsOn": [part["bom-ref"] for part in parts]}],
    }
    return json.dumps(whole, indent=1) + "\n"


def _licence(name: str) -> dict[str, object]:
    if re.search(r"\b(?:AND|OR|WITH)\b", name):
        return {"expression": name}
    return {"license": {"name" if " " in name else "id": name}}


def notices() -> str:
    """Write who made what, under which licence; a text that several have stands once."""
    heads, bodies = list[str](), dict[str, list[str]]()
    for package in packages():
        if package.licences:
            heads.append(head_of(package))
        for text in package.texts:
            bodies.setdefault(text, []).append(package.name)
    top = (
        "What the gateway is built from besides its own code (LICENSE), and under which licences. Made by `make sbom`."
    )
    parts = [f"{'=' * 100}\n{', '.join(names)}\n{'=' * 100}\n\n{text}\n" for text, names in bodies.items()]
    return f"{top}\n\n" + "\n".join(heads) + "\n\n" + "\n".join(parts)


def head_of(package: Package) -> str:
    """Return a package's line in the notices."""
    return f"{package.name} {package.version}: {'; '.join(package.licences)}"


def _licences(names: list[str]) -> dict[tuple[str, str], tuple[str, ...]]:
    tool = Path(sys.executable).with_name("pip-licenses")
    words = [tool, "--from=mixed", "--with-system", "--format=json", "--packages", *names]
    said = subprocess.run(words, capture_output=True, text=True, check=True, timeout=HANGS).stdout
    found = dict[tuple[str, str], tuple[str, ...]]()
    for each in json.loads(said):
        told = (name.strip() for name in str(each["License"]).split(";"))
        found[canonicalize_name(each["Name"]), each["Version"]] = tuple(_SPDX.get(name, name) for name in told)
    return found


def _texts(name: str, version: str) -> tuple[str, ...]:
    try:
        found = metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return ()
    if found.version != version:
        return ()
    files = sorted(str(file.locate()) for file in found.files or () if _TEXT.search(str(file)))
    texts = (Path(file).read_text(encoding="utf-8", errors="replace") for file in files)
    return tuple("\n".join(line.rstrip() for line in text.strip().splitlines()) for text in texts)


if __name__ == "__main__":
    BILL.write_text(bill(), encoding="utf-8")
    NOTICES.write_text(notices(), encoding="utf-8")
    sys.stdout.write(f"{BILL.name}: {len(packages())} packages; {NOTICES.name}: {NOTICES.stat().st_size:,} bytes\n")
