"""Which platforms there are. They are found, not listed: each package says what it is as one value, its `SPEC`.

Ours are the packages beside this module. Another's is installed beside the gateway and has an entry point::

    [project.entry-points."assent.channels"]
    paper = "assent_paper:SPEC"

The entry point's name is the kind. Of others' packages only those are imported that somebody asks for by kind, as
assent.yaml does in a channel's ``type``; the rest are names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import TYPE_CHECKING

import channels
from app.spec import Spec, SpecRefusedError

if TYPE_CHECKING:
    from pydantic import BaseModel

GROUP = "assent.channels"
"""The entry point group in which an installed package names its platform."""

_OURS = "assent-gateway"
_loaded: dict[str, Spec] = {}  # of others, by kind: what this process has imported so far


def platforms() -> Mapping[str, Spec]:
    """Return every platform by its kind. Looking one up raises SpecRefusedError where its package is at fault."""
    return _Platforms()


def platforms_unread() -> Mapping[str, Spec]:
    """Return them for who starts no channel: what the file says of one is taken as it stands, whatever it is."""
    return _Unread(platforms())


def loaded() -> tuple[Spec, ...]:
    """Return our platforms, and those of others that this process has imported."""
    return (*_built_in().values(), *_loaded.values())


class _Platforms(Mapping[str, Spec]):
    """Ours, and others' as they are looked up."""

    def __getitem__(self, kind: str) -> Spec:
        ours, others = _built_in().get(kind), _installed().get(kind, ())
        claims = [*([_OURS] if ours else []), *map(_package, others)]
        if len(claims) > 1:
            why = f'the packages {" and ".join(claims)} all have the channel type "{kind}"'
            raise SpecRefusedError(why, mend=f"uninstall all but one of them (pip uninstall {claims[-1]})")
        if ours is None and not others:
            raise KeyError(kind)
        return ours or _load(others[0])

    def __contains__(self, kind: object) -> bool:
        return kind in _built_in() or kind in _installed()

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys((*_built_in(), *_installed())))

    def __len__(self) -> int:
        return len(list(iter(self)))


class _Unread(Mapping[str, Spec]):
    """The same with a model that takes all; where a file names ours only, nobody looks through what is installed."""

    def __init__(self, known: Mapping[str, Spec]) -> None:
        self._known = known

    def __getitem__(self, kind: str) -> Spec:
        return replace(_built_in().get(kind) or self._known[kind], settings=_any_settings())

    def __contains__(self, kind: object) -> bool:
        return kind in self._known

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)


@cache
def _any_settings() -> type[BaseModel]:
    from pydantic import ConfigDict, create_model

    return create_model("_AnySettings", __config__=ConfigDict(extra="allow"))


def ours() -> tuple[str, ...]:
    """Return the kinds of our own platforms by their packages' names, without importing any."""
    return tuple(sorted(path.parent.name for place in channels.__path__ for path in Path(place).glob("*/channel.py")))


@cache
def _built_in() -> Mapping[str, Spec]:
    return {kind: import_module(f"channels.{kind}").SPEC for kind in ours()}


def installed() -> Iterator[str]:
    """Return the kinds of others' platforms, without importing any."""
    return iter(_installed())


@cache
def _installed() -> Mapping[str, tuple[EntryPoint, ...]]:
    """Read the names that are installed, without importing what they stand for. It takes some 50 ms."""
    found: dict[str, tuple[EntryPoint, ...]] = {}
    for point in sorted(entry_points(group=GROUP), key=lambda each: (each.name, _package(each))):
        found[point.name] = (*found.get(point.name, ()), point)
    return found


def _package(point: EntryPoint) -> str:
    return point.dist.name if point.dist else point.module


def _load(point: EntryPoint) -> Spec:
    if point.name in _loaded:
        return _loaded[point.name]
    mend = f"upgrade or uninstall it (pip uninstall {_package(point)}), or take its channels out of the file"
    try:
        spec = point.load()
    except Exception as error:
        why = f"the package {_package(point)} cannot be imported: {point.value}: {type(error).__name__}: {error}"
        raise SpecRefusedError(why, mend=mend) from error
    if not isinstance(spec, Spec):
        why = f"the package {_package(point)} has no app.spec.Spec at {point.value}, but {type(spec).__name__}"
        raise SpecRefusedError(why, mend=mend)
    if spec.kind != point.name:
        why = f'the package {_package(point)} calls its channel type "{point.name}" outside and "{spec.kind}" inside'
        raise SpecRefusedError(why, mend=mend)
    _loaded[spec.kind] = spec
    return spec
