"""Rules on skipping git hooks."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING

from assent.guards.commands.findings import blocked, doubtful
from assent.shell.lists import listed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from assent.guards.commands.findings import Finding
    from assent.shell.words.script import Command

_WITH_HOOKS = listed("commit merge push am rebase cherry-pick revert pull ci gc receive-pack checkout citool")
_GLOBAL_VALUES = frozenset(
    {"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--super-prefix", "--config-env", "--exec-path"}
)
_COMMIT_VALUES = "mFCctuS"
"""Short options of `git commit` behind which the rest of the word, or the next one, is a value."""
_COMMIT_LONG_VALUES = listed(
    "--message --file --author --date --template --reuse-message --reedit-message --fixup --squash --cleanup --trailer "
    "--pathspec-from-file"
)
_SWITCHES = {
    "HUSKY": frozenset({"0", "false"}),
    "LEFTHOOK": frozenset({"0", "false"}),
    "OVERCOMMIT_DISABLE": frozenset({"1", "true"}),
    "HUSKY_SKIP_HOOKS": frozenset({"1", "true"}),
    "SKIP_HOOKS": frozenset({"1", "true"}),
    "SKIP_GIT_HOOKS": frozenset({"1", "true"}),
    "SKIP_SIMPLE_GIT_HOOKS": frozenset({"1", "true"}),
    "PRE_COMMIT_ALLOW_NO_CONFIG": frozenset({"1"}),
}
_NOWHERE = re.compile(r"(?:/dev/null|/tmp(?:/.*)?|/var/tmp.*|/nonexistent.*|/none|/|)", re.IGNORECASE)


def on_git_hooks(command: Command) -> Iterator[Finding]:
    """Skipping hooks by option, configuration or environment."""
    if command.program != "git":
        return
    at, settings = _behind_globals(command)
    for setting in settings:
        yield from _setting(setting)
    rest = command.argv[at:]
    if not rest:
        return
    action, arguments = rest[0].text, [word.text for word in rest[1:]]
    if action in _WITH_HOOKS:
        if _skips(action, arguments):
            yield blocked(f"git {action} without its hooks")
        yield from _environment(command, action)
    elif action == "config":
        yield from _config(arguments)


def _behind_globals(command: Command) -> tuple[int, list[str]]:
    at, settings = 1, list[str]()
    while at < len(command.argv) and command.argv[at].text.startswith("-"):
        text = command.argv[at].text
        if text == "-c" and at + 1 < len(command.argv):
            settings.append(command.argv[at + 1].text)
        elif text.startswith("--config-env="):
            settings.append(text.removeprefix("--config-env="))
        at += 2 if text in _GLOBAL_VALUES else 1
    return at, settings


def _setting(setting: str) -> Iterator[Finding]:
    name, _, value = setting.partition("=")
    folded = name.casefold()
    yield from _leaking_helper(name, value)
    if folded == "core.hookspath":
        yield blocked("git with another core.hooksPath leaves the repository's hooks out")
    elif folded.startswith("alias.") and _skipping_text(value):
        yield blocked("a git alias that leaves hooks out")


def _leaking_helper(name: str, value: str) -> Iterator[Finding]:
    if name.casefold().startswith("credential") and re.search(r"\b(?:curl|wget|nc|ncat|socat|mail|/dev/tcp)\b", value):
        yield blocked("a git credential helper that sends logins to another machine")


def _skips(action: str, arguments: Sequence[str]) -> bool:
    at = 0
    while at < len(arguments) and arguments[at] != "--":
        text = arguments[at]
        at += 1
        if text.startswith("--"):
            if _no_verify(text):
                return True
            at += action in {"commit", "merge"} and text in _COMMIT_LONG_VALUES
        elif action in {"commit", "ci"} and text.startswith("-"):
            skips, takes_next = _commit_letters(text[1:])
            if skips:
                return True
            at += takes_next
        elif action == "am" and re.fullmatch(r"-[3iksuq]*n[3iksuqn]*", text):
            return True
        elif action in {"merge", "push"} and text in {"-m", "-F", "-o"}:
            at += 1
    return False


def _commit_letters(letters: str) -> tuple[bool, bool]:
    """Read bundled options: whether `-n` is among them, and whether the next word is the last one's value."""
    for place, letter in enumerate(letters):
        if letter == "n":
            return True, False
        if letter in _COMMIT_VALUES:
            return False, place == len(letters) - 1 and letter not in "uS"
    return False, False


def _no_verify(text: str) -> bool:
    """Whether it is `--no-verify` or an abbreviation that git takes for it."""
    bare = text.partition("=")[0]
    return len(bare) >= len("--no-v") and "--no-verify".startswith(bare)


def _skipping_text(text: str) -> bool:
    return any(_no_verify(word) for word in text.split()) or bool(re.match(r"!?(?:git )?commit .*-\w*n\b", text))


def _environment(command: Command, action: str) -> Iterator[Finding]:
    for name, word in command.environment:
        value = word.text.casefold()
        if value in _SWITCHES.get(name, ()) or (name == "SKIP" and value and action in {"commit", "push", "merge"}):
            yield blocked(f"{name}={word.text} makes git {action} leave hooks out")
        elif name.startswith(("GIT_CONFIG_KEY_", "GIT_CONFIG_PARAMETERS")) and "core.hookspath" in value:
            yield blocked("git with another core.hooksPath leaves the repository's hooks out")


def _config(arguments: list[str]) -> Iterator[Finding]:
    if any(
        text in {"--get", "--unset", "--get-all", "--unset-all", "get", "unset", "list", "-l"} for text in arguments
    ):
        return
    words = [text for text in arguments if not text.startswith("-") and text != "set"]
    for name, value in itertools.pairwise(words):
        yield from _leaking_helper(name, value)
        if name.casefold() == "core.hookspath":
            reason = f"git config {name} {value} puts other hooks in the place of the repository's"
            yield blocked(reason) if _NOWHERE.fullmatch(value) else doubtful(reason)
        elif name.casefold().startswith("alias.") and _skipping_text(value):
            yield blocked("a git alias that leaves hooks out")
