"""Rules on what reaches beyond the machine: folders served, tunnels, code from an address."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from assent.guards.commands.findings import blocked, operands, shown
from assent.guards.commands.places import place, protected
from assent.shell.lists import listed
from assent.shell.programs.programs import code_of, language_of
from assent.shell.words.scope import text_of, word_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from assent.guards.commands.findings import Finding
    from assent.shell.words.script import Command, Word

_SERVERS = listed(
    "http-server serve live-server darkhttpd thttpd webfsd mini_httpd miniserve caddy httpd simple-http-server sfz ran "
    "twistd twist jupyter jupyter-lab jupyter-notebook filebrowser gohttpserver goshs updog uploadserver pyftpdlib wsgidav "
    "webdav dufs copyparty http_server python-http-server"
)
_FOLDER_OPTIONS = listed(
    "-d --directory -t -h --root --dir -D --docroot --base-path --bind-root --path --notebook-dir --ServerApp.root_dir "
    "--NotebookApp.notebook_dir --root-dir -r -H"
)
_SECRET = re.compile(
    r"(?:^|/)\.(?:ssh|aws|gnupg|kube|docker|config|azure|netrc|password-store|git|mozilla|thunderbird|vault-token)(?:/|$)|/Library/(?:Keychains|Cookies)(?:/|$)|^/(?:etc|root|var|home|proc)?/?$"
)
_TUNNELS = listed(
    "ngrok cloudflared localtunnel lt bore frpc chisel pagekite telebit tunnelto localhost.run inlets zrok pinggy expose"
)
_DEVELOPED = re.compile(r"(?:^|[:/])(?:80|443|[3489](?!306|389)\d{3})/?$")
"""A port at which pages are developed, and none of a shell's, a screen's or a database's."""
_TUNNEL_WORDS = listed("http tcp tls tunnel local client start share funnel --url --port -p access quick-tunnel")
_FROM_ADDRESS = re.compile(
    r"(?:https?|git\+\w+|ssh|git)://.+|git\+.+|github:.+|gist:.+|(?:[\w-]+\.)+[a-z]{2,}/\S+@\S+|(?:[\w-]+\.)+[a-z]{2,}/\S+/\S+"
)
_RUNNERS = {
    "go": "run",
    "npx": "",
    "bunx": "",
    "uvx": "",
    "pipx": "run",
    "nix": "run",
    "deno": "run",
    "dlx": "",
    "pnpm": "dlx",
    "yarn": "dlx",
    "dart": "run",
}


_SERVED_BY_CODE = re.compile(
    r"(?:chdir\(\s{0,4}|directory\s{0,4}=\s{0,4})[\"']((?:/|~)[^\"'\n]{0,200})[\"'].{0,2000}(?:http\.server|SimpleHTTP|HTTPServer|createServer|httpd)"
    r"|(?:http\.server|SimpleHTTP|HTTPServer|createServer|express\.static).{0,2000}(?:chdir\(\s{0,4}|directory\s{0,4}=\s{0,4}|static\(\s{0,4}|DocumentRoot\s{0,4}(?::|=>)\s{0,4})[\"']((?:/|~)[^\"'\n]{0,200})[\"']",
    re.DOTALL,
)


def on_reaching(command: Command) -> Iterator[Finding]:
    """Folders with keys served to others, tunnels, and code that comes from an address and is run at once."""
    program, texts = command.program, [word.text for word in command.argv[1:]]
    served = list(_served(command))
    said = " ".join((*texts, command.fed_text or ""))[:20_000]
    if language_of(program) and (found := _SERVED_BY_CODE.search(said)):
        served.append(word_of(found[1] or found[2]))
    if any(_is_secret(word, command) for word in served):
        yield blocked(f"{program} serves a folder with keys or logins to others")
    led = program in _TUNNELS and _TUNNEL_WORDS & set(texts)
    if (program in {"ssh", "autossh", "plink", "mosh", "sshpass"} and _lets_in(texts)) or (
        led and not any(map(_DEVELOPED.search, _led_to(program, texts)))
    ):
        yield blocked(f"{program} lets others in through a tunnel")
    elif program == "tailscale" and "funnel" in texts:
        yield blocked("tailscale funnel lets others in through a tunnel")
    if (
        command.wrappers[-1:]
        and command.wrappers[-1] in _RUNNERS
        and _FROM_ADDRESS.fullmatch(command.argv[0].text if command.argv else "")
    ):
        yield blocked(f"{command.wrappers[-1]} runs code from {shown(command.argv[0])}")
    yield from _ran_from_an_address(program, texts)


def _ran_from_an_address(program: str, texts: list[str]) -> Iterator[Finding]:
    if (behind := _RUNNERS.get(program)) is not None:
        words = [text for text in texts if not text.startswith("-")]
        ran = words[1:2] if behind and words[:1] == [behind] else words[:1] if not behind else []
        local = ran and ran[0].startswith((".", "/"))
        local = local or (program == "go" and ran and not re.search(r"@|://", ran[0]))  # as go.mod has pinned it
        if ran and not local and _FROM_ADDRESS.fullmatch(ran[0]):
            yield blocked(f"{program} runs code from {ran[0][:60]}")
    if program == "uv" and texts[:1] == ["run"] and any(re.match(r"https?://", text) for text in texts[1:]):
        yield blocked("uv runs code from an address")
    if any(
        text == "--from" and _FROM_ADDRESS.fullmatch(after) for text, after in itertools.pairwise(texts)
    ) and program in {"uvx", "uv"}:
        yield blocked(f"{program} runs code from an address")


def _led_to(program: str, texts: list[str]) -> list[str]:
    """Return the words that may say where a tunnel leads: of some the first one says where it comes from."""
    return [text for text in texts if program != "chisel" or not re.fullmatch(r"(?:\w+://)?[\w.-]+:\d+/?", text)]


_ELSEWHERE = re.compile(r":(?!localhost:|127\.|\[?::1\]?:|0\.0\.0\.0:)[A-Za-z][\w.-]{0,200}:\d{1,5}$")
"""A machine behind this one."""
_OPEN_PROXY = re.compile(
    r"-[A-Za-z0-9]*D(?:0\.0\.0\.0|\*|\[::\]|):.*|-w(?:any|\d+)(?::(?:any|\d+))?|(?:-o)?Tunnel=(?:yes|point-to-point|ethernet)"
)
"""A proxy for everybody, or a network device that leads out."""


def _lets_in(texts: list[str]) -> bool:
    """Whether a tunnel leads to more than the page that is being developed here: to a shell, a database, anywhere."""
    for text, following in itertools.pairwise((*texts, "")):
        if _OPEN_PROXY.fullmatch(text if len(text) > 2 else f"{text}{following}"):
            return True
        if found := re.fullmatch(r"-[A-Za-z0-9]*R(.*)|(?:-o)?RemoteForward[= ](.+)", text):
            led = found[1] or found[2] or following
            return not _DEVELOPED.search(led) or bool(_ELSEWHERE.search(led))
    return False


def _served(command: Command) -> Iterator[Word]:
    program, argv = command.program, command.argv
    code = code_of(command) if language_of(program) else None
    module = code.module if code else ""
    if module not in {
        "http.server",
        "SimpleHTTPServer",
        "pyftpdlib",
        "twisted",
        "uploadserver",
        "updog",
        "wsgidav",
        "twisted.web",
    } and not (
        program in _SERVERS
        or (program == "php" and "-S" in {word.text for word in argv})
        or (program == "git" and "daemon" in {word.text for word in argv})
        or (program == "npx" and any(word.text in _SERVERS for word in argv[1:3]))
        or (program == "ruby" and any("httpd" in word.text for word in argv))
        or (program == "rclone" and "serve" in {word.text for word in argv})
    ):
        return
    named = False
    for word, following in zip(argv[1:], (*argv[2:], None), strict=False):
        name, equals, value = text_of(word).partition("=")
        if found := re.fullmatch(r"-[dt](/.*)", name):
            yield word_of(found[1])
        if name in _FOLDER_OPTIONS and (following or equals):
            named = True
            yield replace(word_of(value), tilde=value.startswith("~")) if equals else following or word
    yield from (word for word in operands(command) if "/" in word.text or word.tilde or word.text.startswith("."))
    if not named and command.cwd is not None:
        yield word_of(".")


def _is_secret(word: Word, command: Command) -> bool:
    path = place(word, command.cwd)
    if path in {".", "./"} and command.cwd is None:
        return False
    return bool(_SECRET.search(path)) or path == "~" or (path.startswith("/") and protected(path))
