"""A process whose disk refuses to sync once, and is sound again: what do its callers hear?

``python -m tests.durability.disk.failing_driver FILE MARK PREFIX`` prints each answer; syncs fail while MARK exists.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from app.domain.errors import UnavailableError
from tests.storage.rig import ManualClock, given_request, open_store


def tell(*said: object) -> None:
    """Say what became of a call."""
    sys.stdout.write("\t".join(map(str, said)) + "\n")


async def drive(path: str, mark: Path, prefix: str) -> None:
    """Write, fail, and try to go on."""
    async with open_store(f"sqlite:///{path}", ManualClock()) as store:

        async def said(name: str) -> None:
            try:
                await given_request(store, name)
            except UnavailableError as refusal:
                tell(name, "refused", refusal.detail, store.trouble)
            else:
                tell(name, "kept", "", store.trouble)

        await said(f"{prefix}_before")
        mark.touch()
        await said(f"{prefix}_unsynced")
        mark.unlink()
        for name in (f"{prefix}_after_1", f"{prefix}_after_2"):
            await said(name)
        try:
            async with asyncio.timeout(30):
                await store.read(lambda tx: tx.now(), org="acme")
                tell("read", "kept", "", store.trouble)
        except UnavailableError as refusal:
            tell("read", "refused", refusal.detail, store.trouble)


if __name__ == "__main__":
    asyncio.run(drive(sys.argv[1], Path(sys.argv[2]), sys.argv[3]))
