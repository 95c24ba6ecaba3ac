"""Rules on work and data that nothing brings back: folders of data, sources by the pattern, what git does not keep."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING

from assent.guards.beyond.verb_words import meaning
from assent.guards.commands.data_places import is_source, keeps_data
from assent.guards.commands.files import REMOVERS
from assent.guards.commands.findings import behind, doubtful, has, operands, shown
from assent.guards.commands.places import place, protected, system_file
from assent.shell.lists import listed
from assent.shell.programs.finding import read_find

if TYPE_CHECKING:
    from collections.abc import Iterator

    from assent.guards.commands.findings import Finding
    from assent.shell.words.script import Command

_ERASERS = frozenset({"shred", "truncate", "gshred", "gtruncate"})
_PACKERS = {
    # program: the option with which it deletes what it has packed
    **dict.fromkeys(("tar", "bsdtar", "gtar"), re.compile(r"--remove-files")),
    "zip": re.compile(r"-[a-zA-Z]*m[a-zA-Z]*|--move"),
    **dict.fromkeys(("7z", "7za", "7zz"), re.compile(r"-sdel")),
    "rar": re.compile(r"-df"),
    "rsync": re.compile(r"--remove-source-files"),
}
_WHOLE_TREE = frozenset({".", ":/", "*", "./", ":", "-f", "--force"})
_TO_BEFORE = re.compile(r"[\w./@{}-]{0,80}(?:~(?:[2-9]|\d{2,4})|\^\^+)|[0-9a-f]{7,40}|--root|:/.{1,80}")
_REWRITES = re.compile(r"--(?:invert-paths|force|strip-.{1,30}|analyze-none|path-glob|replace-.{1,20}|commit-callback|blob-callback)")
_VERSION = re.compile(r":?(?:refs/tags/)?v?\d{1,4}(?:\.\d{1,6}){1,3}")
_ADDRESS = re.compile(r"(?:https?|ssh|git|ftp)://.{1,400}|[\w.-]{1,60}@[\w.-]{1,100}:.{1,300}")
_OWN_LISTS = frozenset({"docker", "podman", "git", "tmux", "npm", "pip", "pip3", "brew", "code", "conda", "rm"})
_SMALL = re.compile(r"(?:^|[\s:'\"/_-])(?:cache|te?mp|tests?|sess|dev|old|evicted|failed|succeeded|completed)", re.IGNORECASE)
_STATED = re.compile(r"\s{0,5}(?:drop|truncate|delete)\s|del$|unlink$", re.IGNORECASE)
_PROGRAMS = re.compile(r"/(?:usr/)?(?:local/)?s?bin/")
_HARMFUL = frozenset({"rm", "dd", "shred", "mkfs", "sh", "bash", "dash", "zsh", "sudo", "su", "wipefs", "kill", "shutdown", "nc", "chmod"})
_NOTHING = re.compile(r"/dev/(?:null|zero|u?random|full)")
_FILLED = re.compile(r"^/(?:tmp|dev|var/tmp|proc|sys)/|swap|\.(?:img|iso|bin|raw|qcow2|dat|test|log)$|te?mp|test|bench", re.IGNORECASE)
_STATE = re.compile(r"\.tfstate\b|/\.terraform\.tfstate")
_SETTINGS = re.compile(r"/etc/(?:(?!cron)[\w-]{1,40}(?<!\.d)(?<!enabled)/)?[\w.-]{1,60}\.(?:conf|cnf|cfg|ini|toml)")
_MAIN = listed("main master trunk develop production prod release")


def on_losses(command: Command) -> Iterator[Finding]:
    """Ask before data of people and services goes, or work that is nowhere else."""
    program = command.program
    if program in REMOVERS | _ERASERS:
        yield from _deleted(command)
    elif program in {"dd", "gdd", "cp", "gcp"}:
        yield from _overwritten(command)
        yield from _renamed(command)
    elif program in {"ln", "install"}:
        yield from _renamed(command)
    elif program in {"mv", "gmv"} and (words := operands(command)) and words[-1].text == "/dev/null":
        yield doubtful(f"mv {shown(words[0])} /dev/null destroys it")
    elif program in {"find", "gfind"}:
        yield from _found(command)
    elif program in {"fd", "fdfind"} and _by_extension(texts := [word.text for word in command.argv[1:]]):
        if not REMOVERS.isdisjoint(texts):
            yield doubtful("fd deletes what people wrote, by its extension")
    elif program in {"tar", "bsdtar", "gtar", "zip", "7z", "7za", "7zz", "rar", "rsync"}:
        yield from _moved(command)
    elif program in {"git", "hub"}:
        yield from _git(command)
    if program not in _OWN_LISTS and {"xargs", "parallel"}.intersection(command.wrappers):
        yield from _each_of_a_list(command)


def _each_of_a_list(command: Command) -> Iterator[Finding]:
    """What a program lists, it is then told to end, each: `kubectl get … | xargs kubectl delete`."""
    lists = [feeder for feeder in behind(command) if feeder.program == command.program]
    said = " ".join(word.text for feeder in lists for word in feeder.argv[1:20])
    if lists and not _SMALL.search(said) and any(meaning(word.text) == "ends" or _STATED.match(word.text) for word in command.argv[1:12]):
        yield doubtful(f"{command.program} ends each of what it lists")


def _deleted(command: Command) -> Iterator[Finding]:
    program = command.program
    whole = has(command, "rR", "--recursive") or program in {"rimraf", "trash", "trash-put", "rip", *_ERASERS}
    for word in operands(command):
        path = place(word, command.cwd)
        if _STATE.search(path) or _SETTINGS.fullmatch(path):
            yield doubtful(f"{program} {shown(word)} deletes what tells a program what it has, or how it works")
            return
        if (whole or word.globbed) and keeps_data(path):
            yield doubtful(f"{program} {shown(word)} deletes data that nothing makes again")
            return
    if any(_lists_sources(feeder) for feeder in behind(command)):
        yield doubtful(f"{program} deletes what the repository keeps, all of it")


def _overwritten(command: Command) -> Iterator[Finding]:
    """Files that are filled with nothing or with noise, where no program makes them anew."""
    texts = [word.text for word in command.argv[1:]]
    if command.program in {"dd", "gdd"}:
        empties = any(_NOTHING.fullmatch(text.removeprefix("if=")) for text in texts if text.startswith("if="))
        targets = [text.removeprefix("of=") for text in texts if text.startswith("of=")]
    else:
        words = operands(command)
        empties = bool(words) and _NOTHING.fullmatch(words[0].text) is not None
        targets = [word.text for word in words[1:]]
    for target in targets if empties else ():
        if target.startswith(("/", "~")) and not _FILLED.search(target):
            yield doubtful(f"{command.program} writes nothing or noise over {target[:60]}")
            return


def _renamed(command: Command) -> Iterator[Finding]:
    """A program that does harm, under another name: what is called by that is judged by nobody."""
    words = operands(command)
    names = {words[0].text.rsplit("/", 1)[-1]} if len(words) > 1 and _PROGRAMS.match(words[0].text) else set[str]()
    for source in command.arguments_from:
        if source.program in {"which", "command", "type", "whereis"}:
            names.update(word.text for word in source.argv[1:])
    if found := sorted(names & _HARMFUL):
        yield doubtful(f"{command.program} gives {found[0]} another name")


def _lists_sources(feeder: Command) -> bool:
    """Whether it lists all that git tracks, or sources by their pattern from the current tree on."""
    texts = [word.text for word in feeder.argv[1:]]
    if feeder.program == "git" and texts[:1] == ["ls-files"]:
        return not any(text in {"-o", "--others", "-d", "--deleted", "-i", "--ignored"} for text in texts) and not any(
            "*" in text or not text.startswith("-") for text in texts[1:]
        )
    if feeder.program in {"fd", "fdfind"}:
        return _by_extension(texts)
    return feeder.program in {"find", "gfind"} and _names_sources(texts)


def _by_extension(texts: list[str]) -> bool:
    extensions = (after for before, after in itertools.pairwise(texts) if before in {"-e", "--extension"})
    return any(is_source(f"*.{extension}") for extension in extensions)


def _names_sources(texts: list[str]) -> bool:
    roots = [text for text in texts[:1] if text in {".", "./", "..", "~", "src", "./src"}]
    narrowed = any(text in {"-path", "-maxdepth", "-mtime", "-newer", "-size", "-not", "!", "-mmin"} for text in texts)
    names = [after for before, after in itertools.pairwise(texts) if before in {"-name", "-iname"}]
    return bool(roots) and not narrowed and any(map(is_source, names))


def _found(command: Command) -> Iterator[Finding]:
    found = read_find(command.argv)
    removing = [inner for inner in found.inner if inner and inner[0].text.rsplit("/", 1)[-1] in REMOVERS | _ERASERS]
    if not (found.deletes or removing):
        return
    if _names_sources([word.text for word in command.argv[1:]]):
        yield doubtful("find deletes what people wrote, by its pattern")
    elif not _ages(command) and any(keeps_data(place(word, command.cwd)) for word in command.argv[1:2]):
        yield doubtful(f"find {shown(command.argv[1])} deletes data that nothing makes again")


def _ages(command: Command) -> bool:
    """Whether only what is old goes, or what has a name of its own."""
    pairs = itertools.pairwise(word.text for word in command.argv[1:])
    return any(
        before in {"-name", "-iname", "-path", "-regex", "-size"} or (before.endswith(("time", "min")) and re.fullmatch(r"\+[1-9]\d{0,5}", after))
        for before, after in pairs
    )


def _moved(command: Command) -> Iterator[Finding]:
    """Archives into which the only copy goes, and folders that are made as empty as another."""
    program = command.program
    deletes = any(map(_PACKERS[program].fullmatch, (word.text for word in command.argv[1:])))
    for word in operands(command) if deletes else ():
        path = place(word, command.cwd)
        if keeps_data(path) or protected(path) or system_file(path):
            yield doubtful(f"{program} takes {shown(word)} away from where it is")
            return
    if program == "rsync" and has(command, "", "--delete", "--delete-after", "--delete-before", "--delete-excluded"):
        words = operands(command)
        kept = len(words) > 1 and ":" not in words[-1].text and keeps_data(place(words[-1], command.cwd))
        if kept and ("empty" in words[0].text or words[0].text == "/dev/null/"):
            yield doubtful(f"rsync --delete empties {shown(words[-1])}")


def _git(command: Command) -> Iterator[Finding]:
    words = [word.text for word in command.argv[1:]]
    while len(words) > 1 and words[0].startswith("-"):
        words = words[2:] if words[0] in {"-C", "-c", "--git-dir", "--work-tree"} else words[1:]
    action, *rest = words or [""]
    names = [text for text in rest if not text.startswith("-")]
    if "-n" in rest or "--dry-run" in rest:
        return
    if why := _lost_by(action, rest, names) or _lost_there(action, rest, names):
        yield doubtful(f"git {action} {why}")
    piped = any(feeder.program == "git" for feeder in behind(command))
    if action in {"branch", "tag"} and piped and "--merged" not in _fed(command):
        if any(text in {"-D", "-d", "--delete"} for text in rest):
            yield doubtful(f"git {action} deletes all that it finds")


def _fed(command: Command) -> str:
    return " ".join(word.text for feeder in behind(command) for word in feeder.argv[:8])


def _lost_by(action: str, rest: list[str], names: list[str]) -> str:
    """Return what is lost here that no commit has, or no name leads to any more; "" for nothing."""
    whole = any(text in _WHOLE_TREE for text in rest)
    match action:
        case "reset" if "--hard" in rest and any(map(_TO_BEFORE.fullmatch, names)):
            return "--hard takes several commits away, and all that is not committed"
        case "checkout" if whole and "-b" not in rest and "-B" not in rest and "--ours" not in rest:
            return "throws all away that is not committed"
        case "restore" if whole and ("--staged" not in rest or "--worktree" in rest) and "-S" not in rest:
            return "throws all away that is not committed"
        case "stash" if names[:1] == ["clear"]:
            return "clear throws away all work that is put by"
        case "reflog" if names[:1] in (["expire"], ["delete"]) and any("now" in text or "=0" in text or text == "--all" for text in rest):
            return "takes away what could bring commits back"
        case "filter-branch":
            return "writes the whole history anew"
        case "filter-repo" if any(_REWRITES.fullmatch(text.partition("=")[0]) for text in rest):
            return "writes the whole history anew"
        case "rm" if any(text in {".", "*", "./", ":/"} for text in names) and "--cached" not in rest:
            return "deletes all that the repository has"
        case "worktree" if names[:1] == ["remove"] and ("--force" in rest or "-f" in rest):
            return "remove --force throws away what is not committed there"
        case "update-ref" if "--stdin" in rest:
            return "moves and deletes branches by the list"
        case "replace" | "commit-tree" if "--force" in rest or "-f" in rest:
            return "puts other history in its place"
        case _:
            return ""


def _lost_there(action: str, rest: list[str], names: list[str]) -> str:
    """Return what a push takes away elsewhere, or where it sends everything; "" for nothing."""
    if action != "push":
        return ""
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
