"""`--install` and `--uninstall`: the hook into a host's own file and out of it again, and nothing else touched."""

from __future__ import annotations

import difflib
import os
import stat
import sys
import tempfile
from pathlib import Path

from assent.command.faults import HookError
from assent.command.setup import settings as printed
from assent.command.setup.jsonc import append, entries, nodes, read_object, remove
from assent.command.setup.place import place_of
from assent.command.shapes import as_object

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from assent.command.hosts.row import Host

_MARK = "// Written by `assent-hook "


def change(host: Host, path: str | None, *, config: str | None, install: bool, yes: bool) -> int:
    """Show what would change, and change it if that is wanted; 0 when the file is as it should be, else 1."""
    place = place_of(host, path).resolve()
    try:
        old = place.read_bytes().decode() if place.exists() else None
        new = installed(host, old, config=config) if install else uninstalled(host, old)
    except (OSError, ValueError) as error:
        raise HookError(f"{place} is left as it is, for it cannot be read: {error}") from error
    if new == old:
        print(f"{place}: nothing to change", flush=True)  # noqa: T201 - a command's output
        return 0
    before, after = (old or "").splitlines(keepends=True), (new or "").splitlines(keepends=True)
    shown = difflib.unified_diff(before, after, str(place) if old is not None else "/dev/null", str(place))
    sys.stdout.writelines(line if line.endswith("\n") else line + "\n" for line in shown)
    if not yes and not _agreed():
        print(f"{place}: nothing was written; --yes writes it", flush=True)  # noqa: T201
        return 1
    _write(place, new)
    print(f"{place}: {'written' if new is not None else 'taken away'}", flush=True)  # noqa: T201
    for line in (host.trust, host.note) if install else ():
        if line:
            print(line, flush=True)  # noqa: T201
    return 0


def _agreed() -> bool:
    if not sys.stdin.isatty():
        return False
    return input("Write this? [y/N] ").strip().lower() in {"y", "yes"}


def _write(place: Path, text: str | None) -> None:
    """Whole or not at all, with the rights that the file had."""
    if text is None:
        place.unlink()
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    mode = stat.S_IMODE(place.stat().st_mode) if place.exists() else 0o600
    number, name = tempfile.mkstemp(dir=place.parent, prefix=f".{place.name}.")
    try:
        with os.fdopen(number, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        Path(name).chmod(mode)
        Path(name).replace(place)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def installed(host: Host, old: str | None, *, config: str | None) -> str:
    """The file with the hook in it. Raises `ValueError` for a file that is no settings."""
    if host.place.file.endswith(".js"):
        if old is not None and not old.startswith(_MARK):
            raise ValueError("it is another plugin")
        return printed.text(host, config=config)
    if old is None or not old.strip():
        return printed.text(host, config=config)
    wanted = printed.settings(host, config=printed.whole_path(config))
    standing = read_object(old)
    hooks = as_object(standing.get("hooks", {}))
    if hooks is None or any(not isinstance(groups, list) for groups in hooks.values()):
        raise ValueError('"hooks" is no object of lists')
    if _ours(standing) == _ours(wanted) and standing.items() >= host.place.top.items():
        return old
    text = _without(old)
    for name, value in host.place.top.items():
        text = _set(text, name, value)
    for event, groups in wanted["hooks"].items():
        text = _add(text, event, groups)
    return text


def _add(text: str, event: str, groups: list[Any]) -> str:
    hooks, standing = nodes(text).at("hooks"), nodes(text).at("hooks", event)
    if standing is not None:
        return append(text, standing, groups[0])
    return append(text, hooks, groups, key=event) if hooks else append(text, nodes(text), {event: groups}, key="hooks")


def _set(text: str, name: str, value: object) -> str:
    whole = nodes(text)
    found = read_object(text).get(name)
    if found == value:
        return text
    if found is not None:
        raise ValueError(f'"{name}" is {found!r}, not {value!r}')
    return append(text, whole, value, key=name)


def uninstalled(host: Host, old: str | None) -> str | None:
    """The file without the hook; None: nothing is left of a file that is ours alone."""
    if old is None:
        return None
    if host.place.file.endswith(".js"):
        return None if old.startswith(_MARK) else old
    if not old.strip():
        return old
    left = _without(old)
    ours_alone = Path(host.place.file).name.startswith("assent.") and left != old
    return None if ours_alone and read_object(left).items() <= host.place.top.items() else left


def _ours(settings: dict[str, Any]) -> list[tuple[str, object, dict[str, Any]]]:
    """Each entry of ours: its event, what its group says of when it is called, itself."""
    hooks = as_object(settings.get("hooks")) or {}
    found = [
        (event, None if place is None else hooks[event][index].get("matcher"), entry)
        for event, index, place, entry in entries(hooks)
        if printed.is_ours(entry)
    ]
    return sorted(found, key=lambda each: each[0])


def _without(text: str) -> str:
    """The text without any entry of ours, and without the groups and lists that held nothing else."""
    while True:
        settings = read_object(text)
        hooks = as_object(settings.get("hooks", {}))
        if hooks is None:
            return text
        ours = next((found for found in entries(hooks) if printed.is_ours(found[3])), None)
        if ours is None:
            return text
        event, index, place, _ = ours
        whole = nodes(text)
        path: list[str | int] = ["hooks", event, index]
        if place is not None:
            path += ["hooks", place]
        while len(path) > 1:  # whatever holds this alone goes with it
            node = whole.at(*path[:-1])
            if node is None or len(node.parts) > 1:
                break
            path.pop()
            if path[-1] == "hooks" and len(path) > 1:
                path.pop()  # a group is nothing without its entries
        holder = whole.at(*path[:-1])
        if holder is None:
            raise ValueError("its hooks stand elsewhere than they should")
        text = remove(text, holder, path[-1])
