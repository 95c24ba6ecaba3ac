"""Rules on disks, docker's data and the machine itself. The lists are data."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING

from assent.guards.commands.findings import blocked, doubtful, has, operands, options, shown
from assent.guards.commands.places import device, place
from assent.shell.lists import listed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from assent.guards.commands.findings import Finding
    from assent.shell.words.script import Command

_MAKES_FILE_SYSTEMS = re.compile(
    r"mkfs(?:\.\w+)?|mke2fs|mkswap|mkdosfs|mkntfs|newfs(?:_\w+)?|mkexfatfs|mkudffs|mkreiserfs"
)
_WRITING_WORDS: Mapping[str, frozenset[str]] = {
    # program: words of which one writes to a disk
    "parted": listed("mklabel mktable mkpart rm resizepart rescue set name mkfs toggle disk_set"),
    "cryptsetup": listed("luksFormat luksErase erase reencrypt luksRemoveKey luksKillSlot open-format"),
    "nvme": listed("format sanitize write write-zeroes dsm delete-ns security-send fw-download"),
    "zpool": listed("create destroy labelclear remove"),
    "zfs": frozenset({"destroy"}),
    "diskutil": listed(
        "eraseDisk eraseVolume partitionDisk zeroDisk randomDisk secureErase reformat eraseOptical erasedisk apfs"
    ),
    "mdadm": listed("--create -C --zero-superblock --stop --remove -r"),
    "hdparm": listed(
        "--security-erase --security-erase-enhanced --trim-sector-ranges --make-bad-sector --write-sector"
    ),
    "sgdisk": listed(
        "-Z --zap-all -z --zap -o --clear -n --new -d --delete -t --typecode -g --mbrtogpt -G --load-backup -l"
    ),
    "badblocks": frozenset({"-w", "-wsv", "-wv", "-n", "-ws", "-svw"}),
    "btrfs": frozenset({"delete"}),
    "dmsetup": listed("remove remove_all wipe_table clear"),
    "format": frozenset({"/q", "c:", "C:", "d:", "D:", "/Q"}),
    "diskpart": frozenset({"/s"}),
}
_ALWAYS = frozenset({"blkdiscard", "pvremove", "vgremove", "lvremove", "pvcreate", "flashrom"})
_COPIERS = frozenset({"ddrescue", "dd_rescue", "ntfsclone", "e2image"})
_READING_TABLES: Mapping[str, tuple[str, tuple[str, ...]]] = {
    # program: short letters and long names that only list
    "fdisk": ("lxs", ("--list", "--list-details", "--getsz", "--version", "--help", "--list-types")),
    "sfdisk": (
        "ldJgxFVsTh",
        ("--list", "--dump", "--json", "--show-geometry", "--verify", "--list-free", "--list-types", "--show-size"),
    ),
    "gdisk": ("l", ("--list",)),
    "cfdisk": ("hV", ("--help", "--version")),
}
_STOPS = frozenset({"shutdown", "reboot", "halt", "poweroff", "killall5", "rtcwake", "pm-suspend"})
_STOPPING_TARGETS = listed(
    "poweroff reboot halt kexec soft-reboot suspend hibernate hybrid-sleep emergency rescue exit poweroff.target "
    "reboot.target halt.target emergency.target rescue.target shutdown.target"
)
_BUS_STOPS = re.compile(
    r"\b(?:PowerOff|Reboot|Halt|Suspend|Hibernate|StartTransientUnit|SetWallMessage)\b|Shell\.Eval|\bEval$"
)
_DOCKERS = frozenset({"docker", "podman", "nerdctl", "docker-compose", "podman-compose", "buildah"})
_WIPES: Mapping[str, tuple[str, tuple[str, ...]]] = {
    # what docker does: the options with which it deletes data; none: always
    "system prune": ("a", ("--all", "--volumes")),
    "system reset": ("", ()),
    "volume rm": ("", ()),
    "volume remove": ("", ()),
    "volume prune": ("", ()),
    "compose down": ("v", ("--volumes",)),
    "compose rm": ("v", ("--volumes",)),
}
_REMOVES = frozenset({"container rm", "container remove", "image rm", "image remove", "pod rm"})
_READ_ONLY = re.compile(r":(?:\w+,)*ro\b|,(?:readonly|ro)\b")
_WHOLE_SYSTEM = re.compile(r"(?:--volume=)?/:/|.*source=/,")
_DOCKER_VALUES = listed(
    "-H --host -c --context --config --log-level -l -f --file -p --project-name --profile --env-file "
    "--project-directory"
)


def on_disks(command: Command) -> Iterator[Finding]:
    """Formatting, partitioning and wiping disks; reading and listing them is fine."""
    program = command.program
    texts = [word.text for word in command.argv[1:]]
    if has(command, "", "--help", "--version") or texts in (["-V"], ["-h"]):
        return
    if _MAKES_FILE_SYSTEMS.fullmatch(program):
        yield from _formatting(command)
    elif program in _READING_TABLES:
        letters, names = _READING_TABLES[program]
        if texts and not has(command, letters, *names):
            yield blocked(f"{program} rewrites a disk's partition table")
    elif program == "wipefs":
        if has(command, "ao", "--all", "--offset", "--types") and not has(command, "n", "--no-act"):
            yield blocked("wipefs erases a disk's signatures")
    elif (program in _ALWAYS and texts) or (
        program in _COPIERS and any(device(place(word, command.cwd)) for word in operands(command)[1:])
    ):
        yield blocked(f"{program} erases a disk")
    elif any(text in _WRITING_WORDS.get(program, ()) for text in texts):
        yield blocked(f"{program} changes or erases a disk")
    elif program == "sgdisk" and any(re.match(r"-[ndtogZz]\d*", text) for text in texts):
        yield blocked("sgdisk changes a disk's partition table")


def _formatting(command: Command) -> Iterator[Finding]:
    words = operands(command)
    targets = [word for word in words if device(place(word, command.cwd)) or word.text.startswith("/dev/")]
    if targets:
        yield blocked(f"{command.program} formats {shown(targets[-1])}")
    elif any(not word.known for word in words):
        yield doubtful(f"{command.program}: what it formats is known only when it runs")


def on_docker(command: Command) -> Iterator[Finding]:
    """Deleting docker's volumes, or all that is not in use just now."""
    if command.program not in _DOCKERS:
        return
    words = _plain(command)
    if command.program.endswith("-compose"):
        words = ["compose", *words]
    yield from _whole_system(command, words)
    yield from _sweeping(command, words)
    wiping = _WIPES.get(" ".join(words[:2]))
    if wiping is None or has(command, "", "--help"):
        return
    letters, names = wiping
    if (not letters and not names) or has(command, letters, *names):
        yield blocked(f"{command.program} {' '.join(words[:2])} deletes data that docker keeps")


def _whole_system(command: Command, words: list[str]) -> Iterator[Finding]:
    if words[:1] not in (["run"], ["create"], ["bud"], ["build"], ["from"]):
        return
    for word in command.argv:
        if _WHOLE_SYSTEM.match(word.text):
            reason = f"{command.program} {words[0]} gives a container the whole file system"
            yield doubtful(reason) if _READ_ONLY.search(word.text) else blocked(f"{reason}, to write in")


def _sweeping(command: Command, words: list[str]) -> Iterator[Finding]:
    """`docker rm -f $(docker ps -aq)`: all containers, or all images, whatever they hold."""
    if " ".join(words[:2]) not in _REMOVES and words[:1] not in (["rm"], ["rmi"]):
        return
    if not has(command, "fv", "--force", "--volumes"):
        return
    if command.program == "podman" and has(command, "a", "--all"):
        yield blocked("podman rm --all deletes every container, running or not")
    sources = (*command.arguments_from, *command.feeders) if any(not w.known for w in command.argv) else ()
    if any(source.program in _DOCKERS and _lists_all(source) for source in sources):
        yield blocked(f"{command.program} {words[0]} deletes all that it finds, running or not")


def _lists_all(command: Command) -> bool:
    words = _plain(command)
    chosen = words[:1] == ["compose"] or has(command, "fnl", "--filter", "--last", "--latest")
    return not chosen and words[-1:] in (["ps"], ["ls"], ["list"], ["images"])


def _plain(command: Command) -> list[str]:
    """Return the words that are neither options nor the values of global options."""
    words: list[str] = []
    skip = False
    for word in command.argv[1:]:
        if skip:
            skip = False
        elif word.text in _DOCKER_VALUES and len(words) < 2:
            skip = True
        elif not word.text.startswith("-"):
            words.append(word.text)
    return words


def on_machine(command: Command) -> Iterator[Finding]:
    """Stopping or restarting the machine, or all of its processes."""
    program = command.program if not command.argv or not command.argv[0].text.startswith(".") else ""
    texts = [word.text for word in command.argv[1:]]
    if has(command, "", "--help", "--version"):
        return
    if program in _STOPS:
        if program == "rtcwake" and "off" not in texts and "mem" not in texts:
            return
        if not has(command, "cw", "--help", "--version", "--wtmp-only", "--show"):
            yield blocked(f"{program} stops or restarts the machine")
    elif program in {"init", "telinit"} and any(text in {"0", "6", "1", "s", "S"} for text in texts[:1]):
        yield blocked(f"{program} {texts[0]} stops or restarts the machine")
    elif program in {"systemctl", "loginctl"} and (stopping := _stopping(texts)):
        yield blocked(f"{program} {stopping} stops or restarts the machine")
    elif program in {"pkill", "killall"} and any(text in {"systemd", "init", "launchd"} for text in texts):
        yield blocked(f"{program} of the first process stops the machine")
    elif program == "kill" and _kills_everything(command):
        yield blocked("kill of process 1 or of every process stops the machine")
    elif program in {"grub-install", "update-grub", "efibootmgr"} and options(command) and program == "efibootmgr":
        yield doubtful("efibootmgr changes what the machine starts from")


def on_bus(command: Command) -> Iterator[Finding]:
    """Messages that make the system stop, or run something."""
    if command.program in {"dbus-send", "busctl", "gdbus"} and any(
        _BUS_STOPS.search(word.text) for word in command.argv[1:]
    ):
        yield blocked(f"{command.program} stops the machine, or makes the system run something")


def _stopping(texts: list[str]) -> str:
    words = [
        text
        for before, text in itertools.pairwise(("", *texts))
        if not text.startswith("-") and before not in {"-H", "--host", "-M", "--machine"}
    ]
    if words[:1] in (["isolate"], ["start"], ["default"]):
        words = words[1:]
        return next((word for word in words if word in _STOPPING_TARGETS), "")
    return words[0] if words and words[0] in _STOPPING_TARGETS else ""


def _kills_everything(command: Command) -> bool:
    texts = [word.text for word in command.argv[1:]]
    if {"-HUP", "-USR1", "-USR2", "HUP", "USR1", "-SIGHUP"} & set(texts[:2]):
        return False  # asks a process to read its settings again
    targets = [text for text in texts if re.fullmatch(r"-?\d+", text)]
    if texts[:1] and re.fullmatch(r"-\d+|-[A-Z]+", texts[0]) and texts[0] != "-l":
        targets = [text for text in texts[1:] if re.fullmatch(r"-?\d+", text)]
    return any(text in {"1", "-1"} for text in targets) and "-0" not in texts[:1]
