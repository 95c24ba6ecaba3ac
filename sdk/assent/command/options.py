"""The command line of the hook."""

from __future__ import annotations

from assent.command.faults import HookError

USAGE = (
    "assent-hook HOST [--deadline SECONDS] [--config FILE|env] [--patience SECONDS] [--fixed-input] [--keep-pending] "
    "| assent-hook HOST --print-settings | assent-hook HOST --install|--uninstall [SETTINGS] [--yes] "
    "| assent-hook doctor [HOST] [SETTINGS] | assent-hook mcp -- SERVER..."
)
HELP = """\
assent-hook HOST [--deadline SECONDS] [--config FILE|env] [--patience SECONDS] [--fixed-input] [--keep-pending]
    the hook: an event of the host on stdin, the answer on stdout; exit code 2 blocks the tool.
    HOST is claude-code, codex, copilot, gemini, qwen, cursor or opencode
assent-hook HOST --print-settings
    print what belongs into the host's settings (for opencode, its plugin)
assent-hook HOST --install|--uninstall [SETTINGS] [--yes]
    put the hook into the host's own file (or that one), or take it out; shows the difference and asks, or takes --yes
assent-hook doctor [HOST] [SETTINGS]
    say what is wrong with an installation (of Claude Code, in its own file, if none is named)
assent-hook mcp [--name NAME] [--tools GLOB] [--deadline SECONDS] -- SERVER...
    stand between an agent and an MCP server (assent-hook mcp --help)
assent-hook mcp-server
    be an MCP server by which an agent asks people; it only advises
assent-hook acp --name NAME -- AGENT...
    stand between an editor and a coding agent that speak ACP (assent-hook acp --help)

--deadline  answer by then (seconds; less than the hook's timeout in the settings)
--config    where url and key are: a JSON file (.config/assent/agent.json in the account's home, not in $HOME, if left
            out), or "env" for ASSENT_URL and ASSENT_KEY
--patience  for how many seconds a gateway that is away is tried again
--fixed-input
            run a call only as it was made, as for hosts that ignore new arguments: where people or hooks changed
            the arguments, the call is denied, and the model is told which ones to call with
--keep-pending
            leave what still waits for people when the session ends; else it is withdrawn"""
PATIENCE = 30.0
LONGEST = 2_147_483.0  # hosts keep their timers in 32 bits of milliseconds; beyond, they fire at once
_SWITCHES = frozenset({"--print-settings", "--install", "--uninstall", "--yes", "--fixed-input", "--keep-pending"})


class Options:
    """The command line, parsed by hand: argparse costs ten milliseconds."""

    def __init__(self, arguments: list[str]) -> None:
        self.deadline: float | None = None
        """None: the host's own, see `Host.deadline`."""
        self.patience = PATIENCE
        self.config: str | None = None
        self.print_settings = self.install = self.uninstall = self.yes = False
        self.fixed_input = self.keep_pending = False
        self.words: list[str] = []
        rest = iter(arguments)
        for word in rest:
            name, equals, value = word.partition("=")
            if word in _SWITCHES:
                setattr(self, word[2:].replace("-", "_"), True)
            elif name in {"--deadline", "--patience", "--config"}:
                self._set(name, value if equals else next(rest, ""))
            elif word.startswith("-"):
                raise HookError(f"unknown option {word}; usage: {USAGE}")
            else:
                self.words.append(word)

    def _set(self, name: str, value: str) -> None:
        match name:
            case "--config" if value:
                self.config = value
            case "--deadline":
                self.deadline = _span(name, value)
            case "--patience":
                self.patience = _span(name, value)
            case _:
                raise HookError(f"{name} needs a value; usage: {USAGE}")


def _span(name: str, value: str) -> float:
    try:
        span = float(value)
    except ValueError:
        span = -1.0
    if not 0 < span <= LONGEST:
        raise HookError(f"{name} needs seconds between 0 and {LONGEST:.0f}, not {value!r}")
    return span
