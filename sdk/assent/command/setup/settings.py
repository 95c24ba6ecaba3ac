"""The lines for a host's settings: what `--print-settings` writes, and what `--install` puts into its file."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from assent.command.hosts.row import Host

TIMEOUT = 86_400
DEADLINE = TIMEOUT - 15
REPORT_TIMEOUT = 30
OURS = ("assent-hook", "hook_command.py")
"""By what an entry of ours is known."""


def hook_words() -> list[str]:
    """The fast way to start the hook: the file by its path, by this interpreter, without site-packages."""
    return [sys.executable, "-I", "-S", str(Path(__file__).resolve().parents[2] / "hook_command.py")]


def settings(host: Host, *, config: str | None) -> dict[str, Any]:
    """The host's `hooks`: each call is asked about, for up to a day, and faults block it where the host allows."""
    hooks: dict[str, Any] = {}
    for event in host.installs:
        entry = _entry(host, event, config=config)
        hooks[event] = [{"matcher": "*", "hooks": [entry]}] if host.place.nested else [entry]
    return {**host.place.top, "hooks": hooks}


def _entry(host: Host, event: str, *, config: str | None) -> dict[str, Any]:
    decides = event in host.asks
    deadline = ["--deadline", str(DEADLINE)] if decides else []
    words = [*hook_words(), host.name, *deadline, *([] if config is None else ["--config", config])]
    entry: dict[str, Any] = {**host.place.entry, host.place.command: shlex.join(words)}
    if host.timer is not None:
        entry[host.timer.key] = host.timer.written(TIMEOUT if decides else REPORT_TIMEOUT)
    return {**entry, **host.place.gate} if decides else entry


def plugin(host: Host, *, config: str | None) -> str:
    """The plugin of a host that takes code instead of commands: it starts the same hook, and whatever fails throws."""
    more = [] if config is None else ["--config", config]
    ask = [*hook_words(), host.name, "--deadline", str(DEADLINE), *more]
    return _PLUGIN.replace("ASK", json.dumps(ask)).replace("TELL", json.dumps([*hook_words(), host.name, *more]))


_PLUGIN = """\
// Written by `assent-hook opencode --print-settings`: every tool call is asked about, and whatever fails throws.
import { spawn } from "node:child_process";

const ask = ASK;
const tell = TELL;

function run(words, event) {
  return new Promise((resolve, reject) => {
    const hook = spawn(words[0], words.slice(1), { stdio: ["pipe", "pipe", "pipe"] });
    let out = "";
    let err = "";
    hook.stdout.setEncoding("utf8").on("data", (part) => (out += part));
    hook.stderr.setEncoding("utf8").on("data", (part) => (err += part));
    hook.stdin.on("error", () => {});
    const fail = (why) => reject(new Error(`Not approved: the approval hook ${why}.`));
    hook.on("error", (fault) => fail(`cannot be started (${fault.message})`));
    hook.on("close", (code) => {
      if (code === 0) resolve(out);
      else err.trim() ? reject(new Error(err.trim())) : fail(`ended with ${code}`);
    });
    hook.stdin.end(JSON.stringify(event));
  });
}

export const Assent = async ({ directory }) => ({
  "tool.execute.before": async ({ tool, sessionID, callID }, output) => {
    const call = { tool, sessionID, callID, cwd: directory, args: output.args };
    const answer = JSON.parse(await run(ask, { hook_event_name: "tool.execute.before", ...call }));
    if (answer.decision !== "allow") throw new Error(answer.reason || "Not approved: the approval hook said no.");
    if (answer.args !== undefined) {
      for (const name of Object.keys(output.args)) delete output.args[name];
      Object.assign(output.args, answer.args);
    }
  },
  "tool.execute.after": async ({ tool, sessionID, callID, args }) => {
    const event = { hook_event_name: "tool.execute.after", tool, sessionID, callID, args: args ?? {} };
    await run(tell, event).catch(() => {});
  },
});
"""


def command_of(entry: dict[str, Any]) -> str:
    """The command line of an entry."""
    return next((told for key in ("command", "bash") if isinstance(told := entry.get(key), str)), "")


def is_ours(entry: dict[str, Any]) -> bool:
    """Whether an entry calls our hook."""
    return any(name in command_of(entry) for name in OURS)


def whole_path(config: str | None) -> str | None:
    """`--config` as it stands in a command that is run from anywhere."""
    return config if config is None or config == "env" else str(Path(config).resolve())


def text(host: Host, *, config: str | None) -> str:
    """What belongs into the host's file where nothing stands there yet."""
    path = whole_path(config)
    if host.place.file.endswith(".js"):
        return plugin(host, config=path)
    return json.dumps(settings(host, config=path), indent=2) + "\n"


def print_settings(host: Host, *, config: str | None) -> int:
    """Write the lines to stdout, and what else is to be done to stderr. `--config` becomes part of the command."""
    sys.stdout.write(text(host, config=config))
    sys.stdout.flush()
    for line in (host.trust, host.note):
        if line:
            print(line, file=sys.stderr)  # noqa: T201 - a command's output
    return 0
