"""Walks the tree of a shell text: pipes, lists, branches, loops and functions, down to single commands."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from assent.shell.programs.outputs import output_of
from assent.shell.reading.follower import Definition
from assent.shell.reading.grammar import parse
from assent.shell.words.scope import STAR, UNKNOWN, StopReading, Value, text_of
from assent.shell.words.script import Command, Script
from assent.shell.words.skeleton import MARK, skeleton_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tree_sitter import Node

    from assent.shell.reading.follower import Follower, Raw
    from assent.shell.words.scope import Scope

DEEPEST = 24
"""Texts within texts, and functions within functions."""
_DEEPEST_NODE = 120
_MOST_COMMANDS = 2500
_MOST_STEPS = 10_000
_MOST_WORDS = 12_000
"""Words and operators that are read, in all texts within texts together, and as many words of commands. A word costs
20 to 60 µs with the guards that judge it, `$(a)` and `a;` most of all: 0.5 s and 20 MB at worst (`tests/readers`)."""
_MOST_CHARACTERS = 1_000_000
_MOST_FED = 1_500_000
"""Characters: rules look through what a command is fed. 1,500 commands with the same 12,000 took them 4 s."""
_MOST_STAGES = 40
_MOST_ROUNDS = 40
_RUNS = re.compile(r"`|[$<>]\(")
_SEQUENCES = frozenset({"program", "do_group", "list", "negated_command", "else_clause", "case_item", "ERROR"})


@dataclass(slots=True, kw_only=True)
class Reading:
    """What one call of `read_script` has gathered, and its limits."""

    deadline: float
    """In seconds of `time.thread_time`."""
    share: int = 1
    """Which part of the limits it has: one of so many."""
    stopped: bool = False
    """Whether it ended at a limit."""
    steps: int = 0
    size: int = 0
    """Characters of all words and values so far."""
    words: int = 0
    """Words and operators of the texts that were read so far."""
    emitted: int = 0
    """Words of the commands so far."""
    fed: int = 0
    """Characters that the commands so far read from their input, each time anew."""
    commands: list[Command] = field(default_factory=list[Command])
    unread: list[str] = field(default_factory=list[str])
    defines: list[str] = field(default_factory=list[str])
    functions: dict[str, Definition] = field(default_factory=dict[str, Definition])
    called: dict[int, object] = field(default_factory=dict[int, object])
    """The definitions that were read, by identity."""
    running: list[Definition] = field(default_factory=list[Definition])

    def emit(self, command: Command) -> Command:
        """Take a command in. Raises StopReading when it is one too many or the time is over."""
        if len(self.commands) >= _MOST_COMMANDS:
            raise StopReading(f"it has more than {_MOST_COMMANDS} commands")
        if time.thread_time() > self.deadline:
            raise StopReading("it is too involved to be read in time")
        self.emitted += len(command.argv) + len(command.redirects)
        if self.emitted > _MOST_WORDS // self.share:
            raise StopReading(f"its commands have more than {_MOST_WORDS} words")
        self.spend(sum(len(word.text) for word in command.argv))
        self.fed += len(command.fed_text or "")
        if self.fed > _MOST_FED:
            raise StopReading("too many commands are fed too long a text")
        self.commands.append(command)
        return command

    def spend(self, size: int) -> None:
        """Count characters. Raises StopReading when they are too many: a variable may double itself."""
        self.size += size
        if self.size > _MOST_CHARACTERS:
            raise StopReading("its words become too long")

    def room(self) -> int:
        """Return how many words and operators may still be read."""
        return _MOST_WORDS // self.share - self.words

    def step(self) -> None:
        """Count one node. Raises StopReading when it is one too many: functions may call one another 2ⁿ times."""
        self.steps += 1
        if self.steps > _MOST_STEPS // self.share or (self.steps % 64 == 0 and time.thread_time() > self.deadline):
            raise StopReading("it is too involved to be read in time")

    def doubt(self, reason: str) -> None:
        """Note a part that could not be read."""
        if reason not in self.unread and len(self.unread) < 20:
            self.unread.append(reason)

    def script(self) -> Script:
        """Return the result."""
        return Script(commands=tuple(self.commands), unread=tuple(self.unread), defines=tuple(self.defines))


class Walker:
    """Walks texts and hands single commands to the dispatcher."""

    def __init__(self, reading: Reading, dispatcher: Follower) -> None:
        self._reading = reading
        self._dispatcher = dispatcher

    def read(self, text: str, scope: Scope) -> list[Command]:
        """Read the text in the scope; return the commands that are in it."""
        if scope.depth > DEEPEST:
            self._reading.doubt("it is nested too deeply")
            return []
        self._reading.spend(len(text) if scope.depth else 0)  # a text within a text is read once more
        skeleton = skeleton_of(text, most=self._reading.room())
        self._reading.words += skeleton.tokens
        root = parse(skeleton.text)
        if skeleton.unfinished:
            self._reading.doubt("a quote or a substitution is not closed")
        if root.has_error:
            self._reading.doubt("its syntax is not understood")
        return _Text(self._reading, self._dispatcher, skeleton.marks).read(root, scope)

    def call(self, name: str, arguments: Sequence[str], scope: Scope) -> list[Command]:
        """Run a function of the text with these arguments."""
        definition = self._reading.functions[name]
        body, marks = definition
        self._reading.called[id(definition)] = definition
        if any(running is definition for running in self._reading.running) or len(self._reading.running) > DEEPEST:
            return []
        self._reading.running.append(definition)
        positional = dict(scope.variables)
        bind(scope, name, arguments)
        try:
            return _Text(self._reading, self._dispatcher, marks).read(body, scope)
        finally:
            self._reading.running.pop()
            for key in ("@", "*", "#", *map(str, range(1, 10))):
                scope.variables.pop(key, None)
                if key in positional:
                    scope.variables[key] = positional[key]

    def read_uncalled(self, scope: Scope) -> None:
        """Read the bodies of the functions that the text defines and does not call."""
        reading = self._reading
        while waiting := [name for name, found in reading.functions.items() if id(found) not in reading.called]:
            for name in waiting:
                self.call(name, (UNKNOWN,), scope.copy())


def bind(scope: Scope, zeroth: str, arguments: Sequence[str]) -> None:
    """Set the positional parameters."""
    scope.variables["0"] = Value(texts=(zeroth,))
    for number in range(1, 10):
        text = arguments[number - 1] if number <= len(arguments) else ""
        scope.variables[str(number)] = Value(texts=(text,))
    whole = Value(texts=(" ".join(arguments),), elements=tuple(arguments))
    scope.variables["@"] = scope.variables["*"] = whole
    scope.variables["#"] = Value(texts=(str(len(arguments)),))


class _Text:
    """One parsed text: its nodes and the words behind their marks."""

    def __init__(self, reading: Reading, dispatcher: Follower, marks: tuple[Raw, ...]) -> None:
        self._reading = reading
        self._dispatcher = dispatcher
        self._marks = marks
        self._read = set[int]()
        """The marks whose words were read, or belong to a function that is read when it is called."""

    def read(self, node: Node, scope: Scope) -> list[Command]:
        """Read a node, and then what the shell runs in its words that are no command's: `case $(…) in`."""
        commands = self.walk(node, scope, 0)
        for found in MARK.finditer((node.text or b"").decode()):
            number = int(found[1])
            if number in self._read or number >= len(self._marks):
                continue
            self._read.add(number)
            word = self._marks[number]
            if isinstance(word, str) and not _RUNS.search(word):
                continue
            self._reading.step()
            if isinstance(word, str):
                commands.extend(self._dispatcher.expand([word], scope.copy())[1])
            else:
                self._dispatcher.redirected([word], scope.copy())
        return commands

    def walk(self, node: Node, scope: Scope, depth: int) -> list[Command]:
        """Read one node in the scope; return its commands."""
        self._reading.step()
        if depth > _DEEPEST_NODE:
            raise StopReading("it is nested too deeply")
        match node.type:
            case "command":
                return self._dispatcher.simple(self._raws(node), scope)
            case "function_definition":
                self._define(node)
                return []
            case "word" | "number" | "concatenation" | "command_name" if node.parent and node.parent.type == "ERROR":
                return self._dispatcher.simple(self._raws(node), scope)
            case kind:
                return self._compound(kind, node, scope, depth)

    def _compound(self, kind: str, node: Node, scope: Scope, depth: int) -> list[Command]:
        match kind:
            case "pipeline":
                return self._pipeline(node, scope, depth)
            case "subshell":
                return self._children(node, scope.copy(), depth)
            case "redirected_statement":
                return self._redirected(node, scope, depth)
            case "if_statement" | "elif_clause" | "case_statement":
                return self._branches(node, scope, depth)
            case "for_statement":
                return self._loop(node, scope, depth)
            case _:
                read = kind in _SEQUENCES or kind.endswith("statement")
                return self._children(node, scope, depth) if read else []

    def _children(self, node: Node, scope: Scope, depth: int) -> list[Command]:
        commands: list[Command] = []
        for child in node.named_children:
            commands.extend(self.walk(child, scope, depth + 1))
        return commands

    def _raws(self, node: Node) -> list[Raw]:
        words = (node.text or b"").decode().split()
        return [self._raw(word) for word in words if word != ">"]

    def _raw(self, text: str) -> Raw:
        mark = MARK.fullmatch(text)
        if mark is None or int(mark[1]) >= len(self._marks):
            return text
        self._read.add(int(mark[1]))
        return self._marks[int(mark[1])]

    def _pipeline(self, node: Node, scope: Scope, depth: int) -> list[Command]:
        stages = node.named_children
        if len(stages) > _MOST_STAGES:
            raise StopReading(f"a pipe has more than {_MOST_STAGES} stages")
        everything: list[Command] = []
        feeders, fed_text = scope.feeders, scope.fed_text
        for stage in stages:
            inner = scope.copy()
            inner.feeders, inner.fed_text = feeders, fed_text
            commands = self.walk(stage, inner, depth + 1)
            everything.extend(commands)
            feeders = (*reversed(commands), *feeders)
            fed_text = output_of(commands)
        read = self._read.copy()
        self._note_respawn(stages)
        self._read = read  # there they were only looked at
        return everything

    def _note_respawn(self, stages: Sequence[Node]) -> None:
        texts = [[raw for raw in self._raws(stage) if isinstance(raw, str)][:1] for stage in stages]
        if len(texts) > 1 and all(text in (["$0"], ["./$0"], ['"$0"']) for text in texts):
            self._reading.defines.append("$0")

    def _redirected(self, node: Node, scope: Scope, depth: int) -> list[Command]:
        bodies = [child for child in node.named_children if not child.type.endswith("redirect")]
        raws = [raw for child in node.named_children if child.type.endswith("redirect") for raw in self._raws(child)]
        commands = self._dispatcher.redirected(raws, scope)
        inner, feeders, fed_text = scope, scope.feeders, scope.fed_text
        inner.feeders, inner.fed_text = commands.feeders, commands.fed_text
        made: list[Command] = []
        for body in bodies:
            made.extend(self.walk(body, inner, depth + 1))
        scope.feeders, scope.fed_text = feeders, fed_text
        return made

    def _branches(self, node: Node, scope: Scope, depth: int) -> list[Command]:
        commands: list[Command] = []
        ends: list[Scope] = []
        branch = scope
        for child in node.children:
            if child.type in {"then", "else_clause", "elif_clause", "case_item"}:
                branch = scope.copy()
                ends.append(branch)
            if child.is_named and not (node.type == "case_statement" and child.type != "case_item"):
                commands.extend(self.walk(child, branch, depth + 1))
        for end in ends:
            scope.join(end)
        return commands

    def _loop(self, node: Node, scope: Scope, depth: int) -> list[Command]:
        children = node.named_children
        body = children[-1]
        name = (children[0].text or b"").decode()
        raws = [self._raw((child.text or b"").decode()) for child in children[1:-1]]
        items, sources = self._dispatcher.expand([raw for raw in raws if isinstance(raw, str)], scope)
        texts = [text_of(item).replace("*", STAR) if item.globbed else text_of(item) for item in items]
        if not raws:
            value = scope.find("@")
            texts = list(value.elements or (UNKNOWN,)) if value else [UNKNOWN]
        if len(texts) > _MOST_ROUNDS:
            texts = [*texts[:_MOST_ROUNDS], UNKNOWN]
        commands: list[Command] = []
        for text in texts:
            scope.variables[name] = Value(texts=(text,), sources=sources)
            commands.extend(self.walk(body, scope, depth + 1))
        return commands

    def _define(self, node: Node) -> None:
        children = node.named_children
        if len(children) < 2:
            return
        name = self._raw((children[0].text or b"").decode())
        if not isinstance(name, str):
            return
        body = children[-1] if not children[-1].type.endswith("redirect") else children[1]
        self._reading.functions[name] = (body, self._marks)
        self._read.update(int(found[1]) for found in MARK.finditer((body.text or b"").decode()))
        if _calls_itself(name, (body.text or b"").decode()):
            self._reading.defines.append(name)


def _calls_itself(name: str, body: str) -> bool:
    """Whether the body starts its own function in a pipe or in the background."""
    escaped = re.escape(name)
    starts = rf"(?:^|[|&;{{(\n]|\bdo\b|\bthen\b)\s*{escaped}(?=[\s|&;)}}]|$)[^|&;\n]*"
    return bool(
        re.search(rf"{starts}(?:\|(?!\|)|&(?!&))", body) or re.search(rf"(?<!\|)\|\s*{escaped}(?=[\s|&;)}}]|$)", body)
    )
