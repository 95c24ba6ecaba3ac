"""The command guard: reads a shell command as a shell would and keeps back what destroys, hides or lets others in.

    hooks.add(CommandGuard())
    hooks.add(CommandGuard(also_blocked=["terraform"], allowed=["reboot"]))

It denies what it knows to be harmful, asks about what it cannot read, and has no opinion on the rest.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from assent.guards.beyond.approving import on_approving
from assent.guards.beyond.doors import on_doors, on_installing
from assent.guards.beyond.kept import on_kept
from assent.guards.beyond.leaks import on_leaks, on_stored_leaks
from assent.guards.beyond.reaching import on_reaching
from assent.guards.beyond.remote import on_backdoors, on_fetched_files, on_remote_code
from assent.guards.beyond.verbs import on_verbs
from assent.guards.commands.arguments import EXPECTED, command_texts, surroundings
from assent.guards.commands.code import on_code
from assent.guards.commands.disks import on_bus, on_disks, on_docker, on_machine
from assent.guards.commands.files import on_deletion, on_sweep, on_writing
from assent.guards.commands.findings import blocked, doubtful, shown
from assent.guards.commands.git import on_git_hooks
from assent.guards.commands.grants import on_grants
from assent.guards.commands.permissions import on_permissions
from assent.guards.commands.places import PROTECTED, normal, of_the_system, place
from assent.guards.commands.rights import on_rights
from assent.guards.heavy import is_heavy
from assent.guards.own.git_work import on_git_work
from assent.guards.own.losses import on_losses, on_ransom
from assent.guards.own.padding import on_padding
from assent.guards.own.sending import on_sending
from assent.guards.own.stand_ins import on_stand_ins
from assent.guards.own.stopping import on_kernel, on_processes, on_stopping
from assent.guards.own.traces import on_traces
from assent.guards.own.windows import on_windows
from assent.hooks.contract.hook import GUARD, PreToolUseHook
from assent.hooks.contract.verdicts import ask, deny
from assent.hooks.engine.bounded import in_lane
from assent.shell.reading.grammar import load_parser
from assent.shell.reading.reader import read_script

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from assent.guards.commands.findings import Finding
    from assent.hooks.contract.context import HookContext
    from assent.hooks.contract.verdicts import HookResult
    from assent.shell.words.script import Command, Script

_RULES = (
    on_deletion,
    on_sweep,
    on_code,
    on_writing,
    on_permissions,
    on_disks,
    on_docker,
    on_machine,
    on_bus,
    on_git_hooks,
    on_remote_code,
    on_backdoors,
    on_rights,
    on_grants,
    on_reaching,
    on_doors,
    on_installing,
    on_leaks,
    on_kept,
    on_verbs,
    on_losses,
    on_git_work,
    on_traces,
    on_stand_ins,
    on_stopping,
    on_kernel,
    on_processes,
    on_sending,
    on_windows,
    on_approving,
    on_padding,
)


class CommandGuard(PreToolUseHook):
    """Denies harmful shell commands and asks about unreadable ones.

    Args:
        also_blocked: Further programs that may not run at all, by base name.
        allowed: Programs that the guard has no opinion on, by base name.

    Raises:
        ImportError: The extra `assent[guards]` is not installed.
    """

    name = "command-guard"
    description = "Keeps back shell commands that destroy, hide what they run, or let others in."
    priority = GUARD
    tools = "exec"

    def __init__(self, *, also_blocked: Iterable[str] = (), allowed: Iterable[str] = ()) -> None:
        load_parser()
        self._also_blocked = frozenset(also_blocked)
        self._allowed = frozenset(allowed)

    async def execute(self, ctx: HookContext) -> HookResult | None:
        """Judge the call's command. None: no objection."""
        return await in_lane(self._judge, ctx) if is_heavy(ctx) else self._judge(ctx)

    def _judge(self, ctx: HookContext) -> HookResult | None:
        texts = command_texts(ctx.args)
        if texts is None:
            return ask(f"the shell call has no command that can be read ({EXPECTED})")
        variables = surroundings(ctx.args)
        if of_the_system(normal(ctx.cwd)) or normal(ctx.cwd) in PROTECTED:
            variables.setdefault("PWD", ctx.cwd)  # elsewhere `.` says enough: the current tree
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
        yield from on_stored_leaks(script)
        yield from on_ransom(script)
        for command in script.commands:
            if command.program and command.program in self._also_blocked:
                yield blocked(f"{command.program} is blocked here")
            elif not command.program or command.program not in self._allowed:
                found = itertools.chain.from_iterable(rule(command) for rule in _RULES)
                if command.guess:
                    yield from (finding for finding in found if finding.certain)
                else:
                    yield from found
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
