"""Rules on doors: shells, ports and screens for others, docker's socket, and packages from whoever answers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from assent.guards.beyond.remote import fetches
from assent.guards.commands.findings import blocked
from assent.shell.lists import listed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from assent.guards.commands.findings import Finding
    from assent.shell.words.script import Command

_SHELLS_FOR_OTHERS = listed(
    "ttyd gotty wetty shellinaboxd tmate sshx upterm teleconsole telnetd in.telnetd rlogind rshd dropbear webssh gsocket gs-netcat "
    "pwncat-cs tty-share butterfly.server.py"
)
"""They hand a terminal to whoever comes."""
_PROXIES = listed(
    "gost microsocks danted 3proxy srelay ssocks sshuttle-server revsocks rsocks iox ligolo-agent ligolo chisel"
)
_HTTP = re.compile(
    r"(?:^|[=\s+])http://(?!(?:localhost|127\.|\[::1\]|10\.|192\.168\.|172\.(?:1[6-9]|2\d|3[01])\.|[\w-]+(?::\d+)?(?:/|$)|[\w.-]+\.(?:corp|local|internal|intra|intranet|lan|home|test|example|localdomain|svc)(?:[:/]|$)))\S+"
)
"""An address without encryption, and not in a network of one's own: whoever is between puts in what they like."""
_OWN_PROXY = re.compile(r"(?:https?|ftp|all|no)_proxy", re.IGNORECASE)
_PROXY = re.compile(r"\S*[pP]rox(?:y|ies)[\w:-]{0,20}[= ]\S+")
_INSTALLERS = listed(
    "pip pip3 pipx uv npm pnpm yarn bun gem cargo go helm kubectl oc terraform tofu ansible-pull ansible-playbook ansible-galaxy "
    "dpkg rpm apt apt-get apt-key dnf yum zypper apk pacman brew snap flatpak composer nuget luarocks cpan cpanm conda mamba opam "
    "raco R code docker podman msiexec mshta installer"
)
_OPEN_EDITORS = {
    "code-server": re.compile(r"--auth[= ]none"),
    "code": re.compile(r"^tunnel\b"),
    "jupyter": re.compile(r"(?:token|password)=(?:\s|$|''|\"\")|--ip[= ]0\.0\.0\.0"),
    "jupyter-lab": re.compile(r"(?:token|password)=(?:\s|$)|--ip[= ]0\.0\.0\.0"),
    "jupyter-notebook": re.compile(r"(?:token|password)=(?:\s|$)|--ip[= ]0\.0\.0\.0"),
    "tailscale": re.compile(r"^(?:up|set)\b.*--ssh|^serve\b.*(?:tcp|:22\b)|\bfunnel\b"),
    "frpc": re.compile(r"local_?port\s{0,4}=\s{0,4}(?!80\b|443\b|3\d{3}|8\d{3}|5\d{3})|plugin\s{0,4}="),
    "rclone": re.compile(r"^serve\b.*--addr[= ]:"),
    "vncserver": re.compile(r"-?-SecurityTypes[= ]None", re.IGNORECASE),
    "x11vnc": re.compile(r"-nopw|^(?!.*-(?:rfbauth|passwd|localhost))"),
    "redis-server": re.compile(r"--protected-mode no"),
    "dockerd": re.compile(r"(?:-H|--host)[= ]tcp://"),
    "kubectl": re.compile(r"^proxy\b.*(?:--address[= ]0\.0\.0\.0|--accept-hosts)"),
    "node": re.compile(r"--inspect(?:-brk)?=0\.0\.0\.0"),
    "gdbserver": re.compile(r"^(?:0\.0\.0\.0|:)"),
    "sshd": re.compile(r"PermitRootLogin|AuthorizedKeys|PasswordAuthentication|-p\s?\d"),
}
"""Doors that stand open to whoever comes."""
_FORWARDS = re.compile(r"^(?:tcp\d?|openssl|udp\d?|vsock)-l(?:isten)?:", re.IGNORECASE)
_MAKES_CONTAINERS = re.compile(r"/(?:containers|exec|images|services|build|commit)\b")
_INWARDS = re.compile(
    r":(?:22|23|2375|2376|3389|5900|6443|10250|5432|3306|6379|27017)\b|docker\.sock|\bSOCKS", re.IGNORECASE
)


def on_doors(command: Command) -> Iterator[Finding]:
    """Terminals, ports and notebooks that are open to whoever comes, and docker's socket as a way around docker."""
    program, texts = command.program, [word.text for word in command.argv[1:]]
    said = " ".join((*texts, command.fed_text or ""))[:4000]
    if program in _SHELLS_FOR_OTHERS or (program in _PROXIES and texts and program != "chisel"):
        yield blocked(f"{program} hands a shell or a way in to others")
    elif (door := _OPEN_EDITORS.get(program)) and door.search(said):
        yield blocked(f"{program} opens a door to whoever comes")
    elif program == "socat" and any(map(_FORWARDS.match, texts)) and any(map(_INWARDS.search, texts)):
        yield blocked("socat lets others in through a port")
    if "docker.sock" in said and program in {"curl", "socat", "nc", "ncat", "wget"} and _MAKES_CONTAINERS.search(said):
        yield blocked(f"{program} makes containers through docker's socket")


def on_installing(command: Command) -> Iterator[Finding]:
    """Packages and charts over an address without encryption, or fetched on the spot."""
    if command.program not in _INSTALLERS:
        return
    ahead = (word.text for name, word in command.environment if not _OWN_PROXY.fullmatch(name))
    said = " ".join((*(word.text for word in command.argv[1:]), command.fed_text or "", *ahead))[:4000]
    if _HTTP.search(_PROXY.sub("", said)) or _fetched(command):
        yield blocked(f"{command.program} takes code from an address that anybody may answer for")


def _fetched(command: Command) -> bool:
    """Whether a package manager is given what was fetched just now: `dpkg -i <(curl …)`."""
    return any(map(fetches, command.arguments_from)) and any(word.text.startswith("/dev/fd/") for word in command.argv)
