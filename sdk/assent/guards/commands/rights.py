"""Rules on rights: what gives a program, a user or a container more than it had. The lists are data."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING

from assent.guards.commands.findings import blocked, doubtful, operands, shown
from assent.guards.commands.places import of_the_system, place, protected, system_file
from assent.shell.inside.guessing import takes_prose
from assent.shell.lists import listed
from assent.shell.programs.programs import language_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from assent.guards.commands.findings import Finding
    from assent.shell.words.script import Command

_STRONG = listed(
    "sudo wheel root admin adm lxd lxc libvirt disk shadow kvm staff sudoers podman incus-admin systemd-journal "
    "google-sudoers administrators Administrators"
)
"""Groups whose members may do what root may."""
_MEMBERS = listed(
    "usermod useradd adduser gpasswd groupmems addgroup dseditgroup pw groupmod net moduser groupadd usermod.exe"
    " homectl samba-tool"
)
_MAC_MEMBERS = re.compile(r"/Groups/(?:admin|wheel)\b|(?:^|\s)-admin\b")
_SYSTEM_ACCOUNTS = listed("nobody daemon bin sys mail www-data news backup sshd postgres mysql nginx ftp games")
_ROOT_ID = re.compile(r"(?:-[a-zA-Z]*u|--uid)(?:=|$)")
_PRELOADS = re.compile(r"(?:LD_(?:PRELOAD|AUDIT)|DYLD_(?:INSERT_LIBRARIES|FORCE_FLAT_NAMESPACE))")
_KNOWN_LIBRARIES = re.compile(
    r"(?:\$?[\w/.+{}-]*/)?lib(?:jemalloc|tcmalloc|tcmalloc_minimal|mimalloc|faketime|asan|tsan|ubsan|eatmydata|fakeroot\S*"
    r"|SegFault|gomp|stdbuf|nss_wrapper|cwrap|iomp5|hugetlbfs|memusage|profiler|snoopy)(?:-\w+)?\.(?:so[\d.]*|dylib)"
)
_RUN_BY_OTHERS = re.compile(
    r"(?:PROMPT_COMMAND|BASH_ENV|ENV|PYTHONSTARTUP|PERL5OPT|PERL5DB|RUBYOPT|NODE_OPTIONS|JAVA_TOOL_OPTIONS|_JAVA_OPTIONS|JDK_JAVA_OPTIONS"
    r"|(?:SUDO|SSH|GIT)_ASKPASS|PYTHONWARNINGS|PYTHONHOME|GCONV_PATH|LD_CONFIG|MALLOC_CONF|GIT_EXEC_PATH|GIT_TEMPLATE_DIR)"
)
_SEARCHED = re.compile(r"LD_LIBRARY_PATH|PYTHONPATH|PERL5LIB|RUBYLIB|NODE_PATH|PATH|CLASSPATH")
"""Where code is looked for: harmless for oneself, not for root."""
_OF_OTHERS = (
    (listed("dscl sysadminctl"), _MAC_MEMBERS, "makes somebody an administrator"),
    (listed("setfattr"), re.compile(r"security\.capability"), "gives a program rights of root's"),
    (listed("multipass"), re.compile(r"\bmount\s+/\s"), "gives a machine the whole file system"),
    (listed("icacls"), re.compile(r"Everyone"), "opens files to everybody"),
)
_PRELOADED = re.compile(
    r"\b(?:LD_(?:PRELOAD|AUDIT)|DYLD_(?:INSERT_LIBRARIES|FORCE_FLAT_NAMESPACE))[\"'\]]{0,3}(?:\s{0,4}[=:]\s{0,4}|\s{1,4}(?=\S*(?:/|\.so|\.dylib)))[\"']?([^\s,;\"'})\]]{1,500})"
)
_LOADER = re.compile(r"ld(?:-linux[\w.-]{0,20}|-musl[\w.-]{0,20}|\.so)?(?:\.so)?[\d.]{0,4}")
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
_PRIVILEGED = re.compile(
    r"(?:.*\s)?--(?:docker-)?privileged(?:=(?:true|t|1))?(?:\s.*)?|--allow[= ](?:security\.insecure|all)|(?:\w+\.)*privileged[=:](?:true|1)|--profile=sysadmin"
)
_PRIVILEGED_CODE = re.compile(
    r"\bprivileged[\"']?\s{0,4}[=:]\s{0,4}[tT]rue|pid_mode\s{0,4}=\s{0,4}['\"]host|cap_add\s{0,4}=\s{0,4}\[[^\]]{0,80}(?:ALL|SYS_ADMIN)"
)
_WHOLE = re.compile(
    r"(?:^|,)(?:src|source)=/(?:,|$)|(?:apparmor\.profile|seccomp)\s{0,4}[=:]\s{0,4}unconfined|raw\.(?:lxc|apparmor)\b.{0,80}unconfined|--(?:dev-)?bind=/(?::|$)"
)
_CONTAINED = listed("lxc incus helm nomad ctr crictl systemd-nspawn")
_AS_ROOT = re.compile(r"--profile=sysadmin|/host\b")
_WIDE_VALUES = listed("--pid --userns --uts --cgroupns --ipc --cap-add --device --security-opt")
_WIDE_POD = re.compile(
    r"\"?(?:privileged|hostPID|hostNetwork|hostIPC|allowPrivilegeEscalation)\"?\s{0,4}:\s{0,4}true|\"?hostPath\"?\s{0,4}:"
)


def on_rights(command: Command) -> Iterator[Finding]:
    """Capabilities, strong groups, a second root, access lists, preloads, containers with the rights of the host."""
    yield from _preloads(command)
    program, texts = command.program, [word.text for word in command.argv[1:]]
    if program in {"setcap", "capsh"} and _capabilities(program, texts):
        yield blocked("setcap gives a program rights of root's")
    elif program in _MEMBERS:
        yield from _members(program, texts)
        if any(not word.known for word in command.argv[1:]) and any(
            re.match(r"-[a-zA-Z]*[gG]|--groups?", text) for text in texts
        ):
            yield doubtful(f"which group {program} gives is known only when it runs")
    elif program == "setfacl":
        yield from _access_list(command, texts)
    elif program in {"visudo", "vipw", "vigr"} and not {"-c", "--check"} & set(texts):
        yield blocked(f"{program} changes who may do what")
    elif program in {"chpasswd", "newusers", "pam-auth-update", "authselect"} or (
        program == "passwd" and ({"-d", "--delete", "-u", "--unlock", "--stdin", "root"} & set(texts))
    ):
        yield blocked(f"{program} sets or removes the password of an account")
    elif why := _elsewhere(program, texts):
        yield blocked(f"{program} {why}")
    else:
        yield from _starting(command, program, texts)


def _elsewhere(program: str, texts: list[str]) -> str:
    """Return what programs of other systems give away, or ""."""
    said = " ".join(texts)
    for programs, shape, why in _OF_OTHERS:
        if program in programs and shape.search(said):
            return why
    return ""


def _capabilities(program: str, texts: list[str]) -> bool:
    """Whether capabilities are given that lead to all others: the one for ports below 1024 does not."""
    if program == "capsh":
        return any(text.startswith(("--caps=", "--inh=", "--addamb=")) and "+" in text for text in texts)
    given = [text for text in texts if "cap_" in text.lower() or "=" in text or "+" in text]
    only_ports = bool(given) and all(re.fullmatch(r"(?i)cap_net_bind_service=?\+?[eip]+", text) for text in given)
    return not only_ports and not {"-r", "-v", "-h"} & set(texts[:1])


def _starting(command: Command, program: str, texts: list[str]) -> Iterator[Finding]:
    """Containers with the rights of their host."""
    fed, pairs = command.fed_text or "", _pairs(texts)
    if program in _CONTAINERS and _STARTS & set(texts):
        yield from _container(command, texts)
    if not takes_prose(program) and any(map(_PRIVILEGED.fullmatch, pairs)):
        yield blocked(f"{program} starts something with the rights of its host")
    elif (program in _CONTAINERS and (_WIDE_POD.search(fed) or "--security=insecure" in fed)) or (
        language_of(program) and _PRIVILEGED_CODE.search(" ".join((*texts, fed))[:20_000])
    ):
        yield blocked(f"{program} starts a container with rights of its host")
    elif (program in _CONTAINED and any(_WIDE_SETTING.search(text) or _WHOLE.search(text) for text in pairs)) or (
        program in {"kubectl", "oc"} and (any(map(_WIDE_POD.search, (*texts, fed))) or _debugs_a_node(texts))
    ):
        yield blocked(f"{program} starts a container with the rights of its host")


def _debugs_a_node(texts: list[str]) -> bool:
    on_a_node = "debug" in texts and any(text.startswith("node/") for text in texts)
    return on_a_node and any(map(_AS_ROOT.search, _pairs(texts)))


def _preloads(command: Command) -> Iterator[Finding]:
    given = [(name, word.text) for name, word in command.environment]
    if command.program in {"export", "declare", "typeset", "env", "set", "setenv"}:
        given += [(name, value) for word in command.argv[1:] for name, _, value in [word.text.partition("=")]]
    if not takes_prose(command.program):
        given += [
            ("LD_PRELOAD", found[1]) for word in command.argv[1:] for found in _PRELOADED.finditer(word.text[:2000])
        ]
    if "--preload" in [word.text for word in command.argv[1:]] and _LOADER.fullmatch(command.program):
        yield blocked("the loader puts code into the program that it starts")
    rooted = bool({"sudo", "doas", "pkexec", "su"} & {command.program, *command.wrappers})
    for name, value in given:
        if _SEARCHED.fullmatch(name) and rooted and _TEMPORARY.search(f"={value}"):
            yield blocked(f"{name} makes root run what lies where anybody may write")
        if name == "PERL5OPT" and re.search(r"-[Mm](?!strict|warnings|Devel|Carp|utf8|open)", value):
            yield blocked(f"{name} makes other programs run a text")
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
    if _shell_of_an_account(program, texts):
        yield blocked(f"{program} lets a system's account log in")
    if program == "net" and "/add" in [text.lower() for text in texts]:
        yield blocked("net makes an account or a member")
    if any(re.fullmatch(r"-g|--gid", before) and after in {"0", "root"} for before, after in itertools.pairwise(texts)):
        yield blocked(f"{program} makes a user a member of root's group")
    if adds and not removes and (strong := sorted(groups & _STRONG)):
        yield blocked(f"{program} makes a user a member of {strong[0]}, whose members may do everything")
    if any(
        _ROOT_ID.match(text) and any(re.fullmatch("0+", each) for each in (text.partition("=")[2], following))
        for text, following in itertools.pairwise((*texts, ""))
    ):
        yield blocked(f"{program} makes a second root")
    if any(re.fullmatch(r"-[a-zA-Z]*u0+|--uid=0+", text) for text in texts) or ("-o" in texts and "0" in texts):
        yield blocked(f"{program} makes a second root")


def _shell_of_an_account(program: str, texts: list[str]) -> bool:
    return program == "usermod" and any(
        re.match(r"-s|--shell", text) and texts[-1] in _SYSTEM_ACCOUNTS for text in texts
    )


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
        f"{text}={following}" if text in _WIDE_VALUES else text for text, following in itertools.pairwise((*texts, ""))
    ]
    for text in joined:
        if _WIDE.fullmatch(text):
            yield blocked(f"{command.program} starts a container with rights of its host ({text[:60]})")
            return
