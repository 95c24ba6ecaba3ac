"""Rules on files: what deletes, moves away, empties or overwrites what is not the agent's."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from assent.guards.commands.findings import blocked, doubtful, has, operands, shown
from assent.guards.commands.places import (
    device,
    git_hooks,
    named,
    of_the_system,
    place,
    protected,
    system_file,
    system_program,
)
from assent.shell.programs.files import touched_by
from assent.shell.programs.finding import read_find
from assent.shell.programs.outputs import output_of
from assent.shell.words.scope import word_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from assent.guards.commands.findings import Finding
    from assent.shell.words.script import Command, Word

REMOVERS = frozenset(
    {
        "rm",
        "grm",
        "unlink",
        "srm",
        "wipe",
        "rimraf",
        "trash",
        "trash-put",
        "del-cli",
        "rmdir",
        "rip",
        "Remove-Item",
        "zf_rm",
        "rd",
        "del",
        "erase",
    }
)
_OF_POWERSHELL = frozenset({"pwsh", "powershell"})
"""Its paths are no shell's (`.\\bin`): what is guessed of them is not what is meant."""
_OF_WINDOWS = frozenset({"rd", "rmdir", "del", "erase"})
_ERASERS = frozenset({"shred", "truncate", "gshred", "gtruncate"})
_ERASER_VALUES = re.compile(r"-[ns]|--iterations|--size|-r|--reference")
_NOTHING_BUT_A_VARIABLE = re.compile(r"\0/+[*.?]*")
_STARTED_AT_LOGIN = re.compile(r"/(?:autostart|LaunchAgents|LaunchDaemons|Startup)(?:/|$)")
_TAR_UNPACKS = re.compile(r"^-?[a-zA-Z]*x|\s-[a-zA-Z]*x|--(?:extract|get)\b")
_UNPACKS = {
    # program: how its words look when it unpacks
    **dict.fromkeys(("tar", "bsdtar", "gtar"), _TAR_UNPACKS),
    "unzip": re.compile(r"^(?!.*(?:^|\s)-[lvtp])"),
    **dict.fromkeys(("7z", "7za", "7zz"), re.compile(r"^[xe]\b")),
    "cpio": re.compile(r"(?:^|\s)-[a-z]*i|--extract"),
    "dpkg-deb": re.compile(r"(?:^|\s)-(?:x|X|R)\b|--(?:v?extract|raw-extract)"),
    "ar": re.compile(r"^-?x"),
    "pax": re.compile(r"(?:^|\s)-[a-z]*r"),
    "unrar": re.compile(r"^[xe]\b"),
    "unsquashfs": re.compile(r"-d\b"),
}
_INTO = frozenset({"-C", "--directory", "-d", "-D", "--output", "--one-top-level"})
_ATTACHED_FOLDER = re.compile(r"(?:-o|--directory=|-C)(/.*)")
_CLIMBS = re.compile(r"(?:\.\./){3,}")
_INTO_FOLDERS = frozenset({"cp", "mv", "install", "ln", "rsync", "scp", "gcp", "gmv"})


def on_deletion(command: Command) -> Iterator[Finding]:
    """Deleting, emptying or moving away roots, homes, the current tree and what belongs to the system."""
    program = command.program
    if program in REMOVERS and not (command.guess and _OF_POWERSHELL.intersection(command.wrappers)):
        yield from _removal(command)
    elif program in _ERASERS:
        yield from _erasure(command)
    elif program in {"mv", "gmv"}:
        yield from _moving(command)
    elif program in {"find", "gfind"}:
        yield from _sweeping(command)
    elif program == "rsync" and has(command, "", "--delete", "--delete-after", "--delete-before", "--delete-excluded"):
        target = operands(command)[-1:]
        if target and protected(place(target[0], command.cwd), globbed=target[0].globbed):
            yield blocked(f"rsync --delete empties {shown(target[0])}")
    elif program == "git" and "clean" in [word.text for word in command.argv[1:4]]:
        dry = has(command, "n", "--dry-run")
        if has(command, "x") and has(command, "f", "--force") and not dry:
            yield doubtful("git clean -x deletes ignored files too (.env, local data), which git cannot bring back")


def _removal(command: Command) -> Iterator[Finding]:
    if command.program in _OF_WINDOWS and _whole_folders(command):
        yield blocked(f"{command.program} /s deletes whole folders")
    recursive = has(command, "rR", "--recursive") or command.program in {"rimraf", "trash", "trash-put", "rip"}
    if has(command, "", "--no-preserve-root"):
        yield blocked("--no-preserve-root has one use: deleting the root of the file system")
    for word in operands(command):
        if command.program == "rmdir" and word.globbed:
            continue
        yield from _deleted(word, command, recursive=recursive)


def _whole_folders(command: Command) -> bool:
    """Whether `/s` deletes folders that are not below the current one."""
    texts = [word.text for word in command.argv[1:]]
    named = [text for text in texts if not re.fullmatch(r"/\w", text)]
    below = bool(named) and all(re.match(r"(?![A-Za-z]:)[\w-]", text) and ".." not in text for text in named)
    return "/s" in map(str.casefold, texts) and not below


def _deleted(word: Word, command: Command, *, recursive: bool) -> Iterator[Finding]:
    path, said = place(word, command.cwd), f"{command.program} {shown(word)}"
    if not recursive and word.text == "\0":
        return  # one file, whichever
    if recursive and _NOTHING_BUT_A_VARIABLE.fullmatch(word.text) and "$()" not in word.built_from:
        yield blocked(f"{said} deletes the root of the file system when the variable is empty: write ${{NAME:?}}")
    elif "\0" in path:
        yield from _unknown_deletion(word, path, said)
    elif protected(path, globbed=word.globbed):
        yield blocked(f"{said} deletes {named(path)}")
    elif _CLIMBS.match(path) and (protected(climbed := f"/{_CLIMBS.sub('', path)}") or of_the_system(climbed)):
        yield blocked(f"{said} climbs up to what belongs to the system")
    elif device(path):
        yield blocked(f"{said} removes a disk's device")
    elif system_file(path) or system_program(path) or (of_the_system(path) and (recursive or path[:4] != "/etc")):
        yield blocked(f"{said} deletes what belongs to the system")
    elif git_hooks(path) and (path.endswith(".git") is False):
        yield blocked(f"{said} removes git hooks")
    elif path in {"./.git", ".git"} and recursive:
        yield doubtful(f"{said} deletes the repository's whole history")


def _unknown_deletion(word: Word, path: str, said: str) -> Iterator[Finding]:
    """Ask, unless the known part in front keeps the path inside a place that may be deleted from."""
    known = path.partition("\0")[0]
    folder, slash, start = known.rpartition("/")
    inside = folder or ("/" if slash else "")
    if (
        start
        and start not in {".", ".."}
        and not of_the_system(known)
        and (known.startswith(("~", ".")) or inside != "/")
    ):
        return
    if inside and not start and not protected(inside) and not of_the_system(inside) and inside.strip("./"):
        return
    if path == "/\0" and word.globbed:
        yield blocked(f"{said} deletes from the root of the file system")
        return
    yield doubtful(f"{said}: what it deletes is known only when it runs")


def _erasure(command: Command) -> Iterator[Finding]:
    words, skip = list[str](), False
    for word in command.argv[1:]:
        if skip or (word.text.startswith("-") and word.text != "-"):
            skip = not skip and bool(_ERASER_VALUES.fullmatch(word.text))
            continue
        words.append(word.text)
        path = place(word, command.cwd)
        if "\0" in path:
            yield from _unknown_deletion(word, path, f"{command.program} {shown(word)}")
        elif device(path):
            yield blocked(f"{command.program} {shown(word)} overwrites a disk")
        elif protected(path, globbed=word.globbed) or system_file(path) or of_the_system(path):
            yield blocked(f"{command.program} {shown(word)} destroys what belongs to the system")


def _moving(command: Command) -> Iterator[Finding]:
    words = operands(command)
    away = bool(words) and words[-1].text == "/dev/null"
    for word in words if has(command, "t", "--target-directory") else words[:-1]:
        path = place(word, command.cwd)
        relative = path.startswith(".")
        if away and ("\0" in path or protected(path, globbed=word.globbed)):
            yield blocked(f"mv {shown(word)} /dev/null destroys it")
        elif git_hooks(path) and "/hooks" in path:
            yield blocked(f"mv {shown(word)} switches git hooks off")
        elif protected(path, globbed=word.globbed) and not relative:
            yield blocked(f"mv {shown(word)} moves {named(path)} away")


def _sweeping(command: Command) -> Iterator[Finding]:
    found = read_find(command.argv)
    if not found.deletes:
        return
    for root in found.roots:
        word = word_of(root)
        path = place(word, command.cwd)
        if "\0" in path:
            yield from _unknown_deletion(word, path, "find -delete")
        elif protected(path, globbed=word.globbed) and (not found.filtered or _wide(path)):
            yield blocked(f"find {shown(word)} … -delete deletes from {named(path)}")
        elif of_the_system(path):
            yield blocked(f"find {shown(word)} … -delete deletes what belongs to the system")


def _wide(path: str) -> bool:
    """Whether even a choice of what is below the path is too much: system directories, not homes or places for all."""
    return path.startswith("/") and path not in {"/tmp", "/var/tmp", "/var/log", "/var/cache"}  # noqa: S108  # the same


def on_sweep(command: Command) -> Iterator[Finding]:
    """Deleting a choice of what `find` finds below a system directory (`dir/{}/name` stands for it)."""
    if command.program not in REMOVERS | _ERASERS:
        return
    for word in operands(command):
        head, mark, _ = word.text.partition("/{}/")
        if mark:
            root = place(replace(word, text=head or "/", globbed=False), command.cwd)
            if (protected(root) and _wide(root)) or of_the_system(root):
                yield blocked(f"{command.program} on what find finds below {head or '/'} deletes from {named(root)}")


def on_writing(command: Command) -> Iterator[Finding]:
    """Writing onto disks, system files and system programs."""
    if command.program in REMOVERS | _ERASERS:
        return
    for touched in touched_by(command):
        if touched.mode == "write":
            yield from _written(touched.path, command)
    if command.program in _INTO_FOLDERS:
        yield from _into_folder(command)
    yield from _by_its_name(command)
    yield from _unpacked(command)
    if command.program in {"dd", "gdd"} and any(word.text.startswith("of=\0") for word in command.argv):
        yield doubtful("dd writes to a target that is known only when it runs")


def _unpacked(command: Command) -> Iterator[Finding]:
    """Archives that are unpacked over the system: what is in them nobody sees."""
    shape = _UNPACKS.get(command.program)
    texts = [word.text for word in command.argv[1:]]
    if shape is None or not shape.search(" ".join(texts)[:2000]):
        return
    folders = [
        word
        for before, word in itertools.pairwise(command.argv)
        if before.text in _INTO or command.program == "dpkg-deb"
    ]
    attached = [word_of(found[1]) for text in texts if (found := _ATTACHED_FOLDER.match(text))]
    if not folders and not attached and command.cwd is not None:
        folders = [command.cwd]
    for word in (*folders, *attached):
        path = place(word, None)
        if path in {"/", "/root"} or (of_the_system(path) and not path.startswith("/usr/local")):
            yield blocked(f"{command.program} unpacks over {named(path) if protected(path) else shown(word)}")
            return
    if command.program in {"tar", "bsdtar", "gtar"} and any(
        re.fullmatch(r"-?[a-zA-Z]*P[a-zA-Z]*|--absolute-names", text) for text in texts[:3]
    ):
        yield doubtful(f"{command.program} unpacks files wherever their names say")


def _by_its_name(command: Command) -> Iterator[Finding]:
    """Programs whose use is to change what belongs to the system, without naming the file."""
    if command.program in {"visudo", "vipw", "vigr"} and not has(command, "cV", "--check", "--version"):
        yield blocked(f"{command.program} edits who may do what")
    yield from _of_root(command)
    if command.program == "chattr":
        for word in operands(command):
            if system_file(place(word, command.cwd)):
                yield blocked(f"chattr {shown(word)} changes what protects a system file")
    if command.program in {"redis-cli", "valkey-cli"} and "config" in [word.text.casefold() for word in command.argv]:
        for word in command.argv[1:]:
            path = place(word, command.cwd)
            if path.startswith(("/etc", "/root", "~/.ssh", "/usr", "/var/spool/cron")):
                yield blocked(f"{command.program} makes the database write into {shown(word)}")
    if command.program == "crontab" and has(command, "r"):
        yield blocked("crontab -r deletes all of a user's scheduled jobs")


def _of_root(command: Command) -> Iterator[Finding]:
    if command.program == "patchelf" and any(system_program(place(word, command.cwd)) for word in operands(command)):
        yield blocked("patchelf changes a program or library of the system")
    if command.program in {"userdel", "deluser"} and "root" in [word.text for word in command.argv]:
        yield blocked(f"{command.program} deletes root")


def _written(word: Word, command: Command) -> Iterator[Finding]:
    path, by = place(word, command.cwd), command.program or "a redirection"
    if device(path):
        yield blocked(f"{by} writes onto the device {shown(word)}")
    elif system_file(path):
        yield blocked(f"{by} writes the system file {shown(word)}")
    elif git_hooks(path) and path[-4:] != ".git" and _empties(word, command):
        yield blocked(f"{by} makes the git hook {shown(word)} do nothing")
    elif _STARTED_AT_LOGIN.search(path):
        yield doubtful(f"{by} writes {shown(word)}, which is started at the next login")
    elif path == "/etc/hosts":
        appends = any(redirect.operator == ">>" for redirect in command.redirects) or has(command, "a", "--append")
        reason = f"{by} changes the system file {shown(word)}"
        yield doubtful(reason) if appends else blocked(reason)
    elif system_program(path):
        yield blocked(f"{by} writes {shown(word)}, which belongs to the system")


def _empties(word: Word, command: Command) -> bool:
    if command.program in {"cp", "ln", "mv"}:
        return any(operand.text in {"/dev/null", "/bin/true", "/usr/bin/true"} for operand in operands(command))
    text = output_of([replace(command, redirects=())]) if command.argv else ""
    if any(redirect.target is word and redirect.operator == ">>" for redirect in command.redirects) or text is None:
        return False
    lines = [line.strip() for line in text.splitlines()]
    return all(not line or line.startswith("#") or line in {"exit 0", "exit", "true", ":"} for line in lines)


def _into_folder(command: Command) -> Iterator[Finding]:
    words = operands(command)
    for word, following in zip(command.argv, command.argv[1:], strict=False):
        if word.text in {"-t", "--target-directory"}:
            words = [*(operand for operand in words if operand is not following), following]
    if len(words) < 2:
        return
    folder = place(words[-1], command.cwd)
    for word in words[:-1]:
        name = word.text.rstrip("/").rpartition("/")[2]
        if folder in PROTECTED_FOLDERS and system_file(f"{folder}/{name}"):
            yield blocked(f"{command.program} writes the system file {folder}/{name}")


PROTECTED_FOLDERS = frozenset({"/etc", "/etc/ssh", "/etc/security", "/etc/default", "/proc"})
"""Folders that hold system files beside others."""
