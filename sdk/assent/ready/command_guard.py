"""The command guard: reads a shell command as a shell would and keeps back what destroys, hides or lets others in.

    hooks.add(CommandGuard())
    hooks.add(CommandGuard(also_blocked=["terraform"], allowed=["reboot"]))

It denies what it knows to be harmful, asks about what it cannot read, and has no opinion on the rest.
"""

from __future__ import annotations

import itertools
import json
import re
import shlex
from typing import TYPE_CHECKING, Any, cast

from assent.hooks.hook import GUARD, PreToolUseHook
from assent.hooks.verdicts import ask, deny
from assent.ready.command_disks import on_disks, on_docker, on_machine
from assent.ready.command_files import on_deletion, on_permissions, on_sweep, on_writing
from assent.ready.command_findings import blocked, doubtful, shown
from assent.ready.command_git import on_git_hooks
from assent.ready.command_places import of_the_system, place
from assent.ready.command_remote import on_backdoors, on_fetched_files, on_remote_code
from assent.shell.reader import read_script

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from assent.hooks.context import HookContext
    from assent.hooks.verdicts import HookResult
    from assent.ready.command_findings import Finding
    from assent.shell.script import Command, Script

TEXT_KEYS = ("command", "cmd", "script", "input", "code", "commands", "command_line", "commandLine", "argv")
"""Arguments that hold a command: a text, a list of words, or a list of commands."""
_LIST_KEYS = ("args", "arguments")
"""Arguments that hold further words when the command is a single word."""
_DIRECTORY_KEYS = ("cwd", "workdir", "working_directory", "workingDirectory", "directory")
_PLAIN = re.compile(r"[\w@%+=:,./~*?\[\]{}$-]+")
_RULES = (
    on_deletion,
    on_sweep,
    on_writing,
    on_permissions,
    on_disks,
    on_docker,
    on_machine,
    on_git_hooks,
    on_remote_code,
    on_backdoors,
)


class CommandGuard(PreToolUseHook):
    """Denies harmful shell commands and asks about unreadable ones.

    Args:
        also_blocked: Further programs that may not run at all, by base name.
        allowed: Programs that the guard has no opinion on, by base name.
    """

    name = "command-guard"
    description = "Keeps back shell commands that destroy, hide what they run, or let others in."
    priority = GUARD
    tools = "exec"

    def __init__(self, *, also_blocked: Iterable[str] = (), allowed: Iterable[str] = ()) -> None:
        self._also_blocked = frozenset(also_blocked)
        self._allowed = frozenset(allowed)

    async def execute(self, ctx: HookContext) -> HookResult | None:
        """Judge the call's command. None: no objection."""
        texts = command_texts(ctx.args)
        if texts is None:
            return ask("the shell call has no command that can be read (expected: command, cmd, script or input)")
        variables = _variables(ctx)
        doubt: str | None = None
        for text in texts:
            for finding in self.findings(read_script(text, variables=variables)):
                if finding.certain:
                    return deny(f"{finding.reason}")
                doubt = doubt or finding.reason
        return ask(doubt) if doubt else None

    def findings(self, script: Script) -> Iterator[Finding]:
        """Yield what is wrong with the script; the caller looks for the first that is certain."""
        for name in script.defines:
            yield blocked(f"{name} starts itself again and again: a fork bomb")
        yield from on_fetched_files(script)
        for command in script.commands:
            if command.program and command.program in self._also_blocked:
                yield blocked(f"{command.program} is blocked here")
            elif not command.program or command.program not in self._allowed:
                yield from itertools.chain.from_iterable(rule(command) for rule in _RULES)
                yield from _disguised(command)
        for reason in script.unread:
            yield doubtful(f"the command cannot be read as a whole: {reason}")


def _disguised(command: Command) -> Iterator[Finding]:
    """A program's name put together from variables, on a path of the system: honest commands say what they run."""
    if not command.argv:
        return
    if command.argv[0].globbed and command.program not in {"[", "[["}:
        yield blocked(f"the program {shown(command.argv[0])} is disguised by a pattern: say the command plainly")
    if not command.argv[0].built_from:
        return
    if "IFS" in command.argv[0].built_from:
        yield blocked(f"{command.program} is disguised with ${{IFS}}: say the command plainly")
        return
    for word in command.argv[1:]:
        if of_the_system(place(word, command.cwd)):
            yield blocked(f"{command.program} {shown(word)} is put together from variables: say the command plainly")
            return


def command_texts(args: Mapping[str, Any]) -> list[str] | None:
    """Return the texts that a shell tool's arguments would run, or None when no argument holds a command."""
    texts: list[str] = []
    found = False
    for key in TEXT_KEYS:
        if key not in args or args[key] is None:
            continue
        text = _text(args[key])
        if text is None:
            return None
        found = True
        extra = [
            part for name in _LIST_KEYS if isinstance(args.get(name), list | tuple) for part in (_text(args[name]),)
        ]
        texts.append(" ".join(filter(None, [text, *extra])) if key in {"command", "cmd"} else text)
    return texts if found else None


def _text(value: object) -> str | None:
    """Return what a shell would read for a text or a list; None for anything else."""
    if isinstance(value, str):
        if value.lstrip().startswith('["'):
            try:
                return _text(json.loads(value))
            except ValueError:
                return value
        return value
    if not isinstance(value, list | tuple):
        return None
    parts = list(cast("Iterable[object]", value))
    if not all(isinstance(part, str | int | float) for part in parts):
        nested = [_text(part) for part in parts]
        return "\n".join(text for text in nested if text is not None) if None not in nested else None
    words = [str(part) for part in parts]
    if words and re.search(r"\s", words[0]):
        return "\n".join(words)  # a list of commands
    return " ".join(word if _PLAIN.fullmatch(word) else shlex.quote(word) for word in words)


def _variables(ctx: HookContext) -> dict[str, str]:
    given = ctx.args.get("env")
    known: dict[str, str] = {}
    if isinstance(given, dict):
        pairs = cast("dict[object, object]", given).items()
        known = {name: value for name, value in pairs if isinstance(name, str) and isinstance(value, str)}
    for key in _DIRECTORY_KEYS:
        if isinstance(ctx.args.get(key), str) and ctx.args[key]:
            known["PWD"] = ctx.args[key]
            break
    return known
