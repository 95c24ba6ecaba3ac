"""Each real program through the cases that it can have, and a look at those in which it lets the tool run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.frameworks.programs.cases import CASES, POLICY, Scene
from tests.frameworks.programs.table import PROGRAMS, installed
from tests.requirements import requirement
from tests.sdk.real_gateway import RealGateway

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.process, pytest.mark.agents, pytest.mark.timeout(420)]


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealGateway]:
    with RealGateway(tmp_path_factory.mktemp("gateway"), policy=POLICY) as gateway:
        yield gateway


@pytest.fixture(scope="module")
def binaries() -> dict[str, str]:
    """Where the programs are that were looked for."""
    return {}


@pytest.fixture
def scene(request: pytest.FixtureRequest, real: RealGateway, binaries: dict[str, str], tmp_path: Path) -> Scene:
    program = PROGRAMS[request.param]
    if program.host not in binaries:
        binaries[program.host] = installed(program)
    return Scene(program=program, binary=binaries[program.host], real=real, folder=tmp_path)


def _rows(*, lets_run: bool) -> list[tuple[str, str]]:
    return [
        (program.host, name)
        for program in PROGRAMS.values()
        for name in CASES
        if (name in program.lets_run) is lets_run and name not in program.cannot
    ]


@requirement("S-08", "F-07")
@pytest.mark.parametrize(("scene", "name"), _rows(lets_run=False), indirect=["scene"])
def test_a_program_gets_it_right(scene: Scene, name: str) -> None:
    CASES[name](scene)


@pytest.mark.parametrize(("scene", "name"), _rows(lets_run=True), indirect=["scene"])
def test_a_program_that_lets_the_tool_run_still_does(scene: Scene, name: str) -> None:
    """What docs/runtimes.md says against a program is looked at as well: one day it may be mended."""
    with pytest.raises(AssertionError):
        CASES[name](scene)
    assert scene.ran() == ["pay now"]
