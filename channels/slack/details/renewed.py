"""What Slack's answer to a refresh token holds (``oauth.v2.access``). Pure."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Final, cast

from app.abilities.renewal import Access
from app.ports import ChannelUnavailableError

_TOKEN: Final = re.compile(r"xoxe\.xoxb-[\x21-\x7e]{4,500}")
_RENEWAL: Final = re.compile(r"xoxe-[\x21-\x7e]{4,500}")
_SHORTEST: Final = timedelta(minutes=5)
_LONGEST: Final = timedelta(hours=12)
_UNTOLD: Final = timedelta(hours=1)


def access_in(answer: object) -> Access:
    """Return the pair that an answer gives. Half of one is kept: the refresh token behind it is spent all the same.

    Raises ChannelUnavailableError where neither is in it.
    """
    told = cast("dict[str, object]", answer) if isinstance(answer, dict) else {}
    token, renewal = _named(told.get("access_token"), _TOKEN), _named(told.get("refresh_token"), _RENEWAL)
    if told.get("token_type") not in {None, "bot"}:
        token = ""  # a person's own: nothing may be posted with it
    if not token and not renewal:
        why = "oauth.v2.access: Slack's answer holds no tokens"
        raise ChannelUnavailableError(why, ambiguous=True)
    return Access(token=token, renewal=renewal, lasts=_lasts(told.get("expires_in")))


def _named(told: object, form: re.Pattern[str]) -> str:
    return told if isinstance(told, str) and form.fullmatch(told) else ""


def _lasts(told: object) -> timedelta:
    """Read ``expires_in``. What is not told, or is nonsense, is taken for little: renewing too soon breaks nothing."""
    if not isinstance(told, int) or isinstance(told, bool) or told <= 0:
        return _UNTOLD
    return min(max(timedelta(seconds=told), _SHORTEST), _LONGEST)
