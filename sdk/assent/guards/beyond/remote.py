"""Rules on code from elsewhere: fetched, decoded or made up while it runs, and doors opened to others."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from assent.guards.commands.findings import behind, blocked, closure, doubtful, has, operands, shown
from assent.guards.commands.places import place
from assent.shell.lists import listed
from assent.shell.programs.outputs import decodes
from assent.shell.programs.programs import code_of, language_of
from assent.shell.words.scope import word_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from assent.guards.commands.findings import Finding
    from assent.shell.programs.programs import Code
    from assent.shell.words.script import Command, Script, Word

FETCHERS = listed(
    "curl wget wget2 fetch aria2c axel http https httpie xh curlie lynx links elinks w3m ftp tftp lftp sftp scp "
    "ncftpget "
    "lwp-request lwp-download GET HEAD telnet dig nslookup host ipfs gdown youtube-dl hxwls snarf prozilla puf"
)
_NETCATS = frozenset({"nc", "ncat", "netcat", "nc.traditional", "nc.openbsd", "cryptcat", "sbd", "pwncat"})
_FETCHING_WORDS = {
    "aws": frozenset({"s3"}),
    "gsutil": frozenset({"cat", "cp"}),
    "gcloud": frozenset({"storage"}),
    "rclone": frozenset({"cat"}),
    "openssl": frozenset({"s_client"}),
    "ssh": frozenset[str](),
    "gh": frozenset({"api", "release", "gist"}),
    "mc": frozenset({"cat"}),
    "az": frozenset({"storage"}),
    "socat": frozenset[str](),
}
_SETS_UP_SHELLS = listed(
    "ssh-agent gpg-agent keychain direnv pyenv rbenv nodenv jenv goenv plenv phpenv swiftenv tfenv brew conda mamba "
    "micromamba starship zoxide dircolors tset resize opam fnm mise rtx asdf docker-machine minikube thefuck hub gh "
    "kubectl helm npm pip pip3 pipenv poetry uv rustup cargo atuin fzf mcfly navi luarocks perl lesspipe lesspipe.sh "
    "register-python-argcomplete ng volta proto nvm guix nix dbus-launch gnome-keyring-daemon oc eksctl k3d kind"
)
"""Programs that print settings for the shell that evaluates them: `eval "$(direnv hook bash)"`."""
_PRINTS_COMPLETIONS = frozenset(
    {"completion", "completions", "--completion", "complete", "shellenv", "env", "init", "hook"}
)
_LOCAL_TEXT = frozenset(
    {"cat", "tac", "tee", "head", "tail", "sort", "uniq", "pv", "echo", "printf", "true", "cd", "read"}
)
_TCP = re.compile(r"/dev/(?:tcp|udp)/")
_PROBES = frozenset({"", "echo", ":", "true", "printf", "test", "[", "cat", "timeout", "nc"})
_CALLS_SHELL = re.compile(r"(?:^|,|:)(?:EXEC|SYSTEM|SHELL)\b", re.IGNORECASE)
_POWERSHELLS = frozenset({"pwsh", "powershell", "powershell.exe"})
_HIDDEN = re.compile(r"-e(?:c|n\w*)?", re.IGNORECASE)
_POWERSHELL_RUNS = re.compile(r"\b(?:iex|invoke-expression)\b", re.IGNORECASE)
_POWERSHELL_FETCHES = re.compile(
    r"\b(?:iwr|irm|curl|wget|invoke-webrequest|invoke-restmethod|start-bitstransfer)\b|download(?:string|data|file)",
    re.IGNORECASE,
)
_SUBSTITUTED = "/dev/fd/63"


def on_remote_code(command: Command) -> Iterator[Finding]:
    """Fetched, decoded or unknown text that a shell or an interpreter runs."""
    if command.program in {"eval", "source", "."}:
        yield from _evaluated(command)
    elif command.program in {"hash", "enable"}:
        yield from _renamed(command)
    elif command.program == "crontab":
        yield from _made_up(command.feeders, "the schedule that crontab takes")
    elif command.program in _POWERSHELLS and any(map(_HIDDEN.fullmatch, (word.text for word in command.argv[1:]))):
        yield blocked(f"the code for {command.program} is hidden: code that hides is not run")
    elif language_of(command.program):
        code = code_of(command)
        if code is not None:
            yield from _interpreted(command, code)
    elif command.argv and not command.argv[0].known:
        yield from _made_up(command.arguments_from, "the program's name")
    elif command.argv and "$()" in command.argv[0].built_from and any(map(decodes, behind(command))):
        yield blocked("the program's name is decoded while the command runs")


def _renamed(command: Command) -> Iterator[Finding]:
    texts = [word.text for word in command.argv[1:]]
    if command.program == "hash" and "-p" in texts:
        yield doubtful("hash puts another program under a name")
    elif command.program == "enable" and "-f" in texts:
        yield doubtful("enable loads code into the shell")


def _interpreted(command: Command, code: Code) -> Iterator[Finding]:
    program = command.program
    if code.stdin:
        yield from _from_input(command)
    elif code.text is not None:
        if (
            program in _POWERSHELLS
            and _POWERSHELL_RUNS.search(code.text.text)
            and _POWERSHELL_FETCHES.search(code.text.text)
        ):
            yield blocked(f"the code for {program} comes from the network")
        sources = [*command.arguments_from]
        if not code.text.known and "xargs" in command.wrappers:
            sources.extend(command.feeders)
        yield from _made_up(sources, f"the code for {program}")
        if not code.text.known and code.text.text.strip() == "\0" and not _certain(sources):
            yield from _unknown(sources, f"the code for {program}")
    elif code.file is not None:
        yield from _from_file(command, code.file)


def _from_input(command: Command) -> Iterator[Finding]:
    program, feeders = command.program, command.feeders
    yield from _made_up(feeders, f"what {program} reads and runs")
    if command.wrappers[-1:] in (("find",), ("gfind",)) and language_of(program) == "shell":
        yield doubtful(f"find starts {program}, and what it runs there is known only when it runs")
    if any(_TCP.search(redirect.target.text) for redirect in command.redirects if redirect.reads):
        return
    if command.fed_text is not None or not feeders or _certain(feeders):
        return
    if not all(feeder.program in _LOCAL_TEXT for feeder in closure(feeders)):
        yield doubtful(f"{program} runs text that is made while the command runs")


def _from_file(command: Command, file: Word) -> Iterator[Finding]:
    if file.text == _SUBSTITUTED:
        yield from _made_up(command.arguments_from, f"what {command.program} runs")
        if not _certain(command.arguments_from):
            yield from _unknown(command.arguments_from, f"what {command.program} runs")
    elif re.match(r"https?://", file.text):
        yield blocked(f"{command.program} runs code from {shown(file)}")
    elif not file.known and file.text.endswith("\0"):
        yield from _made_up([*command.arguments_from, *command.feeders], f"the file that {command.program} runs")
        yield doubtful(f"{command.program} runs a file that is known only when it runs")


def _evaluated(command: Command) -> Iterator[Finding]:
    program, words = command.program, command.argv[1:]
    if not words:
        return
    sources = [*command.arguments_from]
    reads_input = bool(re.fullmatch(r"-|/dev/(?:stdin|fd/\d+)|/proc/self/fd/\d+", words[0].text)) and (
        program != "eval" and words[0].text != _SUBSTITUTED
    )
    if reads_input or (program == "eval" and any(not word.known for word in words)):
        sources.extend(command.feeders)
    substituted = program != "eval" and words[0].text == _SUBSTITUTED
    unknown = any(not word.known for word in words) if program == "eval" else substituted or words[0].text == "\0"
    if program == "eval" or substituted or reads_input:
        yield from _made_up(sources, f"what {program} runs")
    if reads_input and words[0].text not in {"-", "/dev/stdin", "/dev/fd/0"}:
        yield doubtful(f"what {program} runs is known only when it runs")
    if unknown and not _certain(sources):
        yield from _unknown(sources, f"what {program} runs")


def _made_up(sources: Iterable[Command], what: str) -> Iterator[Finding]:
    for source in closure(sources):
        if fetches(source):
            yield blocked(f"{what} comes from the network ({source.program or 'a connection'})")
            return
        if decodes(source):
            yield blocked(f"{what} is hidden by {source.program}: code that hides is not run")
            return


def _certain(sources: Iterable[Command]) -> bool:
    """Whether `_made_up` has spoken."""
    return any(fetches(source) or decodes(source) for source in closure(sources))


def _unknown(sources: Iterable[Command], what: str) -> Iterator[Finding]:
    programs = [source for source in sources if source.program]
    if programs and all(_sets_up(source) or source.program in _LOCAL_TEXT for source in programs):
        return
    yield doubtful(f"{what} is known only when it runs")


def _sets_up(source: Command) -> bool:
    words = {word.text for word in source.argv[1:]}
    return source.program in _SETS_UP_SHELLS or bool(words & _PRINTS_COMPLETIONS)


def fetches(command: Command) -> bool:
    """Whether the command's output comes from another machine."""
    program = command.program
    if program in FETCHERS or program in _NETCATS:
        return not has(command, "", "--version", "--help")
    if program in _FETCHING_WORDS:
        wanted = _FETCHING_WORDS[program]
        return not wanted or any(word.text in wanted for word in command.argv[1:])
    return any(redirect.reads and _TCP.search(redirect.target.text) for redirect in command.redirects)


def on_backdoors(command: Command) -> Iterator[Finding]:
    """Shells that others can reach, and reverse shells."""
    program = command.program
    if program in _NETCATS:
        yield from _netcat(command)
    elif program == "socat" and any(_CALLS_SHELL.search(word.text) for word in command.argv[1:]):
        yield blocked("socat hands a program to the network")
    elif program == "ztcp":
        yield blocked("ztcp opens a network connection inside the shell: how reverse shells are made")
    elif program == "zmodload" and any("net/" in word.text for word in command.argv):
        yield doubtful("zsh opens network connections by itself")
    elif program in {"awk", "gawk", "mawk", "nawk"} and any("/inet/" in word.text for word in command.argv):
        yield blocked("awk opens a network connection")
    if any(_TCP.search(redirect.target.text) for redirect in command.redirects):
        writes_only = program in _PROBES and not command.feeders
        if language_of(program) == "shell" or program in {"exec", "script"} or not writes_only:
            yield blocked("a shell's network connection (/dev/tcp) is how reverse shells are made")
    if language_of(program) == "shell" and any(feeder.program in _NETCATS for feeder in behind(command)):
        yield blocked(f"{program} is driven from the network")


def _netcat(command: Command) -> Iterator[Finding]:
    words = [word.text for word in command.argv[1:] if not word.text.startswith("-")]
    if len(words) > 1 and language_of(words[-1].rsplit("/", 1)[-1]) == "shell":
        yield blocked(f"{command.program} hands a shell to the network")
    for text in (word.text for word in command.argv[1:]):
        bundled = re.fullmatch(r"-[a-zA-Z]*[ec].*", text) and not text.startswith("--")
        openbsd_tls = text == "-c" and command.program == "nc.openbsd"
        if (bundled and not openbsd_tls) or text.startswith(("--exec", "--sh-exec", "--lua-exec")):
            yield blocked(f"{command.program} {text} hands a program to the network")
            return
    if any(language_of(feeder.program) == "shell" for feeder in closure(command.feeders)):
        yield blocked(f"a shell's output goes to the network through {command.program}")


def on_fetched_files(script: Script) -> Iterator[Finding]:
    """Running a file that the same text has fetched; a named pipe between a shell and the network."""
    fetched: set[str] = set()
    programs = {command.program for command in script.commands}
    if "mkfifo" in programs | {command.program for command in script.commands if "p" in _last(command)} and (
        programs & (_NETCATS | {"telnet", "openssl", "socat"})
    ):
        yield blocked("a named pipe and a network connection make a reverse shell")
    for command in script.commands:
        for path in _runs(command):
            if path in fetched:
                yield blocked(f"it runs {path}, which it has just fetched")
        fetched.update(_fetched_by(command))


def _last(command: Command) -> str:
    return command.argv[-1].text if command.program == "mknod" else ""


def _runs(command: Command) -> Iterator[str]:
    if command.argv and "/" in command.argv[0].text:
        yield place(command.argv[0], command.cwd)
    if command.program in {"source", "."} and len(command.argv) > 1:
        yield place(command.argv[1], command.cwd)
    if command.program in {"go", "deno", "bun", "dart", "cargo"} and len(command.argv) > 2:
        yield from (place(word, command.cwd) for word in command.argv[2:4])
    code = code_of(command)
    if code is not None and code.file is not None:
        yield place(code.file, command.cwd)
    if code is not None and code.stdin:
        for redirect in (redirect for redirect in command.redirects if redirect.reads):
            yield place(redirect.target, command.cwd)
        for feeder in command.feeders[:1]:
            if feeder.program == "cat":
                yield from (place(word, feeder.cwd) for word in operands(feeder))


def _fetched_by(command: Command) -> Iterator[str]:
    fetching = (
        fetches(command)
        or command.program in {"scp", "rsync"}
        or any(fetches(feeder) for feeder in closure(command.feeders))
    )
    if not fetching:
        return
    for redirect in (redirect for redirect in command.redirects if redirect.writes):
        yield place(redirect.target, command.cwd)
    if command.program == "tee":
        yield from (place(word, command.cwd) for word in operands(command))
    if command.program in {"scp", "rsync", "sftp"} and (words := operands(command)) and ":" in words[0].text:
        name = words[0].text.rpartition("/")[2].rpartition(":")[2]
        yield place(word_of(name if words[-1].text in {".", "./"} else words[-1].text), command.cwd)
    if fetches(command):
        yield from _downloads(command)


def _downloads(command: Command) -> Iterator[str]:
    folder = ""
    named, remote_name = False, command.program in {"wget", "wget2", "aria2c", "axel", "fetch"}
    short = {"curl": "o"}.get(command.program, "Oo")
    for word, following in zip(command.argv[1:], (*command.argv[2:], None), strict=False):
        text = word.text
        if re.fullmatch(rf"-[a-zA-Z]*[{short}]|--output(?:-document)?|--out", text) and following:
            named = True
            yield place(following, command.cwd)
        elif found := re.fullmatch(rf"-[{short}](.+)|--output(?:-document)?=(.+)", text):
            named = True
            yield place(word_of(found[1] or found[2]), command.cwd)
        elif text in {"-P", "--directory-prefix", "--output-dir"} and following:
            folder = f"{following.text.rstrip('/')}/"
        elif command.program == "curl" and (text == "--remote-name" or re.fullmatch(r"-[a-zA-Z]*O[a-zA-Z]*", text)):
            remote_name = True
    if remote_name and not named:
        for word in operands(command):
            name = word.text.partition("?")[0].rstrip("/").rpartition("/")[2]
            if name:
                yield place(word_of(folder + name), command.cwd)
