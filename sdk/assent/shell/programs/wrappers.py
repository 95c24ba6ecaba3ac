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

    from assent.shell.words.script import Word

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
    "shim optirun primusrun distrobox-host-exec host-spawn rlwrap ccache sem nq chronic vipe ifne mispipe coproc"
)
_SUDO = (
    "-u --user -g --group -h --host -p --prompt -C --close-from -r --role -t --type -T --command-timeout -U "
    "--other-user -R --chroot -D --chdir"
)
_CONTAINER_RUN = (
    "-v --volume -e --env -p --publish -w --workdir -u --user --name --network --net --entrypoint -h --hostname -l "
    "--label --mount --env-file -m --memory --cpus --platform --restart --add-host --cap-add --cap-drop --device "
    "--dns --gpus --ulimit --tmpfs --security-opt --shm-size --log-driver --pid --ipc --userns -a --attach --link "
    "--expose --volumes-from --health-cmd --pull --runtime --cidfile --context -H --host --config --log-level --root "
    "--url --connection -c -f --file --profile --project-name --project-directory --index"
)

_KUBECTL = "-n --namespace -c --container --context --kubeconfig --image -l --selector -o --output --timeout"

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
    **dict.fromkeys(("kubectl", "oc", "k3s", "microk8s"), _wrapper(_KUBECTL, 1, subcommands="exec run debug rsh")),
    **dict.fromkeys(("lxc", "incus"), _wrapper("--env --cwd --user --group --mode", 1, subcommands="exec shell")),
    **dict.fromkeys(("pssh", "parallel-ssh"), _wrapper("-H -h -l -p -t -o -e -x -X -O --host --hosts --user")),
    **dict.fromkeys(("lxc-attach", "lxc-execute"), _wrapper("-n --name -u --uid -g --gid -v --set-var")),
    "crictl": _wrapper("--timeout", 1, subcommands="exec"),
    "ctr": _wrapper("--exec-id --cwd -n", 1, subcommands="exec"),
    "machinectl": _wrapper("-E --setenv --uid", 1, subcommands="shell"),
    "multipass": _wrapper("-d", 1, subcommands="exec"),
    "limactl": _wrapper("--workdir", 1, subcommands="shell"),
    "toolbox": _wrapper("-c --container", subcommands="run"),
    "distrobox": _wrapper("-n --name", subcommands="enter"),
    "flatpak-spawn": _wrapper("--env --directory"),
    "adb": _wrapper("-s -H -P", subcommands="shell exec-out"),
    "wsl": _wrapper("-d -u --cd"),
    "heroku": _wrapper("-a --app -s", subcommands="run"),
    "sshpass": _wrapper("-p -f -d -P"),
    "autossh": _wrapper("-M -b -c -D -E -e -F -I -i -J -L -l -m -O -o -p -Q -R -S -W -w -B", 1),
    "mosh": _wrapper("-p --port --ssh", 1),
    "pdsh": _wrapper("-w -g -l -t -u -f -x"),
    "dsh": _wrapper("-m -g -r"),
    "entr": _wrapper(texts="-s"),
    "watchexec": _wrapper("-w -e -f -i -s --watch --exts --filter --ignore --signal"),
    "nodemon": _wrapper("-w -e --watch --ext --ignore", texts="-x --exec"),
    "capsh": _wrapper("--user --gid --uid", 99, texts="-c"),
    "pm2": _wrapper("--name -n -i", subcommands="start"),
    "foreman": _wrapper("-e -f", subcommands="run"),
    "aws-vault": _wrapper("-d --duration", 1, subcommands="exec"),
    "op": _wrapper(separator=True, subcommands="run"),
    "doppler": _wrapper("-p -c", subcommands="run", texts="--command"),
    "expect_unbuffered": _wrapper(),
    "dumb-init": _wrapper(),
    "tini": _wrapper("-p"),
    "bwrap": _wrapper("--bind --ro-bind --dev --proc --tmpfs --chdir --setenv --uid --gid --dev-bind --symlink"),
    "nsjail": _wrapper(separator=True),
    "hyperfine": _wrapper("-w -r -m -M --warmup --runs"),
    "ssh": _wrapper("-b -c -D -E -e -F -I -i -J -L -l -m -O -o -p -Q -R -S -W -w -B", 1),
    "tmux": _wrapper("-s -n -c -t -L -S -f -x -y -e -F", subcommands="new-session new new-window neww split-window"),
    "screen": _wrapper("-S -t -c -h -L -p -T -s"),
}

CONTAINERS = listed("docker podman nerdctl docker-compose kubectl oc")
"""Their own words matter beside the inner command: what they mount, which rights they give."""
READ_SETTINGS = frozenset({"dotenv", "ssh", "sops", "op", "uv"})
"""They read files of their own before they run the inner command."""
JOINED = listed("watch ssh tmux parallel sshpass-ssh autossh adb pdsh dsh pssh parallel-ssh hyperfine pm2 heroku")
"""They join their words with blanks and give them to a shell."""


_OF_A_KIND = frozenset({"compose", "container", "kubectl", "pod"})
"""Words before a subcommand that say of what kind it is: `docker container exec`, `k3s kubectl exec`."""
_FOLDERS: Mapping[str, frozenset[str]] = {
    # options that say in which folder the inner command runs
    **dict.fromkeys(("env", "genv"), frozenset({"-C", "--chdir"})),
    "sudo": frozenset({"-D", "--chdir"}),
    "bwrap": frozenset({"--chdir"}),
    **dict.fromkeys(("lxc", "incus"), frozenset({"--cwd"})),
    **dict.fromkeys(("docker", "podman", "nerdctl", "docker-compose"), frozenset({"-w", "--workdir"})),
}
_IMAGES = listed("docker podman nerdctl docker-compose")
"""All that stands behind the image, or the container, is the command."""
_ENTRY = frozenset({"--entrypoint"})
"""What a container runs in the place of its image's own program: the words behind the image are its arguments."""
_SEPARATED = frozenset({"kubectl", "oc", "k3s", "microk8s", "lxc", "incus", "distrobox"})
"""What stands behind their `--` is the command, wherever it stands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Peeled:
    """What stands behind a wrapper: a command, or shell text, and what it sets for it."""

    argv: tuple[Word, ...] = ()
    text: Word | None = None
    environment: tuple[tuple[str, Word], ...] = ()
    folder: Word | None = None

    words: tuple[Word, ...] = ()
    """The words that the text was joined from."""

    def own(self, argv: Sequence[Word]) -> list[Word]:
        """Return the words that belong to the wrapper itself, not to what it runs."""
        inner = {id(word) for word in (*self.argv, *self.words)}
        return [word for word in argv[1:] if id(word) not in inner and word is not self.text]


_SETS = re.compile(r"(?:-{1,2}[a-zA-Z][\w-]{0,30}=?)?(?:Environment=)?[\"']?([A-Z][A-Z0-9_]{2,60})=(.*)", re.DOTALL)


def set_by_options(own: Sequence[Word]) -> tuple[tuple[str, Word], ...]:
    """Return the variables that a wrapper's own words set for what it runs: `systemd-run --setenv=A=b`."""
    found = (_SETS.fullmatch(text_of(word)) for word in own if "=" in word.text)
    return tuple((match[1], word_of(match[2])) for match in found if match)


def peel(program: str, argv: Sequence[Word]) -> Peeled | None:
    """Take off the outermost wrapper. None when the program is none, or is not used as one."""
    wrapper = WRAPPERS.get(program)
    if wrapper is None:
        return None
    start = 1
    if wrapper.subcommands and (start := _behind_subcommand(argv, wrapper)) == 0:
        return None
    marks = [at for at, word in enumerate(argv) if word.text == "--"]
    if marks and program in _SEPARATED:
        ahead = range(start, marks[0])
        folders = [option_value(argv, at, _FOLDERS.get(program, frozenset())) for at in ahead]
        return Peeled(argv=tuple(argv[marks[0] + 1 :]), folder=next(filter(None, folders), None))
    if wrapper.separator:
        marks = [at for at, word in enumerate(argv) if word.text == "--"]
        return Peeled(argv=tuple(argv[marks[0] + 1 :])) if marks else None
    if program == "command" and len(argv) > 1 and argv[1].text in {"-v", "-V", "-pv", "-pV"}:
        return None
    return _peel_options(program, wrapper, argv, start)


def _behind_subcommand(argv: Sequence[Word], wrapper: Wrapper) -> int:
    at = 1
    while at < len(argv) and (argv[at].text.startswith("-") or argv[at].text in _OF_A_KIND):
        at = option_end(argv, at, wrapper.values) if argv[at].text.startswith("-") else at + 1
    return at + 1 if at < len(argv) and argv[at].text in wrapper.subcommands else 0


def _peel_options(program: str, wrapper: Wrapper, argv: Sequence[Word], at: int) -> Peeled:
    environment: list[tuple[str, Word]] = []
    operands, folder = wrapper.operands, None
    entry: Word | None = None
    while at < len(argv) and (operands or program not in _IMAGES):
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
            folder = option_value(argv, at, _FOLDERS.get(program, frozenset())) or folder
            entry = option_value(argv, at, _ENTRY) or entry
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
    inner = tuple(argv[at:] if entry is None else (*_split(entry), *argv[at:]))
    if program in JOINED and inner:
        return Peeled(text=joined(inner), words=inner, environment=tuple(environment))
    return Peeled(argv=inner, environment=tuple(environment), folder=folder)


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
