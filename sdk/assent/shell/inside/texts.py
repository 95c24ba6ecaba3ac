r"""Shell text inside the options and the input of programs that are no shells: `psql -c '\! …'`, `sed '1e …'`.

Lists are data: which programs run a text, and what it looks like there. What is found is a guess: it is read like any
text, but without complaint where it is none.
"""

from __future__ import annotations

import itertools
import re
import shlex
from typing import TYPE_CHECKING

from assent.shell.inside.guessing import DATABASES
from assent.shell.inside.managed import managed_texts
from assent.shell.inside.settings import git_callbacks, git_texts
from assent.shell.lists import listed
from assent.shell.programs.interpreters import acts_of, is_too_long
from assent.shell.programs.outputs import output_of
from assent.shell.programs.programs import SHELLS, language_of
from assent.shell.words.scope import HOME, UNKNOWN, StopReading, text_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from assent.shell.words.script import Command, Word

    Written = Callable[[Word], str | None]

_LONGEST = 20_000  # characters of one text that is looked through: some patterns try each line from each place of it
_MOST = 200  # texts of one command
_MOST_CHARACTERS = 400_000  # of all of them: some begin anew with each word of a long list
_LITERAL = r"(?:'(?P<a{0}>[^'\n]{1,2000})'|\"(?P<b{0}>(?:[^\"\\\n]|\\.){1,2000})\"|`(?P<c{0}>[^`\n]{1,2000})`)"


def _literal(number: int) -> str:
    return _LITERAL.replace("{0}", str(number))


_TAR = re.compile(
    r"--checkpoint-action=exec=(?P<tar>.+)|--to-command=(?P<to>.+)|--(?:use-compress-program|rsh-command|rmt-command)=(?P<by>.+)"
    r"|(?:-o)?(?:Proxy|Local|Remote|KnownHosts)Command[= ](?P<proxy>.+)|alias\.[^=]+=!(?P<alias>.+)"
    r"|(?:core\.(?:pager|sshCommand|fsmonitor|editor)|(?:diff|merge)\.[^=]*(?:command|cmd|driver)|sequence\.editor"
    r"|credential\.helper|filter\.[^=]*\.(?:clean|smudge))=!?(?P<git>.+)",
    re.DOTALL,
)
_BANG = re.compile(
    r"(?:^|\n)[^\S\n]{0,20}\+?:?(?:%|\d{1,9}|\.)?(?:r|w|sil(?:ent)?)?[^\S\n]{0,20}!(.{1,2000})"
    r"|(?:^|\n)\+?:?ter(?:minal)?\s{1,4}(?:\+\+\S{1,20}\s{1,4}){0,4}(.{1,2000})"
)
_SQL = re.compile(
    r"\A\|\s{0,20}([^\n]{1,2000})|(?:^|[\n;\s])\\!\s{0,20}([^\n]{1,2000})|\bPROGRAM\s{1,20}'{1,2}([^'\n]{1,2000})'"
    r"|(?:^|[\n;])\s{0,20}system\s{1,20}([^\n;]{1,2000})|(?:^|\n)\s{0,20}\.(?:shell|system)\s{1,20}([^\n]{1,2000})"
    r"|(?:^|[\n;\s])\\(?:out|o|gx?|write|w)\s{0,20}\|\s{0,20}([^\n]{1,2000})"
    r"|(?:^|\n)\s{0,20}\.(?:output|once|import)\s{1,20}(?:--?\w{1,20}\s{1,4}){0,4}(?:\"\|([^\"\n]{1,2000})|'\|([^'\n]{1,2000})|\|([^\n]{1,2000}))"
    r"|\\setenv\s{1,4}\w{1,40}\s{1,4}['\"]?([^\n'\"]{1,2000})"
    r"|(?:^|[\n;])\s{0,20}(?:pager|\\P)\s{1,20}([^\n;]{1,2000})|(?:^|[\n;])\s{0,20}(tee\s{1,4}[^\n;]{1,500})|\bedit\([^()\n]{1,200},\s{0,20}'([^'\n]{1,2000})'"
    r"|(?:^|\n)\s{0,20}(?::?!!|!|host\s)\s{0,20}([^\n]{1,2000})|sys_exec\(\s{0,20}'([^'\n]{1,2000})'|xp_cmdshell\s{1,20}'([^'\n]{1,2000})'",
    re.IGNORECASE,
)
_CALLS = re.compile(
    r"(?:\bsystem\*?|\bpopen|\bexecl?[vp]?[pe]?|\bspawn\w*|shell_?exec|shell-command(?:-to-string)?|call-process(?:-shell-command)?"
    r"|async-shell-command|start-process|run-program|os:cmd|open_port|System\.(?:cmd|shell)|Sys\.command|Unix\.system|readProcess"
    r"|callCommand|run-shell-command|uiop:run-program|clojure\.java\.shell/sh|\(sh|os\.execute|process\*?|shell|qx|run|pipeline|cmd_output"
    r"|ProcessBuilder|getRuntime\(\)\.exec|Process|Proc(?:ess)?\.(?:run|spawn)|subprocess\.\w+|os\.system)"
    rf"[\s(\[,:]{{0,8}}(?:nil[\s,]{{1,4}}){{0,3}}{_literal(0)}(?:[\s,]{{1,4}}(?:nil[\s,]{{1,4}}){{0,3}}\[?[\s]?{_literal(1)})?(?:[\s,]{{1,4}}{_literal(2)})?"
    rf"|{_literal(3)}\s{{0,4}}\.(?:execute\(|!)",
)
_TCL = re.compile(
    r"(?:^|[\n;{\[])\s{0,20}(?:eval\s{1,4})?(?:exec|spawn|system)\s{1,4}(?:-\w+\s{1,4}){0,3}((?:\{[^{}\n]{0,500}\}|[^\n;\]{}]){1,2000})"
)
_TCL_WRITES = re.compile(r"\bopen\s{1,4}[\"{]?(/[^\s\"}]{1,500})[\"}]?\s{1,4}[\"{]?(?:w|a|r\+)")
_SENT = re.compile(r"(?:^|[\n;{])\s{0,20}send\s{1,4}(?:-\w+\s{1,4}|--\s{1,4}){0,3}\"((?:[^\"\\\n]|\\[^rn\n]){1,2000})")
_BRACES = str.maketrans("{}", "''")  # how Tcl quotes
_DEBUGGER = re.compile(r"(?:^|\n)\s{0,20}(?:shell|!|platform shell|pipe[^|\n]{0,200}\|)\s{0,4}([^\n]{1,2000})")
_SED = re.compile(
    r"(?:^|[;\n{])\s{0,20}(?:\d{1,9}|\$|/[^/\n]{0,200}/)?(?:,(?:\d{1,9}|\$|/[^/\n]{0,200}/))?\s{0,20}e\s{1,4}([^\n]{1,2000})"
    r"|s(?P<by>[^\w\s\\])(?:\\.|(?!(?P=by))[^\n\\]){0,500}+(?P=by)((?:\\.|(?!(?P=by))[^\n\\]){0,500}+)(?P=by)[gIimM0-9p]{0,6}e"
)
_MAKE = re.compile(
    r"(?:^|\n)(?:\t| {1,8})[@+-]{0,3}([^\n]{1,2000})|(?:^|\n)[^\n=#]{1,200}:[^=\n]{0,200};\s{0,4}[@+-]{0,3}([^\n]{1,2000})"
    r"|\$\(shell\s{1,4}([^()\n]{1,2000})\)"
)
_CMAKE_RUNS = re.compile(r"\bCOMMAND\s{1,20}([^)\n]{1,2000})\)", re.IGNORECASE)
_CMAKE_WRITES = re.compile(
    r"\bfile\s{0,4}\(\s{0,4}(?:WRITE|APPEND|TOUCH|GENERATE\s{1,4}OUTPUT|DOWNLOAD\s{1,4}\S{1,500})\s{1,4}\"?([^\s\")]{1,500})",
    re.IGNORECASE,
)
_LISP_STARTS = re.compile(
    r"\((?:start-process(?:-shell-command)?|async-start-process)\s{1,20}\"[^\"\n]{0,200}\"\s{1,20}(?:nil|\"[^\"\n]{0,200}\")\s{1,20}"
    r"((?:\"[^\"\n]{1,200}\"\s{0,4}){1,8})|:command\s{1,20}(?:\(list|'\()\s{0,20}((?:\"[^\"\n]{1,200}\"\s{0,4}){1,8})"
)
_LISP_WRITES = re.compile(
    r"\(find-file\s{1,4}\"(/[^\"\n]{1,500})\"\).{0,1000}\b(?:save-buffer|basic-save-buffer|write-file)\b", re.DOTALL
)
_SQL_WRITES = re.compile(
    r"(?:^|\n)\s{0,20}\.(?:output|once|backup|save|log|clone)\s{1,4}([^\s|\"']{1,500})|\battach\s{1,4}(?:database\s{1,4})?('[^'\n]{1,500}')|"
    r"\bwritefile\(\s{0,20}('[^'\n]{1,500}')|\bINTO\s{1,20}(?:OUT|DUMP)FILE\s{1,20}('[^'\n]{1,500}')|\blo_export\([^()\n]{1,100},\s{0,20}('[^'\n]{1,500}')"
    r"|\bCOPY\b[^;\n]{1,500}?\bTO\s{1,20}('[^'\n]{1,500}')|\bVACUUM\b[^;\n']{0,80}\bINTO\s{1,20}('[^'\n]{1,500}')",
    re.IGNORECASE,
)
_SQL_READS = re.compile(
    r"\bINFILE\s{1,20}('[^'\n]{1,500}')|\b(?:readfile|load_file|pg_read_(?:binary_)?file|pg_ls_dir|lo_import|read_(?:text|csv|blob)|file|url)\(\s{0,20}('[^'\n]{1,500}')"
    r"|\bCOPY\b[^;\n]{1,500}?\bFROM\s{1,20}('[^'\n]{1,500}')"
    r"|(?:^|[\n;])\s{0,20}(?:source|\\\.|\\ir?|\.read)\s{1,20}'?([^\s;']{1,500})",
    re.IGNORECASE,
)
_DELETES = re.compile(
    r"\(delete-(?:directory|file)\s{1,20}\"([^\"\n]{1,2000})\""
    r"|\b(?:rm_rf!?|rm_r!?|removeItem\(atPath:|deleteRecursively|remove_dir_all|removeSync|rmSync|rmdirSync|vim\.fn\.delete|call\s{1,4}delete"
    r"|deleteDir|rm|unlink|FileUtils\.deleteDirectory)!?[\s(]{0,4}[\"']([^\"'\n]{1,2000})[\"']"
    r"|\bfile\s{1,4}(?:delete|rename)\s{1,4}(?:-force\s{1,4}|--\s{1,4}){0,2}([^\s;\]}]{1,500})"
)
_SCHEDULE = re.compile(r"(?:^|\n)[^\S\n]{0,20}(?:@\w{1,20}|(?:[\d*/,A-Za-z-]{1,30}[^\S\n]{1,20}){5})([^\n]{1,2000})")

_DOES: Mapping[re.Pattern[str], str] = {
    _DELETES: "rm -rf",
    _SQL_WRITES: "tee",
    _CMAKE_WRITES: "tee",
    _TCL_WRITES: "tee",
    _LISP_WRITES: "tee",
    _SQL_READS: "cat",
}
"""What a call does with the path that it is given."""
_PATTERNS: Mapping[re.Pattern[str], frozenset[str]] = {
    # what a text looks like there: the programs
    **dict.fromkeys((_SQL, _SQL_WRITES, _SQL_READS), DATABASES),
    _BANG: listed(
        "vim vi nvim ex view ed red less more most man ftp lftp sftp telnet mail mailx mutt info top aptitude gnuplot "
        "rvim gvim vimdiff ssh-keygen pg bc dc units ipython ipython3"
    ),
    _CALLS: listed(
        "emacs emacsclient racket guile sbcl clisp ecl clojure clj bb ocaml julia groovy elixir iex erl octave octave-cli "
        "scala swift crystal bpftrace kotlin kotlinc ghc runghc stack raku rakudo gdb lldb vim nvim vi ex gvim jshell scilab "
        "matlab maxima gnuplot sqlite3 luajit nim io factor chicken csi gosh mzscheme newlisp picolisp psysh jrunscript jjs "
        "scheme gsi bigloo sage sagemath wolframscript tarantool nodejs irb pry rake thor mongo mongosh blender gimp "
        "libreoffice freecad inkscape ansible-console python-argcomplete bash-completion cmake dotnet-script csharp fsharpi"
    ),
    **dict.fromkeys((_TCL, _TCL_WRITES), listed("tclsh tclsh8.6 wish expect jimsh tclkit")),
    _SENT: frozenset({"expect"}),
    _DEBUGGER: listed("gdb lldb gdb-multiarch cgdb pdb ipdb radare2 r2"),
    _SED: listed("sed gsed"),
    _MAKE: listed("make gmake gnumake bmake remake just"),
    _SCHEDULE: listed("crontab fcrontab"),
    **dict.fromkeys((_CMAKE_RUNS, _CMAKE_WRITES), frozenset({"cmake", "ctest"})),
    **dict.fromkeys((_LISP_STARTS, _LISP_WRITES), frozenset({"emacs", "emacsclient"})),
    _DELETES: listed(
        "emacs emacsclient tclsh tclsh8.6 wish expect jimsh vim nvim vi ex gvim elixir iex swift mongosh mongo groovy kotlin "
        "kotlinc julia scala jshell crystal"
    ),
    _TAR: listed("tar bsdtar gtar ssh scp sftp rsync git"),
}
EVALUATORS = _PATTERNS[_CALLS] | _PATTERNS[_DELETES]
"""Programs that run a text in a language of their own."""
_WITH_PYTHON = listed(
    "gdb lldb cgdb blender gimp freecad sage vim nvim abaqus ipython ipython3 jupyter manage.py psql mysqlsh"
)
_WITH_NODE = frozenset({"mongosh", "mongo", "mysqlsh"})
_AWKS = listed("awk gawk mawk nawk")
_AWK_RUNS = re.compile(r"\bsystem\s{0,4}\(\s{0,4}[a-zA-Z_]|\|\s{0,4}getline|\|&?\s{0,4}[a-zA-Z_]")
_ASSIGNS = re.compile(r"(?:-v)?[A-Za-z_]\w{0,60}=")
_UNIT_RUNS = re.compile(r"(?:--property=)?Exec[A-Z]\w{1,20}")
_CODE_MODULES = listed("timeit pdb cProfile profile trace code -mtimeit -mpdb")
_BACKWARDS = re.compile(r"\\\d|(?<!\\)&")
_ALONE = listed("reboot halt poweroff shutdown visudo vipw killall5")
"""They need no words to do harm."""
_MANAGERS = listed(
    "ansible ansible-playbook ansible-console salt salt-call salt-ssh puppet chef-apply chef-client mgmt bolt pyinfra fab rex"
)
_QUOTED = re.compile(r"[\"']([^\"'\n]{1,2000})[\"']")
_NAMED = re.compile(
    r"-{1,2}(?:[a-z]{1,20}-){0,3}(?:exec|execute|command|commands|cmd|args|call|pager|toolexec|script-shell|askpass|eval|run|shell|scripts?|hook|filter|invoke|rsh|rcmd"
    r"|compress-program|use-askpass|rsync-path|pre|post|up|down|wrapper|postrotate|startup|remote-command|on-\w{1,20})"
)
_SHORT: Mapping[str, frozenset[str]] = {
    # short options (and words) behind which a command stands
    "-x": listed("git fd fdfind lftp difftool"),
    **dict.fromkeys(("-X", "--exec", "--exec-batch"), listed("fd fdfind")),
    "-a": listed("ansible"),
    "-c": listed("vagrant mosh sqlplus capsh setpriv wsl chrt"),
    "-C": listed("fly flyctl"),
    "-e": listed(
        "rsync lftp emacs konsole xterm gnome-terminal urxvt alacritty kitty xfce4-terminal terminator wezterm st foot"
    ),
    "-P": frozenset({"man"}),
    "-s": frozenset({"nano"}),
    **dict.fromkeys(("eshell-command", "shell-command", "compile"), frozenset({"emacs", "emacsclient"})),
    "-S": frozenset({"scp"}),
    "-z": frozenset({"tcpdump"}),
    "-TT": frozenset({"zip"}),
    "-o": listed("apt apt-get aptitude"),
    "cmd.run": frozenset({"salt", "salt-call", "salt-ssh"}),
    "stuff": frozenset({"screen"}),
    "send-keys": frozenset({"tmux"}),
    "send": frozenset({"tmux"}),
    "exec": listed(
        "nomad cf railway render balena k0s scalingo dokku lando ddev warden apptainer singularity colima minikube"
    ),
    "ssh": listed("minikube balena railway colima"),
    "foreach": frozenset({"git"}),
    "run": frozenset({"git", "heroku"}),
}
_TAKE_ALL = frozenset({"exec", "ssh", "foreach", "run", "send-keys", "send", "stuff"})
"""All words behind these are the command."""
_NO_OPTIONS = listed(
    "echo printf grep egrep fgrep awk gawk mawk nawk jq yq gh glab curl wget http https test [ assent "
    "docker podman kubectl npm yarn pnpm cat find xargs sudo env pytest terraform helm"
)
"""Their options take no command, or one that is read elsewhere."""
_CMAKE = {
    "rm": "rm", "remove": "rm", "remove_directory": "rm -rf", "cat": "cat", "copy": "cp", "copy_directory": "cp -r",
    "rename": "mv", "touch": "touch", "create_symlink": "ln -s", "env": "env", "time": "time", "copy_if_different": "cp",
    "tar": "tar", "chdir": "env -C",
}  # fmt: skip


def texts_inside(command: Command, written: Written) -> list[str]:
    """Return the shell texts inside a program's words and input. `written` tells what the text itself put in a file.

    Raises StopReading where there are more, or longer ones, than are read: what is not read may not pass for harmless.
    """
    pipes = command.program in DATABASES | _PATTERNS[_BANG]  # `\o | sh`, `:w !sh`
    found: dict[str, None] = {}
    length = 0
    for text in map(str.strip, _found(command, written)):
        length += len(text)
        if len(text.split(maxsplit=1)) > 1 or text in _ALONE or (pipes and text in SHELLS):
            found[text] = None
        if len(found) > _MOST or length > _MOST_CHARACTERS:
            raise StopReading(f"{command.program} is given more than {_MOST} commands")
    return list(found)


def _found(command: Command, written: Written) -> Iterator[str]:
    program, words = command.program, [text_of(word) for word in command.argv[1:]]
    patterns = [pattern for pattern, programs in _PATTERNS.items() if program in programs]
    if patterns:
        yield from _given(command, words, patterns, written)
    if program == "cmake" and len(words) > 1 and words[0] == "-E" and words[1] in _CMAKE:
        yield f"{_CMAKE[words[1]]} {shlex.join(words[2:])}"
    if program in _PATTERNS[_MAKE]:
        yield from (value for name, _, value in (word.partition("=") for word in words) if name.isidentifier())
    yield from _in_languages(program, words)
    yield from _managed(program, words, command.fed_text)
    if program not in _NO_OPTIONS:
        yield from _options(program, words)


def _given(
    command: Command, words: Sequence[str], patterns: Sequence[re.Pattern[str]], written: Written
) -> Iterator[str]:
    """Yield what the patterns find in the program's words, values, input and files."""
    program = command.program
    files = [written(word) for word in command.argv[1:]] if len(words) < _MOST else []
    fed = [command.fed_text] if command.fed_text else [output_of([feeder]) for feeder in command.feeders[:_MOST]]
    made = [output_of([source]) for source in command.arguments_from[:_MOST]]  # `psql -f <(echo …)`
    values = [word.partition("=")[2] for word in words if word.startswith("--") and "=" in word]
    given = [*words, *values, *fed, *files, *made, *([_makefile(written)] if program == "make" else [])]
    for text in filter(None, given):
        if len(text) > _LONGEST and program != "git":  # a message, and what git runs is read whole elsewhere
            raise StopReading(f"a text for {program} is longer than {_LONGEST} characters")
        yield from _matched(text[:_LONGEST], patterns)
        if program in _WITH_PYTHON:
            yield from _code(text, "python")
        if program in _WITH_NODE:
            yield from _code(text, "node")


def _in_languages(program: str, words: Sequence[str]) -> Iterator[str]:
    """Yield what settings of git, and code in other languages among the words, run."""
    if program == "git":
        yield from git_texts(words)
        for code in git_callbacks(words):
            yield from _code(code, "python")
    if program in _AWKS and any(map(_AWK_RUNS.search, words)):
        yield from (word.partition("=")[2] for word in words if _ASSIGNS.match(word))
    if language_of(program) == "python" and _CODE_MODULES & set(words):
        for word in words:
            yield from _code(word.lstrip("!"), "python")


def _code(text: str, language: str) -> Iterator[str]:
    if not is_too_long(text):
        yield from (act.text or shlex.join(act.argv) for act in acts_of(text, language))


def _managed(program: str, words: Sequence[str], fed: str | None) -> Iterator[str]:
    """Yield what programs that run commands elsewhere have in forms of their own."""
    if program in _MANAGERS:
        yield from managed_texts(" ".join((*words, fed or ""))[:_LONGEST])
    elif program == "aws" and "ssm" in words[:6]:
        yield from (found[1] for word in words for found in _QUOTED.finditer(word[:_LONGEST]))
    elif program == "podman" and words[:1] == ["unshare"]:
        yield shlex.join(words[1:])
    else:
        yield from _by_option(program, words)


def _by_option(program: str, words: Sequence[str]) -> Iterator[str]:
    """Yield what stands behind options of programs whose other words are no commands."""
    if program in {"npm", "wget", "pnpm"}:
        for word, following in itertools.pairwise((*words, "")):
            name, equals, value = word.partition("=")
            if name in {"-c", "--call", "--use-askpass", "--script-shell", "script-shell"}:
                yield value if equals else following
        if words[:1] == ["explore"]:
            yield from (shlex.join(words[start:]) for start in (2, 3))
    elif program == "cargo" and "--config" in words:
        yield from (found[1] for word in words for found in _QUOTED.finditer(word[:_LONGEST]))


def _makefile(written: Written) -> str | None:
    from assent.shell.words.scope import word_of

    return next((text for name in ("Makefile", "makefile", "GNUmakefile") if (text := written(word_of(name)))), None)


def _matched(text: str, patterns: Sequence[re.Pattern[str]]) -> Iterator[str]:
    for pattern in patterns:
        for match in pattern.finditer(text):
            parts = [
                part for name, part in enumerate(match.groups(), 1) if part and name != pattern.groupindex.get("by")
            ]
            inner = " ".join(parts) if pattern is _CALLS else parts[0] if parts else ""
            inner = f"{_DOES[pattern]} {inner}" if pattern in _DOES else inner
            inner = inner.translate(_BRACES) if pattern is _TCL else inner
            if pattern is _SED and match.groupdict().get(
                "by"
            ):  # what else stands in the line is known only when it runs
                yield (inner := re.sub(_BACKWARDS, UNKNOWN, inner).replace("\\/", "/"))
                inner = f"{inner}{UNKNOWN}"
            yield inner.replace("\\/", "/") if pattern is _SED else inner


def _options(program: str, words: Sequence[str]) -> Iterator[str]:
    for at, word in enumerate(words):
        name, equals, value = word.partition("=")
        following = words[at + 1] if at + 1 < len(words) else ""
        if program in _SHORT.get(word, ()):
            yield following
            if word in _TAKE_ALL or program in {"fd", "fdfind"}:
                yield from (shlex.join(words[start:]) for start in range(at + 1, min(at + 4, len(words))))
                yield from words[at + 2 :]
            if program in {"fd", "fdfind"}:
                yield from (
                    f"{shlex.join(words[at + 1 :])} {shlex.quote(root)}/*"
                    for root in words[:at]
                    if root[:1] in {"/", HOME}
                )
        elif name.startswith("-") and _NAMED.fullmatch(name):
            yield value if equals else following
        elif equals and (_UNIT_RUNS.fullmatch(name) or (program in _SHORT["-o"] and "Invoke" in name)):
            yield value
