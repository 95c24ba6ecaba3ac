"""A proxy that cannot start says in one line what cannot be had, and what to do."""

from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING

import pytest

from tests.sdk.hook_process import run_words
from tests.sdk.proxy.line import ProxyLine

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.process, pytest.mark.may_block]


@pytest.mark.parametrize(("kind", "options"), [("mcp", ()), ("acp", ("--name", "a"))])
def test_a_server_that_is_not_there_is_named(tmp_path: Path, kind: str, options: tuple[str, ...]) -> None:
    line = ProxyLine(url="http://127.0.0.1:1", folder=tmp_path, kind=kind)
    said = run_words(line.words(*options, "--", "no-such-server", "--fast"), env={**os.environ})
    assert said.code == 2
    assert said.err == (
        f"assent-hook {kind}: 'no-such-server' cannot be started (No such file or directory): write the program's "
        "whole path behind --, and each of its arguments as a word of its own\n"
    )


def test_a_port_that_is_taken_is_named(tmp_path: Path) -> None:
    line = ProxyLine(url="http://127.0.0.1:1", folder=tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        at = f"127.0.0.1:{taken.getsockname()[1]}"
        said = run_words(line.words("--upstream", "http://127.0.0.1:1/mcp", "--listen", at), env={**os.environ})
    assert said.code == 2
    assert said.err.startswith(f"assent-hook mcp: nothing can listen at --listen {at} (")
    assert "give another port (0 takes a free one)" in said.err
    assert len(said.err.splitlines()) == 1
