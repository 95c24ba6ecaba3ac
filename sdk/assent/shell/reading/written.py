"""What the text itself writes into files: a script that it writes and then runs is read as well."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from assent.shell.inside.embedded import embedded
from assent.shell.inside.guessing import DATABASES
from assent.shell.programs.outputs import output_of
from assent.shell.words.scope import LONGEST

if TYPE_CHECKING:
    from collections.abc import Iterator

    from assent.shell.words.script import Command, Word

_HOOK = re.compile(r"(?:^|/)(?:\.git/hooks|\.husky|\.githooks)/[\w-]+$")
_MOST_WORDS = 400
_COPY = frozenset({"cp", "gcp", "mv", "gmv", "ln", "install", "ginstall", "dd"})
_MAKEFILE = r"(?:^|/)(?:GNUm|M|m)akefile$|\.mk$"
_TOLD_BY_FILES = {
    # program: which files it looks for, beside those that its words name
    **dict.fromkeys(
        ("kubectl", "oc", "helm", "nomad", "packer", "supervisord", "supervisorctl", "ansible", "salt-call"), ""
    ),
    **dict.fromkeys(("docker", "docker-compose", "podman"), r"(?:^|/)(?:docker-)?compose[\w.-]{0,40}\.ya?ml$"),
    "ansible-playbook": "",
    **dict.fromkeys(("terraform", "tofu", "terragrunt"), r"\.(?:tf|hcl)$"),
    **dict.fromkeys(("cmake", "ctest"), r"(?:^|/)CMakeLists\.txt$|\.cmake$"),
    "just": r"(?:^|/)\.?[jJ]ustfile$",
    "task": r"(?:^|/)[tT]askfile\.ya?ml$",
    "ninja": r"\.ninja$",
    "vagrant": r"(?:^|/)Vagrantfile$",
    "rake": r"(?:^|/)[rR]akefile$",
    "gradle": r"\.gradle(?:\.kts)?$",
    "mvn": r"(?:^|/)pom\.xml$",
    "ant": r"(?:^|/)build\.xml$",
    "bazel": r"(?:^|/)(?:BUILD|WORKSPACE)",
    **dict.fromkeys(("npm", "yarn", "pnpm", "bun"), r"(?:^|/)package\.json$"),
    **dict.fromkeys(("pip", "pip3", "uv"), r"(?:^|/)setup\.py$"),
    "tox": r"(?:^|/)tox\.ini$",
    "pre-commit": r"(?:^|/)\.pre-commit-config\.yaml$",
    "act": r"\.github/workflows/",
    "tmux": r"(?:^|/)\.tmux\.conf$",
    "nginx": "",
    "wg-quick": "",
    "openvpn": "",
    "emacs": "",
    "pulumi": r"(?:^|/)Pulumi\.yaml$",
    "cargo": r"(?:^|/)build\.rs$|\.cargo/config",
    "go": r"\.go$",
    "latexmk": r"\.tex$|latexmkrc$",
    "pdflatex": r"\.tex$",
    "direnv": r"\.envrc$",
    **dict.fromkeys(("make", "gmake", "gnumake", "bmake"), _MAKEFILE),
    **dict.fromkeys(("gcc", "cc", "g++", "c++", "clang", "clang++", "tcc"), r"\.(?:c|cc|cpp|cxx|h|hpp)$"),
    **dict.fromkeys(("javac", "java", "jshell"), r"\.java$"),
    **dict.fromkeys(("rustc", "rust-script"), r"\.rs$"),
    **dict.fromkeys(("kotlinc", "kotlin"), r"\.kts?$"),
    **dict.fromkeys(("csc", "dotnet"), r"\.(?:cs|fs|csproj)$"),
    "scons": r"(?:^|/)SCons(?:truct|cript)$",
    "meson": r"(?:^|/)meson\.build$",
    **dict.fromkeys(DATABASES, ""),
}
_RUN_BY_OTHERS = re.compile(
    r"(?:^|/)(?:systemd/(?:user|system)/[^/]{1,80}\.(?:service|timer|path|socket)|autostart/[^/]{1,80}\.desktop|Launch(?:Agents|Daemons)/[^/]{1,80}"
    r"|\.vscode/tasks\.json|package\.json|\.envrc|\.(?:sqlite|psql|pdb|irb|ex|screen|nano|mail|lldb|netbeans)rc|\.(?:gdb|lldb)init|\.git/config|\.gitconfig|\.vimrc|\.tmux\.conf)$"
)


class WrittenFiles:
    """Paths and what was written into them, where that is known."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def note(self, command: Command) -> None:
        """Take in what the command writes."""
        for redirect in command.redirects:
            if redirect.writes and redirect.target.known:
                text = output_of([replace(command, redirects=())])
                self._put(redirect.target.text, text, adds=">>" in redirect.operator)
        if command.program == "tee":
            for word in command.argv[1:]:
                self._put(word.text, command.fed_text, adds=False)
        elif command.program in _COPY:
            self._note_copy([word.text for word in command.argv[1:_MOST_WORDS]], command)

    def _note_copy(self, words: list[str], command: Command) -> None:
        """Take in what a copy holds: `cp a b`, `install /dev/stdin b`, `dd of=b`."""
        if command.program == "dd":
            named = dict(word.split("=", 1) for word in words if "=" in word)
            pairs = [(named.get("if", "/dev/stdin"), named.get("of", ""))]
        else:
            names = [word for word in words if not word.startswith("-")]
            pairs = [(source, names[-1]) for source in names[:-1]]
        for source, target in pairs:
            text = command.fed_text if source == "/dev/stdin" else self._texts.get(source.removeprefix("./"))
            text = output_of(command.arguments_from) if source.startswith("/dev/fd/") else text
            folded = target.rstrip("/")
            self._put(folded, text, adds=False)
            self._put(f"{folded}/{source.rsplit('/', 1)[-1]}", text, adds=False)

    def text_in(self, file: Word) -> str | None:
        """Return what was written into the file, as far as known."""
        name = file.text.removeprefix("./")
        if name in self._texts:
            return self._texts[name]
        below = [path for path in self._texts if path.endswith(f"/{name}") or name.endswith(f"/{path}")]
        return self._texts[below[0]] if len(below) == 1 else None  # named from another directory

    def told_to(self, command: Command) -> str | None:
        """Return what was written into the files that tell the command what to do: named, or its habit's."""
        if command.program not in _TOLD_BY_FILES:
            return None
        if command.arguments_from and any("/dev/fd/" in word.text for word in command.argv[1:_MOST_WORDS]):
            return output_of(command.arguments_from)
        habit = _TOLD_BY_FILES[command.program]
        words = [word.text.rpartition("=")[2].lstrip("@") for word in command.argv[1:_MOST_WORDS]]
        named = {part.removeprefix("./") for word in words for part in (word, *word.split()[1:2])}  # `.read x.sql`
        texts = [text for path, text in self._texts.items() if path in named or (habit and re.search(habit, path))]
        return "\n".join(texts)[:LONGEST] or None

    def git_hooks(self) -> Iterator[str]:
        """Yield the texts that git runs, whatever it is that the text does next."""
        yield from [text for path, text in self._texts.items() if _HOOK.search(path)]

    def run_by_others(self) -> Iterator[str]:
        """Yield texts of another shape in which something finds commands that it runs."""
        for path, text in self._texts.items():
            if _RUN_BY_OTHERS.search(path):
                yield from embedded(text)

    def _put(self, path: str, text: str | None, *, adds: bool) -> None:
        name = path.removeprefix("./")
        before = self._texts.get(name, "") if adds else ""
        if text is not None and len(before) + len(text) <= LONGEST:
            self._texts[name] = before + text
