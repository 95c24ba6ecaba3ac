"""Whether only more people are asked than before."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.domain.request.quorum import Stage


def are_wider(stages: Sequence[Stage], than: Sequence[Stage]) -> bool:
    """Say whether stages are the same as others but for people who were brought in."""
    return len(stages) == len(than) and all(
        replace(stage, of=other.of) == other and set(other.of) <= set(stage.of)
        for stage, other in zip(stages, than, strict=True)
    )
