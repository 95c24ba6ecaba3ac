"""Rules on rights: what gives a program, a user or a container more than it had. The lists are data."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING

from assent.guards.commands.findings import blocked, operands, shown
from assent.guards.commands.places import of_the_system, place, protected, system_file
from assent.shell.lists import listed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from assent.guards.commands.findings import Finding
    from assent.shell.words.script import Command

_STRONG = listed(
    "sudo wheel root admin adm lxd lxc libvirt disk shadow kvm staff sudoers podman incus-admin systemd-journal "
    "google-sudoers administrators Administrators"
)
"""Groups whose members may do what root may."""
_MEMBERS = listed("usermod useradd adduser gpasswd groupmems addgroup dseditgroup pw groupmod net moduser")
_ROOT_ID = re.compile(r"(?:-[a-zA-Z]*u|--uid)(?:=|$)")
_PRELOADS = re.compile(r"(?:LD_(?:PRELOAD|AUDIT)|DYLD_(?:INSERT_LIBRARIES|FORCE_FLAT_NAMESPACE))")
_KNOWN_LIBRARIES = re.compile(
    r"(?:\$?[\w/.+{}-]*/)?lib(?:jemalloc|tcmalloc|tcmalloc_minimal|mimalloc|faketime|asan|tsan|ubsan|eatmydata|fakeroot\S*"
    r"|SegFault|gomp|stdbuf|nss_wrapper|cwrap|iomp5|hugetlbfs|memusage|profiler|snoopy)(?:-\w+)?\.(?:so[\d.]*|dylib)"
)
_RUN_BY_OTHERS = re.compile(
    r"(?:PROMPT_COMMAND|BASH_ENV|ENV|PYTHONSTARTUP|PERL5OPT|PERL5DB|RUBYOPT|NODE_OPTIONS|JAVA_TOOL_OPTIONS|_JAVA_OPTIONS|JDK_JAVA_OPTIONS"
    r"|(?:SUDO|SSH|GIT)_ASKPASS|PYTHONWARNINGS|PYTHONHOME)"
)
_TEMPORARY = re.compile(r"[;|&`]|\$\(|(?:^|[\s=:]|-[rIM])/(?:dev|tmp|var/tmp)/|data:")
_CONTAINERS = listed("docker podman nerdctl docker-compose podman-compose buildah")
_STARTS = frozenset({"run", "create", "exec", "up", "bud", "build", "from"})
_WIDE = re.compile(
    r"--privileged(?:=(?:true|t|1))?|--(?:pid|userns|uts|cgroupns|ipc)=host|--cap-add=(?:ALL|SYS_ADMIN|SYS_PTRACE|SYS_MODULE|SYS_RAWIO"
    r"|DAC_READ_SEARCH|CAP_\w+)|--device=/dev/(?:sd|nvme|vd|xvd|mem|kmem|disk|dm-)\S*|--security-opt=(?:seccomp|apparmor)[=:]unconfined",
    re.IGNORECASE,
)
_WIDE_SETTING = re.compile(
    r"(?:^|[.=,])(?:privileged|hostPID|hostNetwork|hostIPC|allowPrivilegeEscalation|security\.nesting)=(?:true|1)\b",
    re.IGNORECASE,
)
_WIDE_VALUES = listed("--pid --userns --uts --cgroupns --ipc --cap-add --device --security-opt")
_WIDE_POD = re.compile(
    r"\"?(?:privileged|hostPID|hostNetwork|hostIPC|allowPrivilegeEscalation)\"?\s{0,4}:\s{0,4}true|\"?hostPath\"?\s{0,4}:"
)


def on_rights(command: Command) -> Iterator[Finding]:
    """Capabilities, strong groups, a second root, access lists, preloads, containers with the rights of the host."""
    yield from _preloads(command)
    program, texts = command.program, [word.text for word in command.argv[1:]]
    if program == "setcap" and not {"-r", "-v"} & set(texts):
        yield blocked("setcap gives a program rights of root's")
    elif program in _MEMBERS:
        yield from _members(program, texts)
    elif program == "setfacl":
        yield from _access_list(command, texts)
    elif program in {"visudo", "vipw", "vigr"} and not {"-c", "--check"} & set(texts):
        yield blocked(f"{program} changes who may do what")
    elif program in {"chpasswd", "newusers", "pam-auth-update", "authselect"} or (
        program == "passwd" and ({"-d", "--delete", "-u", "--unlock", "--stdin", "root"} & set(texts))
    ):
        yield blocked(f"{program} sets or removes the password of an account")
    else:
        yield from _starting(command, program, texts)


def _starting(command: Command, program: str, texts: list[str]) -> Iterator[Finding]:
    """Containers with the rights of their host, and the cluster's administrators."""
    if program in _CONTAINERS and _STARTS & set(texts):
        yield from _container(command, texts)
    elif program in {"lxc", "incus", "helm", "nomad"} and any(map(_WIDE_SETTING.search, _pairs(texts))):
        yield blocked(f"{program} starts a container with the rights of its host")
    elif program in {"kubectl", "oc"}:
        if any(_WIDE_POD.search(text) for text in (*texts, command.fed_text or "")):
            yield blocked(f"{program} starts a container with the rights of its host")
        if "clusterrolebinding" in texts and any("cluster-admin" in text for text in texts):
            yield blocked(f"{program} makes somebody the cluster's administrator")


def _preloads(command: Command) -> Iterator[Finding]:
    given = [(name, word.text) for name, word in command.environment]
    if command.program in {"export", "declare", "typeset", "env", "set", "setenv"}:
        given += [(name, value) for word in command.argv[1:] for name, _, value in [word.text.partition("=")]]
    for name, value in given:
        if _PRELOADS.fullmatch(name) and value:
            if all(_KNOWN_LIBRARIES.fullmatch(part) for part in re.split(r"[:\s]", value) if part):
                continue
            yield blocked(f"{name} puts code into every program that starts")
        elif _RUN_BY_OTHERS.fullmatch(name) and _TEMPORARY.search(value):
            yield blocked(f"{name} makes other programs run a text")


def _pairs(texts: list[str]) -> list[str]:
    """Return the words as `name=value`, whether they stand in one word or in two."""
    return [*texts, *(f"{name}={value}" for name, value in itertools.pairwise(texts))]


def _members(program: str, texts: list[str]) -> Iterator[Finding]:
    groups = {part for text in texts for part in re.split(r"[,=]|^-[A-Za-z]*?[gG](?=\w)", text)}
    adds = program not in {"gpasswd", "groupmems"} or any(
        re.match(r"-[a-zA-Z]*[aMA]|--(?:add|members)", text) for text in texts
    )
    removes = any(text in {"-d", "--delete", "-r"} for text in texts) and program in {"gpasswd", "groupmems"}
    if adds and not removes and (strong := sorted(groups & _STRONG)):
        yield blocked(f"{program} makes a user a member of {strong[0]}, whose members may do everything")
    if any(
        _ROOT_ID.match(text) and any(re.fullmatch("0+", each) for each in (text.partition("=")[2], following))
        for text, following in itertools.pairwise((*texts, ""))
    ):
        yield blocked(f"{program} makes a second root")
    if any(re.fullmatch(r"-[a-zA-Z]*u0+|--uid=0+", text) for text in texts) or ("-o" in texts and "0" in texts):
        yield blocked(f"{program} makes a second root")


def _access_list(command: Command, texts: list[str]) -> Iterator[Finding]:
    removes = {"-b", "-k", "-x", "--remove-all", "--remove", "--remove-default"} & set(texts)
    recursive = any(re.fullmatch(r"-[a-zA-Z]*R[a-zA-Z]*|--recursive", text) for text in texts)
    for word in () if removes else operands(command):
        path = place(word, command.cwd)
        if path.startswith((".", "~/")) or re.match(r"^(?:d:|default:)?[ugom](?:ser|roup|ther|ask)?:", word.text):
            continue
        if (
            system_file(path)
            or of_the_system(path)
            or (protected(path, globbed=word.globbed) and (recursive or path == "~"))
        ):
            yield blocked(f"setfacl opens {shown(word)} to somebody else")
            return


def _container(command: Command, texts: list[str]) -> Iterator[Finding]:
    joined = [
        f"{text}={following}" if text in _WIDE_VALUES else text
        for text, following in itertools.pairwise((*texts, ""))
    ]
    for text in joined:
        if _WIDE.fullmatch(text):
            yield blocked(f"{command.program} starts a container with rights of its host ({text[:60]})")
            return
