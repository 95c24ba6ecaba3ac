"""The platforms are found; what an installed package says wrongly is refused, by the package's name."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from importlib.metadata import EntryPoint
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace
from pydantic import BaseModel

from app.spec import SpecRefusedError
from channels import registry
from tests.fixtures.patience import HANGS
from tests.fixtures.specs import LIMITS, a_spec
from tests.project.source_tree import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable


class Anything(BaseModel):
    pass


PIGEON = a_spec("pigeon", Anything)


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Install a package whose entry point is of this name and leads to this value."""

    def put(name: str, value: Any) -> None:
        point = EntryPoint(name=name, value="pigeons:SPEC", group=registry.GROUP)
        monkeypatch.setattr(EntryPoint, "load", lambda _: value)
        monkeypatch.setattr(registry, "_installed", lambda: {name: (point,)})
        monkeypatch.setattr(registry, "_loaded", {})

    return put


def test_every_folder_of_a_platform_is_found_under_its_own_name() -> None:
    folders = {path.parent.name for path in (ROOT / "channels").glob("*/channel.py")}
    assert set(registry.platforms()) == folders > set()
    assert len(registry.platforms()) == len(folders)


@pytest.mark.process
def test_finding_them_loads_no_library_of_a_platform() -> None:
    code = "import sys; from channels import registry; print(len(registry.loaded()), *sys.modules)"
    told = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True, timeout=HANGS
    )
    count, *modules = told.stdout.split()
    assert int(count) > 0
    assert [name for name in modules if name.startswith(("lark_oapi", "slack_sdk", "pytest", "aiohttp"))] == []


def test_an_installed_platform_is_one_of_them(install: Callable[..., None]) -> None:
    install("pigeon", PIGEON)
    assert registry.platforms()["pigeon"] is PIGEON
    assert "pigeon" in registry.platforms()
    assert PIGEON in registry.loaded()


def test_it_is_not_loaded_before_somebody_asks_for_it(install: Callable[..., None]) -> None:
    install("pigeon", PIGEON)
    assert "pigeon" in list(registry.platforms())
    assert PIGEON not in registry.loaded()


def test_a_file_that_starts_no_channel_is_taken_as_it_stands(install: Callable[..., None]) -> None:
    install("pigeon", PIGEON)
    for spec in registry.platforms_unread().values():
        assert spec.settings.model_validate({"loft": 7}).model_dump() == {"loft": 7}


def test_nobody_has_an_unknown_kind() -> None:
    with pytest.raises(KeyError):
        registry.platforms()["pigeon"]


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"kind": "pigeon"}, "the package pigeons has no app.spec.Spec at pigeons:SPEC, but dict"),
        (dataclasses.replace(PIGEON, kind="dove"), 'calls its channel type "pigeon" outside and "dove" inside'),
    ],
)
def test_what_is_no_spec_of_that_kind_is_refused(install: Callable[..., None], value: Any, said: str) -> None:
    install("pigeon", value)
    with pytest.raises(SpecRefusedError, match="pip uninstall pigeons") as refused:
        registry.platforms()["pigeon"]
    assert said in refused.value.why


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"kind": "Carrier Pigeon"}, "is not of small letters"),
        ({"settings": dict}, "settings is no Pydantic model"),
        ({"limits": replace(LIMITS, text_budget=0)}, "text_budget"),
        ({"secret_shapes": ("(",)}, "is no regular expression"),
        ({"secret_shapes": ("a*",)}, "would hide every line"),
    ],
)
def test_a_spec_that_could_only_fail_later_is_not_made(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises((TypeError, ValueError), match=said):
        dataclasses.replace(PIGEON, **wrong)
