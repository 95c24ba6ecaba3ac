"""`deploy/nginx.conf` in a real nginx before a real gateway: what it logs, and whom it says that a call comes from."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING

import httpx2
import pytest

from app.api.wire.bodies import MOST_BYTES, MOST_BYTES_OF_A_MOMENT
from app.domain.request.host_event import MOST_SENT
from app.settings import Settings
from tests.deploy.programs import needs, place_of
from tests.durability.gateway_process import free_port
from tests.fixtures import forked
from tests.fixtures.gateway import SECRET
from tests.places import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.process, needs("nginx")]

LINK = "a-code-of-a-card"
KEY = "ak_somebodys_key"
TOKEN = "the-operations-token-of-this-test"
FROM = "a-page-that-led-here"
CALLER, INGRESS_SAYS = "127.0.0.7", "203.0.113.9"


HANGS = 120.0
"""Seconds after which something hangs; how fast it is, a busy machine does not tell."""


class Behind:
    """A gateway behind nginx, and what both have logged."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder = folder
        self.port, self.gateway_port = free_port(), free_port()
        (folder / "assent.yaml").write_text("org: acme\ndefault: deny\n")
        kept = {name: value for name, value in os.environ.items() if not name.startswith("ASSENT_")}
        self._environ = kept | {
            "ASSENT_SECRET": SECRET,
            "ASSENT_DATABASE_URL": url,
            "ASSENT_LOG_FORMAT": "json",
            "ASSENT_TRUSTED_PROXIES": "127.0.0.1",
            "ASSENT_OPERATIONS_TOKEN": TOKEN,
        }

    def log(self, name: str) -> str:
        return (self.folder / name).read_text()

    @contextmanager
    def gateway(self) -> Iterator[forked.Forked]:
        words = ("app.cli.main", "serve", "-c", str(self.folder / "assent.yaml"), "--port", str(self.gateway_port))
        with (self.folder / "gateway.log").open("w") as log:
            process = forked.start(*words, env=self._environ, cwd=ROOT, stderr=log)
        try:
            yield process
        finally:
            process.kill()
            process.wait(HANGS)

    @contextmanager
    def nginx(self, *, behind_an_ingress: bool = False, waits: str = "120s") -> Iterator[None]:
        ours = (ROOT / "deploy/nginx.conf").read_text(encoding="utf-8")
        if behind_an_ingress:
            ours = re.sub(r"#(set_real_ip_from) \S+;", rf"\1 {CALLER};", ours).replace("#real_ip", "real_ip")
        for written, here in {
            "listen 8080": f"listen 127.0.0.1:{self.port}",
            "gateway-a:8080": f"127.0.0.1:{self.gateway_port}",
            "gateway-b:8080": f"127.0.0.1:{free_port()}",  # a replica that is away
            "proxy_read_timeout 120s": f"proxy_read_timeout {waits}",
        }.items():
            assert written in ours
            ours = ours.replace(written, here)
        temporary = "".join(
            f"{each}_temp_path {self.folder};\n" for each in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        user = "user root;\n" if os.geteuid() == 0 else ""  # so that large bodies go into this folder
        whole = f"{user}pid {self.folder}/pid;\ndaemon off;\nevents {{}}\nhttp {{\n{temporary}{ours}\n}}\n"
        (self.folder / "nginx.conf").write_text(whole)
        words = [place_of("nginx"), "-p", str(self.folder), "-c", "nginx.conf"]
        with (self.folder / "access.log").open("w") as out, (self.folder / "error.log").open("w") as err:
            process = subprocess.Popen(words, stdout=out, stderr=err)
        try:
            yield
        finally:
            process.terminate()
            assert process.wait(HANGS) == 0, self.log("error.log")

    async def ask(self, path: str, **headers: str) -> httpx2.Response:
        """Ask as a stranger at an address of their own, who says to come from elsewhere."""
        async with self._client() as client:
            return await client.get(path, headers={"X-Forwarded-For": INGRESS_SAYS, **headers})

    async def post(self, path: str, size: int) -> httpx2.Response:
        """Send a body as that stranger."""
        async with self._client() as client:
            return await client.post(path, content=b"x" * size)

    def _client(self) -> httpx2.AsyncClient:
        line = httpx2.AsyncHTTPTransport(local_address=CALLER)
        return httpx2.AsyncClient(base_url=f"http://127.0.0.1:{self.port}", transport=line, timeout=HANGS)

    async def up(self) -> None:
        """Wait until the gateway answers through nginx."""
        async with asyncio.timeout(HANGS):
            while await self._status() != 200:  # noqa: ASYNC110 - no event comes from another process
                await asyncio.sleep(0.02)

    async def _status(self) -> int:
        try:
            return (await self.ask("/healthz")).status_code
        except httpx2.TransportError:
            return 0

    def refused(self) -> set[str]:
        """Say who was refused, as the gateway saw them."""
        lines = [json.loads(line) for line in self.log("gateway.log").splitlines()]
        return {line["actor"] for line in lines if line["event"] == "access.refused"}


@pytest.fixture
def behind(tmp_path: Path, sqlite_url: str) -> Behind:
    return Behind(tmp_path, sqlite_url)


async def test_no_log_holds_a_link_s_code_or_a_key_and_callers_have_their_own_addresses(behind: Behind) -> None:
    told = {"Authorization": f"Bearer {KEY}", "Referer": f"https://chat.example/?{FROM}"}
    with behind.gateway() as gateway:
        with behind.nginx(behind_an_ingress=True):
            await behind.up()
            assert (await behind.ask("/v1/requests")).status_code == 401
            assert behind.refused() == {f"address:{INGRESS_SAYS}"}
        with behind.nginx():
            await behind.up()
            assert (await behind.ask(f"/sign-in?t={LINK}", **told)).status_code == 401
            assert (await behind.ask(f"/v1/requests?{LINK}", **told)).status_code == 401
            assert behind.refused() == {f"address:{INGRESS_SAYS}", f"address:{CALLER}"}
            gateway.kill()
            gateway.wait(HANGS)
            assert (await behind.ask(f"/sign-in?t={LINK}", **told)).status_code == 502
    calls = [json.loads(line) for line in behind.log("access.log").splitlines()]
    assert [(call["path"], call["status"]) for call in calls[-2:]] == [("/v1/requests", 401), ("/sign-in", 502)]
    assert {call["from"] for call in calls} == {CALLER}
    for name in ("access.log", "error.log", "gateway.log"):
        for hidden in (LINK, KEY, FROM):
            assert hidden not in behind.log(name), name


def _problem(said: httpx2.Response) -> tuple[int, str]:
    assert said.headers["content-type"] == "application/problem+json"
    told = said.json()
    assert set(told) == {"type", "title", "status", "detail", "instance", "code"}
    assert told["status"] == said.status_code
    assert told["type"] == f"urn:assent:problem:{told['code']}"
    return told["status"], told["code"]


async def test_strangers_are_told_nothing_of_the_gateways_and_every_error_as_a_problem(behind: Behind) -> None:
    has_it = {"Authorization": f"Bearer {TOKEN}"}
    with behind.gateway() as gateway, behind.nginx():
        await behind.up()
        assert (await behind.ask("/readyz")).json() == {"status": "ready"}
        assert "replicas" in (await behind.ask("/readyz", **has_it)).json()
        assert _problem(await behind.ask("/openapi.json")) == (401, "unauthenticated")
        assert (await behind.ask("/openapi.json", **has_it)).status_code == 200
        assert [_problem(await behind.ask("/metrics", **more)) for more in ({}, has_it)] == [(404, "not_found")] * 2
        gateway.kill()
        gateway.wait(HANGS)
        assert _problem(await behind.ask("/v1/requests")) == (502, "bad_gateway")


async def test_a_gateway_that_does_not_answer_is_a_problem_too(behind: Behind) -> None:
    with behind.gateway() as gateway, behind.nginx(waits="1s"):
        await behind.up()
        os.kill(gateway.pid, signal.SIGSTOP)
        try:
            assert _problem(await behind.post("/v1/requests", 10)) == (504, "gateway_timeout")
        finally:
            os.kill(gateway.pid, signal.SIGCONT)


async def test_the_proxy_takes_what_a_gateway_takes(behind: Behind) -> None:
    most = MOST_BYTES_OF_A_MOMENT
    with behind.gateway(), behind.nginx():
        await behind.up()
        # Who has no key is refused by the gateway before it reads the body; the proxy has then taken all of it.
        assert _problem(await behind.post("/v1/requests", most)) == (401, "unauthenticated")
        assert _problem(await behind.post("/v1/requests", most + 1)) == (413, "too_large")


def test_its_bound_is_the_largest_of_the_gateway_s() -> None:
    ours = (ROOT / "deploy/nginx.conf").read_text(encoding="utf-8")
    [megabytes] = re.findall(r"^\s*client_max_body_size (\d+)m;", ours, re.MULTILINE)
    [bound] = [each.le for each in Settings.model_fields["max_call_bytes"].metadata if hasattr(each, "le")]
    largest = max(MOST_BYTES, MOST_BYTES_OF_A_MOMENT, bound + MOST_SENT)
    assert int(megabytes) * 1024 * 1024 == largest
    assert f"The body may have {largest} bytes" in ours
