"""The channels are alike, stand by themselves, and are known to the core by what they say of themselves only."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING
from zipfile import ZipFile

import pytest
from hatchling.builders.wheel import WheelBuilder

from channels import registry
from tests.project.source_tree import ROOT

if TYPE_CHECKING:
    from pathlib import Path

MODULES = {"callback", "card", "channel", "client", "controls", "examine", "listener", "settings"}
FOLDERS = {"details", "simulator"}
MOST = 12
NAMES = {*(spec.kind for spec in registry.loaded()), *(spec.title.lower() for spec in registry.loaded()), "lark"}


def unlike(channels: Path) -> list[str]:
    """Say where the folders of platforms differ: each has the same files, the same folders, and none too full."""
    found: list[str] = []
    for folder in sorted(path.parent for path in channels.glob("*/channel.py")):
        modules = {path.stem for path in folder.glob("*.py")} - {"__init__"}
        packages = {path.parent.name for path in folder.glob("*/__init__.py")}
        found += [f"{folder.name} lacks {name}" for name in sorted(MODULES - modules | FOLDERS - packages)]
        found += [f"{folder.name} has {name} besides" for name in sorted(modules - MODULES | packages - FOLDERS)]
        if not hasattr(registry.platforms().get(folder.name), "build"):
            found.append(f"{folder.name} has no SPEC")
    for init in sorted(channels.rglob("__init__.py")):
        count = len([path for path in init.parent.glob("*.py") if path != init])
        found += [f"{init.parent.name} has {count} modules"] if count > MOST else []
    return found


def naming(app: Path, names: set[str]) -> list[str]:
    """Find the lines below a folder that name a platform, whatever kind of file they stand in."""
    return [
        f"{path.relative_to(app)}:{number}: {line.strip()}"
        for path in sorted(app.rglob("*"))
        if path.is_file() and path.suffix != ".pyc"
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if any(name in line.lower() for name in names)
    ]


def test_each_channel_has_the_same_files() -> None:
    assert unlike(ROOT / "channels") == []


def test_a_channel_with_other_files_is_seen(tmp_path: Path) -> None:
    copy = tmp_path / "channels"
    shutil.copytree(ROOT / "channels", copy)
    details = len([path for path in (copy / "feishu" / "details").glob("*.py") if path.stem != "__init__"])
    (copy / "slack" / "controls.py").rename(copy / "slack" / "buttons.py")
    shutil.rmtree(copy / "feishu" / "simulator")
    for number in range(MOST):
        (copy / "feishu" / "details" / f"more_{number}.py").touch()
    shutil.copytree(copy / "slack", copy / "pigeon")

    assert [line for line in unlike(copy) if not line.startswith("pigeon")] == [
        "feishu lacks simulator",
        "slack lacks controls",
        "slack has buttons besides",
        f"details has {MOST + details} modules",
    ]
    assert "pigeon has no SPEC" in unlike(copy)


def test_no_platform_is_named_in_the_core() -> None:
    assert {"slack", "feishu", "lark"} <= NAMES
    assert naming(ROOT / "app", NAMES) == []


def test_a_platform_that_is_named_in_the_core_is_seen(tmp_path: Path) -> None:
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "home.html").write_text("<p>Approve in SLACK</p>\n")
    (tmp_path / "notes.py").write_text('"""Words."""\n# as Lark-oapi does\n')

    assert naming(tmp_path, NAMES) == ["notes.py:2: # as Lark-oapi does", "pages/home.html:1: <p>Approve in SLACK</p>"]


@pytest.fixture(scope="module")
def shipped(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """Build the wheel, as the image does but without a process of its own, and list what is in it."""
    target = tmp_path_factory.mktemp("wheel")
    (wheel,) = WheelBuilder(str(ROOT)).build(directory=str(target), versions=["standard"])
    with ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if ".dist-info/" not in name}


def test_the_wheel_holds_everything_but_the_simulators(shipped: set[str]) -> None:
    ours = {
        path.relative_to(ROOT).as_posix()
        for folder in ("app", "channels", "migrations")
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    simulators = {name for name in ours if name.startswith("channels/") and "/simulator/" in name} | {
        "channels/loopback.py"
    }

    assert len(simulators) > len(registry.loaded())
    assert ours - shipped == simulators
    assert shipped - ours == set()
    assert "channels/conformance/suite.py" in shipped
