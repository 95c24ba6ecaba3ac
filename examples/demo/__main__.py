"""``python -m examples.demo [--auto]``: put the demo up, and show it to a person or play it alone."""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
from typing import TYPE_CHECKING

from examples.demo.act import NotSoError
from examples.demo.play import Play
from examples.demo.stage import Stage

if TYPE_CHECKING:
    from collections.abc import Sequence

_LAST_LINES = 15


def main(arguments: Sequence[str]) -> int:
    """Return 0 when all went as promised."""
    parser = argparse.ArgumentParser(prog="examples.demo", description="A payment approved from a chat card.")
    parser.add_argument("--auto", action="store_true", help="play it without a person, check it, and end")
    auto: bool = parser.parse_args(arguments).auto
    return asyncio.run(_auto() if auto else _show())


async def _auto() -> int:
    async with Stage() as stage:
        try:
            await Play(stage).run()
        except NotSoError as fault:
            print(f"\nNOT SO: {fault}", file=sys.stderr)
            for child in stage.children:
                print(f"\n{child.log.name} ({' '.join(map(str, child.state))}), its end:", file=sys.stderr)
                print("\n".join(child.log.read_text(errors="replace").splitlines()[-_LAST_LINES:]), file=sys.stderr)
            return 1
    return 0


async def _show() -> int:
    from examples.demo.page import serve_page

    ended = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    async with Stage() as stage, serve_page(stage) as url:
        print(f"\n  Open {url}\n\n  (Ctrl-C ends it and removes everything.)", flush=True)
        await ended.wait()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
