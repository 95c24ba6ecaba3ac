"""The hooks of the file: every one can be built, and can be reached by some call."""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import TYPE_CHECKING

from msgspec import Struct

from app.domain.rules.policy import UnknownTools
from app.policies.marks.entries import listing, read_entry
from app.policies.marks.faults import near
from app.policies.models.file_models import HookEntry
from assent.hooks.contract.hook import OnError
from assent.hooks.contract.matcher import NeverMatchesError, matcher
from assent.hooks.contract.moments import TOOL_MOMENTS, Moment
from assent.hooks.contract.tool_names import CANONICAL
from assent.hooks.declared.build import DeclarationError, build
from assent.hooks.declared.declaration import Declaration
from assent.hooks.engine.registry import HookRegistry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from app.domain.call.tool import Tool
    from app.domain.text.canonical import JsonValue
    from app.policies.marks.yaml_marks import MarkedYaml, Path
    from app.policies.models.file_models import HeadEntry

GUARDS = ("command-guard", "path-guard")
"""The ready guards that stand where nothing else would."""
_BUILT_IN = "built in"
_WAYS = ("use", "python", "command")
_OUR_IDS = frozenset({"read-only"})  # the guard that the run-time switch moves
_STAND_INS = {"rate-limit": {"counters": object()}}  # at work, the gateway's own stand here
_GLOB = re.compile(r"[*?\[]")


class HookGround(Struct, frozen=True, kw_only=True):
    """What the hooks of a file are checked against; `trial` takes each of them once, as the gateway will."""

    tools: Mapping[str, Tool]
    unknown_tools: UnknownTools
    agents: Sequence[str]
    """The agents that the file names; none: nothing is known of agents."""
    prefixes: tuple[str, ...] = ()
    trial: HookRegistry


def ground_for(
    tools: Mapping[str, Tool], unknown_tools: UnknownTools, agents: Iterable[str], *, prefixes: tuple[str, ...] = ()
) -> HookGround:
    """Prepare the check of a file's hooks."""
    return HookGround(
        tools=tools, unknown_tools=unknown_tools, agents=tuple(agents), trial=HookRegistry(), prefixes=prefixes
    )


def is_guarded(head: HeadEntry, *, declared: bool) -> bool:
    """Say whether the ready guards stand although the file does not name them.

    They do where everything is allowed and the file declares no hook, and wherever it says `guards: on`.
    """
    if head.guards is None:
        return head.default == "allow" and not declared
    return head.guards == "on"


def guards_beside(declared: Iterable[Declaration]) -> tuple[Declaration, ...]:
    """Return the ready guards that the file does not declare for everybody itself."""
    named = {each.use for each in declared if not each.agents and not each.tools}
    missing = (name for name in GUARDS if name not in named)
    return tuple(Declaration(on=Moment.PRE_TOOL_USE, use=name, id=name, origin=_BUILT_IN) for name in missing)


def read_hooks(marked: MarkedYaml, ground: HookGround) -> tuple[Declaration, ...]:
    """Return the hooks that are for every agent, or name their agents; every fault is noted."""
    found = [read_hook(marked, ("hooks", index), raw, ground) for index, raw in enumerate(listing(marked, "hooks"))]
    return tuple(declaration for declaration in found if declaration is not None)


def read_hook(
    marked: MarkedYaml, path: Path, raw: JsonValue, ground: HookGround, *, agent: str | None = None
) -> Declaration | None:
    """Return one hook (of one agent, if `agent` names it), or None with its faults noted."""
    entry = read_entry(marked, path, raw, HookEntry)
    if entry is None:
        return None
    moment = _moment(marked, path, entry)
    ways = [way for way in _WAYS if getattr(entry, way) is not None]
    if len(ways) != 1:
        said = f"has {' and '.join(ways)}" if ways else "does not say what runs"
        marked.report(path, said, "a hook is exactly one of use, python and command")
    if agent is not None and entry.agents is not None:
        marked.report((*path, "agents"), f'stands under the agent "{agent}" and is for it alone', "leave it out")
    _refuse_unmatched(marked, (*path, "agents"), entry.agents, ground.agents or None, fold=str, what="agents")
    if moment is not None:
        _refuse_unknown_tools(marked, path, entry, moment, ground)
    if moment is None or len(ways) != 1:
        return None
    declaration = Declaration(
        on=moment,
        use=entry.use,
        python=entry.python,
        command=entry.command,
        options=entry.options,
        tools=tuple(entry.tools or ()),
        agents=(agent,) if agent is not None else tuple(entry.agents or ()),
        priority=entry.priority,
        timeout=entry.timeout,
        on_error=None if entry.on_error is None else OnError(entry.on_error),
        id=entry.id,
        origin=f"{PurePath(marked.file).name}:{marked.mark(path).line}",
    )
    _try(marked, path, declaration, ground)
    return declaration


def _moment(marked: MarkedYaml, path: Path, entry: HookEntry) -> Moment | None:
    try:
        return Moment(entry.on)
    except ValueError:
        names = [moment.value for moment in Moment]
        marked.report((*path, "on"), f'unknown moment "{entry.on}"', near(entry.on, names, what="moments"))
        return None


def _refuse_unknown_tools(marked: MarkedYaml, path: Path, entry: HookEntry, moment: Moment, ground: HookGround) -> None:
    at: Path = (*path, "tools")
    if entry.tools is not None and moment not in TOOL_MOMENTS:
        marked.report(at, f"{moment} is about no tool", "leave it out")
        return
    # A file without a catalogue says nothing of the tools that a pattern may stand for.
    nameless = not ground.tools and ground.unknown_tools is UnknownTools.RULES
    passing = [part.startswith(ground.prefixes) or (nameless and _GLOB.search(part)) for part in entry.tools or ()]
    checked = [None if passes else part for part, passes in zip(entry.tools or (), passing, strict=True)]
    known = {*ground.tools, *CANONICAL}
    _refuse_unmatched(marked, at, checked, known, fold=ground.trial.canonical, what="tools")


def _refuse_unmatched(
    marked: MarkedYaml,
    path: Path,
    parts: Sequence[str | None] | None,
    known: Iterable[str] | None,
    *,
    fold: Callable[[str], str],
    what: str,
) -> None:
    names = None if known is None else sorted(known)
    for index, part in enumerate(parts or ()):
        try:
            matcher(part, known=names, fold=fold, what=what)
        except NeverMatchesError as error:
            marked.report((*path, index), str(error))


def _try(marked: MarkedYaml, path: Path, declaration: Declaration, ground: HookGround) -> None:
    """Build and register the hook once, so that what could only fail at work is said at load."""
    if declaration.id in _OUR_IDS:
        marked.report((*path, "id"), f'"{declaration.id}" is a name of our own', "choose another one")
        return
    try:
        hook = build(declaration, supplies=_STAND_INS)
    except DeclarationError as error:
        steps = tuple(error.path.split(".", 1)) if error.path else ()
        marked.report((*path, *steps), error.why, error.mend)
        return
    try:
        ground.trial.add(hook, id=declaration.id, agents=declaration.agents or None, on_error=declaration.on_error)
    except ValueError as error:
        said = str(error)
        key = next((key for key in ("on_error", "id") if key in said.split() and getattr(declaration, key)), None)
        marked.report((*path, key) if key else path, said)
