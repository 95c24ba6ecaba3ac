"""An approval is spent only while somebody is there to use it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from assent.command import judge as judging
from assent.command.faults import AwayError, HookError
from assent.command.judge import Judge


def test_no_claim_is_sent_once_the_watch_says_that_the_host_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[Any] = []

    def gone() -> None:
        raise HookError("too late, or the host is gone")

    monkeypatch.setattr(judging, "persist", lambda *call, **_: sent.append(call))
    asking = Judge.__new__(Judge)
    asking.__dict__ |= {
        "_watch": SimpleNamespace(commit=gone),
        "_event": SimpleNamespace(claim_id=lambda: "clm_1"),
        "_request": {"id": "req_1", "digest": "d"},
        "_identity": None,
        "_patience": 1.0,
        "_claim_id": None,
    }
    with pytest.raises(HookError, match="the host is gone"):
        asking._claim()
    assert sent == []
    assert asking._claim_id is None, "there is nothing to give back"


def test_the_requesters_token_goes_along_where_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[Any] = []

    def exchange(_identity: Any, _method: str, _path: str, body: Any, **_: Any) -> dict[str, Any]:
        sent.append(body)
        return {"decision": "allow"}

    monkeypatch.setattr(judging, "exchange", exchange)
    event = SimpleNamespace(
        session="s", tool="bash", arguments={}, call_id="c", sub_agent=None, raw={}, words=str, as_sent=str
    )
    for token in ("eyJ.of.rita", None):
        asking = Judge.__new__(Judge)
        asking.__dict__ |= {
            "_watch": SimpleNamespace(remaining=lambda: 5.0),
            "_event": event,
            "_identity": SimpleNamespace(requester_token=lambda token=token: token),
            "_patience": 1.0,
            "_lead": 0.5,
        }
        assert asking._submit() == {"decision": "allow"}
    assert sent[0]["requester_token"] == "eyJ.of.rita"
    assert "requester_token" not in sent[1]


def test_a_brief_answer_leaves_what_is_known_and_approves_nothing() -> None:
    asking = Judge.__new__(Judge)
    known = {"id": "req_1", "state": "pending", "version": 1, "arguments": {}}
    asking._request = known
    asking._remember({"id": "req_1", "state": "pending", "version": 2, "digest": "d"})
    assert asking._request is known
    with pytest.raises(AwayError, match="no request"):
        asking._remember({"id": "req_1", "state": "approved", "version": 2, "digest": "d"})
    assert asking._request is known
