"""Our channels are held to the suite that is shipped for everybody's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from channels import registry
from channels.conformance.suite import ChannelConformance
from tests.channels.feishu.conformance_feishu import FeishuStage, feishu_stage
from tests.channels.slack.conformance_slack import SlackStage, slack_stage

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from channels.conformance.harness import Harness


class TestFeishu(ChannelConformance):
    def set_up(self) -> AbstractAsyncContextManager[Harness]:
        return feishu_stage()


class TestSlack(ChannelConformance):
    def set_up(self) -> AbstractAsyncContextManager[Harness]:
        return slack_stage()


def test_every_platform_that_is_found_is_held_to_the_suite() -> None:
    assert set(registry.platforms()) == {FeishuStage.spec.kind, SlackStage.spec.kind}
