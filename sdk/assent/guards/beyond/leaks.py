"""Rules on secrets that go out: what prints them, and what sends its input or its words to another machine."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from assent.guards.commands.findings import behind, blocked, closure, doubtful
from assent.shell.lists import listed
from assent.shell.programs.programs import code_of, language_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from assent.guards.commands.findings import Finding
    from assent.shell.words.script import Command, Script

_SENDERS = listed(
    "curl wget http https xh curlie nc ncat netcat socat telnet openssl mail mailx mutt sendmail swaks msmtp ssh scp sftp ftp "
    "lftp tftp dig nslookup host drill ping whois finger websocat grpcurl wormhole croc pastebinit gh glab slackcat ntfy "
    "busybox logger rclone aws gsutil s3cmd"
)
_LOCAL = re.compile(r"(?://|^|\s|@)(?:localhost|127\.[\d.]+|\[?::1\]?|host\.docker\.internal)(?:[:/\s]|$)")
_SENDS_DATA = re.compile(
    r"(?:^|\s)-{1,2}(?:d|F|T|data[\w-]*|form[\w-]*|upload-file|json|post-data|post-file|body[\w-]*|method)(?:[=\s@]|$)|(?:^|\s)-X\s?P|(?:^|\s)-[a-zA-Z]{0,5}[dFT]"
)
_TELLS = {
    # program: how its words look when it prints secrets
    "env": re.compile(r"^(?:-0|--null)?$"),
    "printenv": re.compile(r"^(?!.*\b(?:PATH|HOME|USER|LANG|SHELL|PWD)\b)"),
    "set": re.compile(r"^$"),
    "export": re.compile(r"^(?:-p)?$"),
    "declare": re.compile(r"^(?:-[xp]+)?$"),
    "typeset": re.compile(r"^(?:-[xp]+)?$"),
    "compgen": re.compile(r"^-[ve]+$"),
    "gh": re.compile(r"^auth (?:token|status .*-t)"),
    "glab": re.compile(r"^auth status .*-t|^config get token"),
    "gcloud": re.compile(r"\bprint-(?:access|identity|refresh)-token\b|\bsecrets versions access\b"),
    "az": re.compile(r"\bget-access-token\b|\bkeyvault secret show\b|\bkeys list\b|\blist-keys\b"),
    "aws": re.compile(
        r"\b(?:get-session-token|assume-role|get-secret-value|get-parameters?\b.*with-decryption|export-credentials|configure get|configure list)\b"
    ),
    "vault": re.compile(r"^(?:kv get|read|token|print token)\b"),
    "kubectl": re.compile(r"\bget (?:secrets?\b|\S*,secrets?)|\bconfig view\b.*--raw|\bcreate token\b"),
    "oc": re.compile(r"\bget secrets?\b|\bwhoami (?:-t|--show-token)"),
    "git": re.compile(r"\bcredential(?:-\w+)? (?:fill|get)\b"),
    "op": re.compile(r"\b(?:read|item get|get)\b"),
    "pass": re.compile(r"^show\b"),
    "bw": re.compile(r"^(?:get|export|list)\b"),
    "doppler": re.compile(r"\bsecrets\b"),
    "heroku": re.compile(r"^config\b"),
    "fly": re.compile(r"\b(?:auth token|ssh console)\b"),
    "flyctl": re.compile(r"\bauth token\b"),
    "terraform": re.compile(r"^(?:output|show|state pull)\b"),
    "sops": re.compile(r"-d\b|--decrypt\b|^decrypt\b"),
    "ansible-vault": re.compile(r"^(?:view|decrypt)\b"),
    "security": re.compile(r"^(?:find-\w+-password|dump-keychain|export)\b"),
    "secret-tool": re.compile(r"^(?:lookup|search)\b"),
    "gpg": re.compile(r"--export-secret"),
    "npm": re.compile(r"^(?:token|config (?:get|list|ls).*(?:_auth|-l))"),
    "docker": re.compile(r"^inspect\b.*Env|\bcompose\b.*\bconfig$"),
    "systemctl": re.compile(r"\bshow-environment\b"),
    "tmux": re.compile(r"\bshow-?env"),
    "ps": re.compile(r"^(?!-)[a-z]*e[a-z]*\b|\se(?:ww?)?$"),
    "history": re.compile(r""),
    "fc": re.compile(r"^-l"),
}
_DUMPS = {
    "pg_dump": re.compile(r""),
    "pg_dumpall": re.compile(r""),
    "mysqldump": re.compile(r""),
    "mariadb-dump": re.compile(r""),
    "mongodump": re.compile(r""),
    "mongoexport": re.compile(r""),
    "sqlite3": re.compile(r"\.(?:dump|backup)"),
    "redis-cli": re.compile(r"--rdb|\bkeys\b"),
    "docker": re.compile(r"^(?:inspect|export|save|cp)\b"),
    "git": re.compile(r"^(?:bundle|archive|log\b.*-p|format-patch)\b"),
    **dict.fromkeys(
        ("tcpdump", "tshark", "xclip", "xsel", "pbpaste", "wl-paste", "arecord", "journalctl"), re.compile(r"")
    ),
    **dict.fromkeys(("import", "scrot", "grim", "screencapture", "fswebcam"), re.compile(r"")),
    "aws": re.compile(r"\bs3 cp\b.*\s-$"),
    "gsutil": re.compile(r"\bcat\b"),
    "ffmpeg": re.compile(r"x11grab|avfoundation|dshow|v4l2|alsa|pulse"),
    **dict.fromkeys(("grep", "rg", "egrep"), re.compile(r"(?i)secret|token|passw|api_?key|private|credential")),
    **dict.fromkeys(("svnadmin", "slapcat", "ldapsearch", "ntdsutil", "crontab", "wevtutil"), re.compile(r"")),
    "psql": re.compile(r"(?i)\b(?:select|copy)\b"),
    "mysql": re.compile(r"(?i)\bselect\b"),
    "etcdctl": re.compile(r"\bget\b.*--prefix|\bsnapshot\b"),
    "kubectl": re.compile(r"\bget\b.*(?:-A|--all-namespaces).*-o"),
}
_CONNECTIONS = frozenset({"nc", "ncat", "netcat", "socat", "telnet"})
_PACKERS = frozenset({"tar", "bsdtar", "zip", "gzip", "cpio", "openssl", "gpg", "base64", "xxd", "zstd", "xz", "7z"})
_TO_ANYBODY = listed(
    "curl wget http https xh curlie nc ncat netcat socat telnet openssl mail mailx mutt sendmail wormhole croc"
)
_WHOLE_ENVIRONMENT = re.compile(
    r"dict\(os\.environ|\bos[\"']?\)?\.environ\b(?!\s{0,4}[\[.])|os\.environ\.copy|JSON\.stringify\(process\.env\)|\bprocess\.env\b(?!\s{0,4}[\[.?])|ENV\.(?:to_h|to_a|inspect|map|each|to_json)"
    r"|\\?%ENV\b|getenv\(\)|System\.getenv\(\)|\$_ENV\b(?!\[)"
)
_CODE_SENDS = re.compile(
    r"requests\.(?:post|put|get|request)|urlopen|httpx\.|http\.client|fetch\s*\(|https?[\"']?\)?\.(?:request|get)|ServerProxy|Net::HTTP|LWP|HTTP::Tiny|socket|curl_|axios|aiohttp|smtplib|file_get_contents\s*\(\s*['\"]http"
)
_ALL_SECRETS = re.compile(
    r"\bget secrets?\b(?=.*(?:-A\b|--all-namespaces))(?=.*(?:-o|--output)[= ]?(?:yaml|json|go-template))"
)


_SECRET_NAMES = {
    # variable: the address that it belongs to
    "AWS": re.compile(r"amazonaws|aws\."),
    "GITHUB": re.compile(r"github"),
    "GH": re.compile(r"github"),
    "GITLAB": re.compile(r"gitlab"),
    "NPM": re.compile(r"npm"),
    "ANTHROPIC": re.compile(r"anthropic"),
    "OPENAI": re.compile(r"openai"),
    "ASSENT": re.compile(r"/v1/"),
    "SSH": re.compile(r"(?!)"),
    "DATABASE": re.compile(r"(?!)"),
    "STRIPE": re.compile(r"stripe"),
    "AZURE": re.compile(r"azure|microsoft"),
    "GOOGLE": re.compile(r"google"),
    "KUBE": re.compile(r"(?!)"),
    "VAULT": re.compile(r"vault|/v1/"),
    "DB": re.compile(r"(?!)"),
}
_SECRET_NAME = re.compile(
    r"(?P<whose>[A-Z]+)_\w{0,40}(?:TOKEN|SECRET\w{0,20}|KEY|PASSWORD|PASS|URL|CREDENTIALS|CONFIG)"
)
_DROPS = re.compile(
    r"\b(?:transfer\.sh|0x0\.st|termbin\.com|paste(?:bin)?\.\w+|ix\.io|sprunge\.us|file\.io|bashupload\.com|gofile\.io|anonfiles\.\w+|webhook\.site|requestbin\.\w+"
    r"|[\w-]+\.ngrok(?:-free)?\.\w+|[\w.-]+\.(?:oast|burpcollaborator|interact)\.\w+|catbox\.moe|tmpfiles\.org|dpaste\.\w+|hastebin\.\w+|[\w.-]+\.pipedream\.net)"
)
"""Where anybody may leave things for anybody."""


def on_stored_leaks(script: Script) -> Iterator[Finding]:
    """What prints secrets writes them into a file, and the same text sends that file away."""
    stored: dict[str, str] = {}
    for command in script.commands:
        if stored and command.program in _SENDERS | {"git", "aws", "gsutil", "rclone"}:
            said = " ".join(word.text for word in command.argv[1:])[:4000]
            tellers = [teller for path, teller in stored.items() if path in said and not _LOCAL.search(said)]
            if tellers:
                yield blocked(f"{command.program} sends what {tellers[0]} told, with its secrets, to another machine")
                return
        if _prints(command, _TELLS):
            stored.update(
                (redirect.target.text, command.program)
                for redirect in command.redirects
                if redirect.writes and len(redirect.target.text) > 2
            )


def on_leaks(command: Command) -> Iterator[Finding]:
    """Secrets, the whole environment or a database that a pipe, a substitution or code sends to another machine."""
    program, texts = command.program, [word.text for word in command.argv[1:]]
    said = " ".join(texts)[:4000]
    language = language_of(program)
    if language and language != "shell":
        code = code_of(command)
        text = f"{code.text.text if code and code.text else ''} {command.fed_text or ''}"
        if _WHOLE_ENVIRONMENT.search(text) and _CODE_SENDS.search(text):
            yield blocked(f"{program} sends the environment, with its secrets, to another machine")
    elif program in {"kubectl", "oc"} and _ALL_SECRETS.search(said):
        yield doubtful(f"{program} prints all secrets of the cluster")
    if not _sends(command, said):
        return
    yield from _put_into_words(command, said)
    if _DROPS.search(said) and _SENDS_DATA.search(said):
        yield blocked(f"{program} leaves something where anybody may fetch it")
    given = [*behind(command)] if not _only_authorizes(command) else [*closure(command.feeders)]
    for source in given:
        if _prints(source, _TELLS) or _prints_environment(source):
            yield blocked(f"{program} sends what {source.program} tells, with its secrets, to another machine")
            return
        packed = program in _CONNECTIONS and source.program in _PACKERS
        if packed or (program in _TO_ANYBODY and _prints(source, _DUMPS)):
            yield doubtful(f"{program} sends what {source.program} holds to another machine")
            return


def _put_into_words(command: Command, said: str) -> Iterator[Finding]:
    """A variable that holds a secret, sent elsewhere than to whom it belongs."""
    if _only_authorizes(command) and not command.feeders:
        return
    fed = [word for source in command.feeders for word in source.argv[1:]]
    for word in (*command.argv[1:], *fed):
        for name in word.built_from:
            found = _SECRET_NAME.fullmatch(name)
            whose = _SECRET_NAMES.get(found["whose"]) if found else None
            if whose is not None and not whose.search(said):
                yield blocked(f"{command.program} sends ${name} to another machine")
                return


def _sends(command: Command, said: str) -> bool:
    into = any(
        "/dev/tcp/" in redirect.target.text or "/dev/udp/" in redirect.target.text for redirect in command.redirects
    )
    if into or "/dev/tcp/" in said:
        return True
    if command.program not in _SENDERS or _LOCAL.search(said):
        return False
    if command.program in {"gh", "glab"}:
        return "create" in said or "api" in said
    if command.program in {"aws", "gsutil", "s3cmd", "rclone"}:
        return False  # a store of one's own takes backups
    if command.program in {"curl", "wget"} and not command.arguments_from:
        return bool(_SENDS_DATA.search(said))
    return True


def _only_authorizes(command: Command) -> bool:
    """Whether what is put in stands in a header or a login alone: `curl -H "Authorization: Bearer $(gh auth token)"`."""
    argv = command.argv
    unknown = [at for at, word in enumerate(argv) if not word.known]
    return bool(unknown) and all(
        argv[at].text.startswith(("-H", "-u", "--header", "--user", "--oauth2-bearer", "Authorization:", "--token"))
        or argv[at - 1].text in {"-H", "-u", "--header", "--user", "--oauth2-bearer", "--token", "--password"}
        for at in unknown
    )


def _prints(command: Command, table: dict[str, re.Pattern[str]]) -> bool:
    shape = table.get(command.program)
    return shape is not None and bool(shape.search(" ".join(word.text for word in command.argv[1:])[:2000]))


def _prints_environment(command: Command) -> bool:
    if not language_of(command.program):
        return False
    code = code_of(command)
    return bool(code and code.text and _WHOLE_ENVIRONMENT.search(code.text.text))
