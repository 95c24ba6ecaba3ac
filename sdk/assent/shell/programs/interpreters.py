"""What code in other languages (`python -c`, `node -e`, …) would delete, run, fetch or open, as shell commands.

No parser of these languages: it looks for the calls that do such things and for the literal texts given to them.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assent.shell.words.scope import HERE, HOME, UNKNOWN
from assent.shell.words.strings import ansi_c

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_CODE = 65_536
_LONGEST_LINE = 4096
"""Characters: some patterns look through the rest of a line from each place of it. With both bounds 1 s at worst."""
_LONG_BLANKS = re.compile(r"\s{40,}")

_LITERAL = (
    r"""(?:[rbuf]{0,2}(?:'''(?P<{0}a>.{MOST}?)'''|\"\"\"(?P<{0}b>.{MOST}?)\"\"\"|"""
    r"""'(?P<{0}c>(?:[^'\\\n]|\\.)*)'|"(?P<{0}d>(?:[^"\\\n]|\\.)*)"|`(?P<{0}e>[^`]{0,2000})`))"""
)


def _literal(prefix: str) -> str:
    return _LITERAL.replace("{0}", prefix).replace("{MOST}", "{0,2000}")


_ANY_LITERAL = re.compile(_literal("x"), re.DOTALL)
_RUNS = re.compile(
    r"(?:getattr\s*\([^()]{1,80}['\"](?:system|popen|exec\w*|spawn\w*|run|call|Popen|check_output)['\"]\s*\)|(?<!['\"])\b(?:os\.(?:system|popen|exec[lv]p?e?|spawn[lv]p?e?)|asyncio\.create_subprocess_(?:shell|exec)|subprocess\.(?:run|call|check_call|check_output|Popen|getoutput"
    r"|getstatusoutput)|pty\.spawn|commands\.getoutput|system|popen|shell_exec|passthru|proc_open|pcntl_exec|exec|spawn"
    r"|execSync|execFile|execFileSync|spawnSync|Open3\.\w+|open[23]|IO\.popen|Kernel\.\w+|Process\.spawn|os\.execute|io\.popen"
    r"|do shell script|Bun\.spawn|Bun\.spawnSync|Deno\.Command)\b)\s*\(?\s*(?=[\[('\"`\w@$%])"
)
_IMPORTS = re.compile(
    r"from\s+(?:subprocess|os|pty|commands)\s+import\s+(?P<names>[\w ,]+)"
    r"|\b(?:exec|execSync|spawn|spawnSync|execFile|execFileSync)\s{0,4}:\s{0,4}(?P<renamed>\w{1,60})"
    r"|import\s+(?:[\w, ]+,\s*)?(?:subprocess|os|pty|commands)\s+as\s+(?P<module>\w+)"
)
_AWK_PIPES = re.compile(r"\"([^\"\n]+)\"\s*\|&?\s*getline|\bprintf?\b[^|\n;]*\|&?\s*\"([^\"\n]+)\"")
_AWK_FEEDS = re.compile(
    r"\bprintf?\s{0,4}\(?\s{0,4}\"([^\"\n]{1,500})\"[^|\n;]{0,200}\|&?\s{0,4}\"(?:/\w{1,20}){0,3}/?(?:ba|da|z|k)?sh\b"
)
_AWK_FETCHES = re.compile(
    r"\"(?:curl|wget|nc|fetch)\b[^\"\n]{0,500}\"\s{0,4}\|&?\s{0,4}getline.{0,500}\|&?\s{0,4}\"(?:/\w{1,20}){0,3}/?(?:ba|da|z|k)?sh\b",
    re.DOTALL,
)
_BACKTICKS = re.compile(r"(?:%x[\[({]|qx[\[({/]|`)(?P<text>[^`\])}]{1,2000})[`\])}/]")
_WITH_BACKTICKS = frozenset({"perl", "ruby", "php"})
_DELETES = re.compile(
    r"\b(?P<call>shutil\.rmtree|rmtree|remove_tree|rm_rf|rm_r|rmSync|rmdirSync|unlinkSync|fs\.rm|fs\.rmdir|fs\.unlink|promises\.(?:rm|rmdir|unlink)|rimraf"
    r"|removeSync|emptyDirSync|os\.remove|os\.unlink|os\.rmdir|os\.removedirs|File\.delete|FileUtils\.rm\w*|Dir\.rmdir"
    r"|FileUtils\.remove\w*|unlink|rmdir|os\.truncate|Deno\.remove\w*)\b\s*\(?\s*(?=[\[('\"`\w@$%])"
)
_PATH_METHODS = re.compile(rf"\bPath\s*\(\s*{_literal('p')}\s*\)\.(?P<method>\w+)", re.DOTALL)
_READS = re.compile(
    r"\b(?:open\s*\(?\s*(?:my\s+)?\$?\w+\s*,|open|io\.open|codecs\.open|file_get_contents|readfile|fopen|readFileSync|readFile|createReadStream|File\.read"
    r"|File\.open|io\.lines|dotenv_values|load_dotenv|IO\.read|IO\.readlines|File\.readlines|Bun\.file|Deno\.readTextFile\w*|slurp"
    r"|writeFileSync|writeFile|appendFileSync|appendFile|file_put_contents|File\.write|IO\.write|Deno\.writeTextFile\w*"
    r"|createWriteStream|copyFileSync|put|storbinary|upload_?[fF]ile|shutil\.copy\w*|shutil\.move|copy|os\.rename|os\.replace|os\.symlink|renameSync)\s*\(?\s*"
    r"(?=['\"`rbuf(<])"
)
_WRITING = re.compile(r"write|append|put_contents|copy|move|rename|replace|symlink", re.IGNORECASE)
_CHMOD = re.compile(r"\b(?:os\.chmod|chmodSync|chmod|File\.chmod)\s*\(?\s*(?P<rest>[^)\n;]{1,200})")
_OCTAL = re.compile(r"\b0o?([0-7]{3,4})\b")
_FETCHES = re.compile(
    r"urlopen|urlretrieve|require\(['\"](?:node:)?https?['\"]\)|requests\.(?:get|post)|httpx\.(?:get|post)|urllib2?\.|http\.client|fetch\s*\(|https?\.get"
    r"|LWP::|\bget\s{1,4}['\"]https?:|\bget\s*\(\s*['\"]https?:|file_get_contents\s*\(\s*['\"]https?:|open-uri|Net::HTTP|URI\.open|axios|curl_exec"
)
_EVALUATES = re.compile(
    r"(?<![.\w$-])(?:exec|eval|Function)\b\s*(?:\(|(?=[\w$\"'@]))|builtins\w*['\"]?\)?\.(?:exec|eval)|(?:then|map|tap)\(\s{0,4}(?:eval|exec)\s{0,4}\)|\b(?:globalThis|window)\.eval"
    r"|instance_eval|vm\.runIn\w+|importlib\.util|marshal\.loads"
)
_INCLUDES = re.compile(
    r"\b(?:include|require|load|source|import)(?:_once|file)?\s{0,4}\(?\s{0,4}['\"](?:https?|ftp|data):"
)
_PUT_TOGETHER = re.compile(
    r"(?:\bchr\s{0,4}\(?\s{0,4}\d{1,4}\)?[^\n]{0,40}){2}|fromCharCode\s{0,4}\((?:\s{0,4}\d{1,4}\s{0,4},){2}|\[::-1\]|bytes\(\[|bytearray\(\[|unhexlify|\.reverse\b|strrev\("
    r"|pack\s{0,4}\(?\s{0,4}['\"][CcHh]|\bmap\(chr|(?:\\x[0-9a-fA-F]{2}){4}"
)
"""Texts that are put together so that nobody reads them."""
_RUNS_TEXT = re.compile(
    r"\b(?:os\.system|os\.popen|os\.exec\w*|subprocess|system|popen|execSync|spawn\w*|shell_exec|passthru)\b(?:\s{0,4}[(.\[]|\s{1,4}[a-z]\w{0,30}\()"
)
_DECODES = re.compile(
    r"b(?:16|32|64|85)decode|a85decode|decode(?:_base)?64|decodebytes|unpack1?\s*\(?\s*['\"]m|fromhex|rot13|zlib\.decompress|atob\s*\(|marshal\.loads|base64_decode|Buffer\.from\([^)]{0,2000}['\"](?:base64|hex)"
)
_SOCKETS = re.compile(
    r"socket\.socket|socket\.create_connection|IO::Socket|use Socket|TCPSocket|fsockopen"
    r"|net\.(?:connect|createConnection|Socket|createServer)|stream_socket_client|TCPServer|require\(['\"]net['\"]\)|/inet/(?:tcp|udp)/|require\s*\(?\s*['\"]socket['\"]|pfsockopen|stream_socket_server|IO::Socket"
)
_SHELL_NAMES = re.compile(
    r"/bin/(?:ba|z|da|k)?sh|\bIO\.popen\s*\(\s*[a-z]|\bos\.(?:system|popen)\s*\(\s*[a-z]|\bshell\s*=\s*True|\bpty\.spawn|cmd\.exe|\bdup2\b|['\"](?:ba|z)?sh['\"]|['\"(](?:ba|z)?sh\s{1,4}(?:-i\b|[0-9]?[<>])|\bsystem\s{0,4}\$_|io\.popen\(\s{0,4}[a-z]"
)
"""A shell, or a command that is made while it runs: beside a socket, a door for others."""
_FORK_BOMB = re.compile(
    r"fork\s+while\s+(?:fork|1|true)|while\s*\(?\s*(?:True|1|true)\s*\)?\s*[:{]?\s*(?:[\w.()'\"]+\.)?fork|loop\s*(?:do|\{)\s*fork"
    r"|while\s*\(\s*fork|for\s*\(;;\)\s*\{?\s*fork"
)
_HOME = re.compile(
    r"(?:os\.path\.expanduser|Path\.home|os\.homedir|Dir\.home|os\.environ\s*\[\s*['\"]HOME['\"]\s*\]|os\.getenv\s*\(\s*['\"]HOME['\"]"
    r"\s*\)|process\.env\.HOME|ENV\[['\"]HOME['\"]\]|\$ENV\{['\"]?HOME['\"]?\}|getenv\(['\"]HOME['\"]\))(?:\(\s*(?:['\"]~(?P<rest>[^'\"]*)['\"])?\s*\))?"
)
_HERE = re.compile(r"os\.getcwd\(\)|Path\.cwd\(\)|process\.cwd\(\)|Dir\.pwd|getcwd\(\)")
_TEMPORARY = re.compile(r"(?:tempfile\.)?mkdtemp\([^()]*\)|Dir\.mktmpdir\b")
_JOINED_TEXTS = re.compile(r"(?P<quote>['\"])\s*\+\s*(?P=quote)")
_MIXED_TEXTS = re.compile(r"'([^'\"\\\n]{0,500})'\s{0,4}\+\s{0,4}\"([^'\"\\\n]{0,500})\"")
_BELOW_HOME = re.compile(
    rf"'({HOME}[^']*)'\s*(?:/\s*|\.joinpath\(\s*|,\s*(?=['\"][^'\"]*['\"]\s*\)\s*\)))['\"]/?([^'\"]*)['\"]"
)
_NAMED_TEXTS = re.compile(
    r"(?:^|[;\n\s{])\$?(?P<name>[A-Za-z_]\w*)\s*=\s*(?P<text>'[^'\\\n]*'|\"[^\"\\\n]*\")\s*(?=[;\n]|$)"
)
_FORMATTED = re.compile(r"\b[rR]?[fF][rR]?(?P<quote>['\"])(?P<text>(?:(?!(?P=quote))[^\\\n]){1,1000}+)(?P=quote)")
_PLACE = re.compile(r"\{(\w{1,60})[^{}]{0,80}\}")
_MOST_NAMES = 50
_MOST_JOINED = 8
_LOOPS = (
    re.compile(r"\bfor\s{1,4}(?P<name>\w{1,60})\s{1,4}in\s{1,4}(?P<text>'[^'\\\n]{0,1000}'|\"[^\"\\\n]{0,1000}\")"),
    re.compile(
        r"\bforeach\s{0,4}\(\s{0,4}(?P<text>'[^'\\\n]{0,1000}'|\"[^\"\\\n]{0,1000}\")\s{1,4}as\s{1,4}\$(?P<name>\w{1,60})"
    ),
    re.compile(
        r"(?P<text>'[^'\\\n]{0,1000}'|\"[^\"\\\n]{0,1000}\")\.(?:each|map)\s{0,4}(?:\{|do)\s{0,4}\|(?P<name>\w{1,60})\|"
    ),
)
"""A name that goes through what a pattern matches: `for f in glob('/etc/*')`, which became its pattern."""
_TUPLES = re.compile(r"\bfor\s{1,4}(?P<name>\w{1,60})\s{1,4}in\s{1,4}[(\[](?P<texts>(?:[^()\[\]\n]){1,1000})[)\]]")
_WORDS = re.compile(
    r"\bqw\s{0,4}(?:\(([^()]{0,2000})\)|\[([^\[\]]{0,2000})\]|\{([^{}]{0,2000})\}|/([^/]{0,2000})/|\|([^|]{0,2000})\|)"
)
_TEXT = r"(?:'[^'\\\n]{0,1000}'|\"[^\"\\\n]{0,1000}\")"
_GIVEN_BACK = re.compile(
    r"\b(?:shlex\.split|glob\.i?glob|glob|Dir\.glob|File\.(?:expand_path|absolute_path|realpath)|os\.path\.(?:abspath|realpath|normpath|expandvars)"
    rf"|path\.(?:resolve|normalize)|realpath|fs\.realpathSync|Pathname\.new|Dir)\s{{0,4}}[(\[]\s{{0,4}}({_TEXT})\s{{0,4}}[)\]]"
)
"""Calls that give back the path, or what the pattern matches, that they are given."""
_GLOBBED = re.compile(r"\b(?:bsd_)?glob\s{1,4}(?=['\"])")
_JOINS = re.compile(rf"\b(?:os\.path|path|File|filepath|posixpath)\.join\(\s{{0,4}}({_TEXT})\s{{0,4}},")
_JOINPATH = re.compile(rf"({_TEXT})\.joinpath\(\s{{0,4}}({_TEXT})\s{{0,4}}([,)])")
_ITERATED = re.compile(rf"\bPath\s{{0,4}}\(\s{{0,4}}({_TEXT})\s{{0,4}}\)\.(?:iterdir|r?glob|walk)\(")
_UNLINKS = re.compile(r"\.(?:unlink|rmdir)\(|\brmtree\(")
_MAPPED = re.compile(
    rf"\b(?:array_map|array_walk|map|list\(map)\s{{0,4}}\(\s{{0,4}}[\"']?((?:os\.)?(?:unlink|rmdir|remove)|shutil\.rmtree|file_get_contents|readfile)[\"']?\s{{0,4}},\s{{0,4}}(?=\[?\s{{0,4}}{_TEXT})"
)
_GLOB_OPERATOR = re.compile(r"(?<=[\s(,])<(/[^<>\s=;]{1,500}\*[^<>\s=;]{0,100})>")
_PERL_MODES = frozenset({"<", ">", ">>", "+<", "+>"})
_HOME_METHODS = re.compile(rf"(?P<path>'{HOME}[^']*')\s*\)*\.(?P<method>\w+)")
_IN_A_TEXT = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """One thing that the code does: shell text or a command that would do the same."""

    text: str | None = None
    """Shell text that it runs."""
    argv: tuple[str, ...] = ()
    feeder: tuple[str, ...] = ()
    """A command whose output it runs or is driven by."""


def is_too_long(code: str) -> bool:
    """Say whether the code is longer, or has longer lines, than is read."""
    return len(code) > MOST_CODE or max(map(len, code.split("\n"))) > _LONGEST_LINE


def acts_of(code: str, language: str) -> list[Act]:
    """Return what the code does as far as it is seen. Parts that cannot be known hold the unknown mark."""
    code = _LONG_BLANKS.sub(lambda run: "\n" if "\n" in run[0] else " ", code)
    code = _HOME.sub(lambda found: f"'{HOME}{found['rest'] or ''}'", code)
    code = _HERE.sub(f"'{HERE}'", code)
    code = _plainer(code)
    return [*_dangers(code), *_runs(code), *_piped(code, language), *_deletions(code), *_files(code), *_modes(code)]


def _plainer(code: str) -> str:
    """Put in what is known without running it: joined texts, paths below the home, names that stand for one text."""
    code = _WORDS.sub(lambda found: f"({', '.join(map(repr, (found[found.lastindex or 1] or '').split()))})", code)
    code = _TEMPORARY.sub("'/tmp/tmp.0'", code)
    code = _GLOB_OPERATOR.sub(r"'\1'", code)
    code = _GLOBBED.sub("", code)
    code = _GIVEN_BACK.sub(r"\1", code)
    code = _MAPPED.sub(r"\1(", code)
    for _ in range(_MOST_JOINED):
        before, code = code, _JOINPATH.sub(_below, code)
        if code == before:
            break
    code = _JOINS.sub(lambda found: f"'{found[1][1:-1].rstrip('/')}/' + ", code)
    code = _MIXED_TEXTS.sub(lambda found: f"'{found[1]}{found[2]}'", code)
    code = _JOINED_TEXTS.sub("", code)
    for _ in range(_MOST_NAMES):
        code = _BELOW_HOME.sub(r"'\1/\2'", code)
    named = {found["name"]: found["text"] for found in itertools.islice(_NAMED_TEXTS.finditer(code), _MOST_NAMES)}
    for loop in _LOOPS:
        named |= {found["name"]: found["text"] for found in itertools.islice(loop.finditer(code), _MOST_NAMES)}
    for found in itertools.islice(_TUPLES.finditer(code), _MOST_NAMES):
        texts = [each[0] for each in _ANY_LITERAL.finditer(found["texts"])]
        if texts:  # the one that reaches furthest stands for all
            named[found["name"]] = max(texts, key=lambda text: text[1:2] in "/~." and len(text) > 2)
    code = _FORMATTED.sub(lambda found: _formatted(found, named), code)
    if not named:
        return code
    used = re.compile(rf"(?<=[(,\[])(\s*)\$?({'|'.join(map(re.escape, named))})\b(?=\s*[),\]])")
    return used.sub(lambda found: found[1] + named[found[2]], code)


def _formatted(found: re.Match[str], named: dict[str, str]) -> str:
    """Return a text of Python's with its places filled: by what a name stands for, or by what is known only then."""
    fill = _PLACE.sub(lambda place: named[place[1]][1:-1] if place[1] in named else UNKNOWN, found["text"])
    return f"{found['quote']}{fill}{found['quote']}" if fill[:1] != UNKNOWN else found[0]


def _below(found: re.Match[str]) -> str:
    path = f"'{found[1][1:-1].rstrip('/')}/{found[2][1:-1]}'"
    return path if found[3] == ")" else f"{path}.joinpath("


def _dangers(code: str) -> Iterator[Act]:
    if _FORK_BOMB.search(code):
        yield Act(text=":(){ :|:& };:")
    if _SOCKETS.search(code) and _SHELL_NAMES.search(code):
        yield Act(argv=("nc", "-e", "/bin/sh", "host", "1"))
    if _INCLUDES.search(code):
        yield Act(argv=("bash",), feeder=("curl", "http://host"))
    if _EVALUATES.search(code) or "subprocess" in code or _RUNS_TEXT.search(code):
        if _FETCHES.search(code) and _EVALUATES.search(code):
            yield Act(argv=("bash",), feeder=("curl", "http://host"))
        if _DECODES.search(code):
            yield Act(argv=("bash",), feeder=("base64", "-d"))
    if _PUT_TOGETHER.search(code) and (_EVALUATES.search(code) or _RUNS_TEXT.search(code)):
        yield Act(argv=("bash",), feeder=("base64", "-d"))


def _runs(code: str) -> Iterator[Act]:
    calls = itertools.chain(_RUNS.finditer(code), *(names.finditer(code) for names in _imported(code)))
    for call in calls:
        arguments = code[call.end() : call.end() + _IN_A_TEXT]
        name = call[0]
        if arguments.startswith("["):
            inner = arguments[1:].partition("]")[0]
            words = tuple(_value(found) for found in _ANY_LITERAL.finditer(inner))
            if words:
                yield Act(argv=words)
            continue
        literals = _leading_literals(arguments)
        if not literals:
            if (
                name.startswith(("os.system", "os.popen", "system", "shell_exec", "passthru", "execSync"))
                and "(" in name
            ):
                yield Act(text=UNKNOWN)
            continue
        rest = arguments[literals[-1].end() :].lstrip()
        if rest.startswith(("+", ".", "%", "$")) and len(literals) == 1:
            yield Act(text=_value(literals[0]) + UNKNOWN)
        elif len(literals) == 1 and (" " in _value(literals[0]) or not re.match(r",\s*\[", rest)):
            yield Act(text=_value(literals[0]))
        else:
            yield Act(argv=tuple(_value(found) for found in _ANY_LITERAL.finditer(arguments.partition(")")[0])))


def _piped(code: str, language: str) -> Iterator[Act]:
    if language.endswith("awk") and _AWK_FETCHES.search(code):
        yield Act(argv=("bash",), feeder=("curl", "http://host"))
    for found in _AWK_PIPES.finditer(code) if language.endswith("awk") else ():
        yield Act(text=found[1] or found[2])
    for found in _AWK_FEEDS.finditer(code) if language.endswith("awk") else ():
        yield Act(text=found[1])
    for found in _BACKTICKS.finditer(code) if language in _WITH_BACKTICKS else ():
        if not re.search(r"['\"]", found["text"]) or found[0][0] != "`":
            yield Act(text=found["text"])


def _imported(code: str) -> Iterator[re.Pattern[str]]:
    """Yield what finds calls of the names that the code imports from `subprocess` and `os`."""
    for found in itertools.islice(_IMPORTS.finditer(code), _MOST_NAMES):
        if module := found["module"]:
            yield re.compile(
                rf"(?<![.\w]){module}\.(?:system|run|call|check_call|check_output|Popen|popen|spawn|exec\w*)\s*\(\s*(?=[\[('\"])"
            )
            continue
        for part in (found["names"] or found["renamed"]).split(",")[:_MOST_NAMES]:
            name = part.split()[-1:]
            if name and name[0].isidentifier():
                yield re.compile(rf"(?<![.\w]){name[0]}\s*\(\s*(?=[\[('\"])")


def _deletions(code: str) -> Iterator[Act]:
    for call in _DELETES.finditer(code):
        arguments = code[call.end() : call.end() + _IN_A_TEXT]
        literals = _leading_literals(arguments.lstrip("(["))
        flags = "-f" if re.search(r"remove|unlink|delete", call["call"]) else "-rf"
        if call["call"] == "os.truncate":
            flags = "-f"
        paths = [_value(found) for found in literals] or [UNKNOWN]
        if literals and arguments.lstrip("([")[literals[-1].end() :].lstrip().startswith(("+", ".", "%")):
            paths = [f"{paths[0]}{UNKNOWN}"]
        yield Act(argv=("rm", flags, *paths))
    if _UNLINKS.search(code):
        yield from (Act(argv=("rm", "-rf", f"{found[1][1:-1]}/*")) for found in _ITERATED.finditer(code))
    for found in itertools.chain(_PATH_METHODS.finditer(code), _HOME_METHODS.finditer(code)):
        path = _named(found, "p") if found.re is _PATH_METHODS else found["path"][1:-1]
        if found["method"] in {"unlink", "rmdir"}:
            yield Act(argv=("rm", "-f", path))
        elif found["method"].startswith(("write", "touch")):
            yield Act(argv=("tee", path))
        elif found["method"].startswith(("read", "open")):
            yield Act(argv=("cat", path))


def _files(code: str) -> Iterator[Act]:
    for call in _READS.finditer(code):
        arguments = code[call.end() : call.end() + _IN_A_TEXT].lstrip("(")
        literals = _leading_literals(arguments)
        if not literals:
            continue
        values = [_value(found) for found in literals]
        if piped := _opened_pipe(values):
            yield piped
            continue
        if len(values) > 1 and values[0] in _PERL_MODES:
            values = [values[1], "w" if ">" in values[0] else "r"]
        if _WRITING.search(call[0]):
            moves = len(values) > 1 and re.search(r"copy|move|rename|replace|symlink", call[0], re.IGNORECASE)
            yield Act(argv=("cp", values[0], values[1])) if moves else Act(argv=("tee", values[0]))
        elif len(values) > 1 and re.match(r"[wax+]|r\+|[>]", values[1]):
            yield Act(argv=("tee", values[0]))
        elif values[0].startswith(">"):
            yield Act(argv=("tee", values[0].lstrip("> ")))
        else:
            yield Act(argv=("cat", values[0].lstrip("< ")))


def _opened_pipe(values: list[str]) -> Act | None:
    """Return what `open` runs, where a pipe stands in the place of a file: Perl's and Ruby's."""
    first, *rest = values
    if first in {"-|", "|-"} and rest:
        return Act(argv=tuple(rest)) if len(rest) > 1 else Act(text=rest[0])
    if first.strip().startswith("|") or first.strip().endswith("|"):
        return Act(text=first.strip().strip("|"))
    return None


def _modes(code: str) -> Iterator[Act]:
    for call in _CHMOD.finditer(code):
        mode, path = _OCTAL.search(call["rest"]), _ANY_LITERAL.search(call["rest"])
        if "S_ISUID" in call["rest"] or "S_IWOTH" in call["rest"]:
            yield Act(argv=("chmod", "u+s" if "S_ISUID" in call["rest"] else "o+w", _value(path) if path else "file"))
        elif mode:
            yield Act(argv=("chmod", mode[1], _value(path) if path else "file"))


def _leading_literals(arguments: str) -> list[re.Match[str]]:
    found: list[re.Match[str]] = []
    at = len(arguments) - len(arguments.lstrip(" (["))
    while literal := _ANY_LITERAL.match(arguments, at):
        found.append(literal)
        between = re.compile(r"\s*,\s*").match(arguments, literal.end())
        if between is None:
            break
        at = between.end()
    return found


def _value(found: re.Match[str]) -> str:
    return _named(found, "x")


def _named(found: re.Match[str], prefix: str) -> str:
    for letter in "abcde":
        text = found[f"{prefix}{letter}"]
        if text is not None:
            return ansi_c(re.sub(r"\$\{[^}]*\}|#\{[^}]*\}", UNKNOWN, text) if letter in "de" else text)
    return ""
