"""Rules on work that git does not keep, or keeps no longer: what is not committed, history, branches of others."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from assent.guards.commands.findings import behind, doubtful
from assent.shell.lists import listed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from assent.guards.commands.findings import Finding
    from assent.shell.words.script import Command

_WHOLE_TREE = frozenset({".", ":/", "*", "./", ":", "-f", "--force"})
_TO_BEFORE = re.compile(r"[\w./@{}-]{0,80}(?:~(?:[2-9]|\d{2,4})|\^\^+)|[0-9a-f]{7,40}|--root|:/.{1,80}")
_REWRITES = re.compile(
    r"--(?:invert-paths|force|strip-.{1,30}|analyze-none|path-glob|replace-.{1,20}|commit-callback|blob-callback)"
)
_VERSION = re.compile(r":?(?:refs/tags/)?v?\d{1,4}(?:\.\d{1,6}){1,3}")
_ADDRESS = re.compile(r"(?:https?|ssh|git|ftp)://.{1,400}|[\w.-]{1,60}@[\w.-]{1,100}:.{1,300}")
_LEFT_BEHIND = re.compile(r"--merged|gone")
"""Branches that others have, or whose other side is gone."""
_MAIN = listed("main master trunk develop production prod release")


def on_git_work(command: Command) -> Iterator[Finding]:
    """Ask before git throws work away that is nowhere else, writes history anew or takes away what others use."""
    if command.program not in {"git", "hub"}:
        return
    words = [word.text for word in command.argv[1:]]
    while len(words) > 1 and words[0].startswith("-"):
        words = words[2:] if words[0] in {"-C", "-c", "--git-dir", "--work-tree"} else words[1:]
    action, *rest = words or [""]
    names = [text for text in rest if not text.startswith("-")]
    if "-n" in rest or "--dry-run" in rest:
        return
    if _thrown_away(action, rest, names):
        yield doubtful(f"git {action} throws work away that is nowhere else")
    elif _rewritten(action, rest, names):
        yield doubtful(f"git {action} writes history anew, or takes away what could bring it back")
    elif action == "push" and (why := _lost_there(rest, names)):
        yield doubtful(f"git push {why}")
    piped = any(feeder.program == "git" for feeder in behind(command))
    deletes = action in {"branch", "tag"} and not {"-D", "-d", "--delete"}.isdisjoint(rest)
    if piped and deletes and not _LEFT_BEHIND.search(_fed(command)):
        yield doubtful(f"git {action} deletes all that it finds")


def _fed(command: Command) -> str:
    return " ".join(word.text for feeder in behind(command) for word in feeder.argv[:8])


def _thrown_away(action: str, rest: list[str], names: list[str]) -> bool:
    """Whether what goes is in no commit, or in several that no name leads to any more."""
    whole = not _WHOLE_TREE.isdisjoint(rest)
    match action:
        case "reset":
            return "--hard" in rest and any(map(_TO_BEFORE.fullmatch, names))
        case "checkout":
            switches = bool(names) and _WHOLE_TREE.isdisjoint(names)  # `-f main`: another branch's state
            return whole and not switches and {"-b", "-B", "--ours", "--theirs"}.isdisjoint(rest)
        case "restore":
            return whole and ("--worktree" in rest or {"--staged", "-S"}.isdisjoint(rest))
        case "stash":
            return names[:1] == ["clear"]
        case "worktree":
            return names[:1] == ["remove"] and not {"--force", "-f"}.isdisjoint(rest)
        case "submodule":
            return names[:1] == ["deinit"] and not {"--all", "."}.isdisjoint(rest)
        case "rm":
            return not {".", "*", "./", ":/"}.isdisjoint(names) and "--cached" not in rest
        case _:
            return False


def _rewritten(action: str, rest: list[str], names: list[str]) -> bool:
    """Whether history is put in another one's place, or what could bring commits back goes."""
    match action:
        case "reflog":
            now = any("now" in text or "=0" in text or text == "--all" for text in rest)
            return names[:1] == ["delete"] or (names[:1] == ["expire"] and now)
        case "filter-branch":
            return True
        case "filter-repo":
            return any(_REWRITES.fullmatch(text.partition("=")[0]) for text in rest)
        case "update-ref":
            return "--stdin" in rest
        case "replace":
            return not {"--force", "-f"}.isdisjoint(rest)
        case _:
            return False


def _lost_there(rest: list[str], names: list[str]) -> str:
    """Return what a push takes away elsewhere, or where it sends everything; "" for nothing."""
    deletes = any(text in {"--delete", "-d"} for text in rest)
    if deletes and any("\0" in text or "{}" in text for text in names[1:]):
        return "deletes whatever it is given"
    if any(_VERSION.fullmatch(text) and (deletes or text.startswith(":")) for text in names[1:]):
        return "takes a published version away"
    forced = any(text in {"--force", "-f"} or text.startswith("--force-with-lease") for text in rest)
    if forced and any(text.rpartition(":")[2] in _MAIN for text in names[1:]):
        return "writes over a branch that all use"
    if len(names) < 2 and any(text in {"--force", "-f"} for text in rest):
        return "--force writes over whatever is there"
    if any(map(_ADDRESS.fullmatch, names[:1])):
        return "sends the repository to an address of its own"
    return ""
