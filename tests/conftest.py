"""What every ring relies on: a clean environment, reproducible properties, and an event loop that nothing may block.

The outside world is refused by pytest-socket (see `addopts` in pyproject.toml): stand-ins listen on loopback.
"""

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import TYPE_CHECKING

import hypothesis
import pytest
from blockbuster import BlockBuster

if TYPE_CHECKING:
    from collections.abc import Iterator

pytest_plugins = ("tests.fixtures.databases", "tests.fixtures.gateway", "tests.fixtures.platforms")

_FOREIGN_PREFIXES = ("ASSENT_", "FEISHU_", "LARK_", "SLACK_")
_FOREIGN_SUFFIXES = ("_PROXY",)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--bounded`: the short form of the long suites, for CI."""
    parser.addoption("--bounded", action="store_true", help="run long suites in their short form")


def pytest_configure() -> None:
    """Let Hypothesis draw the same examples on every machine, however slow it is."""
    hypothesis.settings.register_profile("assent", deadline=None, derandomize=True, database=None, print_blob=True)
    hypothesis.settings.load_profile("assent")


@pytest.fixture(scope="session")
def bounded(pytestconfig: pytest.Config) -> bool:
    """Tell whether a long test should do its short form (a sample of the crash points, a few thousand races)."""
    return bool(pytestconfig.getoption("--bounded"))


@pytest.fixture(scope="session", autouse=True)
def clean_environment() -> Iterator[None]:
    """Hide this machine's proxies and credentials from the tests and from every process that they start."""
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            if name.upper().startswith(_FOREIGN_PREFIXES) or name.upper().endswith(_FOREIGN_SUFFIXES):
                patch.delenv(name)
        yield


@pytest.fixture(scope="session")
def blocking_calls() -> BlockBuster:
    """Return the detector of our own code's blocking calls; what it raises names the call."""
    ours = [name for name in ("app", "channels", "assent") if find_spec(name) is not None]
    detector = BlockBuster(scanned_modules=ours)
    # pytest-socket guards `connect`; wrapping the function it replaces would open the outside world again.
    del detector.functions["socket.socket.connect"]
    # A lock held for microseconds is how queues between threads work; it would fail tests by chance.
    for name in [name for name in detector.functions if name.startswith("threading.Lock.")]:
        del detector.functions[name]
    return detector


@pytest.fixture(autouse=True)
def loop_is_never_blocked(request: pytest.FixtureRequest, blocking_calls: BlockBuster) -> Iterator[None]:
    """Fail a test in which our code sleeps, queries or reads a file on the event loop (marker `may_block` lifts it)."""
    if request.node.get_closest_marker("may_block"):
        yield
        return
    blocking_calls.activate()
    yield
    blocking_calls.deactivate()
