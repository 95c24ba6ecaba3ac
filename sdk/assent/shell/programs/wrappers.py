"""Programs that run another program: how many of their words stand before it. Lists are data."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assent.shell.lists import listed
from assent.shell.words.scope import text_of, word_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from assent.shell.words.script import Command, Word

ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wrapper:
    """How to find the inner command behind a program's name."""

    values: frozenset[str] = frozenset()
    """Options whose value is a word of its own."""
    operands: int = 0
    """Words before the inner command that are no options."""
    assigns: bool = False
    """Whether `NAME=value` words stand before the command."""
    texts: frozenset[str] = frozenset()
    """Options whose value is shell text that it runs."""
    subcommands: frozenset[str] = frozenset()
    """It runs a command only behind one of these words."""
    separator: bool = False
    """It runs a command only behind `--`."""


def _wrapper(
    values: str = "",
    operands: int = 0,
    *,
    assigns: bool = False,
    texts: str = "",
    subcommands: str = "",
    separator: bool = False,
) -> Wrapper:
    return Wrapper(
        values=frozenset(values.split()),
        operands=operands,
        assigns=assigns,
        texts=frozenset(texts.split()),
        subcommands=frozenset(subcommands.split()),
        separator=separator,
    )


_PLAIN = listed(
    "busybox toybox nohup setsid builtin nocorrect noglob time fakeroot dbus-run-session dbus-launch unbuffer setarch "
    "catchsegv linux32 linux64 eatmydata faketime nosync winpty aoss tsocks proxychains proxychains4 torsocks torify "
    "shim optirun primusrun rlwrap ccache sem nq chronic vipe ifne mispipe coproc"
)
_SUDO = (
    "-u --user -g --group -h --host -p --prompt -C --close-from -r --role -t --type -T --command-timeout -U "
    "--other-user -R --chroot -D --chdir"
)
_CONTAINER_RUN = (
    "-v --volume -e --env -p --publish -w --workdir -u --user --name --network --net --entrypoint -h --hostname -l "
    "--label --mount --env-file -m --memory --cpus --platform --restart --add-host --cap-add --cap-drop --device "
    "--dns --gpus --ulimit --tmpfs --security-opt --shm-size --log-driver --pid --ipc --userns -a --attach --link "
    "--expose --volumes-from --health-cmd --pull --runtime --cidfile"
)

WRAPPERS: Mapping[str, Wrapper] = {
    **dict.fromkeys(_PLAIN, Wrapper()),
    "sudo": _wrapper(_SUDO, assigns=True),
    "doas": _wrapper("-u -C", assigns=True),
    "pkexec": _wrapper("--user"),
    "env": _wrapper("-u --unset -C --chdir", assigns=True),
    "genv": _wrapper("-u --unset -C --chdir", assigns=True),
    "exec": _wrapper("-a"),
    "command": _wrapper(),
    "nice": _wrapper("-n --adjustment"),
    "ionice": _wrapper("-c -n -p -P -u --class --classdata"),
    "chrt": _wrapper("-T -P -D", 1),
    "taskset": _wrapper(operands=1),
    "numactl": _wrapper("-N -m -C -i -p -l"),
    "prlimit": _wrapper(),
    "timeout": _wrapper("-s -k --signal --kill-after", 1),
    "gtimeout": _wrapper("-s -k --signal --kill-after", 1),
    "stdbuf": _wrapper("-i -o -e --input --output --error"),
    "chroot": _wrapper("--userspec --groups", 1),
    "unshare": _wrapper("-R --root -w --wd -S --setuid -G --setgid"),
    "nsenter": _wrapper("-t --target -S -G"),
    "strace": _wrapper("-o -e -p -s -u -E -a -I -O -P -S -X"),
    "ltrace": _wrapper("-o -e -p -s -u -a -n -l -x"),
    "valgrind": _wrapper(),
    "perf": _wrapper("-e -o -p", subcommands="stat record trace"),
    "flock": _wrapper("-w --wait --timeout -E --conflict-exit-code", 1, texts="-c --command"),
    "systemd-run": _wrapper("-u --unit -p --property -E --setenv --slice -M --machine --on-active --on-calendar --uid"),
    "systemd-inhibit": _wrapper(),
    "caffeinate": _wrapper("-t -w"),
    "arch": _wrapper(assigns=True),
    "xvfb-run": _wrapper("-n -s -e -f -w --server-num --server-args"),
    "gosu": _wrapper(operands=1),
    "su-exec": _wrapper(operands=1),
    "setpriv": _wrapper("--reuid --regid"),
    "start-stop-daemon": _wrapper(separator=True),
    "firejail": _wrapper(),
    "proot": _wrapper("-r -b -w -R -S"),
    "script": _wrapper("-T -t", 99, texts="-c --command"),
    "watch": _wrapper("-n --interval -q --equexit"),
    "runuser": _wrapper("-u -g -G -s -w", texts="-c --command"),
    "su": _wrapper("-g -G -s -w", 99, texts="-c --command"),
    "direnv": _wrapper(operands=1, subcommands="exec"),
    "mise": _wrapper(separator=True, subcommands="exec x"),
    "uv": _wrapper("--with --python -p --directory --project --extra --group --package", subcommands="run"),
    "poetry": _wrapper("-C", subcommands="run"),
    "pipenv": _wrapper(subcommands="run"),
    "pdm": _wrapper(subcommands="run"),
    "hatch": _wrapper("-e", subcommands="run"),
    "rye": _wrapper(subcommands="run"),
    "conda": _wrapper("-n -p --name --prefix", subcommands="run"),
    "mamba": _wrapper("-n -p --name --prefix", subcommands="run"),
    "bundle": _wrapper(subcommands="exec"),
    "pnpm": _wrapper("-C --dir --filter", subcommands="exec dlx"),
    "yarn": _wrapper(subcommands="exec"),
    "npm": _wrapper(separator=True, subcommands="exec"),
    "npx": _wrapper("-p --package", texts="-c --call"),
    "nix-shell": _wrapper("-p -I", 99, texts="--run --command"),
    "nix": _wrapper(subcommands="develop shell", texts="-c --command"),
    "dotenv": _wrapper("-e -f", separator=True),
    "docker": _wrapper(_CONTAINER_RUN, 1, subcommands="exec run"),
    "podman": _wrapper(_CONTAINER_RUN, 1, subcommands="exec run"),
    "nerdctl": _wrapper(_CONTAINER_RUN, 1, subcommands="exec run"),
    "docker-compose": _wrapper(_CONTAINER_RUN, 1, subcommands="exec run"),
    "kubectl": _wrapper(separator=True, subcommands="exec run debug"),
    "ssh": _wrapper("-b -c -D -E -e -F -I -i -J -L -l -m -O -o -p -Q -R -S -W -w -B", 1),
    "tmux": _wrapper("-s -n -c -t -L -S -f -x -y -e -F", subcommands="new-session new new-window neww split-window"),
    "screen": _wrapper("-S -t -c -h -L -p -T -s"),
}

CONTAINERS = frozenset({"docker", "podman", "nerdctl", "docker-compose", "kubectl"})
"""Their own words matter beside the inner command: what they mount, which rights they give."""
READ_SETTINGS = frozenset({"dotenv", "ssh", "sops", "op", "uv"})
"""They read files of their own before they run the inner command."""
JOINED = frozenset({"watch", "ssh", "tmux", "parallel"})
"""They join their words with blanks and give them to a shell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Peeled:
    """What stands behind a wrapper: a command, or shell text, and what it sets for it."""

    argv: tuple[Word, ...] = ()
    text: Word | None = None
    environment: tuple[tuple[str, Word], ...] = ()


def peel(program: str, argv: Sequence[Word]) -> Peeled | None:
    """Take off the outermost wrapper. None when the program is none, or is not used as one."""
    wrapper = WRAPPERS.get(program)
    if wrapper is None:
        return None
    start = 1
    if wrapper.subcommands and (start := _behind_subcommand(argv, wrapper)) == 0:
        return None
    if wrapper.separator:
        marks = [at for at, word in enumerate(argv) if word.text == "--"]
        return Peeled(argv=tuple(argv[marks[0] + 1 :])) if marks else None
    if program == "command" and len(argv) > 1 and argv[1].text in {"-v", "-V", "-pv", "-pV"}:
        return None
    return _peel_options(program, wrapper, argv, start)


def _behind_subcommand(argv: Sequence[Word], wrapper: Wrapper) -> int:
    at = 1
    while at < len(argv) and argv[at].text.startswith("-"):
        at = option_end(argv, at, wrapper.values)
    if at < len(argv) and argv[at].text == "compose":
        at += 1
    return at + 1 if at < len(argv) and argv[at].text in wrapper.subcommands else 0


def _peel_options(program: str, wrapper: Wrapper, argv: Sequence[Word], at: int) -> Peeled:
    environment: list[tuple[str, Word]] = []
    operands = wrapper.operands
    while at < len(argv):
        text = argv[at].text
        if text == "--":
            at += 1
            if operands == 0 and not wrapper.assigns:
                break
        elif wrapper.texts and (found := option_value(argv, at, wrapper.texts)) is not None:
            return Peeled(text=found)
        elif program in {"env", "genv"} and (split := option_value(argv, at, frozenset({"-S", "--split-string"}))):
            behind = at + (2 if text in {"-S", "--split-string"} else 1)
            argv = [argv[0], *_split(split), *argv[behind:]]
            at = 1
        elif text.startswith("-") and len(text) > 1:
            at = option_end(argv, at, wrapper.values)
        elif wrapper.assigns and ASSIGNMENT.match(text):
            name, _, value = text.partition("=")
            environment.append((name, word_of(value)))
            at += 1
        elif operands:
            operands -= 1
            at += 1
        else:
            break
    inner = tuple(argv[at:])
    if program in JOINED and inner:
        return Peeled(text=joined(inner), environment=tuple(environment))
    return Peeled(argv=inner, environment=tuple(environment))


def option_end(argv: Sequence[Word], at: int, values: frozenset[str]) -> int:
    """Return the index behind the option at `at`, and behind its value when it stands in a word of its own."""
    text = argv[at].text
    if text.startswith("--"):
        return at + 2 if text in values else at + 1
    for place, letter in enumerate(text[1:], start=1):
        if f"-{letter}" in values:
            return at + 2 if place == len(text) - 1 else at + 1
    return at + 2 if text in values else at + 1


def option_value(
    argv: Sequence[Word], at: int, names: frozenset[str], others: frozenset[str] = frozenset()
) -> Word | None:
    """Return the value of the option at `at` when it is one of `names`: `-c x`, `-cx`, `-lc x`, `--name=x`.

    `others` are options that take a value too: what stands behind their letter is no option.
    """
    text = argv[at].text
    following = argv[at + 1] if at + 1 < len(argv) else None
    if text.startswith("--"):
        name, equals, value = text.partition("=")
        if name not in names:
            return None
        return word_of(value) if equals else following
    if text in names or not text.startswith("-"):
        return following if text in names else None
    for place, letter in enumerate(text[1:], start=1):
        if f"-{letter}" in names:
            rest = text[place + 1 :]
            return word_of(rest) if rest else following
        if f"-{letter}" in others:
            break
    return None


def joined(words: Sequence[Word]) -> Word:
    """Return the words as one text, with blanks between, as `eval` and `ssh` read them."""
    return word_of(" ".join(text_of(word) for word in words))


def _split(word: Word) -> list[Word]:
    try:
        return [word_of(part) for part in shlex.split(text_of(word))]
    except ValueError:
        return [word]


_INSIDE = re.compile(
    r"--checkpoint-action=exec=(?P<tar>.+)|--to-command=(?P<to>.+)|--use-compress-program=(?P<by>.+)"
    r"|(?:-o)?ProxyCommand[= ](?P<proxy>.+)|alias\.[^=]+=!(?P<alias>.+)"
    r"|core\.(?:pager|sshCommand|fsmonitor)=(?P<git>.+)",
    re.DOTALL,
)
_IN_EDITORS = re.compile(r"\+?:?!(.+)", re.DOTALL)
_EDITORS = frozenset({"vim", "vi", "nvim", "ex", "view", "ed", "less"})
_WITH_TEXTS = listed("tar bsdtar gtar ssh scp sftp rsync git vim vi nvim ex view emacs ed less")


def texts_inside(command: Command) -> list[str]:
    """Return the shell texts inside a program's options: `tar --checkpoint-action=exec=…`, `git -c alias.x=!…`."""
    if command.program not in _WITH_TEXTS:
        return []
    shape = _IN_EDITORS if command.program in _EDITORS else _INSIDE
    found = [shape.fullmatch(text_of(word)) for word in command.argv[1:]]
    return [text for match in found if match for text in match.groups() if text]
