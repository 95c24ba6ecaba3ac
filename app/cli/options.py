"""The options that many commands take."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Config = Annotated[Path, typer.Option("--config", "-c", help="assent.yaml, or a directory of them")]
Org = Annotated[str | None, typer.Option("--org", help="which org, where there are several")]
HERE = Path("assent.yaml")
