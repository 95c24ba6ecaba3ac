"""The scripted model on every wire that the agent programs speak.

These are the Messages API, the two of OpenAI (chat completions and responses), and Gemini's. On each of them the turn
that is due follows from the conversation: how many turns with calls it holds already.
"""

from __future__ import annotations

import json
import secrets
from typing import Any

from tests.sdk.command.fake_llm import Call, FakeLlm

_JSON, _EVENTS = "application/json", "text/event-stream"
_TOKENS = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}


class Model(FakeLlm):
    """One model for all programs."""

    def elsewhere(self, path: str, asked: dict[str, Any]) -> tuple[bytes, str]:
        match path:
            case _ if "/chat/completions" in path:
                return self._chat(asked)
            case _ if "/responses" in path:
                return self._responses(asked)
            case _ if "enerateContent" in path:
                return self._gemini(asked, streamed="alt=sse" in path)
            case _ if "okens" in path:
                return b'{"totalTokens": 1}', _JSON
            case _:
                return b"{}", _JSON

    def _due(self, asked: dict[str, Any], used: int, told: list[str]) -> Call | str:
        """The turn that is due; a conversation without tools (a title, a summary) is answered with nothing."""
        self.told = told or self.told
        return self.turns[min(used, len(self.turns) - 1)] if asked.get("tools") else "{}"

    def _chat(self, asked: dict[str, Any]) -> tuple[bytes, str]:
        messages = asked["messages"]
        told = [plain(each.get("content")) for each in messages if each["role"] == "tool"]
        turn = self._due(asked, sum(bool(each.get("tool_calls")) for each in messages), told)
        said: dict[str, Any] = {"role": "assistant"}
        if isinstance(turn, str):
            said["content"] = turn
        else:
            function = {"name": turn.tool, "arguments": json.dumps(turn.arguments)}
            said["tool_calls"] = [{"index": 0, "id": fresh("call"), "type": "function", "function": function}]
        why = "stop" if isinstance(turn, str) else "tool_calls"
        whole = {"id": fresh("chat"), "created": 1, "model": asked.get("model"), "usage": _TOKENS}
        if not asked.get("stream"):
            choice = {"index": 0, "finish_reason": why, "message": said}
            return json.dumps({**whole, "object": "chat.completion", "choices": [choice]}).encode(), _JSON
        parts = [{"delta": said, "finish_reason": None}, {"delta": {}, "finish_reason": why}]
        chunks = [{**whole, "object": "chat.completion.chunk", "choices": [{"index": 0, **part}]} for part in parts]
        return b"".join(map(line, chunks)) + b"data: [DONE]\n\n", _EVENTS

    def _responses(self, asked: dict[str, Any]) -> tuple[bytes, str]:
        given = asked.get("input")
        items: list[dict[str, Any]] = given if isinstance(given, list) else []
        told = [plain(each.get("output")) for each in items if each.get("type") == "function_call_output"]
        turn = self._due(asked, sum(each.get("type") == "function_call" for each in items), told)
        item: dict[str, Any] = {"id": fresh("item"), "status": "completed"}
        if isinstance(turn, str):
            text = {"type": "output_text", "text": turn, "annotations": []}
            item |= {"type": "message", "role": "assistant", "content": [text]}
        else:
            item |= {"type": "function_call", "call_id": fresh("call"), "name": turn.tool}
            item["arguments"] = json.dumps(turn.arguments)
        usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
        usage |= {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
        response = {"id": fresh("resp"), "status": "completed", "output": [item], "usage": usage}
        events = [
            {"type": "response.created", "response": {"id": response["id"], "status": "in_progress"}},
            {"type": "response.output_item.added", "output_index": 0, "item": item},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": response},
        ]
        return b"".join(f"event: {event['type']}\n".encode() + line(event) for event in events), _EVENTS

    def _gemini(self, asked: dict[str, Any], *, streamed: bool) -> tuple[bytes, str]:
        said = [content.get("parts", []) for content in asked.get("contents", [])]
        answers = [part["functionResponse"] for parts in said for part in parts if "functionResponse" in part]
        used = sum(any("functionCall" in part for part in parts) for parts in said)
        turn = self._due(asked, used, [json.dumps(each.get("response"), ensure_ascii=False) for each in answers])
        part = (
            {"text": turn} if isinstance(turn, str) else {"functionCall": {"name": turn.tool, "args": turn.arguments}}
        )
        usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
        choice = {"index": 0, "finishReason": "STOP", "content": {"role": "model", "parts": [part]}}
        answer = {"candidates": [choice], "usageMetadata": usage}
        return (line(answer), _EVENTS) if streamed else (json.dumps(answer).encode(), _JSON)


def plain(content: Any) -> str:
    """A result's text, however the program wraps it."""
    if isinstance(content, list):
        return " ".join(str(part.get("text", "")) for part in content)
    return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)


def line(event: dict[str, Any]) -> bytes:
    """One event of a stream."""
    return f"data: {json.dumps(event)}\n\n".encode()


def fresh(kind: str) -> str:
    """An id that nothing had before, as a real model's are."""
    return f"{kind}_{secrets.token_hex(12)}"
