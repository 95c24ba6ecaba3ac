"""Where a path of a shell command leads, and which places a guard protects. The lists are data."""

from __future__ import annotations

import fnmatch
import re
from typing import TYPE_CHECKING

from assent.shell.lists import listed

if TYPE_CHECKING:
    from assent.shell.words.script import Word

_TOP = listed(
    "bin boot dev etc home lib lib32 lib64 libx32 media mnt opt proc root run sbin snap srv sys tmp usr var lost+found "
    "System Library Applications Users private Volumes cores Network nix c mnt/c mnt/d"
)
_BELOW = listed(
    "usr/bin usr/sbin usr/lib usr/lib32 usr/lib64 usr/libexec usr/share usr/local usr/include usr/src usr/local/bin "
    "usr/local/sbin usr/local/lib usr/local/etc usr/local/share usr/local/include var/lib var/log var/cache var/spool "
    "var/mail var/db var/run var/www var/backups var/opt var/local var/tmp var/lib/dpkg var/lib/rpm var/lib/docker "
    "var/lib/apt var/lib/mysql var/lib/postgresql var/lib/pacman var/lib/systemd private/etc private/var nix/store "
    "opt/homebrew run/systemd c/Windows mnt/c/Windows"
)
PROTECTED = frozenset({"/", "~", *(f"/{name}" for name in (*_TOP, *_BELOW))})
"""Directories that nothing may delete, empty, move away or hand to another owner."""

_KEPT_WHOLE = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/boot", "/dev", "/proc", "/sys", "/usr", "/etc", "/System")
"""Everything below them belongs to the system."""
_FREE_BELOW = ("/usr/local/", "/usr/src/", "/dev/shm/")  # noqa: S108  # a place that others may use, not one that we use
_BINARIES = re.compile(r"/(?:usr/)?(?:s?bin|lib(?:32|64|exec)?)/.+|/boot/.+")

_SYSTEM_FILES = listed(
    "/etc/passwd /etc/shadow /etc/group /etc/gshadow /etc/passwd- /etc/shadow- /etc/sudoers /etc/crontab "
    "/etc/anacrontab "
    "/etc/fstab /etc/inittab /etc/rc.local /etc/ld.so.preload /etc/ld.so.conf /etc/ld.so.cache /etc/nsswitch.conf "
    "/etc/resolv.conf /etc/hosts.allow /etc/hosts.deny /etc/ssh/sshd_config /etc/ssh/ssh_config /etc/profile "
    "/etc/bash.bashrc /etc/bashrc /etc/zshrc /etc/zshenv /etc/environment /etc/login.defs /etc/securetty /etc/subuid "
    "/etc/subgid /etc/doas.conf /etc/master.passwd /etc/cron.allow /etc/cron.deny /etc/at.allow /etc/machine-id "
    "/etc/sysctl.conf /etc/modules /etc/shells /etc/default/grub /etc/gdm/custom.conf /etc/crypttab /etc/exports "
    "/proc/sysrq-trigger /proc/kcore /proc/sys/kernel/core_pattern /proc/sys/kernel/modprobe /proc/sys/kernel/sysrq "
    "/etc/security/limits.conf /etc/security/access.conf /etc/hostname"
)
_SYSTEM_TREES = listed(
    "/etc/sudoers.d/ /etc/pam.d/ /etc/cron.d/ /etc/cron.daily/ /etc/cron.hourly/ /etc/cron.weekly/ /etc/cron.monthly/ "
    "/var/spool/cron/ /etc/profile.d/ /etc/ld.so.conf.d/ /etc/security/ /etc/init.d/ /etc/rc.d/ /etc/polkit-1/ "
    "/etc/dbus-1/ /etc/selinux/ /etc/apparmor.d/ /etc/ssh/sshd_config.d/ /etc/grub.d/ /var/spool/at/ "
    "/etc/udev/rules.d/ /lib/udev/rules.d/ /etc/modprobe.d/ /etc/modules-load.d/ "
    "/etc/sysctl.d/ /etc/xdg/autostart/ /etc/update-motd.d/"
)
_DEVICE = re.compile(
    r"/dev/(?:(?:sd|hd|vd|xvd|ubd)[a-z]+\d*|nvme\d+(?:n\d+(?:p\d+)?)?|mmcblk\d+(?:p\d+|boot\d)?|md\d+(?:p\d+)?|md/.+|dm-\d+"
    r"|mapper/.+|loop\d+(?:p\d+)?|r?disk\d+(?:s\d+)*|disk/.+|nbd\d+|sr\d+|st\d+|nst\d+|zd\d+|drbd\d+|bcache\d+|rbd\d+|block/.+"
    r"|mtd\w*|mem|kmem|port|nvram|pmem\d+|ada\d+\w*|da\d+\w*|[vx]?d[a-z]|cciss/.+|fd0|mapper|efi\w*|zvol/.+)"
)
_LONGEST_PATH = 4096  # characters: no system takes a longer one, so nobody means it
_LONGEST_NAME = 255  # characters: a longer pattern is of no file, and takes quadratic time to read
_EVERYTHING = re.compile(r"(?:[!@?*+]\([^()]*\)|\.?[*?]+|\*\.\*|\.?\[!?\^?[^\]]*\][*?]*|\.\?\?\*|\{\})")
_USERS_HOME = re.compile(r"/(?:home|Users|var/home|export/home)/[^/]+|/root")
_HOOKS = re.compile(r"(?:.*/)?\.git(?:/hooks(?:/.*)?)?|(?:.*/)?\.husky(?:/.*)?")


def place(word: Word, cwd: Word | None) -> str:
    """Return the path in one spelling: `/…`, `~…`, or relative beginning with `.` or `..`."""
    text = word.text
    if re.match(r"[A-Za-z]:[\\/]", text):
        text = f"/{text[0].lower()}/{text[3:]}".replace("\\", "/")
    if not (text.startswith("/") or word.tilde) and cwd is not None:
        base, relative = cwd.text, normal(text)
        if "\0" in base and not relative.startswith("..") and not protected(relative, globbed=word.globbed):
            return relative  # wherever that is, it is a part of it
        return normal(f"{base}/{text}", home=cwd.tilde)
    return normal(text, home=word.tilde)


def normal(text: str, *, home: bool = False) -> str:
    """Return the path without `.`, `..` and doubled slashes; every user's home is `~`."""
    root, rest = ("~", text[1:]) if home else ("/", text) if text.startswith("/") else (".", text)
    parts: list[str] = []
    for part in rest.split("/"):
        if part in {"", "."}:
            continue
        if part != "..":
            parts.append(part)
        elif parts and parts[-1] != "..":
            parts.pop()
        elif root == "~":
            root, parts = "/", ["home"]
        elif root == ".":
            parts.append("..")
    if parts[:3] == ["proc", "self", "root"] and root == "/":
        parts = parts[3:]
    if root == ".":
        return "/".join(parts) if parts[:1] == [".."] else "/".join((".", *parts))
    path = ("" if root == "/" else root) + "".join(f"/{part}" for part in parts) or "/"
    found = _USERS_HOME.match(path)
    return f"~{path[found.end() :]}" if found and path[found.end() :][:1] in {"", "/"} else path


def swept(path: str) -> str | None:
    """Return the directory whose whole content the path's last part means (`dir/*`), or None."""
    head, _, last = path.rpartition("/")
    return (head or "/") if _EVERYTHING.fullmatch(last) and path not in {".", ".."} else None


def protected(path: str, *, globbed: bool = False) -> bool:
    """Whether the path is a root, a home, the current tree or above, a system directory, or all that is in one."""
    if len(path) > _LONGEST_PATH:
        return True
    inside = swept(path)
    while inside is not None:  # `dir/*/*/*`
        if inside in {"/tmp", "/var/tmp"}:  # noqa: S108  # emptying them is their use
            return False
        path, globbed, inside = inside, False, swept(inside)
    if path in PROTECTED or path == "." or set(path.split("/")) == {".."}:
        return True
    if globbed and max(map(len, path.split("/"))) > _LONGEST_NAME:
        return True
    return globbed and any(fnmatch.fnmatchcase(name, path) for name in PROTECTED)


def of_the_system(path: str) -> bool:
    """Whether the path lies inside a tree that belongs to the system as a whole."""
    if path.startswith(_FREE_BELOW):
        return False
    return any(path == tree or path.startswith(f"{tree}/") for tree in _KEPT_WHOLE)


def system_file(path: str) -> bool:
    """Whether the path is a file that decides who may do what, or what the system runs."""
    path = path.removeprefix("/private")
    return path in _SYSTEM_FILES or path.startswith(tuple(_SYSTEM_TREES)) or f"{path}/" in _SYSTEM_TREES


def system_program(path: str) -> bool:
    """Whether the path is a program or library of the system."""
    return bool(_BINARIES.fullmatch(path))


def device(path: str) -> bool:
    """Whether the path is a disk, a partition or raw memory."""
    return bool(_DEVICE.fullmatch(path))


def git_hooks(path: str) -> bool:
    """Whether the path is a repository's hooks, or the repository's own folder."""
    return bool(_HOOKS.fullmatch(path))


def named(path: str) -> str:
    """Return what a protected path is, in words."""
    inside = swept(path)
    whole = inside or path
    if whole == "/":
        return "the root of the file system"
    if whole == "~":
        return "a home directory"
    if whole.startswith("."):
        return "the current tree" if whole == "." else "a tree above the current one"
    return f"the system directory {whole[:60]}"
