"""An answer that cannot be written (a full disk, a reader that is gone): it is said, and the command ends with 1.

What is shown this once and was seen by nobody is of no use to anybody: whoever shows it says what became of it.
"""

from __future__ import annotations

import errno
import os
import sys
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NoReturn

import typer

if TYPE_CHECKING:
    from collections.abc import Generator


def show_once(text: str, *, otherwise: str) -> None:
    """Print what is shown this once; where that fails, say what there is `otherwise`, and end with 1."""
    try:
        tell(text)
    except OSError as error:
        end_unwritten(error, otherwise)


def tell(text: str) -> None:
    """Print a text. Raises OSError, also where standard output is closed: `echo` would say nothing, to nobody."""
    if sys.stdout is None:  # pyright: ignore[reportUnnecessaryComparison] - so it is behind >&-
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))
    typer.echo(text)


def end_unwritten(error: OSError, more: str) -> NoReturn:
    """Say that the answer could not be written, and what follows from that; end with 1."""
    _say(error, more)
    raise typer.Exit(code=1)


@contextmanager
def answering() -> Generator[None]:
    """Say it of any command whose answer cannot be written, instead of a traceback."""
    try:
        yield
    except OSError as error:
        if not _is_stuck():
            raise
        _say(error, "what was to be done may be done all the same")
        sys.exit(1)


def _is_stuck() -> bool:
    """Say whether standard output still holds what it could not write."""
    try:
        sys.stdout.flush()
    except OSError:
        return True
    return False


def _say(error: OSError, more: str) -> None:
    with suppress(OSError, ValueError, AttributeError):  # what is still held would fail again at the very end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    typer.echo(f"the answer could not be written: {error.strerror}; {more}", err=True)
