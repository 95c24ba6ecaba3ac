"""Rules on who may do everything: in a cluster, in a cloud, in a database; and on what protects the machine itself."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from assent.guards.commands.findings import blocked, doubtful, operands, shown
from assent.guards.commands.places import of_the_system, place, system_file, system_program
from assent.shell.lists import listed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from assent.guards.commands.findings import Finding
    from assent.shell.words.script import Command

_CLUSTERS = listed("kubectl oc k3s microk8s helm kustomize kubeadm")
_CLUSTER_ADMIN = re.compile(
    r"clusterrolebinding\b.{0,2000}cluster-admin|cluster-admin.{0,2000}clusterrolebinding|add-cluster-role-to-\w+\s{1,4}cluster-admin"
    r"|add-scc-to-\w+\s{1,4}(?:privileged|anyuid|hostaccess)|clusterrole\b.{0,400}verbs[\"'\]\[:=\s]{1,8}\*|clusterrole\b.{0,200}--verb[= ][\"']?\*|system:masters|pod-security\.kubernetes\.io/enforce=privileged",
    re.IGNORECASE | re.DOTALL,
)
_CLOUD_ADMIN = re.compile(
    r"(?:attach-(?:user|role|group)-policy|create-role|put-(?:user|role|group)-policy|create-policy(?:-version)?)\b.{0,2000}"
    r"(?:AdministratorAccess|IAMFullAccess|PowerUserAccess|\"Action\"\s{0,4}:\s{0,4}\[?\s{0,4}\"(?:iam:)?\*\")"
    r"|add-user-to-group\b.{0,200}[Aa]dmin|(?:add-iam-policy-binding|set-iam-policy)\b.{0,400}(?:roles/(?:owner|editor|[\w.]*[aA]dmin)|allUsers|allAuthenticatedUsers)"
    r"|role\s{1,4}assignment\s{1,4}create\b.{0,400}(?:Owner|User Access Administrator)\b",
    re.DOTALL,
)
_CLOUD_KEYS = re.compile(
    r"\biam\s{1,4}(?:create-access-key|create-login-profile|update-login-profile|update-assume-role-policy|create-service-specific-credential)\b"
    r"|service-accounts\s{1,4}keys\s{1,4}create\b|\bad\s{1,4}(?:sp|app)\s{1,4}(?:credential\s{1,4}reset|create-for-rbac)\b"
)
_CLOUDS = listed("aws gcloud az aliyun oci ibmcloud doctl")
_DATABASE_ADMIN = re.compile(
    r"\b(?:create|alter)\s{1,4}(?:role|user)\b[^;]{0,200}\bsuperuser\b|\bgrant\s{1,4}(?:pg_execute_server_program|pg_write_server_files|pg_read_server_files|rds_superuser"
    r"|dba|sysdba|sysadmin|super|all\s{1,4}privileges\s{1,4}on\s{1,4}\*\.\*|all\s{1,4}on\s{1,4}\*\.\*)|\bgrant\s{1,4}all\b[^;]{0,200}\bto\s{1,4}public\b"
    r"|\bsp_addsrvrolemember\b|\balter\s{1,4}server\s{1,4}role\s{1,4}\[?sysadmin",
    re.IGNORECASE,
)
_MAY_GRANT = re.compile(r"\bgrant\b|superuser|srvrole|server\s{1,4}role", re.IGNORECASE)
_NOT_SUPER = re.compile(r"\bnosuperuser\b", re.IGNORECASE)
_SWITCHED_OFF = {
    # program: how its words look when they switch off what protects the machine
    "setenforce": re.compile(r"\b(?:0|permissive)\b", re.IGNORECASE),
    "aa-teardown": re.compile(r""),
    "aa-disable": re.compile(r"\S"),
    "aa-complain": re.compile(r"\S"),
    "sysctl": re.compile(
        r"kernel\.(?:core_pattern|modprobe|randomize_va_space\s{0,2}=\s{0,2}0|yama\.ptrace_scope\s{0,2}=\s{0,2}0|kptr_restrict\s{0,2}=\s{0,2}0|unprivileged_bpf_disabled\s{0,2}=\s{0,2}0)"
    ),
    "insmod": re.compile(r"\S"),
    "modprobe": re.compile(r"(?:^|\s)(?:-C|--config|-f|--force)\b"),
    "kexec": re.compile(r"(?:^|\s)-(?:l|e|p|-load|-exec)\b"),
    "iptables": re.compile(r"(?:^|\s)(?:-F|--flush|-X|-P\s{1,4}\w+\s{1,4}ACCEPT)"),
    "ip6tables": re.compile(r"(?:^|\s)(?:-F|--flush|-X|-P\s{1,4}\w+\s{1,4}ACCEPT)"),
    "nft": re.compile(r"\bflush\s{1,4}ruleset\b|\bdelete\s{1,4}table\b"),
    "ufw": re.compile(r"\b(?:disable|reset)\b"),
    "auditctl": re.compile(r"(?:^|\s)-(?:D|e\s{0,2}0)\b"),
    "spctl": re.compile(r"--(?:master|global)-disable"),
    "csrutil": re.compile(r"\bdisable\b"),
    "mokutil": re.compile(r"--disable-validation"),
    "tune2fs": re.compile(r"-O\s{0,2}\^has_journal"),
    "journalctl": re.compile(r"--vacuum-time=\d{1,3}(?:s|sec|m|min|h)\b|--vacuum-size=\d{1,2}[KM]?\b"),
    "wevtutil": re.compile(r"\b(?:cl|clear-log)\b"),
    "telnetd": re.compile(r""),
}
_GUARDIANS = listed(
    "auditd firewalld ufw apparmor fail2ban rsyslog syslog-ng systemd-journald iptables nftables falco crowdsec wazuh-agent "
    "osqueryd clamav-daemon selinux falcon-sensor assent"
)
_MOUNTED_BY_USE = ("/proc", "/sys", "/dev")
_LISTENS = listed("stop disable mask kill")
_TEMPORARY = ("/tmp/", "/var/tmp/", "/dev/shm/", "./", "../", "/home/")  # noqa: S108 - where anybody may put a file


def on_grants(command: Command) -> Iterator[Finding]:
    """Administrators of clusters, clouds and databases; protection that is switched off; mounts over the system."""
    program, texts = command.program, [word.text for word in command.argv[1:]]
    said = " ".join((*texts, command.fed_text or ""))[:10_000]
    if program in _CLUSTERS and _CLUSTER_ADMIN.search(said):
        yield blocked(f"{program} makes somebody the cluster's administrator")
    elif program in _CLOUDS and _CLOUD_ADMIN.search(said):
        yield blocked(f"{program} makes somebody an administrator")
    elif program in _CLOUDS and _CLOUD_KEYS.search(said):
        yield doubtful(f"{program} makes a key, or changes who may take a role")
    elif _switches_off(program, texts, said):
        yield doubtful(f"{program} switches off what protects the machine")
    elif program == "mount":
        yield from _mounted(command, texts)
    elif program in {"update-alternatives", "systemctl", "launchctl"}:
        yield from _put_in_place(command, texts)
    if _MAY_GRANT.search(said) and _DATABASE_ADMIN.search(_NOT_SUPER.sub("", said)):
        yield doubtful(f"{program} makes somebody an administrator of a database")


def _switches_off(program: str, texts: list[str], said: str) -> bool:
    if off := _SWITCHED_OFF.get(program):
        return bool(off.search(said))
    stopped = program == "systemctl" and _LISTENS & set(texts)
    return bool(stopped) and any(text.removesuffix(".service") in _GUARDIANS for text in texts)


def _mounted(command: Command, texts: list[str]) -> Iterator[Finding]:
    words = operands(command)
    target = place(words[-1], command.cwd) if words else ""
    given = ",".join(texts).split(",")
    if "suid" in given or "dev" in given:
        yield blocked("mount lets programs take their owner's rights")
    elif len(words) > 1 and (system_file(target) or of_the_system(target)) and not target.startswith(_MOUNTED_BY_USE):
        yield blocked(f"mount lays something over {shown(words[-1])}")


def _put_in_place(command: Command, texts: list[str]) -> Iterator[Finding]:
    program = command.program
    foreign = any(text.startswith(_TEMPORARY) for text in texts)
    if program == "update-alternatives" and foreign and {"--install", "--set"} & set(texts):
        if any(system_program(place(word, command.cwd)) for word in command.argv[1:]):
            yield blocked("update-alternatives puts another program in the place of one of the system's")
    elif program == "systemctl" and foreign and {"link", "enable"} & set(texts):
        yield doubtful("systemctl makes the system run what lies where anybody may write")
    elif program == "launchctl" and {"load", "bootstrap", "submit"} & set(texts):
        yield doubtful("launchctl makes the system run something from now on")
