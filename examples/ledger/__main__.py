"""Serve the ledger: `LEDGER_TOKEN=… python -m examples.ledger FILE [PORT]`.

| call | what |
|---|---|
| `POST /payments` with `Idempotency-Key` | 201 a payment, 200 the one that this key got before; 422 refused |
| `GET /payments/{key}` | 200 what became of the key, 404 it was never used |
| `GET /payments` | all of them |

Every call needs `Authorization: Bearer …` with the ledger's token. Only the executor has it: that is the enforcement.
"""

from __future__ import annotations

import hmac
import json
import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import cast
from urllib.parse import unquote

from examples.ledger.book import Book, RefusedError

_LARGEST = 16 * 1024


class LedgerServer(ThreadingHTTPServer):
    """The service; it answers several callers at once, and the book's transactions keep them apart."""

    daemon_threads = True

    def __init__(self, address: tuple[str, int], book: Book, *, token: str) -> None:
        """Listen at an address. Raises ValueError without a token."""
        if not token:
            raise ValueError("LEDGER_TOKEN is missing: nobody could be told from anybody")
        self.book = book
        self.token = token
        super().__init__(address, _Door)


class _Door(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 30

    def do_GET(self) -> None:
        """Show one payment, or all."""
        book = cast("LedgerServer", self.server).book
        first, _, key = self.path.removeprefix("/").partition("/")
        if not self._is_entitled():
            return
        if first != "payments":
            self._answer(404, {"error": "there is no such thing here"})
        elif not key:
            self._answer(200, {"items": [payment.as_json() for payment in book.payments()]})
        elif (payment := book.find(unquote(key))) is None:
            self._answer(404, {"error": "this key was never used"})
        else:
            self._answer(200, payment.as_json())

    def do_POST(self) -> None:
        """Pay."""
        book = cast("LedgerServer", self.server).book
        wanted = self._body()  # read in any case: the connection goes on behind it
        if not self._is_entitled():
            return
        key = self.headers.get("Idempotency-Key", "")
        if self.path != "/payments":
            self._answer(404, {"error": "there is no such thing here"})
        elif not 1 <= len(key) <= 200:
            self._answer(400, {"error": "a payment needs an Idempotency-Key"})
        elif wanted is None:
            self._answer(400, {"error": "a payment is a JSON object"})
        else:
            try:
                payment, fresh = book.pay(key, wanted)
            except RefusedError as refused:
                self._answer(422, {"error": str(refused)})
            else:
                self._answer(201 if fresh else 200, payment.as_json())

    def _is_entitled(self) -> bool:
        """Whether the caller has the token; if not, it is told so."""
        given = self.headers.get("Authorization", "").encode()
        if hmac.compare_digest(given, f"Bearer {cast('LedgerServer', self.server).token}".encode()):
            return True
        self._answer(401, {"error": "this is not the ledger's token"})
        return False

    def _body(self) -> dict[str, object] | None:
        length = self.headers.get("Content-Length", "")
        if not length.isdigit() or int(length) > _LARGEST:
            self.close_connection = True
            return None
        try:
            found: object = json.loads(self.rfile.read(int(length)))
        except (ValueError, RecursionError):
            return None
        return cast("dict[str, object]", found) if isinstance(found, dict) else None

    def _answer(self, status: int, body: dict[str, object]) -> None:
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the base class's
        """Say nothing: addresses hold keys."""


def main(path: Path, port: int) -> None:
    """Serve for ever."""
    book = Book(path, funds={"CNY": "1000000.00", "EUR": "100000.00"})
    with LedgerServer(("127.0.0.1", port), book, token=os.environ.get("LEDGER_TOKEN", "")) as server:
        print(f"http://127.0.0.1:{server.server_port}", flush=True)
        server.serve_forever()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0)
