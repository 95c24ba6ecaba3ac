"""Libraries without what they load for others: colours, a command line, a look through everything that is installed.

A start waits for each of its imports. What is left out here is loaded at the import of a library that every gateway
needs, and used by none.
"""

from __future__ import annotations

import importlib.metadata
import os
import sys
from contextlib import contextmanager
from importlib import import_module
from importlib.metadata import EntryPoints
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator


def begin_lean() -> None:
    """Begin a gateway's process, before it imports anything else of ours."""
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")  # it looks for some through all that is installed
    with without("rich"):  # for traces in colour, with the values of local variables: secrets are among them
        _ = import_module("structlog")
    _load_server()


def _load_server() -> None:
    """Load the web server without its own command line, and what that is made of. Its parts are in their modules."""
    taken = ("Server", "main", "run")
    with without("uvicorn.main", *taken):
        package = import_module("uvicorn")
    for name in taken:
        if getattr(package, name) is None:
            delattr(package, name)


@contextmanager
def without(library: str, *taken: str) -> Generator[None]:
    """Let what is imported meanwhile do without a library, as if it were not installed; what is `taken` of it is None.

    One that is loaded already stays, and afterwards whoever asks for it gets it.
    """
    if library in sys.modules:
        yield
        return
    stand_in = ModuleType(library)  # no package: what is imported from within it is not found
    vars(stand_in).update(dict.fromkeys(taken))
    sys.modules[library] = stand_in
    try:
        yield
    finally:
        del sys.modules[library]


@contextmanager
def nothing_installed() -> Generator[None]:
    """Let what is imported meanwhile find no entry point: each look for some reads the lists of every package."""
    looked = importlib.metadata.entry_points

    def found_none(**_: object) -> EntryPoints:
        return EntryPoints(())

    importlib.metadata.entry_points = found_none
    try:
        yield
    finally:
        importlib.metadata.entry_points = looked
