"""`assent webhooks test`: a receiver gets what it would get, and its operator hears what came back and what to mend."""

from __future__ import annotations

import base64
import json
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import TYPE_CHECKING, Any

import pytest

from app.cli.commands import app
from app.cli.operator.webhooks import mend_for
from examples.webhook_receiver import verify
from tests.fixtures.commands import CliRunner

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from typer.testing import Result

pytestmark = pytest.mark.may_block  # a command is a process of its own: its loop serves nobody else

SECRET = "whsec_" + base64.b64encode(b"a secret of thirty-two bytes, ok").decode()
OLD = "whsec_" + base64.b64encode(b"one from before, of thirty bytes").decode()


class Receiver(HTTPServer):
    """Somebody else's server, which verifies what it gets with its own code."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.status = 0
        self.got: list[dict[str, Any]] = []


class Handler(BaseHTTPRequestHandler):
    server: Receiver  # pyright: ignore[reportIncompatibleVariableOverride] - the one that we start

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        try:
            genuine = verify(headers, body, [OLD]) == headers["webhook-id"]
        except ValueError:
            genuine = False
        self.server.got.append(json.loads(body) | {"header": headers["webhook-id"]})
        self.send_response(self.server.status or (204 if genuine else 401))
        self.send_header("location", "/elsewhere")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the library's name
        del format, args


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    server = Receiver()
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def desk(receiver: Receiver, tmp_path: Path) -> Callable[..., Result]:
    file = tmp_path / "assent.yaml"

    def run(*words: str, pager: str = "secret_old: " + OLD) -> Result:
        at = f"http://127.0.0.1:{receiver.server_port}/hook"
        hooks = f'pager: {{url: "{at}", secret: "${{NEW}}", kinds: ["*"], {pager}}}'
        inside = 'inside: {url: "https://10.0.0.1/x", secret: "${NEW}", kinds: ["*"], private: true}'
        file.write_text(f"org: acme\ndefault: deny\nwebhooks:\n  {hooks}\n  {inside}\n")
        env = {"NEW": SECRET, "OLD": OLD, "COLUMNS": "200"}
        return CliRunner().invoke(app, ["webhooks", "test", *words, "-c", str(file)], env=env)

    return run


def test_a_receiver_that_verifies_takes_it(desk: Callable[..., Result], receiver: Receiver) -> None:
    done = desk("pager", pager='secret_old: "${OLD}"')
    assert done.exit_code == 0, done.output
    (got,) = receiver.got
    assert done.stdout.startswith(f"pager: taken, as {got['id']}, with two signatures (secret_old is set) (http://127.")
    assert (got["kind"], got["org"], got["facts"]) == ("webhook.test", "acme", {"webhook": "pager"})
    assert got["header"] == got["id"]


@pytest.mark.parametrize(
    ("status", "mend"),
    [
        (0, "it does not take the signature: has it the `secret` of this webhook, whsec_ and all?"),
        (307, "redirects are not followed: write the address that it leads to into `url`"),
        (404, "nothing takes a POST there: see the path in `url`"),
        (503, "it is the receiver that is in trouble: its own log says why"),
    ],
)
def test_what_came_back_is_said_with_its_mend(
    desk: Callable[..., Result], receiver: Receiver, status: int, mend: str
) -> None:
    receiver.status = status
    done = desk("pager", pager="private: false")
    assert done.exit_code == 1
    said, mended = done.stdout.splitlines()
    assert said.startswith(f"pager: not taken: status {status or 401} (http://127.0.0.1:")
    assert mended.strip() == mend
    assert len(receiver.got) == 1  # nothing was followed, nothing tried again


def test_an_unknown_receiver_and_one_that_is_not_there_are_named(desk: Callable[..., Result]) -> None:
    done = desk("siem", pager="private: false")
    assert (done.exit_code, done.stderr) == (2, "there is no webhook siem: the file has pager, inside\n")
    assert desk("--org", "globex", pager="private: false").exit_code == 2
    assert mend_for("no connection (ConnectError)").startswith("does it listen there")
    assert mend_for("evil.example leads to 10.0.0.1: it is in a private network").startswith("only addresses")
