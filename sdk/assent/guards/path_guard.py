"""Keeps agents from keys, logins, profiles and chats: every path of a call, however it is spelt, against the lists.

It reads the arguments that carry paths, the headers of patches, and the files that a shell command touches. Reading
and writing are refused alike. What cannot be known but may be a protected path (`~/.ssh/$NAME`) goes to people.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from assent.client.messages import FINAL
from assent.guards.heavy import is_heavy
from assent.guards.paths.arguments import TooDeepError, mentions_of
from assent.guards.paths.forms import UNKNOWN, forms_of, joined, word_forms
from assent.guards.paths.globs import Telling, meetings, plain_glob
from assent.guards.paths.lists import LISTERS, WHOLE_TREES
from assent.guards.paths.match import is_whole, lists_of
from assent.guards.paths.patches import patched_files
from assent.hooks.contract.hook import GUARD, PreToolUseHook
from assent.hooks.contract.tool_names import canonical_name
from assent.hooks.contract.verdicts import ask, deny
from assent.hooks.engine.bounded import in_lane
from assent.shell.reading.grammar import load_parser

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from assent.guards.paths.arguments import Mentions
    from assent.guards.paths.forms import Form
    from assent.hooks.contract.context import HookContext
    from assent.hooks.contract.verdicts import HookResult
    from assent.shell.programs.files import Touched
    from assent.shell.words.script import Command

FILE_TOOLS = re.compile(
    r"read|write|edit|apply_patch|exec"
    r"|(?:.*[_.:-])?(?:ls|dir|glob|grep|rg|cat|view|open|find|search|list|tree|stat|copy|cp|move|mv|rename|delete|remove|rm"
    r"|read|write|edit|patch|append|insert|create|save|load|upload|download|attach|file|files|folder|directory"
    r"|filesystem|notebook|editor|image)(?:[_.:-].*)?"
    r"|(?:list|read|search|find|open|create|delete|move|copy|view)(?:dir|file|files|folder|directory)",
    re.IGNORECASE,
)
"""The canonical file tools and the shell, and what other runtimes and MCP servers call theirs."""

_PATCH_PROGRAMS = frozenset({"apply_patch", "applypatch", "patch", "git"})
_LONGEST_SHOWN = 160


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fault:
    """A path that may not be touched; `sure` is False when it only may be one."""

    path: str
    kind: str
    sure: bool


class PathGuard(PreToolUseHook):
    """Denies every call that would read or write a protected path; asks where one may be meant."""

    name = "path-guard"
    description = "Keeps agents from keys, logins, password files, shell profiles and chat sessions."
    priority = GUARD - 1
    tools = FILE_TOOLS

    def __init__(self, *, protect: Sequence[str] = (), allow: Sequence[str] = ()) -> None:
        """`protect` and `allow` extend the lists of `assent.guards.paths.lists`, in the same patterns.

        `allow` forgives what it names: `.npmrc`, `~/.kube/cache/`, `/etc/pam.d/login`. Raises ValueError for a pattern
        that stands for everything or for nothing, ImportError where the extra `assent[guards]` is not installed.
        """
        load_parser()
        self._lists = lists_of(_listed(protect, "protect"), _listed(allow, "allow"))

    async def execute(self, ctx: HookContext) -> HookResult | None:
        """Judge every path that the call mentions; the first that is protected denies it."""
        return await in_lane(self._judge, ctx) if is_heavy(ctx) else self._judge(ctx)

    def _judge(self, ctx: HookContext) -> HookResult | None:
        try:
            mentions = mentions_of(canonical_name(ctx.tool_name), ctx.args)
        except TooDeepError as fault:
            return deny(f"Which files the call touches cannot be read: {fault}.")
        doubt: str | None = None
        for fault in self._faults(mentions, ctx.cwd):
            if isinstance(fault, str):
                doubt = doubt or fault
            elif fault.sure:
                return deny(f"{_shown(fault.path)} is {fault.kind}: agents neither read nor write it. {FINAL}")
            else:
                doubt = doubt or f"{_shown(fault.path)} may be {fault.kind}, which agents neither read nor write"
        return ask(doubt) if doubt else None

    def _faults(self, mentions: Mentions, cwd: str) -> Iterator[_Fault | str]:
        base = joined(cwd, mentions.base) or cwd
        for path in mentions.paths:
            yield from self._literal(joined(base, path), forms_of(path, base))
        for glob in mentions.globs:
            for folder in mentions.paths or ("",):
                within = joined(base, folder) or base
                yield from self._wild(joined(within, glob), word_forms(plain_glob(glob), within), globbed=True)
        for command in mentions.commands:
            yield from self._command(command, cwd, mentions.environment)

    def _command(self, text: str, base: str, environment: dict[str, str]) -> Iterator[_Fault | str]:
        # The parser is loaded when a command is first judged: guarding files alone does without it.
        from assent.shell.programs.files import files_touched
        from assent.shell.reading.reader import read_script

        script = read_script(text, variables=environment)
        for touched in files_touched(script):
            if touched.mode == "write" or touched.command.program not in LISTERS:
                yield from self._touched(touched, _folder(touched.command, base))
        for command in script.commands:
            folder = _folder(command, base)
            for path in _patched_by(command):
                yield from self._literal(joined(folder, path), forms_of(path, folder))
        if script.unread:
            yield f"which files the command touches could not be read: {script.unread[0]}"

    def _touched(self, touched: Touched, folder: str) -> Iterator[_Fault | str]:
        word = touched.path
        path = joined(folder, word.text)
        forms = word_forms(plain_glob(word.text) if word.globbed else word.text, folder)
        if word.globbed or any(UNKNOWN in name for form in forms for name in form.components):
            yield from self._wild(path, forms, globbed=word.globbed)
        else:
            yield from self._literal(path, forms)
        taken = touched.mode == "read" and touched.command.program in WHOLE_TREES
        if taken and any(is_whole(form) for form in forms):
            yield f"{_shown(path)} as a whole holds keys and logins, which agents neither read nor copy"

    def _literal(self, path: str, forms: Sequence[Form]) -> Iterator[_Fault]:
        for form in forms:
            for hit in self._lists.hits(form):
                if hit.excused_at is None:
                    yield _Fault(path=path, kind=hit.pattern.kind, sure=True)

    def _wild(self, path: str, forms: Sequence[Form], *, globbed: bool) -> Iterator[_Fault]:
        """Judge a word with wildcards or unknown parts: what it matches as it stands is sure, the rest is weighed."""
        for form in forms:
            for hit in self._lists.hits(form):
                if hit.excused_at is None:
                    yield _Fault(path=path, kind=hit.pattern.kind, sure=True)
                elif _unknown_behind(form, hit.excused_at):
                    yield _Fault(path=path, kind=hit.pattern.kind, sure=False)
            for meeting in meetings(form, self._lists):
                excused_at = self._lists.excuse(meeting.form, meeting.pattern, meeting.start)
                if excused_at is None or _unknown_behind(meeting.form, excused_at):
                    known = globbed and not any(UNKNOWN in name for name in form.components)
                    sure = known and excused_at is None and meeting.telling is Telling.NAME
                    yield _Fault(path=path, kind=meeting.pattern.kind, sure=sure)


def _unknown_behind(form: Form, at: int) -> bool:
    """Whether the path may leave the place that an exception names, through what is not known of it."""
    return any(UNKNOWN in name for name in form.components[at + 1 :])


def _folder(command: Command, base: str) -> str:
    return joined(base, command.cwd.text) or base if command.cwd is not None else base


def _patched_by(command: Command) -> tuple[str, ...]:
    if command.program not in _PATCH_PROGRAMS:
        return ()
    texts = (command.fed_text or "", *(word.text for word in command.argv[1:] if "\n" in word.text))
    return tuple(path for text in texts for path in patched_files(text))


def _listed(patterns: object, option: str) -> tuple[str, ...]:
    if not isinstance(patterns, list | tuple | set | frozenset):
        patterns = (None,)
    given = tuple(cast("Collection[object]", patterns))
    texts = tuple(each for each in given if isinstance(each, str))
    if len(texts) != len(given):
        raise ValueError(f"{option} is a list of patterns of paths, such as ['secrets/', '*.tfstate']")
    return texts


def _shown(path: str) -> str:
    """The path in characters that can be seen, cut in the middle when it is long."""
    plain = "".join(
        char if char.isprintable() else "…" if char == UNKNOWN else f"\\u{{{ord(char):X}}}" for char in path
    )
    if len(plain) <= _LONGEST_SHOWN:
        return plain
    half = _LONGEST_SHOWN // 2
    return f"{plain[:half]}…{plain[-half:]}"
