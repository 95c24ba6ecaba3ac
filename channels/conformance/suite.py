"""What every channel must do, in the same sentences for all: real calls to a strict stand-in of each platform.

Whoever writes a channel subclasses it under a name that pytest collects::

    class TestPaper(ChannelConformance):
        def set_up(self) -> AbstractAsyncContextManager[Harness]:
            return paper_harness()

The cases stand beside this file, by subject. What a platform does not have, its harness says with NotThereError.
"""

from __future__ import annotations

import pytest

from channels.conformance.callbacks import CallbackCases
from channels.conformance.clicks import ClickCases
from channels.conformance.messages import MessageCases
from channels.conformance.package import PackageCases
from channels.conformance.people import PeopleCases
from channels.conformance.texts import TextCases


@pytest.mark.asyncio
class ChannelConformance(PackageCases, TextCases, MessageCases, ClickCases, CallbackCases, PeopleCases):
    """The suite. Subclass it for one platform, with `set_up`, under a name that pytest collects."""
