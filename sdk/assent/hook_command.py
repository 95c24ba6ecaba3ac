"""`assent-hook`: the command that an agent's runtime calls before (and after) each tool call.

- ``assent-hook claude-code`` is the hook itself: event on stdin, answer on stdout
- ``assent-hook claude-code --print-settings`` prints the lines for Claude Code's settings.json
- ``assent-hook doctor [SETTINGS.json]`` says what is wrong with an installation
- ``assent-hook mcp -- SERVER…`` stands between an agent and an MCP server
- ``assent-hook mcp-server`` is an MCP server by which an agent asks people
- ``assent-hook --help`` tells the options

Everything that goes wrong must end in exit code 2, the only one that every host reads as "blocked": a crash with 1, or
plain text with 0, lets the tool run. So this file imports next to nothing, catches everything, and leaves with
`os._exit`, past all that could change the code. It is also run by path (`python -I -S …/hook_command.py`), which is
faster than the console script and cannot be led astray by `PYTHONPATH`.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

BLOCKED = 2
PROXIES = (["mcp"], ["mcp-server"])
"""Commands that live as long as their agent does; they need what the hook does without."""
LAST_WORDS = "Do not try to reach the same end another way."  # said even when `messages` cannot be loaded


def main() -> NoReturn:
    """Run the command; never returns, never raises."""
    code = BLOCKED
    try:
        if sys.argv[1:2] in PROXIES:
            from assent.proxy.entry import run
        else:
            from assent.command.entry import run
        code = run(sys.argv[1:])
    except BaseException as error:  # noqa: BLE001 - the whole point: whatever it is, the tool does not run
        code = BLOCKED
        text = f"Not approved: the approval hook failed ({type(error).__name__}: {error}). {LAST_WORDS}\n"
        os.write(2, text.encode(errors="replace"))
    finally:
        os._exit(code)


if __name__ == "__main__":
    # At the end of the path, so that nothing beside the package can stand in for the standard library.
    sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))  # noqa: PTH100, PTH120 - pathlib costs 10 ms
    main()
