"""What every ring relies on: a clean environment, reproducible properties, and an event loop that nothing may block.

A test that starts a process says so (marker `process`): `make quick` leaves it out, and the guard here sees to it.

The outside world is refused by pytest-socket (see `addopts` in pyproject.toml): stand-ins listen on loopback.
"""

from __future__ import annotations

import functools
import gc
import operator
import os
import shutil
import signal
import subprocess
from importlib.util import find_spec
from multiprocessing.process import BaseProcess
from typing import TYPE_CHECKING, Any, cast

import hypothesis
import pytest
from blockbuster import BlockBuster

import tests.lean  # noqa: F401 - before what it leaves out

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

_FIXTURES = ("databases", "gateway", "made_once", "platforms")

_FOREIGN_PREFIXES = ("ASSENT_", "FEISHU_", "LARK_", "SLACK_")
_FOREIGN_SUFFIXES = ("_PROXY",)
_MEMORY = "/dev/shm"
_ROOM = 2**30  # bytes; a container may have a few MiB of it
_STARTS: tuple[tuple[Any, str], ...] = (
    (os, "fork"),
    (os, "forkpty"),
    (os, "posix_spawn"),
    (os, "posix_spawnp"),
    (os, "system"),
    (subprocess.Popen, "__init__"),
    (BaseProcess, "start"),
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--bounded`, the short form of the long suites, for CI; and `--other-seeds`, for `make seeds`."""
    parser.addoption("--bounded", action="store_true", help="run long suites in their short form")
    parser.addoption("--other-seeds", type=int, default=0, help="run each test so often, each time with another seed")
    parser.addoption("--first-seed", type=int, default=0, help="the first of the other seeds")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give a test the seeds of its marker, or with `--other-seeds` others; one that draws nothing is done again."""
    marker = metafunc.definition.get_closest_marker("seeds")
    times, first = (int(metafunc.config.getoption(name) or 0) for name in ("--other-seeds", "--first-seed"))
    if marker is not None:
        metafunc.parametrize("seed", range(first, first + times) if times else marker.args)
    elif times:
        metafunc.fixturenames.append("again")
        metafunc.parametrize("again", range(times))


def pytest_configure(config: pytest.Config) -> None:
    """Let Hypothesis draw the same examples on every machine, however slow it is; put temporary folders into memory."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a shell's job in the background
        signal.signal(signal.SIGINT, signal.default_int_handler)  # what it starts would not hear an interrupt either
    hypothesis.settings.register_profile("assent", deadline=None, derandomize=True, database=None, print_blob=True)
    hypothesis.settings.register_profile("quick", hypothesis.settings.get_profile("assent"), max_examples=10)
    to_find = (hypothesis.Phase.explicit, hypothesis.Phase.generate)  # `make sabotage` asks only whether there is one
    hypothesis.settings.register_profile("sabotage", hypothesis.settings.get_profile("quick"), phases=to_find)
    hypothesis.settings.register_profile("seeds", hypothesis.settings.get_profile("assent"), derandomize=False)
    hypothesis.settings.load_profile(
        config.getoption("--hypothesis-profile") or ("seeds" if config.getoption("--other-seeds") else "assent")
    )
    if _has_memory():  # a commit waits for the disk there, and a test makes many
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", _MEMORY)
    if _runs_tests(config):
        # The many thousand objects of a collection all live to the end: looking whether they do is in vain.
        gc.set_threshold(50_000, 20, 20)
        for name in _FIXTURES:
            config.pluginmanager.import_plugin(f"tests.fixtures.{name}")


def pytest_itemcollected(item: pytest.Item) -> None:
    """Refuse two timeouts on one test: its function's would win over the longer one of its parameter, unsaid.

    Of what is to be sampled, leave all but the sample to the last ring (marker `whole`).
    """
    assert sum(mark.name == "timeout" for mark in item.own_markers) < 2, f"{item.nodeid} has two timeouts: write one"
    sampled = item.get_closest_marker("sampled")
    if sampled is not None and not item.config.getoption("--other-seeds") and _place(item) % sampled.args[0]:
        item.add_marker(pytest.mark.whole)


def _place(item: pytest.Item) -> int:
    """Return the place of a test among all of its function's: the sum of those in each of its lists.

    Of two lists every value of each is in a sample by that, if neither is shorter than the sample is thin.
    """
    given: dict[str, object] = cast("Any", item).callspec.params
    lists = [mark.args[:2] for mark in item.iter_markers("parametrize")]
    lists += [("seed", mark.args) for mark in item.iter_markers("seeds")]
    assert lists, f"{item.nodeid} is one of one: it cannot be sampled"
    return sum(_place_in(names, values, given) for names, values in lists)


def _place_in(names: str | Sequence[str], values: Iterable[Any], given: dict[str, object]) -> int:
    """Return the place of what a test was given in one of its lists."""
    names = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    ours = [given[name] for name in names]
    for is_same in (operator.is_, operator.eq):  # 1 and True are two values; a range makes its own each time
        for place, value in enumerate(values):
            each = value.values if isinstance(value, type(pytest.param())) else value if len(names) > 1 else [value]
            if all(map(is_same, each, ours)):
                return place
    raise AssertionError(f"{names} are no list, but are made once: what is sampled of them cannot be told")


@pytest.hookimpl(trylast=True)  # after the order was drawn
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put what speaks to Feishu first: the first worker then imports its SDK (a second), and no other one does.

    Behind it the demo, whose one test lasts longest: at the end of a run everybody would wait for it.
    """
    items.sort(key=lambda item: (not _speaks_to_feishu(item), "test_demo.py" not in item.nodeid))


def _speaks_to_feishu(item: pytest.Item) -> bool:
    """Whether a test imports lark-oapi, as far as can be told from outside; being wrong costs but time."""
    names = {"stage", "open_stage", "FeishuChannel", "FeishuClient", "FeishuSimulator"}
    module = getattr(item, "module", None)
    return "feishu" in item.nodeid or bool(
        names & {*getattr(item, "fixturenames", ()), *getattr(module, "__dict__", {})}
    )


def pytest_collection_finish() -> None:
    """Take all that is there before the first test out of the collector's sight: it stays to the end.

    It is not looked through first, which costs a third of a second a process: what of it is garbage is little.
    """
    gc.freeze()


def _runs_tests(config: pytest.Config) -> bool:
    """Whether tests run in this process; with `-n` they run in others, and this one need not import what is tested."""
    return not config.getoption("numprocesses", None) or hasattr(config, "workerinput")


def _has_memory() -> bool:
    """Whether there is a file system in memory with room, whose files may be run."""
    if not os.access(_MEMORY, os.W_OK):
        return False
    return shutil.disk_usage(_MEMORY).free >= _ROOM and not os.statvfs(_MEMORY).f_flag & os.ST_NOEXEC


class _Starts:
    """Remembers which processes are started while it looks.

    It wraps what starts them. An audit hook would hear it too, but Python lets another thread run inside of each: and a
    thread that starts while another one does dies of "Cannot install a trace function" under coverage's tracer.
    """

    def __init__(self) -> None:
        self.seen: list[str] | None = None
        for owner, name in _STARTS:
            setattr(owner, name, self._heard(getattr(owner, name)))

    def _heard(self, start: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(start)
        def call(*args: Any, **kwargs: Any) -> Any:
            if self.seen is not None:
                self.seen.append(start.__qualname__)
            return start(*args, **kwargs)

        return call


@pytest.fixture(scope="session")
def starts() -> _Starts:
    """Return what hears of every process that this one starts."""
    return _Starts()


@pytest.fixture(autouse=True)
def says_that_it_starts_processes(request: pytest.FixtureRequest, starts: _Starts) -> Iterator[None]:
    """Fail a test that starts a process and does not say so; one with a PostgreSQL may be the first that starts it."""
    if any(request.node.get_closest_marker(name) for name in ("process", "postgres", "long", "claude")):
        yield
        return
    starts.seen = seen = list[str]()
    yield
    starts.seen = None
    assert not seen, f"this test starts a process: give it the marker `process` ({seen[0]})"


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


@pytest.fixture(scope="session", autouse=True)
def loops_are_watched(blocking_calls: BlockBuster) -> Iterator[None]:
    """Watch from the first test to the last: to begin and to end anew is half a millisecond of every test."""
    blocking_calls.activate()
    yield
    blocking_calls.deactivate()


@pytest.fixture(autouse=True)
def loop_is_never_blocked(request: pytest.FixtureRequest, blocking_calls: BlockBuster) -> Iterator[None]:
    """Fail a test in which our code sleeps, queries or reads a file on the event loop (marker `may_block` lifts it)."""
    may_block = request.node.get_closest_marker("may_block") is not None
    if may_block:
        blocking_calls.deactivate()
    yield
    if may_block:
        blocking_calls.activate()
