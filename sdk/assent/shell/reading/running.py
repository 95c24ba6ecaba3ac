"""Shell builtins, and programs that run what they are fed or find."""

from __future__ import annotations

import itertools
import re
import shlex
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from assent.shell.lists import listed
from assent.shell.programs.finding import listed_by, put_in, read_find
from assent.shell.programs.outputs import output_of
from assent.shell.programs.wrappers import joined, option_end, option_value
from assent.shell.reading.walk import bind
from assent.shell.words.scope import HOME, UNKNOWN, Scope, Value, text_of, word_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from assent.shell.reading.follower import Follower
    from assent.shell.words.script import Command, Word

    Builtin: TypeAlias = Callable[[Follower, Command, Scope], list[Command]]

_XARGS_VALUES = listed(
    "-n -P -L -d -E -s -a -I -J -R --max-args --max-procs --max-lines --delimiter --arg-file --max-chars"
)
_XARGS_FILE = frozenset({"-a", "--arg-file"})
_SUBSCRIPT = re.compile(r"\[\s{0,9}(?:\$\(([^\n]{1,2000})\)|`([^`\n]{1,2000})`)\s{0,9}\]")
_PARALLEL_VALUES = listed("-j -P --jobs -a --arg-file -S --sshlogin --colsep -d --delimiter -n -N -I")


def _change_directory(run: Follower, command: Command, scope: Scope) -> list[Command]:
    """`cd`, `pushd`: later relative paths start there."""
    operands = [word for word in command.argv[1:] if not re.fullmatch(r"-[LPe@]+|--", word.text)]
    target = text_of(operands[0]) if operands else HOME
    scope.move(UNKNOWN if target == "-" or re.fullmatch(r"\+\d+", target) else target)
    return [run.emit(command)]


def _leave_directory(run: Follower, command: Command, scope: Scope) -> list[Command]:
    """`popd`: back to what is not followed."""
    scope.cwd = UNKNOWN
    return [run.emit(command)]


def _declare(run: Follower, command: Command, scope: Scope) -> list[Command]:
    """`export`, `declare`, `local`, …: assignments."""
    for word in command.argv[1:]:
        name, equals, value = text_of(word).partition("=")
        if equals:
            scope.variables[name] = Value(texts=(value,), sources=command.arguments_from)
            run.run_by_variables({name: value}, command, scope)
        if command.program == "export" or any(option.text.startswith("-x") for option in command.argv[1:2]):
            scope.exported |= {name}
    return [run.emit(command), *_subscripts(run, command, scope)]


def _forget(run: Follower, command: Command, scope: Scope) -> list[Command]:
    """`unset`: the variable is empty from now on."""
    for word in command.argv[1:]:
        scope.variables[word.text] = Value(texts=("",))
        run.functions.pop(word.text, None)
    return [run.emit(command), *_subscripts(run, command, scope)]


def _set_positional(run: Follower, command: Command, scope: Scope) -> list[Command]:
    """`set -- a b`: the positional parameters."""
    texts = [word.text for word in command.argv]
    if any(re.fullmatch(r"-[a-zA-Z]*a[a-zA-Z]*", text) for text in texts[1:]) or "allexport" in texts:
        scope.exports_all = True
    if "--" in texts:
        bind(scope, "bash", [text_of(word) for word in command.argv[texts.index("--") + 1 :]])
    return [run.emit(command)]


def _take_input(run: Follower, command: Command, scope: Scope) -> list[Command]:
    """`read`, `mapfile`: variables from standard input."""
    names = [word.text for word in command.argv[1:] if word.known and re.fullmatch(r"[A-Za-z_]\w*", word.text)]
    texts = (command.fed_text or "").split(maxsplit=max(len(names) - 1, 0)) if command.fed_text is not None else None
    if texts is None and len(names) < 2 and (paths := listed_by(command.feeders)):
        scope.variables[(names or ["REPLY"])[0]] = Value(texts=paths, sources=command.feeders)
        return [run.emit(command)]
    for place, name in enumerate(names or ["REPLY"]):
        text = UNKNOWN if texts is None else texts[place].strip() if place < len(texts) else ""
        scope.variables[name] = Value(texts=(text,), sources=command.feeders)
    return [run.emit(command), *_subscripts(run, command, scope)]


def _subscripts(run: Follower, command: Command, scope: Scope) -> list[Command]:
    """Read what the shell works out in a subscript that it is given as a text: `unset 'a[$(…)]'`."""
    made: list[Command] = []
    for word in command.argv[1:]:
        for found in _SUBSCRIPT.finditer(text_of(word)):
            made.extend(run.here(found[1] or found[2], command, scope.copy()))
    return made


def _evaluate(run: Follower, command: Command, scope: Scope) -> list[Command]:
    """`eval`: its words are shell text in the same shell."""
    made = [run.emit(command)]
    text = text_of(joined(command.argv[1:]))
    return [*made, *run.here(text, command, scope)]


def _read_text_argument(run: Follower, command: Command, scope: Scope) -> list[Command]:
    """`trap TEXT SIGNAL`."""
    texts = [word for word in command.argv[1:] if word.text not in {"-", "--"}]
    made = [run.emit(command)]
    if len(texts) < 2 or texts[0].text.startswith("-"):
        return made
    return [*made, *run.here(text_of(texts[0]), command, scope.copy())]


def _alias(run: Follower, command: Command, scope: Scope) -> list[Command]:
    """`alias name=TEXT`."""
    made = [run.emit(command)]
    for word in command.argv[1:]:
        name, equals, text = text_of(word).partition("=")
        if equals:
            made.extend(run.here(text, command, scope.copy()))
            scope.aliases[name] = text
    return made


def _source(run: Follower, command: Command, scope: Scope) -> list[Command]:
    """`source FILE`, `. FILE`: read only when the file is standard input and that is known."""
    made = [run.emit(command)]
    file = command.argv[1] if len(command.argv) > 1 else None
    text = command.fed_text if file and file.text == "/dev/stdin" else run.written(file) if file else None
    if file and file.text.startswith("/dev/fd/"):
        text = output_of(command.arguments_from) if command.arguments_from else None
    if text is not None:
        made.extend(run.here(text, command, scope))
    return made


def _find(run: Follower, command: Command, scope: Scope) -> list[Command]:
    """`find … -exec COMMAND`: the command, once for each place where it looks."""
    made = [run.emit(command)]
    found = read_find(command.argv)
    inner = replace(command, redirects=(), arguments_from=(), wrappers=(*command.wrappers, "find"))
    for argv in found.inner:
        for path in found.found:
            made.extend(run.perform(replace(inner, argv=put_in(argv, path)), scope))
    return made


def _xargs(run: Follower, command: Command, scope: Scope) -> list[Command]:
    """`xargs COMMAND`: the command with what it is fed, as far as that is known."""
    argv, at, mark = command.argv, 1, ""
    while at < len(argv) and argv[at].text.startswith("-") and len(argv[at].text) > 1:
        if argv[at].text in {"-i", "--replace"}:
            mark = "{}"
        elif (replaced := option_value(argv, at, frozenset({"-I", "-J", "--replace"}), _XARGS_VALUES)) is not None:
            mark = replaced.text
        at = option_end(argv, at, _XARGS_VALUES)
    argv = argv[at:]
    if not argv:
        return [run.emit(command)]
    if any(option_value(command.argv, place, _XARGS_FILE, _XARGS_VALUES) for place in range(1, at)):
        run.emit(replace(command, argv=command.argv[:at]))
        command = replace(command, feeders=(), fed_text=None)
    inner = replace(command, fed_text=None, wrappers=(*command.wrappers, "xargs"))
    items = _fed_lines(command) if mark else _fed_words(command)
    if not mark:
        return run.perform(replace(inner, argv=(*argv, *items)), scope)
    made: list[Command] = []
    for item in items:
        made.extend(run.perform(replace(inner, argv=put_in(argv, text_of(item), mark)), scope))
    return made


def _parallel(run: Follower, command: Command, scope: Scope) -> list[Command]:
    """`parallel COMMAND ::: a b`: as `xargs -I{}`, with its words read as shell text."""
    at = 1
    while at < len(command.argv) and command.argv[at].text.startswith("-"):
        at = option_end(command.argv, at, _PARALLEL_VALUES)
    argv = command.argv[at:]
    marks = [place for place, word in enumerate(argv) if word.text in {":::", "::::", ":::+"}]
    items = _fed_words(command) if not marks else [word for word in argv[marks[0] + 1 :] if word.text != ":::"]
    argv = argv[: marks[0]] if marks else argv
    text = word_of("{}") if not argv else joined(argv)
    mark = "{}" if "{}" in text.text else ""
    made = [run.emit(command)]
    inner = replace(command, wrappers=(*command.wrappers, "parallel"))
    for item in items:
        plain, given = text_of(text), text_of(item)
        made.extend(run.nested(plain.replace("{}", given) if mark else f"{plain} {given}", inner, scope))
    return made


def _zargs(run: Follower, command: Command, scope: Scope) -> list[Command]:
    """`zargs a b -- COMMAND`: zsh's `xargs`."""
    made, argv = [run.emit(command)], command.argv
    marks = [at for at, word in enumerate(argv) if word.text == "--"]
    if marks:
        inner = replace(
            command, argv=(*argv[marks[-1] + 1 :], *argv[1 : marks[0]]), wrappers=(*command.wrappers, "zargs")
        )
        made.extend(run.perform(inner, scope))
    return made


def _later(run: Follower, command: Command, scope: Scope) -> list[Command]:
    """`at`, `batch`: run what they are fed."""
    made = [run.emit(command)]
    for word, following in itertools.pairwise(command.argv[1:]):
        text = output_of(command.arguments_from) if following.text.startswith("/dev/fd/") else run.written(following)
        if word.text == "-f" and text is not None:
            made.extend(run.nested(text, command, scope))
    if command.feeders or command.fed_text is not None:
        inner = replace(command, argv=(word_of("sh"),), wrappers=(*command.wrappers, command.program))
        made.extend(run.perform(inner, scope))
    return made


def _print_into(run: Follower, command: Command, scope: Scope) -> list[Command]:
    """`printf -v NAME`: an assignment."""
    words = command.argv
    if len(words) > 3 and words[1].text == "-v":
        printed = output_of([replace(command, argv=(words[0], *words[3:]), redirects=())])
        scope.variables[words[2].text] = Value(texts=(UNKNOWN if printed is None else printed,))
        return [run.emit(command), *_subscripts(run, replace(command, argv=words[:3]), scope)]
    return [run.emit(command)]


def _fed_lines(command: Command) -> list[Word]:
    """Return each line that it is fed as one word, as with `xargs -I`."""
    if command.fed_text is None:
        return _fed_words(command)
    return [word_of(line.strip().strip("\"'")) for line in command.fed_text.splitlines() if line.strip()]


def _fed_words(command: Command) -> list[Word]:
    if command.fed_text is not None:
        try:
            return [word_of(text) for text in shlex.split(command.fed_text)]
        except ValueError:
            return [word_of(text) for text in command.fed_text.split()]
    return [word_of(text, globbed="*" in text) for text in listed_by(command.feeders)] or [word_of(UNKNOWN)]


BUILTINS: dict[str, Builtin] = {
    "cd": _change_directory,
    "pushd": _change_directory,
    "popd": _leave_directory,
    **dict.fromkeys(("export", "declare", "typeset", "local", "readonly"), _declare),
    "unset": _forget,
    "set": _set_positional,
    **dict.fromkeys(("read", "mapfile", "readarray"), _take_input),
    "printf": _print_into,
    "eval": _evaluate,
    "trap": _read_text_argument,
    "alias": _alias,
    "source": _source,
    ".": _source,
    "find": _find,
    "gfind": _find,
    "xargs": _xargs,
    "gxargs": _xargs,
    "zargs": _zargs,
    "parallel": _parallel,
    "at": _later,
    "batch": _later,
}
"""Program → what it runs besides itself, and what it does to the scope."""
