"""Copies of the checkout, in which something is spoiled and tests are run."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_PREFIX = "assent-sabotage-"
_LEFT_OUT = shutil.ignore_patterns(".git", ".venv*", ".cache", ".hypothesis", ".*_cache", "*.egg-info", "htmlcov")
_MARKS = "not long and not claude and not agents"
_OUR_FAULT = ("NameError", "ImportError", "ModuleNotFoundError", "SyntaxError", "IndentationError", "UnboundLocalError")
"""What a test fails with when a sabotage is no working program: that shows nothing."""

_running = set[subprocess.Popen[bytes]]()


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What a run of tests told: which ones ran, which failed in their body and with what, and how pytest ended."""

    ran: tuple[str, ...]
    failed: dict[str, str]
    code: int
    output: str
    in_time: bool = True

    @property
    def red(self) -> str:
        """Which test noticed something first, and what it said; "" where none did."""
        if self.code != 1:
            return ""
        shows_nothing = (*_OUR_FAULT, "Failed: Timeout")
        noticed = [f"{node}: {why}" for node, why in self.failed.items() if not why.startswith(shows_nothing)]
        return noticed[0] if noticed else ""

    def has_run(self, test: str) -> bool:
        """Whether a test, or one of a file, has run."""
        return any(_is_of(each, test) for each in self.ran)

    def has_failed(self, test: str) -> bool:
        """Whether a test, or one of a file, has failed."""
        return any(_is_of(each, test) for each in self.failed)


def _is_of(node: str, test: str) -> bool:
    return node == test or node.startswith((f"{test}::", f"{test}["))


class Copy:
    """One copy, in which one thing is spoiled at a time."""

    def __init__(self, place: Path) -> None:
        self.place = place

    @contextmanager
    def spoiled(self, file: str, text: str) -> Iterator[None]:
        """Have another text in a file, for a while."""
        path = self.place / file
        kept = path.read_bytes()
        try:
            self._put(path, text.encode())
            yield
        finally:
            self._put(path, kept)

    def run(self, tests: Sequence[str], *more: str, postgres: bool, seconds: float) -> Told:
        """Run tests in this copy, with few examples of each property: they are the same every time."""
        told = self.place / ".sabotage.xml"
        told.unlink(missing_ok=True)
        marks = _MARKS if postgres else f"{_MARKS} and not postgres"
        options = ("-q", "--tb=line", "-p", "no:randomly", "-p", "no:cacheprovider", "--hypothesis-profile=sabotage")
        options = (*options, f"--timeout={seconds / 2:.0f}")
        done = subprocess.Popen(
            [sys.executable, "-m", "pytest", *options, "-m", marks, f"--junitxml={told}", *more, *tests],
            cwd=self.place,
            env={
                **os.environ,
                "PYTHONPATH": f"{self.place}:{self.place / 'sdk'}",
                "PYTHONDONTWRITEBYTECODE": "",
                "TESTS_HANG_AFTER": "20",
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        _running.add(done)
        in_time = True
        try:
            output, _ = done.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            _end(done)
            output, in_time = done.communicate()[0], False
        finally:
            _running.discard(done)
        ran, failed = _read(told) if told.exists() else ((), {})
        return Told(
            ran=ran, failed=failed, code=done.returncode, output=output.decode(errors="replace"), in_time=in_time
        )

    @staticmethod
    def _put(path: Path, content: bytes) -> None:
        """Write a file; what was compiled of it goes, for another text may have the same size in the same second."""
        path.write_bytes(content)
        for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*"):
            compiled.unlink()


def _read(told: Path) -> tuple[tuple[str, ...], dict[str, str]]:
    ran: list[str] = []
    failed: dict[str, str] = {}
    for case in ET.parse(told).iter("testcase"):
        node = f"{case.get('classname', '').replace('.', '/')}.py::{case.get('name')}"
        if case.find("skipped") is None:
            ran.append(node)
        for fault in case.findall("failure"):
            failed[node] = fault.get("message", "")
    return tuple(ran), failed


@contextmanager
def copies(root: Path, many: int) -> Iterator[list[Copy]]:
    """Make as many copies of a checkout; they are gone at the end, also when this process is told to go."""
    _sweep()
    place = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-"))
    before = {number: signal.signal(number, _leave) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        made = [Copy(place / str(number)) for number in range(many)]
        for copy, of in zip(made, (root, *(each.place for each in made)), strict=False):  # all as the first one is
            shutil.copytree(of, copy.place, ignore=_LEFT_OUT, symlinks=True)
        yield made
    finally:
        for left in tuple(_running):
            _end(left)
        for number, handler in before.items():
            signal.signal(number, handler)
        shutil.rmtree(place, ignore_errors=True)


def _leave(number: int, _frame: object) -> None:
    raise SystemExit(128 + number)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a run of tests, and all that it has started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _sweep() -> None:
    """Remove what processes have left that were killed."""
    for left in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        pid = left.name.removeprefix(_PREFIX).split("-")[0]
        if pid.isdigit() and not Path(f"/proc/{pid}").exists():
            shutil.rmtree(left, ignore_errors=True)
