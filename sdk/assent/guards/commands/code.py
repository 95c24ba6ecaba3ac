"""A rule on code in other languages: what deletes, beside a path of the system's, whatever the calls between them are."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from assent.guards.commands.findings import doubtful
from assent.guards.commands.places import device, normal, of_the_system, protected, system_file
from assent.guards.commands.stores import keeps_data
from assent.shell.inside.texts import EVALUATORS
from assent.shell.lists import listed
from assent.shell.programs.programs import language_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from assent.guards.commands.findings import Finding
    from assent.shell.words.script import Command

_VERB = (
    r"(?:\b(?:rm(?:dir|dir_all|tree|Sync|dirSync)?|rm_rf?|unlink\w{0,8}|[eE]rase|truncate|wipe|remove(?:_\w{1,12}|Sync|All|Dir|File|Tree|Item\w{0,3})?|Remove\w{0,12}"
    r"|move|rename|mv|delete(?:_\w{1,12}|(?:Directory|File|Recursively|Sync|Tree|Dir)\w{0,12})?|Delete\w{0,12}|file\.remove|rmtree|shred)\b)"
)
_PATH = r"[\"'`]((?:/|~)[^\"'`\n]{0,200})[\"'`]"
_BESIDE = re.compile(rf"{_VERB}[^\n\"'`]{{0,80}}{_PATH}|{_PATH}[^\n\"'`;]{{0,120}}?{_VERB}")
_OTHERS = listed(
    "manage.py rails artisan tinker console flask shell_plus pwsh powershell dotnet csi fsi mix rebar3 groovysh amm jbang nim chpl v zig janet fennel pike rexx gforth maxima octave gp "
    "sage ghci stack cabal purs idris2 hy coffee ts-node tsx zx go rust-script tcc kotlinc"
)
_ALL_HERE = re.compile(
    r"\b(?:listdir|scandir|readdir\w{0,4}|iterdir|rglob\(\s{0,3}[\"'`]\*[\"'`]|os\.walk|Dir\.(?:children|entries|each_child))\s{0,3}\(?\s{0,3}[\"'`]?\.?[\"'`]?\s{0,3}[),]"
    r"|<\*>|\bglob\w{0,5}\s{0,3}\(?\s{0,3}[\"'`](?:\.?/)?(?:\*\*/)?\*(?:\.\*)?[\"'`]"
)
"""All that is in the current tree, as code asks for it."""
_GOES_THROUGH = re.compile(
    r"\b(?:os\.walk|scandir|listdir|iglob|glob|Path|readdir\w{0,4}|opendir|find|finddepth|children|each_child|entries|walk)"
    r"\s{0,3}[(,]?[^\"'`\n]{0,40}[\"'`]((?:/|~)[^\"'`\n]{0,200})[\"'`]"
)
"""What lists a tree, and which."""
_DELETES = re.compile(
    r"\b(?:os\.remove|unlink\w{0,4}|rmtree|rmdir\w{0,4}|rmSync|rm_rf?|File\.delete|FileUtils\.rm\w{0,5})\b"
)
_OWN_STATEMENTS = frozenset({"mongo", "mongosh"})
"""Their code is statements, which another rule reads."""
_CHOOSES = re.compile(
    r"\b(?:endswith|startswith|endsWith|startsWith|suffix|fnmatch|extname|getmtime|st_mtime|end_with|start_with)\b"
)
_ALL_RECORDS = re.compile(
    r"\b(?:process|os|Process)\.kill\(\s{0,3}-?1\s{0,3}[,)]|\.all\(\)\s{0,5}\.(?:_raw_)?delete\(|\b(?:delete_all|destroy_all|drop_all|drop_tables|drop_database|dropDatabase|dropAllTables|truncateAll|deleteAll"
    r"|forceDeleteAll)\b|\bdeleteMany\(\s{0,3}(?:\{\s{0,3}\})?\s{0,3}\)|\b(?:flushall|flushdb)\s{0,3}\(|\bsync\(\s{0,3}\{\s{0,3}force:\s{0,3}true"
    r"|\bDB::(?:statement|unprepared)\(['\"](?:drop|truncate|delete)\b|::truncate\(\)|::query\(\)->delete\(",
    re.IGNORECASE,
)
"""All rows of a table, or all tables, as libraries for databases say it."""
_LONGEST = 20_000


def on_code(command: Command) -> Iterator[Finding]:
    """Ask where code that deletes names what belongs to the system: its calls are not followed one by one."""
    program = command.program
    if not (program in EVALUATORS or program in _OTHERS or language_of(program) not in {"", "shell"}):
        return
    texts = [word.text for word in command.argv[1:] if len(word.text) > 8]
    for text in (*texts, command.fed_text or ""):
        for found in _BESIDE.finditer(text[:_LONGEST]):
            path = normal(found[1] or found[2])
            if (
                protected(path, globbed="*" in path)
                or of_the_system(path)
                or system_file(path)
                or device(path)
                or keeps_data(path)
            ):
                yield doubtful(f"the code for {program} deletes something, and names {path[:60]}")
                return
        if (found := _GOES_THROUGH.search(text[:_LONGEST])) and _DELETES.search(text[:_LONGEST]):
            path = normal(found[1])
            if protected(path, globbed=False) or of_the_system(path) or keeps_data(path):
                yield doubtful(f"the code for {program} deletes what it finds in {path[:60]}")
                return
        if program not in _OWN_STATEMENTS and (found := _ALL_RECORDS.search(text[:_LONGEST])):
            yield doubtful(f"the code for {program} ends all that there is ({found[0][:40]})")
            return
        if all(what.search(text[:_LONGEST]) for what in (_ALL_HERE, _DELETES)) and not _CHOOSES.search(text[:_LONGEST]):
            yield doubtful(f"the code for {program} deletes what it finds in the current tree")
            return
