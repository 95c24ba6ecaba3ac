"""Build a channel from its package: behind its guard, and complete, or not at all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from app.guard.abilities import guarded
from app.guard.calls import place_of
from app.guard.said import FITS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from app.guard.channel import GuardedChannel
    from app.spec import Spec


class ChannelUnbuiltError(Exception):
    """A channel could not be built: its package failed at it, or built what is no channel.

    `channel` is its name, `why` what failed, never in the package's own words, and `mend` what to do.
    """

    def __init__(self, channel: str, why: str, *, mend: str) -> None:
        """Keep all three."""
        super().__init__(f"the channel {channel} cannot be built: {why}; {mend}")
        self.channel = channel
        self.why = why
        self.mend = mend


def mend_of(error: Exception) -> str:
    """Say what to do about a channel that could not be built, or not set up."""
    return error.mend if isinstance(error, ChannelUnbuiltError) else "assent doctor"


_METHODS: Final = (
    *("post", "find", "refresh", "notify", "announce", "look_up", "group_members"),
    *("read", "answer", "open_form", "tell", "examine", "warm_up", "close"),
)


def build_channel(platforms: Mapping[str, Spec], kind: str, name: str, settings: object) -> GuardedChannel:
    """Return the channel of these settings. Raises ChannelUnbuiltError, or SpecRefusedError of the package."""
    spec = platforms[kind]
    package = str(getattr(spec.build, "__module__", kind)).partition(".")[0]
    mend = f"mend or upgrade the package {package}, or take the channel out of the file; the others go on without it"
    try:
        channel = spec.build(name, settings)
        lacking = [each for each in _METHODS if not callable(getattr(channel, each, None))]
        lacking += [each for each, fits in FITS.items() if not fits(getattr(channel, each, None))]
        if not lacking:
            return guarded(name, kind, channel)
        why = f"the package {package} built one without a usable {', '.join(lacking)}"
    except (Exception, SystemExit) as error:  # noqa: BLE001 - anything: it is somebody else's package
        at = place_of(error, package)
        why = f"the package {package} failed in build: {type(error).__name__}{f' ({at})' if at else ''}"
    raise ChannelUnbuiltError(name, why, mend=mend)
