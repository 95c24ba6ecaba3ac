"""Rules on work and data that nothing brings back: folders of data, sources by the pattern."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING

from assent.guards.beyond.verb_words import meaning
from assent.guards.commands.files import REMOVERS
from assent.guards.commands.findings import behind, doubtful, has, operands, shown
from assent.guards.commands.places import place, protected, system_file
from assent.guards.commands.stores import is_made_again, is_source, keeps_data
from assent.shell.programs.finding import read_find

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from assent.guards.commands.findings import Finding
    from assent.shell.words.script import Command, Script

_ERASERS = frozenset({"shred", "truncate", "gshred", "gtruncate"})
_PACKERS = {
    # program: the option with which it deletes what it has packed
    **dict.fromkeys(("tar", "bsdtar", "gtar"), re.compile(r"--remove-files")),
    "zip": re.compile(r"-[a-zA-Z]*m[a-zA-Z]*|--move"),
    **dict.fromkeys(("7z", "7za", "7zz"), re.compile(r"-sdel")),
    "rar": re.compile(r"-df"),
    "rsync": re.compile(r"--remove-source-files"),
}
_OWN_LISTS = frozenset({"docker", "podman", "git", "tmux", "npm", "pip", "pip3", "brew", "code", "conda", "rm"})
_SMALL = re.compile(
    r"(?:^|[\s:'\"/_-])(?:cache|te?mp|tests?|sess|dev|old|evicted|failed|succeeded|completed)", re.IGNORECASE
)
_STATED = re.compile(r"\s{0,5}(?:drop|truncate|delete)\s|del$|unlink$", re.IGNORECASE)
_WORK = re.compile(
    r"\.{1,2}/?$|(?:\./)?(?:src|app|lib|docs|packages)/?$|~|\$HOME|\x00|/home/|/Users/|/srv/|/opt/|/data"
)
_BLANKS = re.compile(r"(?:1,\$)?\s?d|s(.)\.\*\1\1g?|/\.[*]?/d|//d|Q|q|\$!d")
_NEVER = re.compile(r"(?!)")
_SEALS = {
    # program: how its words look when it encrypts
    "openssl": re.compile(r"^(?:enc|aes\S*|smime|cms)\b(?!.*\s-d\b)"),
    **dict.fromkeys(("gpg", "gpg2"), re.compile(r"(?:^|\s)-{1,2}(?:\w{0,3}[ce]\b|symmetric|encrypt)")),
    **dict.fromkeys(("age", "rage"), re.compile(r"(?:^|\s)-(?:e|r|p|R)\b")),
    "ccrypt": re.compile(r""),
}
_NOTHING = re.compile(r"/dev/(?:null|zero|u?random|full)")
_FILLED = re.compile(
    r"^/(?:tmp|dev|var/tmp|proc|sys)/|swap|\.(?:img|iso|bin|raw|qcow2|dat|test|log)$|te?mp|test|bench", re.IGNORECASE
)
_STATE = re.compile(r"\.tfstate\b|/\.terraform\.tfstate")
_SETTINGS = re.compile(r"/etc/(?:(?!cron)[\w-]{1,40}(?<!\.d)(?<!enabled)/)?[\w.-]{1,60}\.(?:conf|cnf|cfg|ini|toml)")


def on_ransom(script: Script) -> Iterator[Finding]:
    """Files that are encrypted and then deleted by the same text: whoever has the password has them."""
    sealed: set[str] = set()
    for command in script.commands:
        texts = [word.text for word in command.argv[1:]]
        if command.program in REMOVERS | _ERASERS and sealed.intersection(texts):
            yield doubtful(f"{command.program} deletes what the same text has encrypted")
            return
        if _SEALS.get(command.program, _NEVER).search(" ".join(texts)[:2000]):
            sealed.update(text for text in texts if not text.startswith("-") and ("." in text or "\0" in text))


def on_losses(command: Command) -> Iterator[Finding]:
    """Ask before data of people and services goes, or work that is nowhere else."""
    for rule in _RULES.get(command.program, ()):
        yield from rule(command)
    if command.program not in _OWN_LISTS and {"xargs", "parallel"}.intersection(command.wrappers):
        yield from _each_of_a_list(command)


def _discarded(command: Command) -> Iterator[Finding]:
    words = operands(command)
    if words and words[-1].text == "/dev/null":
        yield doubtful(f"mv {shown(words[0])} /dev/null destroys it")


def _emptied(command: Command) -> Iterator[Finding]:
    """A bare redirection onto data of services, or onto each file that a pattern finds."""
    for redirect in command.redirects:
        path = place(redirect.target, command.cwd)
        if redirect.operator in {">", ">|", "&>"} and (keeps_data(path) or "*" in redirect.target.text):
            yield doubtful(f"a redirection empties {shown(redirect.target)}")


def _each_of_a_list(command: Command) -> Iterator[Finding]:
    """What a program lists, it is then told to end, each: `kubectl get … | xargs kubectl delete`."""
    lists = [feeder for feeder in behind(command) if feeder.program == command.program]
    said = " ".join(word.text for feeder in behind(command) for word in feeder.argv[1:20])
    if (
        lists
        and not _SMALL.search(said)
        and any(meaning(word.text) == "ends" or _STATED.match(word.text) for word in command.argv[1:12])
    ):
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


def _blanked(command: Command) -> Iterator[Finding]:
    """Files that an editor of streams leaves without a line, or with empty ones."""
    texts = [word.text for word in command.argv[1:]]
    in_place = any(re.fullmatch(r"-\w{0,4}i.{0,10}|--in-place.{0,10}", text) for text in texts)
    if in_place and (any(map(_BLANKS.fullmatch, texts)) or (command.program == "perl" and "" in texts)):
        yield doubtful(f"{command.program} -i leaves nothing of the files that it edits")


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


def _found_by_extension(command: Command) -> Iterator[Finding]:
    texts = [word.text for word in command.argv[1:]]
    if _by_extension(texts) and not REMOVERS.isdisjoint(texts):
        yield doubtful("fd deletes what people wrote, by its extension")


def _by_extension(texts: list[str]) -> bool:
    extensions = (after for before, after in itertools.pairwise(texts) if before in {"-e", "--extension"})
    return any(is_source(f"*.{extension}") for extension in extensions)


def _names_sources(texts: list[str]) -> bool:
    roots = [text for text in texts[:1] if _WORK.match(text) and not _FILLED.search(text)]
    narrowed = any(text in {"-path", "-maxdepth", "-mtime", "-newer", "-size", "-mmin"} for text in texts)
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
    """Whether only what is old goes, or what programs make again."""
    for before, after in itertools.pairwise(word.text for word in command.argv[1:]):
        if before.endswith(("time", "min")) and re.fullmatch(r"\+[1-9]\d{0,5}", after):
            return True
        if before in {"-name", "-iname", "-path"} and is_made_again(after):
            return True
    return False


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


_RULES: Mapping[str, tuple[Callable[[Command], Iterator[Finding]], ...]] = {
    **dict.fromkeys(REMOVERS | _ERASERS, (_deleted,)),
    **dict.fromkeys(("dd", "gdd", "cp", "gcp", "ln", "install"), (_overwritten,)),
    **dict.fromkeys(("sed", "gsed", "perl"), (_blanked,)),
    **dict.fromkeys(("mv", "gmv"), (_discarded,)),
    **dict.fromkeys(("find", "gfind"), (_found,)),
    **dict.fromkeys(("fd", "fdfind"), (_found_by_extension,)),
    **dict.fromkeys(_PACKERS, (_moved,)),
    **dict.fromkeys(("", ":", "true"), (_emptied,)),
}
