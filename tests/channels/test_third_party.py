"""Somebody else's channel, installed beside the gateway: found by its entry point, and held to the shipped suite."""

from __future__ import annotations

import importlib
import os
import re
import shutil
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest

from channels.conformance.harness import NotThereError
from tests.fixtures import forked
from tests.fixtures.paper.broken_calls import BROKEN_CALLS
from tests.fixtures.paper.broken_messages import BROKEN_MESSAGES
from tests.fixtures.paper.held import Held
from tests.fixtures.patience import HANGS
from tests.project.source_tree import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.fixtures.paper.held import Break

pytestmark = pytest.mark.process

PAPER = ROOT / "tests/fixtures/paper"
BREAKS = (*BROKEN_CALLS, *BROKEN_MESSAGES)
FILE = """\
org: acme
default: ask
people:
  alice@example.com: {name: Alice, paper: p1}
groups:
  finance: [alice@example.com]
channels:
  desk: {type: paper, folder: FOLDER, tray: front, seal: "${PAPER_SEAL}"}
ask: {stages: [{of: [finance]}], channels: [desk]}
"""
_HANGING = ("        for person in json.loads(", "        await asyncio.sleep(600)\n        for person in json.loads(")
CONFTEST = """\
import pytest

pytest.register_assert_rewrite("channels.conformance")
"""


class Office:
    """A folder of installed packages, and a configuration that names the paper channel."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.site = folder, folder / "site"
        self.site.mkdir()
        self.module = self.site / "assent_paper/__init__.py"
        self.channel, self.settings = (self.site / f"assent_paper/{name}.py" for name in ("channel", "settings"))
        shutil.copytree(
            PAPER / "assent_paper", self.site / "assent_paper", ignore=shutil.ignore_patterns("__pycache__")
        )
        project = tomllib.loads((PAPER / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        [(kind, spec)] = project["entry-points"]["assent.channels"].items()
        self.install(project["name"], f"{kind} = {spec}")
        self.config = folder / "assent.yaml"
        self.config.write_text(FILE.replace("FOLDER", str(folder)))

    def install(self, name: str, entry: str) -> None:
        """Write what an installer writes of a distribution."""
        info = self.site / f"{name.replace('-', '_')}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[assent.channels]\n{entry}\n")

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run Python with these packages installed."""
        return subprocess.run(
            [sys.executable, "-B", *words],
            cwd=self.folder,
            env=self._environ(),
            capture_output=True,
            text=True,
            timeout=HANGS,
            check=False,
        )

    def assent(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run the command line with these packages installed."""
        return forked.run("app.cli.main", *words, env=self._environ(), cwd=self.folder)

    def _environ(self) -> dict[str, str]:
        path = os.pathsep.join(map(str, (self.site, ROOT, ROOT / "sdk")))
        environ = {"PATH": os.environ["PATH"], "PYTHONPATH": path, "PAPER_SEAL": "a-seal-of-wax", "COLUMNS": "200"}
        return environ | {"ASSENT_SECRET": "s" * 43, "ASSENT_DATABASE_URL": f"sqlite:///{self.folder}/assent.db"}

    def suite(self) -> subprocess.CompletedProcess[str]:
        """Run the shipped suite against the channel, as its author does."""
        project = self.folder / "project"
        project.mkdir()
        (project / "conftest.py").write_text(CONFTEST)
        shutil.copy(PAPER / "suite_of_paper.py", project / "test_paper.py")
        return self.run("-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", str(project))


@pytest.fixture
def office(tmp_path: Path) -> Office:
    return Office(tmp_path)


def test_an_installed_channel_is_found_by_its_entry_point(office: Office) -> None:
    checked = office.assent("config", "check")
    assert (checked.returncode, checked.stderr) == (0, "")
    assert "1 channel;" in checked.stdout


@pytest.mark.heavy
@pytest.mark.skipif(find_spec("hatchling") is None, reason="hatchling is not installed")
def test_pip_installs_it_as_the_page_says(office: Office) -> None:
    shutil.rmtree(office.site)
    plain = ("--no-index", "--no-build-isolation", "--no-deps", "--no-compile", "--disable-pip-version-check")
    done = office.run("-m", "pip", "install", *plain, "--target", str(office.site), str(PAPER))
    assert done.returncode == 0, done.stdout + done.stderr
    checked = office.assent("config", "check")
    assert (checked.returncode, checked.stderr) == (0, "")
    assert "1 channel;" in checked.stdout
    for module in ("assent_paper.channel", "assent_paper.settings", "assent_paper.harness"):
        assert module in (ROOT / "docs/adding-a-channel.md").read_text(encoding="utf-8")
        assert (office.site / f"{module.replace('.', '/')}.py").is_file()


def test_it_has_its_set_up_command_among_ours(office: Office) -> None:
    assert "Setting Paper up." in office.assent("--help").stdout
    assert office.assent("paper", "tray", "--name", "desk").stdout == "Put a tray called desk on the desk.\n"


def test_the_gateway_builds_it_and_asks_it_for_its_people(office: Office) -> None:
    (office.folder / "people.json").write_text('[{"id": "p1", "email": "alice@example.com", "status": "deactivated"}]')
    told = office.assent("doctor").stdout
    assert re.search(r"desk: .*alice@example\.com.*deactivated", told), told


def test_a_type_that_is_nearly_its_own_is_pointed_at_it(office: Office) -> None:
    office.config.write_text(office.config.read_text().replace("type: paper", "type: papre"))
    told = office.assent("config", "check").stderr
    assert 'unknown channel type "papre"; did you mean "paper"?' in told


def test_a_broken_package_is_refused_by_name_where_a_channel_needs_it(office: Office) -> None:
    office.module.write_text("raise RuntimeError('no paper left')\n")
    refused = office.assent("serve")
    assert refused.returncode == 2
    assert "assent.yaml:8" in refused.stderr
    assert "the package assent-paper cannot be imported" in refused.stderr
    assert "no paper left" in refused.stderr
    assert "pip uninstall assent-paper" in refused.stderr
    shown = office.assent("--help")
    assert shown.returncode == 0
    assert "assent-paper" in shown.stdout


def test_a_broken_package_that_no_channel_needs_is_not_even_imported(office: Office) -> None:
    office.module.write_text("raise RuntimeError('no paper left')\n")
    office.config.write_text("org: acme\ndefault: deny\n")
    assert office.assent("config", "check").returncode == 0


@pytest.mark.parametrize(
    ("other", "entry", "kind"),
    [
        ("assent-parchment", "paper = assent_paper:SPEC", "paper"),
        ("assent-other-slack", "slack = assent_paper:SPEC", "slack"),
    ],
)
def test_two_packages_of_one_type_are_refused_by_name(office: Office, other: str, entry: str, kind: str) -> None:
    office.install(other, entry)
    office.config.write_text(office.config.read_text().replace("type: paper", f"type: {kind}"))
    refused = office.assent("config", "check")
    assert refused.returncode == 2
    first = "assent-gateway" if kind == "slack" else "assent-paper"
    assert f'the packages {first} and {other} all have the channel type "{kind}"' in refused.stderr
    assert f"pip uninstall {other}" in refused.stderr


@pytest.mark.heavy  # our own channels run it in every ring
def test_its_author_runs_the_shipped_suite(office: Office) -> None:
    ran = office.suite()
    assert ran.returncode == 0, ran.stdout
    assert re.search(r"\b65 passed\b", ran.stdout), ran.stdout


@pytest.mark.heavy
def test_its_author_sees_what_is_broken(office: Office) -> None:
    text = office.channel.read_text()
    right, wrong = 'raise ChannelRefusedError("the tray', 'raise ChannelUnavailableError("the tray'
    assert right in text
    office.channel.write_text(text.replace(right, wrong))
    ran = office.suite()
    assert ran.returncode == 1, ran.stdout
    assert re.findall(r"^FAILED .*::(\w+)", ran.stdout, re.MULTILINE) == ["test_a_refusal_is_final"]


# --- the suite itself is held: each break turns its cases red ---------------------------------------------------------


@pytest.fixture
def held(office: Office, monkeypatch: pytest.MonkeyPatch) -> Iterator[Held]:
    monkeypatch.setattr(sys, "path", [str(office.site), *sys.path])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    importlib.invalidate_caches()
    try:
        yield Held()
    finally:
        for name in [name for name in sys.modules if name.partition(".")[0] == "assent_paper"]:
            del sys.modules[name]


@pytest.mark.asyncio
@pytest.mark.may_block  # what stands on the loop is an example that is read, not one that is served
async def test_the_example_package_is_green(held: Held) -> None:
    assert [name for name in sorted(held.names()) if await held.is_red(name)] == []


@pytest.mark.asyncio
@pytest.mark.may_block
@pytest.mark.parametrize("broken", BREAKS, ids=lambda broken: broken.name.replace(" ", "-"))
async def test_the_suite_catches_a_broken_channel(office: Office, held: Held, broken: Break) -> None:
    for old, new in broken.edits:
        places = [path for path in (office.channel, office.settings) if old in path.read_text()]
        assert [path.read_text().count(old) for path in places] == [1], f"{old!r} does not stand once"
        places[0].write_text(places[0].read_text().replace(old, new))
    importlib.import_module("assent_paper.harness")
    assert broken.caught
    assert [name for name in broken.caught if not await held.is_red(name)] == []


@pytest.mark.asyncio
@pytest.mark.may_block
async def test_a_channel_that_hangs_turns_the_suite_red(
    office: Office, held: Held, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = office.channel.read_text()
    for right, wrong in (("import hashlib\n", "import asyncio\nimport hashlib\n"), _HANGING):
        assert text.count(right) == 1
        text = text.replace(right, wrong)
    office.channel.write_text(text)
    monkeypatch.setattr(Held, "patience", 0.2)
    with pytest.raises(TimeoutError):
        await held.run("test_the_account_that_the_file_names_is_the_one_asked_for", {})


@pytest.mark.asyncio
@pytest.mark.may_block
async def test_what_a_platform_does_not_have_is_skipped_with_the_reason(
    held: Held, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> str:
        raise NotThereError("there is one office in the world")

    monkeypatch.setattr(importlib.import_module("assent_paper.harness").PaperHarness, "speak_as", refuse)
    with pytest.raises(pytest.skip.Exception, match="there is one office"):
        await held.run("test_a_click_from_elsewhere_is_refused_or_says_so", {"stranger": "app"})


def test_every_case_is_turned_red_by_some_break() -> None:
    caught = {name for broken in BREAKS for name in broken.caught}
    assert caught <= Held().names()
    assert Held().names() - caught == set()
