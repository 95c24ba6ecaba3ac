"""A model that says what a test wrote down: enough of the Messages API for the real Claude Code program.

Each turn is either a text or a list of tool calls. Which turn is due follows from the conversation itself (how many
turns with tool calls it holds already), so that a resumed session carries on where it was. Tool call ids are fresh
each time, as a real model's are.
"""

from __future__ import annotations

import json
import secrets
import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


@dataclass(frozen=True, kw_only=True)
class Call:
    """A tool call that the model makes."""

    tool: str
    arguments: dict[str, Any]

    def block(self) -> dict[str, Any]:
        return {"type": "tool_use", "id": f"toolu_{secrets.token_hex(12)}", "name": self.tool, "input": self.arguments}


class FakeLlm:
    """Start it with `with FakeLlm([...]) as llm`; `told` is every tool result that the model was given."""

    def __init__(self, turns: list[Call | str]) -> None:
        self.turns = turns
        self.told: list[str] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join(5)
        self._server.server_close()

    def elsewhere(self, path: str, asked: dict[str, Any]) -> tuple[bytes, str]:
        """What is answered to a call that is not of the Messages API."""
        return b"{}", "application/json"

    def message(self, asked: dict[str, Any]) -> dict[str, Any]:
        """The next message of the conversation that was sent."""
        said = [blocks(message) for message in asked["messages"] if message["role"] == "assistant"]
        used = sum(any(block.get("type") == "tool_use" for block in message) for message in said)
        turn = self.turns[min(used, len(self.turns) - 1)] if asked.get("tools") else "{}"
        self.told = [
            result_text(block)
            for message in asked["messages"]
            for block in blocks(message)
            if block.get("type") == "tool_result"
        ] or self.told
        content = [{"type": "text", "text": turn}] if isinstance(turn, str) else [turn.block()]
        return {
            "id": f"msg_{secrets.token_hex(8)}",
            "type": "message",
            "role": "assistant",
            "model": asked.get("model"),
            "content": content,
            "stop_reason": "end_turn" if isinstance(turn, str) else "tool_use",
            "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }


def blocks(message: dict[str, Any]) -> list[dict[str, Any]]:
    return message["content"] if isinstance(message["content"], list) else []


def result_text(block: dict[str, Any]) -> str:
    content = block.get("content")
    return content if isinstance(content, str) else " ".join(part.get("text", "") for part in content or [])


def as_events(message: dict[str, Any]) -> bytes:
    """The message as the stream that Claude Code asks for."""
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}}
    ]
    for index, block in enumerate(message["content"]):
        if block["type"] == "text":
            empty, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            empty, delta = (
                {**block, "input": {}},
                {"type": "input_json_delta", "partial_json": json.dumps(block["input"])},
            )
        events += [
            {"type": "content_block_start", "index": index, "content_block": empty},
            {"type": "content_block_delta", "index": index, "delta": delta},
            {"type": "content_block_stop", "index": index},
        ]
    ending = {
        "type": "message_delta",
        "delta": {"stop_reason": message["stop_reason"], "stop_sequence": None},
        "usage": {"output_tokens": 1},
    }
    events += [ending, {"type": "message_stop"}]
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events).encode()


def _handler(llm: FakeLlm) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the library's name
            """Say nothing."""

        def do_HEAD(self) -> None:
            self._reply(b"", "text/plain")

        def do_GET(self) -> None:
            self._reply(b'{"data": []}', "application/json")

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
            if "count_tokens" in self.path:
                self._reply(b'{"input_tokens": 1}', "application/json")
            elif "/messages" not in self.path:
                self._reply(*llm.elsewhere(self.path, asked))
            elif asked.get("stream"):
                self._reply(as_events(llm.message(asked)), "text/event-stream")
            else:
                self._reply(json.dumps(llm.message(asked)).encode(), "application/json")

        def _reply(self, body: bytes, kind: str) -> None:
            self.send_response(200)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    return Handler
