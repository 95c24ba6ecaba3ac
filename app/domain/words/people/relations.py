"""What people are to a call, in words, in each language."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

EN: Mapping[str, str] = {
    "relation.requester": "the requester",
    "relation.owner": "the agent's owner",
    "relation.manager": "the requester's manager",
}

ZH: Mapping[str, str] = {
    "relation.requester": "申请人",
    "relation.owner": "智能体负责人",
    "relation.manager": "申请人的上级",
}
