"""Decides what a single command runs besides itself: wrappers, shells, `eval`, `find -exec`, `xargs`, functions."""

from __future__ import annotations

import itertools
import re
import shlex
from dataclasses import replace
from typing import TYPE_CHECKING

from assent.shell.inside.guessing import guessed, guessed_in_variable, starts_shell_in
from assent.shell.inside.settings import RUN_BY_SHELLS, is_run, text_run_for
from assent.shell.inside.texts import texts_inside
from assent.shell.lists import listed
from assent.shell.programs.finding import listed_by
from assent.shell.programs.interpreters import acts_of, is_too_long
from assent.shell.programs.outputs import output_of
from assent.shell.programs.programs import SHELLS, code_of, language_of
from assent.shell.programs.wrappers import CONTAINERS, READ_SETTINGS, Peeled, peel, set_by_options
from assent.shell.reading.redirecting import read_redirects
from assent.shell.reading.running import BUILTINS
from assent.shell.reading.values import ASSIGNED, assigned, choices
from assent.shell.reading.walk import DEEPEST, Walker, bind
from assent.shell.reading.written import WrittenFiles
from assent.shell.words.scope import EMPTY, HERE, UNKNOWN, Scope, StopReading, Value, text_of, unique, word_of
from assent.shell.words.script import Command, Redirect, Word
from assent.shell.words.words import WordReader

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from assent.shell.reading.follower import Definition, Input, Raw
    from assent.shell.reading.walk import Reading

_ANY_INPUT = listed(
    "sudo su doas ssh runuser at batch unshare nsenter chroot lxc incus machinectl limactl multipass adb toolbox "
    "distrobox wsl"
)
"""Without a command they run a shell that reads standard input."""
_PRINTS = listed("echo printf tee cat print yes")
_PLAIN = re.compile(r"[\w\s./=-]*[\w./=-]")
_MOST_SETTINGS = 20
"""2,000 variables with a text each, before one command, took 5.6 s."""
_MOST_WRAPPERS = 32
"""`nice timeout 5 …`: each is peeled off the whole command. 3,000 of them took 6 s."""


class Dispatcher:
    """Turns single commands into `Command` values and follows what they run."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._walker = Walker(reading, self)
        self._written = WrittenFiles()
        self._texts: set[tuple[str, str | None]] = set()
        """Texts within texts that were read, and in which directory: no guess is read twice."""

    @property
    def functions(self) -> dict[str, Definition]:
        """The functions that the text has defined so far."""
        return self._reading.functions

    def emit(self, command: Command) -> Command:
        """Note a command, and what it writes into a file."""
        self._written.note(command)
        return self._reading.emit(command)

    def written(self, file: Word) -> str | None:
        """Return what the text has written into the file, as far as known."""
        return self._written.text_in(file)

    def surround(self, given: Mapping[str, str], scope: Scope) -> None:
        """Read the texts in the variables of a call that programs run. Never raises, like `read`."""
        try:
            self.run_by_variables({name: text for name, text in given.items() if is_run(name)}, Command(argv=()), scope)
        except (StopReading, RecursionError) as limit:
            self._reading.stopped = True
            self._reading.doubt(str(limit) or "it is nested too deeply")
        except (ValueError, LookupError) as fault:
            self._reading.doubt(f"reading it failed ({type(fault).__name__})")

    def read(self, text: str, scope: Scope) -> None:
        """Read a whole text. Never raises; what is beyond the limits is noted as unread."""
        try:
            self._walker.read(text, scope)
            self._walker.read_uncalled(scope)
            self._guess(self._written.git_hooks(), Command(argv=()), scope)
            self._guess([*self._written.run_by_others()], Command(argv=(), guess=True), scope)
        except StopReading as limit:
            self._reading.stopped = True
            self._reading.doubt(str(limit))
        except RecursionError:
            self._reading.doubt("it is nested too deeply")
        except (ValueError, LookupError) as fault:
            self._reading.doubt(f"reading it failed ({type(fault).__name__})")

    def simple(self, raws: Sequence[Raw], scope: Scope) -> list[Command]:
        """Read one simple command; with several possible values of its variables, once for each."""
        scope.forks.clear()
        commands = self._simple(raws, scope)
        if not scope.forks:
            return commands
        forks = dict(scope.forks)
        scope.forks.clear()
        for choice in choices(forks):
            scope.pinned = choice
            commands.extend(self._simple(raws, scope))
        scope.pinned = {}
        scope.forks.clear()
        return commands

    def expand(self, raws: Sequence[str], scope: Scope) -> tuple[list[Word], tuple[Command, ...]]:
        """Return the words that the raw words become, and the commands whose output is in them."""
        reader = self._word_reader(scope)
        return [word for raw in raws for word in reader.fields(raw)], tuple(reader.sources)

    def redirected(self, raws: Sequence[Raw], scope: Scope) -> Input:
        """Read the redirections of a compound command: what its inside reads, after noting what it writes."""
        redirects, given, sources = read_redirects(raws, scope, scope, self.substitute, self.written)
        if redirects:
            self.emit(
                Command(
                    argv=(),
                    redirects=redirects,
                    arguments_from=sources,
                    wrappers=scope.wrappers,
                    cwd=_cwd(scope),
                    guess=scope.guess,
                )
            )
        return given

    def _simple(self, raws: Sequence[Raw], scope: Scope) -> list[Command]:
        words = [raw for raw in raws if isinstance(raw, str)]
        reader = self._word_reader(self._behind_itself(raws, words, scope))
        ahead = list(itertools.takewhile(ASSIGNED.match, words))
        environment = [assigned(raw, reader, scope) for raw in ahead]
        self._reading.spend(sum(len(text) for _, value in environment for text in value.texts))
        argv = tuple(word for raw in words[len(ahead) :] for word in reader.fields(raw))
        sources = tuple(reader.sources)
        redirects, given, more = read_redirects(
            raws, scope, self._behind_itself(raws, words, scope), self.substitute, self.written
        )
        if not argv:
            self._run_by_the_shell(dict(environment), scope)
            for name, value in environment:
                scope.variables[name] = replace(value, sources=unique((*value.sources, *sources)))
                scope.exported |= {name} if scope.exports_all else set()
            return [self.emit(self._bare(redirects, sources + more, scope))] if redirects or sources else []
        set_ahead = tuple((name, word_of(value.texts[0])) for name, value in environment)
        command = Command(
            argv=argv,
            redirects=redirects,
            feeders=given.feeders,
            fed_text=given.fed_text,
            arguments_from=unique(sources + more),
            wrappers=scope.wrappers,
            environment=(*self._exported(scope), *set_ahead),
            cwd=_cwd(scope),
            guess=scope.guess,
        )
        return self.perform(command, scope, dict(environment))

    def _behind_itself(self, raws: Sequence[Raw], words: list[str], scope: Scope) -> Scope:
        """Return the scope for words with `>(…)` in them: what is inside reads what the command itself prints."""
        texts = [raw if isinstance(raw, str) else raw.raw for raw in raws]
        if not any(">(" in text for text in texts):
            return scope
        inner = scope.copy()
        argv = tuple(word_of(word) for word in words)
        if words[:1] and words[0] in _PRINTS:  # what it prints is not worked out here
            argv = (word_of(f"{words[0]} (printed)"), *argv[1:])
        inner.feeders = (Command(argv=argv), *scope.feeders)
        inner.fed_text = None
        return inner

    def _bare(self, redirects: tuple[Redirect, ...], sources: tuple[Command, ...], scope: Scope) -> Command:
        return Command(
            argv=(),
            redirects=redirects,
            arguments_from=sources,
            wrappers=scope.wrappers,
            cwd=_cwd(scope),
            guess=scope.guess,
        )

    def _exported(self, scope: Scope) -> tuple[tuple[str, Word], ...]:
        if not scope.exported:
            return ()
        named = ((name, scope.variables.get(name)) for name in sorted(scope.exported))
        return tuple((name, word_of(value.texts[0])) for name, value in named if value)

    def perform(self, command: Command, scope: Scope, ahead: dict[str, Value] | None = None) -> list[Command]:
        """Note the command and what it runs. `ahead` are the variables set for it alone."""
        if not command.argv:
            return [self.emit(command)] if command.redirects or command.arguments_from else []
        first = command.argv[0]
        if not first.known:
            name = first.text.rsplit("/", 1)[-1]
            if "\0" in name or not name:
                self._reading.doubt("the name of a program is known only when it runs")
                return [self.emit(command)]
            command = replace(command, argv=(replace(first, text=name, known=True), *command.argv[1:]))
        if ahead:
            scope = scope.copy()
            scope.variables.update(ahead)
            scope.exported |= ahead.keys()
            self.run_by_variables({name: value.texts[0] for name, value in ahead.items()}, command, scope)
        return self._followed(command, scope)

    def _followed(self, command: Command, scope: Scope) -> list[Command]:
        program = command.program
        if alias := scope.aliases.get(command.argv[0].text):
            return self._aliased(alias, command, scope)
        if program[:1] in {"=", "^"} and len(program) > 1:  # zsh: a program's path; nu: a program that is no builtin
            return self.perform(replace(command, argv=(word_of(program[1:]), *command.argv[1:])), scope)
        if program in self._reading.functions:
            inner = scope if not command.feeders else scope.copy()
            inner.feeders, inner.fed_text = command.feeders, command.fed_text
            return self._walker.call(program, [text_of(word) for word in command.argv[1:]], inner)
        if program in BUILTINS:
            return BUILTINS[program](self, command, scope)
        if language_of(program):
            return self._interpreter(command, scope)
        if (text := self.written(command.argv[0])) is not None and "/" in command.argv[0].text:
            inner = replace(command, wrappers=(*command.wrappers, program))
            return [self.emit(command), *self.nested(text, inner, scope, command.argv)]
        return self._wrapped(command, scope)

    def _aliased(self, alias: str, command: Command, scope: Scope) -> list[Command]:
        """Read an alias in its place, which it has once: `alias ls='ls -l'`."""
        inner = scope.copy()
        name = command.argv[0].text
        del inner.aliases[name]
        if _PLAIN.fullmatch(alias):
            return self.perform(replace(command, argv=(*map(word_of, alias.split()), *command.argv[1:])), inner)
        behind = shlex.join(map(text_of, command.argv[1:]))
        return self.nested(f"{alias} {behind}", replace(command, wrappers=(*command.wrappers, name)), inner)

    def _run_by_the_shell(self, given: Mapping[str, Value], scope: Scope) -> None:
        """Read the texts of variables that the shell itself runs: `PROMPT_COMMAND='…'`."""
        if own := {name: value.texts[0] for name, value in given.items() if name in RUN_BY_SHELLS}:
            self.run_by_variables(own, Command(argv=()), scope)

    def run_by_variables(self, given: Mapping[str, str], command: Command, scope: Scope) -> None:
        """Read the texts in variables that some program runs: `EDITOR='sh -c …' crontab -e`."""
        texts = [
            text
            for name, value in given.items()
            for text in filter(None, (text_run_for(name, value), *guessed_in_variable(name, value)))
        ]
        if len(texts) > _MOST_SETTINGS:
            raise StopReading(f"it sets more than {_MOST_SETTINGS} variables that programs run for one command")
        if texts:
            alone = scope.copy()
            alone.exported = frozenset()
            self._guess(texts, replace(command, feeders=(), fed_text=None, environment=()), alone)

    def _guess(self, texts: Iterable[str], command: Command, scope: Scope) -> list[Command]:
        """Read texts that may be no shell text: what cannot be read of them is no fault."""
        doubts = len(self._reading.unread)
        made: list[Command] = []
        for text in texts:
            if (text, scope.cwd) not in self._texts or text in SHELLS:
                made.extend(self.nested(text, command, scope))
        del self._reading.unread[doubts:]
        return made

    def _wrapped(self, command: Command, scope: Scope) -> list[Command]:
        """Follow a wrapper's command, and then what its own words may hold: no guess is read twice."""
        if command.fed_text is None and (text := self._written.told_to(command)) is not None:
            command = replace(command, fed_text=text)
        peeled = peel(command.program, command.argv)
        if peeled is None:
            return [self.emit(command), *self._inside(command, scope)]
        own = peeled.own(command.argv)
        return [*self._peeled(command, peeled, own, scope), *self._inside(command, scope, own)]

    def _peeled(self, command: Command, peeled: Peeled, own: Sequence[Word], scope: Scope) -> list[Command]:
        program = command.program
        inner = replace(
            command,
            wrappers=(*command.wrappers, program),
            environment=(*command.environment, *peeled.environment, *set_by_options(own)),
        )
        if peeled.text is not None:
            return [self.emit(command), *self.nested(text_of(peeled.text), inner, scope)]
        if peeled.argv:
            if len(inner.wrappers) > _MOST_WRAPPERS:
                raise StopReading(f"a command has more than {_MOST_WRAPPERS} wrappers")
            ahead = {name: Value(texts=(text_of(word),)) for name, word in peeled.environment}
            itself = [self.emit(command)] if program in CONTAINERS | READ_SETTINGS else []
            if peeled.folder is not None:
                scope = scope.copy()
                scope.move(text_of(peeled.folder))
                inner = replace(inner, cwd=_cwd(scope))
            return [*itself, *self.perform(replace(inner, argv=peeled.argv), scope, ahead)]
        made = [self.emit(command)]
        if program in _ANY_INPUT and (command.feeders or command.fed_text is not None):
            made.extend(self.perform(replace(inner, argv=(word_of("bash"),)), scope))
        return made

    def _inside(self, command: Command, scope: Scope, own: Sequence[Word] | None = None) -> list[Command]:
        inner = replace(command, wrappers=(*command.wrappers, command.program))
        driven = replace(inner, feeders=(command,), fed_text=None)  # a shell at the end of the program's own pipe
        texts = texts_inside(command, self.written)
        made = [each for text in texts for each in self._guess([text], driven if text in SHELLS else inner, scope)]
        guesses = guessed(command, [text_of(word) for word in (command.argv[1:] if own is None else own)])
        made.extend(self._guess(guesses, replace(inner, guess=True), scope))
        if starts_shell_in(command):
            made.append(self.emit(replace(driven, argv=(word_of("sh"),))))
        return made

    def nested(self, text: str, command: Command, scope: Scope, arguments: Sequence[Word] = ()) -> list[Command]:
        """Read text that the command gives to a new shell."""
        if text.strip() == UNKNOWN:
            return []  # whoever judges the command sees that its text is unknown
        self._texts.add((text, scope.cwd))
        inner = scope.copy()
        inner.depth += 1
        inner.feeders, inner.fed_text, inner.wrappers = command.feeders, command.fed_text, command.wrappers
        inner.guess = command.guess
        if arguments:
            bind(inner, text_of(arguments[0]), [text_of(word) for word in arguments[1:]])
        return self._walker.read(text, inner)

    def _interpreter(self, command: Command, scope: Scope) -> list[Command]:
        made = [self.emit(command), *self._inside(command, scope)]
        code = code_of(command)
        if code is None or (text := self._code_text(command)) is None:
            return made
        inner = replace(command, wrappers=(*command.wrappers, command.program))
        if code.stdin:
            inner = replace(inner, feeders=(), fed_text=None)
        if language_of(command.program) == "shell":
            arguments = code.arguments if code.text else (command.argv[0], *code.arguments)
            return [*made, *self.nested(text, inner, scope, arguments)]
        self._reading.spend(4 * len(text))
        if is_too_long(text):
            self._reading.doubt(f"the code for {command.program} is too long")
            return made
        for act in acts_of(text, language_of(command.program)):
            if act.text in SHELLS:  # whatever the code gives it to read
                made.append(self.emit(replace(inner, argv=(word_of("sh"),), feeders=(command,), fed_text=None)))
            elif act.text is not None:
                made.extend(self.nested(act.text, inner, scope))
            elif act.argv:
                feeder = (Command(argv=tuple(map(word_of, act.feeder))),) if act.feeder else inner.feeders
                words = tuple(map(word_of, act.argv))
                made.extend(self.perform(replace(inner, argv=words, redirects=(), feeders=feeder), scope))
        return made

    def _code_text(self, command: Command) -> str | None:
        code = code_of(command)
        if code is None or code.module:
            return None
        if code.file is not None:
            made = code.file.text.startswith("/dev/fd/") and command.arguments_from
            return output_of(command.arguments_from) if made else self.written(code.file)
        return text_of(code.text) if code.text is not None else command.fed_text if code.stdin else None

    def substitute(self, text: str, scope: Scope) -> tuple[str, tuple[Command, ...]]:
        """Read a substitution's commands; return what it prints, as far as known, and the commands."""
        inner = scope.copy()
        inner.depth += 1
        commands = tuple(self._walker.read(text, inner))
        if re.fullmatch(r"\s*<\s*\S+\s*", text):
            return UNKNOWN, commands
        if any(command.program == "pwd" for command in commands) and len(commands) == 1:
            return inner.cwd or HERE, commands
        printed = output_of(commands[-1:]) if commands and commands[-1].feeders else output_of(commands)
        if printed is not None:
            return printed.rstrip("\n"), commands
        listed = listed_by((commands[-1], *commands[-1].feeders))
        return " ".join(listed) if listed else UNKNOWN, commands

    def _word_reader(self, scope: Scope) -> WordReader:
        return WordReader(scope, self.substitute)

    def here(self, text: str, command: Command, scope: Scope) -> list[Command]:
        """Read text that the command gives to the same shell."""
        if text.strip() == UNKNOWN:
            return []
        if scope.depth > DEEPEST:
            raise StopReading("it is nested too deeply")
        wrappers, feeders, fed_text = scope.wrappers, scope.feeders, scope.fed_text
        scope.depth += 1
        scope.wrappers = (*command.wrappers, command.program)
        scope.feeders, scope.fed_text = command.feeders, command.fed_text
        made = self._walker.read(text, scope)
        scope.depth -= 1
        scope.wrappers, scope.feeders, scope.fed_text = wrappers, feeders, fed_text
        return made


def _cwd(scope: Scope) -> Word | None:
    return word_of(scope.cwd.replace(EMPTY, "")) if scope.cwd is not None else None
