"""The call of a test card: it names no tool of anybody's, and no agent has a key by its name, so nothing can run it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.domain.call.tool_call import ToolCall
from app.domain.words.say import say

if TYPE_CHECKING:
    from app.domain.text.language import Language

TRIAL_AGENT = "assent channels test"
"""Who asks. No key is made for an agent of this name."""

TRIAL_TOOL = "assent_channels_test"
TRIAL_RULE = "assent channels test"


def trial_call(org: str, language: Language) -> ToolCall:
    """Return the call; all that it carries is the sentence that it is a test."""
    return ToolCall(
        org=org,
        agent=TRIAL_AGENT,
        session=None,
        call_id=None,
        tool=TRIAL_TOOL,
        arguments={say(language, "trial.label"): say(language, "trial.says")},
        requester=None,
        owner=None,
        claim=None,
    )
