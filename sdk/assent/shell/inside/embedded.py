"""Harmful commands wherever they stand in a text that no reader knows the shape of.

`{"path": "/bin/rm", "arg": ["-rf", "/etc"]}`, `(shell-command "rm -rf /etc")`, `x = %sh{rm -rf /etc}`: whatever the
language, the name of a program that does harm stands there with its arguments behind it. What is found from such a
name on is a guess: it is read like any shell text, and only what is certainly harmful in it counts.
"""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

from assent.shell.lists import listed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_SHELLS = listed("sh bash zsh dash ksh ash fish")
DESTROYERS = listed(
    "rm rmdir unlink shred srm wipe truncate dd wipefs blkdiscard mkfs mkfs.ext2 mkfs.ext3 mkfs.ext4 mkfs.xfs mkfs.btrfs "
    "mkfs.vfat mke2fs mkswap sgdisk sfdisk chmod chown chgrp chattr setfacl setcap useradd adduser usermod gpasswd "
    "groupmems groupmod addgroup passwd chpasswd visudo vipw nc ncat netcat socat assent lark-cli feishu-cli zf_rm insmod "
    "rd erase Remove-Item crontab shutdown reboot halt poweroff mkfifo ld.so xp_cmdshell"
)
"""Programs of which a few words tell that they do harm."""
_FORK_BOMB = re.compile(r":\(\)\s{0,4}\{")
_DELETERS = listed(
    "REMOVE_RECURSE remove_all RemoveAll rm_rf rmtree remove_tree deleteDirectory deleteRecursively delete_tree rmSync "
    "removeSync removeItem zf_rm delTree deltree unlinkSync rimraf recursive_delete remove_dir_all rmdirs file.remove removeDirectoryRecursive removePathForcibly del_dir_r deleteTree "
    "deleteDir truncateSync"
)
"""What deletes in other languages and tools."""
_HEADS = _DELETERS | DESTROYERS | _SHELLS | listed(
    "curl wget gh glab docker podman kubectl tar cat cp mv ln tee scp rsync sftp ssh base64 find xargs sudo doas su env "
    "eval exec source python python3 perl ruby node php busybox http xh openssl mount kill systemctl install git dig "
    "nslookup aws sqlite3 psql telnet mail printenv LD_PRELOAD LD_AUDIT DYLD_INSERT_LIBRARIES"
)  # fmt: skip
"""Names at which a command may begin inside other text."""
_NAME = re.compile(r"[\w.+-]{0,60}\.(\w{2,40})(?=\()|[\w.+-]{2,40}")
_CALLED = frozenset({"rm", "rmdir", "shred", "chmod", "chown", "dd", "sudo", "bash", "sh"})
"""Programs that some languages call like their own: `sh.rm("-rf", "/etc")`."""
_PATH = frozenset("/.~_-+") | frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
_ENDS_A_NAME = frozenset(" \t\n\"',;)]}`\\=")
_QUOTES = "\"'`"
_FLAT = str.maketrans(dict.fromkeys("\"'`()[]{},$", " ") | {"\\": " "})
_CUT = re.compile(r"[;|&\n<>]")
_BREAKS = re.compile(r"\\[nrt]|\n")
SPEAKS = listed("echo printf print grep egrep fgrep rg ag ack man tldr git gh glab say notify-send logger puts")
"""What their words name they do not do."""
_SPOKEN = re.compile(
    rf"(?:\b(?:{'|'.join(sorted(SPEAKS))})\b[^;|&()\n]{{0,400}}"
    r"|(?:\b(?:print\w{0,3}|puts|log\w{0,8}|write\w{0,8}|say|warn\w{0,4}|die|debug|info|error|assert\w{0,12}|re|replace|match|search|findall|test|split|input|help"
    r"|len|str|repr|hash|quote|Error|Exception|throw|raise|dumps|disp|printf|cat|message|startswith|endswith|sub|gsub|compile|fullmatch|finditer|notification|dialog|alert|title|includes|append|push)|==|\bin)\s{0,4}\(?\s{0,4}[frb]{0,2}[\"'`][^\"'`\n]{0,400}|(?:^|\n)\s{0,40}(?:#(?!!)|//)[^\n]{0,400}|s[/#|,])$"
)
_NAMED_VALUE = re.compile(r"-{0,2}[A-Za-z][\w.:-]{0,60}=")
_MOST_BEGINNINGS = 8
_MOST_LOOKED_AT = 40
_MOST_WORDS = 40
_LONGEST_LINE = 2000
_LONGEST_PATH = 80
_SHELL = r"(?:/[\w.-]{1,20}){0,4}/?(?:ba|da|z|k|a)?sh"
_STARTED = re.compile(
    rf"\b(?:system|execv?[lvpe]{{0,3}}|spawn\w{{0,6}}|popen|passthru|shell_exec|check_output|call|run|cmd|Popen|shell|execute|sh)\s{{0,4}}\(\W{{0,6}}{_SHELL}"
    rf"(?:[\"',\s]{{1,6}}(?:-[ip]{{1,2}}|sh|bash))?[\"'\s)\];]{{0,12}}(?:$|[\n;}})])"
    rf"|(?:^|[\n;'\"{{:|\s])!\s{{0,4}}{_SHELL}(?:\s{{1,4}}-[ip]{{1,2}})?[\"'\s]{{0,8}}(?:$|[\n;}}])"
    rf"|(?:^|[\s;{{\"'])(?:(?:\d{{0,4}}e|host|system|shell|\\\\!|\.shell|\.system|:terminal|:shell)\s{{1,4}}|(?:exec|spawn)[\s=]{{1,4}})[\"'{{]?{_SHELL}(?:\s{{1,4}}-[ip]{{1,2}})?[\"'\s}}]{{0,8}}(?:$|[\n;])"
    rf"|\bopen\s{{1,4}}[\"{{]\|\s{{0,4}}{_SHELL}[\"}}]"
    rf"|(?:checkpoint-action=exec|to-command|use-compress-program|unzip-command|Invoke(?:::)?|filter|pager|rsh|rsync-path|askpass|pre|wrapper)={_SHELL}$"
    rf"|\bpipeline\([^)\n]{{0,200}}`{_SHELL}`|\|\s{{0,4}}\"(?:/\w{{1,20}}){{0,3}}/?(?:ba|da|z|k)?sh\"|^(?i:exec|system):{_SHELL}"
)
"""A shell without a text that a call, an escape or a pipe starts."""


def begins_one(text: str) -> bool:
    """Whether the name of a program that may do harm stands anywhere in the text."""
    return _FORK_BOMB.search(text) is not None or any(
        found[0] in _HEADS or found[1] in _CALLED for found in _NAME.finditer(text)
    )


def starts_a_shell(text: str) -> bool:
    """Whether a call or an escape in the text starts a bare shell: `:!/bin/sh`, `os.execl("/bin/sh", "sh")`."""
    return "sh" in text and any(_STARTED.search(line[:_LONGEST_LINE]) for line in text[: 8 * _LONGEST_LINE].split("\n"))


def embedded(text: str) -> Iterator[str]:
    """Yield what may be a command in the text: the whole, and what stands from each such name on."""
    if not begins_one(text):
        return
    yield text.strip(" \t\n!|:;\"'`")
    heads = (found for found in _NAME.finditer(text) if found[0] in _HEADS or found[1] in _CALLED)
    begun = 0
    for looked_at, found in enumerate(heads):
        if begun == _MOST_BEGINNINGS or looked_at == _MOST_LOOKED_AT:
            yield text[found.start() :]  # as shell text: it is read to its end, or people are asked
            return
        start = _beginning(text, found)
        if start is not None and not _only_spoken(text, start):
            begun += 1
            yield from _behind(text, start)


def _only_spoken(text: str, start: int) -> bool:
    """Whether what stands there is a text that is printed, searched or compared, or a comment; Groovy's is run then."""
    return (
        bool(_SPOKEN.search(text, max(0, start - _LONGEST_LINE), start))
        and ".execute()" not in text[start : start + 400]
    )


def tails(words: Sequence[str]) -> Iterator[str]:
    """Yield the words from each destroyer, or shell with a text, on: `ctr tasks exec 1 rm -rf /etc`."""
    found = 0
    for at, word in enumerate(words[:-1]):
        name = word.rpartition("=")[2].rpartition("/")[2]
        if name in DESTROYERS or (name in _SHELLS and re.fullmatch(r"-[a-z]*c", words[at + 1])):
            if name in _SHELLS:
                yield shlex.join((name, *words[at + 1 :]))
            else:
                yield " ".join((name, *(_NAMED_VALUE.sub("", each, count=1) for each in words[at + 1 :])))
            found += 1
            if found == _MOST_BEGINNINGS:
                return


def _beginning(text: str, found: re.Match[str]) -> int | None:
    """Return where the program's path begins, or None where the name is a part of something else."""
    start, end = found.span(1) if found[1] else found.span()
    if found[1]:
        return start
    if end < len(text) and text[end] not in _ENDS_A_NAME and not (text[end] == "(" and found[0] in _DELETERS):
        return None
    while start and found.start() - start < _LONGEST_PATH and text[start - 1] in _PATH:
        start -= 1
    path = text[start : found.start()]
    return start if not path or path.startswith(("/", "./", "~/")) else found.start() if path.endswith("n") else None


def _behind(text: str, start: int) -> Iterator[str]:
    quote = text[start - 1] if start and text[start - 1] in _QUOTES else ""
    if quote and (end := text.find(quote, start)) > 0 and " " in text[start:end]:
        yield text[start:end].rstrip("\\").replace("\\", "" if quote == "'" else "\\")
    line = _BREAKS.split(text[start : start + _LONGEST_LINE], 1)[0]
    yield line
    if flat := _CUT.split(line.translate(_FLAT), 1)[0].split():
        if flat[0] in _DELETERS:
            flat[:1] = ["rm", "-rf"]
        yield shlex.join(flat[:_MOST_WORDS])
