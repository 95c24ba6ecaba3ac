"""Rules on what runs for others: services of a kind that others stand on, on this machine or another one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from assent.guards.commands.findings import behind, doubtful
from assent.shell.lists import listed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from assent.guards.commands.findings import Finding
    from assent.shell.words.script import Command

_SERVICES = re.compile(
    r"(?:postgres|postgresql|mysql|mysqld|mariadb|mariadbd|mongod|mongodb|redis|redis-server|memcached|rabbitmq|rabbitmq-server|beam\.smp|kafka"
    r"|zookeeper|elasticsearch|opensearch|etcd|consul|vault|nomad|cassandra|clickhouse|clickhouse-server|influxdb|neo4j|minio"
    r"|nginx|apache2?|httpd|caddy|haproxy|traefik|envoy|varnish|squid|bind9?|named|unbound|dnsmasq|coredns"
    r"|docker|dockerd|containerd|crio|podman|kubelet|kube-apiserver|kube-proxy|libvirtd|xen"
    r"|sshd?|postfix|exim4?|dovecot|slapd|sssd|krb5kdc|smbd?|nfs-server|nfsd|vsftpd|openvpn|wg-quick|strongswan|tailscaled"
    r"|auditd|fail2ban|apparmor|ufw|iptables|nftables|crowdsec|falco|osqueryd?|wazuh-agent|clamav-daemon|clamd|falcon-sensor|filebeat"
    r"|prometheus|grafana|grafana-server|node_exporter|datadog-agent|zabbix-agent|telegraf|fluentd|td-agent|vector|cron|crond|chronyd|ntpd"
    r"|rsyslogd?|journald|systemd|supervisord|php-fpm|tomcat|jenkins|gitlab|vmtoolsd|windefend|sysmon)"
    r"(?:[@._-]?[\d.]{1,6}\w{0,10}|@.{0,40})?(?:\.service|\.socket)?",
    re.IGNORECASE,
)
_CONTROLS = listed(
    "systemctl service rc-service initctl sv supervisorctl monit svcadm s6-svc net sc net.exe sc.exe rcctl"
)
_STOPPING = listed("stop disable mask kill down force-stop")
_KILLERS = frozenset({"pkill", "killall", "xkill", "skill", "killall5"})
_QUIETLY = frozenset({"-0", "-HUP", "-USR1", "-USR2", "-SIGHUP", "-l"})
_FINDERS = frozenset({"pgrep", "pidof"})
_AFAR = frozenset({"ssh", "mosh", "ansible", "salt", "pdsh", "pssh", "clush", "aws", "gcloud", "az"})
_CHOOSES = frozenset({"grep", "egrep", "rg", "pgrep", "head", "tail", "fzf", "jq", "grep.exe"})
_WHOLE_TREE = frozenset({"/", "/home", "/usr", "/var", "/etc", "-m/"})
_PID = re.compile(r"(?:/var)?/run/.{1,100}\.pid")
_SOCKET = re.compile(r"(?:/var)?/run/(?:[\w-]{1,40}/)?[\w.-]{1,60}\.sock")
_KERNEL = re.compile(
    r"/proc/sys/(?!vm/(?:swappiness|max_map_count|overcommit_memory)|fs/inotify/).{1,100}|/sys/(?!class/(?:backlight|leds)/).{1,200}"
)


def on_stopping(command: Command) -> Iterator[Finding]:
    """Ask before a service stops that others stand on, or all that a supervisor runs."""
    program, texts = command.program, [word.text for word in command.argv[1:]]
    if program in _CONTROLS and not _STOPPING.isdisjoint(texts[:6]) and "--user" not in texts:
        far = not _AFAR.isdisjoint(command.wrappers)
        if far or any(map(_SERVICES.fullmatch, texts)) or {"all", "*"}.intersection(texts):
            yield doubtful(f"{program} {' '.join(texts[:3])[:60]}: it stops what others use")
    elif program in _KILLERS | {"kill"} and _QUIETLY.isdisjoint(texts):
        if (
            program != "kill" and any(map(_SERVICES.fullmatch, re.split(r"[|\s^$()]", " ".join(texts)[:400])))
        ) or _found_by_name(command):
            yield doubtful(f"{program} stops what others use")
    elif program == "pm2" and texts[:1] in (["delete"], ["stop"], ["kill"], ["del"]) and texts[1:2] in (["all"], []):
        yield doubtful(f"pm2 {texts[0]} stops all that it runs")
    elif command.argv and command.argv[0].text.startswith("/etc/init.d/") and texts[:1] in (["stop"], ["force-stop"]):
        yield doubtful(f"{command.argv[0].text[:60]} stop: it stops what others use")
    elif program == "rm" and any(map(_SOCKET.fullmatch, texts)):
        yield doubtful("rm takes away the socket by which a service is reached")


def _lists_all(command: Command) -> bool:
    """Whether it is told the processes that `ps` lists, and nothing on the way chooses among them."""
    sources = [*behind(command)]
    return any(source.program == "ps" for source in sources) and not any(
        source.program in _CHOOSES
        or (source.program in {"awk", "gawk", "sed"} and any("/" in word.text for word in source.argv[1:]))
        or (
            source.program == "ps"
            and any(re.match(r"-[CGUpu]|--(?:pid|user|ppid)", word.text) for word in source.argv[1:])
        )
        for source in sources
    )


def on_processes(command: Command) -> Iterator[Finding]:
    """Ask before every process ends that there is, that somebody has or that a whole file system is used by."""
    program, texts = command.program, [word.text for word in command.argv[1:]]
    if program == "kill" and _lists_all(command):
        yield doubtful("kill ends every process that is listed")
    elif (program == "pkill" and texts[-1:] in ([""], ["."], [".*"])) or (
        program == "killall" and not {"-u", "--user"}.isdisjoint(texts)
    ):
        yield doubtful(f"{program} ends every process of somebody's")
    elif (
        program == "fuser"
        and any(re.match(r"-\w*k|--kill", text) for text in texts)
        and _WHOLE_TREE.intersection(texts)
    ):
        yield doubtful("fuser ends every process that uses a whole file system")


def on_kernel(command: Command) -> Iterator[Finding]:
    """Ask before something is written into the running kernel's own files."""
    written = [redirect.target.text for redirect in command.redirects if redirect.writes]
    if command.program == "tee":
        written += [word.text for word in command.argv[1:]]
    for path in written:
        if _KERNEL.fullmatch(path):
            yield doubtful(f"it changes the running kernel: {path[:60]}")


def _found_by_name(command: Command) -> bool:
    for source in (*command.arguments_from, *command.feeders):
        words = [word.text for word in source.argv[1:]]
        if source.program in _FINDERS and any(map(_SERVICES.fullmatch, words)):
            return True
        if source.program == "cat" and any(map(_PID.fullmatch, words)):
            return True
    return False
