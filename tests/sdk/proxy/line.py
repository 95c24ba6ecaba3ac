"""Runs a proxy as an agent program does."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.sdk.gateway_stub import KEY
from tests.sdk.hook_process import HOOK

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class ProxyLine:
    """A proxy's command line and configuration."""

    url: str
    folder: Path
    kind: str = "mcp"
    key: str = KEY

    def words(self, *options: str) -> list[str]:
        config = self.folder / "agent.json"
        config.write_text(json.dumps({"url": self.url, "key": self.key}))
        config.chmod(0o600)
        return [sys.executable, str(HOOK), self.kind, "--config", str(config), *options]
