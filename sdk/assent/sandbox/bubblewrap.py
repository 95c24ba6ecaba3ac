"""The command line of bubblewrap for one job: what the command may see and use. Pure but for looks at the disk.

The root is an empty, read-only file system. Only the programs and libraries of this machine, the few files of /etc that
they need, and the working directory are shown in it, so whatever is not named here is not there: no home directories,
no /run with its sockets, no /var, no keys under /etc.

/proc is made read-only as a whole: with the machine's root as its owner, a command without any capability could
otherwise write the machine's kernel settings there.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assent.hooks.contract.sandbox import SandboxFault
from assent.sandbox.covers import covers, refuse_secret
from assent.sandbox.options import Options

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from assent.hooks.contract.sandbox import Job

MIB = 1024 * 1024

_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_PROGRAMS = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store")
_ETC = (
    "alternatives", "ca-certificates", "crypto-policies", "fonts", "group", "hosts", "ld.so.cache", "ld.so.conf",
    "ld.so.conf.d", "localtime", "mime.types", "nsswitch.conf", "os-release", "passwd", "pki/ca-trust", "pki/tls/certs",
    "protocols", "services", "shells", "ssl/certs", "ssl/openssl.cnf", "timezone",
)  # fmt: skip
_NOBODY = 65534
_FIRST_PERSON = 1000  # user ids below are the system's
# Never a working directory, nor is anything in them.
_CLOSED = (
    "/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/nix", "/proc", "/run", "/sbin", "/sys",
    "/usr/bin", "/usr/include", "/usr/lib", "/usr/lib64", "/usr/libexec", "/usr/local", "/usr/sbin", "/usr/share",
    "/var/run",
)  # fmt: skip
# Never one either, nor is what holds them; what lies in them may be.
_HOLDERS = ("/home", "/root", "/usr/src", "/var/lib", "/var/log", "/var/spool", "/mnt", "/media")
_TMP = "/tmp"  # noqa: S108 - the sandbox's own
_TEMPORARY = (_TMP, "/var/tmp")  # noqa: S108 - named, not written to


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a command may use; a routing's options override these one by one."""

    timeout: float = 60.0
    """Seconds."""
    memory: int = 2048
    """MiB for all its processes together, and of address space for each.

    The sum is looked at 20 times a second: a command may be beyond it for so long before it is ended. Memory that no
    process has mapped (a memfd that is only written to, a segment of System V) is not in it, and what lies in its /tmp
    has `scratch`; against a hostile command, let this whole process run in a container with a limit of its own.
    """
    processes: int = 128
    """At once; the kernel or, where it does not count, a look 20 times a second."""
    file_size: int = 256
    """MiB for each file that it writes."""
    scratch: int = 256
    """MiB for its own /tmp, and as many for /dev/shm."""
    output: int = 65536
    """Bytes of standard output, and as many of standard error, that are kept."""
    writable: bool = False
    """Whether it may change the working directory of this machine."""


_OPTIONS = ("timeout", "memory", "processes", "file_size", "scratch", "output", "writable", "network")


def limits_of(given: Mapping[str, Any], defaults: Limits, *, provider: str) -> Limits:
    """The limits of one job. Raises SandboxFault for an option that is unknown or has no sense."""
    options = Options(given, provider=provider, known=_OPTIONS)
    if options.flag("network", default=False):
        raise SandboxFault(
            f"the sandbox {provider!r} has no network, whatever the option says; route the call to another sandbox",
            started=False,
        )
    return Limits(
        timeout=options.number("timeout", defaults.timeout, most=86400),
        memory=options.whole("memory", defaults.memory, least=16, most=1048576),
        processes=options.whole("processes", defaults.processes, least=2, most=32768),
        file_size=options.whole("file_size", defaults.file_size, most=1048576),
        scratch=options.whole("scratch", defaults.scratch, most=1048576),
        output=options.whole("output", defaults.output, most=64 * MIB),
        writable=options.flag("writable", default=defaults.writable),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to start."""

    words: tuple[str, ...]
    """The command line, to which the numbers of the two pipes are still to be added (`start`)."""
    settings: bytes
    """Bubblewrap's options that nobody else on the machine may read, for its `--args`: the environment."""
    command: tuple[str, ...]

    def start(self, *, settings: int, status: int) -> list[str]:
        """The whole command line; `settings` and `status` are file descriptors that the process inherits."""
        return [*self.words, "--args", str(settings), "--json-status-fd", str(status), "--", *self.command]


def plan(job: Job, limits: Limits, *, readable: Sequence[str], hidden: Sequence[str]) -> Plan:
    """Lay out the sandbox. Raises SandboxFault when a program is missing or the working directory cannot be shown."""
    bwrap = _program("bwrap", "bubblewrap")
    prlimit = _program("prlimit", "util-linux")
    work = _shown(job.cwd)
    if limits.writable and not work:
        raise SandboxFault(
            "the option 'writable' needs a working directory; the call names none of its own", started=False
        )
    if work:
        refuse_secret(work, hidden)
    scratch = ("--perms", "1777", "--size", str(limits.scratch * MIB), "--tmpfs")
    words = [
        bwrap,
        *("--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent", "--new-session"),
        *("--cap-drop", "ALL", "--hostname", "sandbox", "--clearenv"),
        *_identity(),
        *(word for path in _PROGRAMS for word in ("--ro-bind-try", path, path)),
        *(word for name in _ETC for word in ("--ro-bind-try", f"/etc/{name}", f"/etc/{name}")),
        *("--proc", "/proc", "--remount-ro", "/proc", "--dev", "/dev"),
        *(*scratch, "/dev/shm", "--remount-ro", "/dev", *scratch, _TMP),  # noqa: S108 - the sandbox's own
        *(word for path in readable for word in ("--ro-bind", path, path)),
    ]
    if work:
        words += ["--bind" if limits.writable else "--ro-bind", work, work]
    words += covers([*readable, *([work] if work else [])], hidden)
    words += ["--remount-ro", "/", "--chdir", work or _TMP]
    shell = "/bin/bash" if Path("/bin/bash").exists() else "/bin/sh"
    return Plan(
        words=tuple(words),
        settings=_environment(job.env),
        command=(prlimit, *_rlimits(limits), "--", shell, "-c", job.command),
    )


def _program(name: str, package: str) -> str:
    path = shutil.which(name, path=_PATH)
    if path is None:
        raise SandboxFault(
            f"the local sandbox needs `{name}`, which is not installed: install the package {package}", started=False
        )
    return path


def _identity() -> tuple[str, ...]:
    if os.geteuid() != 0:
        return ("--uid", str(os.geteuid()), "--gid", str(os.getegid()))
    return ("--uid", str(_NOBODY), "--gid", str(_NOBODY))


def _environment(env: Mapping[str, str]) -> bytes:
    whole = {"PATH": _PATH, "HOME": _TMP, "TMPDIR": _TMP, "LANG": "C.UTF-8", "TERM": "dumb", **env}
    words = [word for name, value in whole.items() for word in ("--setenv", name, value)]
    return "".join(f"{word}\0" for word in words).encode("utf-8", "surrogateescape")


def _rlimits(limits: Limits) -> Iterator[str]:
    import resource  # there is none on Windows, where this module must still load

    for name, kind, wanted in (
        ("as", resource.RLIMIT_AS, limits.memory * MIB),
        ("nproc", resource.RLIMIT_NPROC, limits.processes),
        ("fsize", resource.RLIMIT_FSIZE, limits.file_size * MIB),
        ("core", resource.RLIMIT_CORE, 0),
    ):
        hard = resource.getrlimit(kind)[1]  # without capabilities nobody raises it
        yield f"--{name}={wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)}"


def _shown(cwd: str) -> str:
    """The working directory to show, without symbolic links; empty if it is none of its own."""
    if not cwd:
        return ""
    if not Path(cwd).is_absolute() or not Path(cwd).is_dir():
        raise SandboxFault(f"the working directory {cwd!r} is not a directory of this machine", started=False)
    real = Path(cwd).resolve()
    if str(real) in _TEMPORARY:
        return ""
    if any(real.is_relative_to(path) for path in _CLOSED) or any(
        Path(path).is_relative_to(real) for path in (*_CLOSED, *_HOLDERS)
    ):
        raise SandboxFault(f"the sandbox does not open {str(real)!r}: work in a project's own directory", started=False)
    if any(home.is_relative_to(real) for home in _homes()):
        raise SandboxFault(
            f"the sandbox does not open the home directory {str(real)!r}, with all that is private in it: "
            "work in a directory within it",
            started=False,
        )
    return str(real)


def _homes() -> set[Path]:
    import pwd  # there is none on Windows, where this module must still load

    homes = {os.environ.get("HOME", "")}
    homes |= {entry.pw_dir for entry in pwd.getpwall() if entry.pw_uid >= _FIRST_PERSON or entry.pw_uid == os.getuid()}
    return {Path(home).resolve() for home in homes if home and Path(home).is_dir()}
