"""Writes how far the trail has come, again and again, until it is killed: `python -m … FILE`."""

from __future__ import annotations

import sys
from itertools import count
from pathlib import Path

from app.storage.trail.head_file import Heads, write_heads


def main() -> None:
    """Say when it has begun, and write; the epoch and the event are of one number."""
    path = Path(sys.argv[1])
    for number in count(1):
        write_heads(path, Heads(epoch=number, orgs={"acme": (number, f"{number:064x}")}))
        if number == 1:
            sys.stdout.write("begun\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
