"""What is installed is pinned by hash, satisfies what is asked for, and names no place on the network."""

from __future__ import annotations

import hashlib
import re
import tomllib
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.places import ROOT
from tests.project.source_tree import shown
from tests.requirements import requirement

LOCKS = {"gateway": [], "dev": ["dev"], "bench": ["bench"]}
FRAMEWORKS = {
    "frameworks": ["langgraph", "openai-agents", "pydantic-ai", "claude-agent-sdk", "google-adk", "agent-framework"],
    "crewai": ["crewai"],
}
"""The adapters' locks, and the extras of `assent` that each holds."""
RUN_BY_THE_GATEWAY = ["guards", "limits"]  # extras of `assent`
ADDRESSES = re.compile(r"://|index-url|find-links [^\\]|trusted-host")


def pins(lock: str) -> dict[str, str]:
    """Read the name and version of every pinned requirement."""
    text = (ROOT / "requirements" / f"{lock}.txt").read_text(encoding="utf-8")
    return dict(re.findall(r"^([a-z0-9._-]+)(?:\[[^\]]*\])?==(\S+)", text, flags=re.MULTILINE))


@requirement("S-56")
@pytest.mark.parametrize("lock", [*LOCKS, *FRAMEWORKS, "build"])
def test_every_pin_has_a_hash(lock: str) -> None:
    text = (ROOT / "requirements" / f"{lock}.txt").read_text(encoding="utf-8")
    entries = re.split(r"\n(?=[a-z0-9])", re.sub(r"^\s*#.*\n", "", text, flags=re.MULTILINE))

    assert {re.split(r"[\[=]", entry)[0] for entry in entries} == set(pins(lock)) > set()
    assert [entry.split(" ")[0] for entry in entries if "--hash=sha256:" not in entry] == []


@pytest.mark.parametrize("lock", LOCKS)
def test_the_locks_hold_what_pyproject_asks_for(lock: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    agent = tomllib.loads((ROOT / "sdk" / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = [text for extra in LOCKS[lock] for text in project["optional-dependencies"][extra]]
    extras += [text for extra in RUN_BY_THE_GATEWAY for text in agent["optional-dependencies"][extra]]
    pinned = pins(lock)

    asked = [Requirement(text) for text in [*project["dependencies"], *agent["dependencies"], *extras]]
    unmet = [str(ask) for ask in asked if not ask.specifier.contains(pinned.get(canonicalize_name(ask.name), "0"))]

    assert unmet == [], "run `make lock`"


def test_every_adapter_has_its_framework_in_a_lock() -> None:
    agent = tomllib.loads((ROOT / "sdk" / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    adapters = {path.stem.replace("_", "-") for path in (ROOT / "sdk/assent/integrations").glob("[!_]*.py")}

    assert adapters <= {extra for extras in FRAMEWORKS.values() for extra in extras}
    for lock, extras in FRAMEWORKS.items():
        asked = [Requirement(text) for extra in extras for text in agent["optional-dependencies"][extra]]
        pinned = pins(lock)
        unmet = [str(ask) for ask in asked if not ask.specifier.contains(pinned.get(canonicalize_name(ask.name), "0"))]
        assert unmet == [], "run `make lock`"


def test_the_shells_grammar_is_an_extra_that_the_gateway_installs() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    agent = tomllib.loads((ROOT / "sdk" / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    guards = [Requirement(text).name for text in agent["optional-dependencies"]["guards"]]
    plain = {Requirement(text).name for text in agent["dependencies"]}

    assert guards == ["tree-sitter", "tree-sitter-bash"]
    assert plain == {"anyio", "h11", "httpx2"}  # httpx2 stands on the other two
    assert not {Requirement(text).name for text in project["dependencies"]} & {*guards, "assent"}
    assert set(guards) < set(pins("gateway"))


def test_the_locks_agree_on_versions() -> None:
    runtime = pins("gateway")

    for lock in ("dev", "bench"):
        assert runtime.items() <= pins(lock).items()


def test_what_installs_names_no_address() -> None:
    files = [
        *(ROOT / "requirements").iterdir(),
        ROOT / "pyproject.toml",
        ROOT / "sdk" / "pyproject.toml",
        ROOT / ".ci" / "run",
    ]
    naming = [shown(path) for path in files if ADDRESSES.search(path.read_text(encoding="utf-8"))]

    assert naming == []


def test_dbos_is_a_matter_of_the_benchmarks_alone() -> None:
    assert "dbos" in pins("bench")
    assert "dbos" not in pins("dev")


@requirement("S-56")
@pytest.mark.parametrize("folder", [ROOT, ROOT / "sdk"], ids=["gateway", "sdk"])
def test_what_is_built_twice_is_the_same_to_the_byte(folder: Path, tmp_path: Path) -> None:
    digests = set[str]()
    for name in ("once", "again"):
        (wheel,) = WheelBuilder(str(folder)).build(directory=str(tmp_path / name), versions=["standard"])
        digests.add(hashlib.sha256(Path(wheel).read_bytes()).hexdigest())
    assert len(digests) == 1
