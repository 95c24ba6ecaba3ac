"""The first key where the gateways run in compose: the documented command, as compose's own role."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
from typing import TYPE_CHECKING

import httpx2
import pytest
import yaml

from tests.durability.gateway_process import SECRET, free_port, until
from tests.durability.place import place
from tests.fixtures import forked
from tests.fixtures.patience import HANGS
from tests.fixtures.shell import COMMANDS
from tests.places import ROOT

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.process, pytest.mark.heavy, pytest.mark.postgres, pytest.mark.timeout(180)]

FILE = """\
org: acme
default: ask
ask: {stages: [{of: [finance]}], channels: [api]}
people:
  wang@acme.example: {}
  li@acme.example: {}
groups:
  finance: [wang@acme.example]
"""


def documented() -> list[tuple[str, list[str]]]:
    """Return each command that the docs run beside gateways in compose: in which service, and its words."""
    page = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    found = re.findall(r"^docker compose exec (gateway-\w) assent (keys create .*)$", page, re.MULTILINE)
    return [(service, shlex.split(words, comments=True)) for service, words in found]


def environment_of(service: str, url: str, folder: Path) -> dict[str, str]:
    """Say what a service of the compose file knows; its database, its folder and its secret are the test's."""
    given = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))["services"][service]
    known = {name: re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", value) for name, value in given["environment"].items()}
    role = re.match(r"postgresql\+psycopg://(\w+):", known["ASSENT_DATABASE_URL"])
    assert role is not None
    ours = {"ASSENT_DATABASE_URL": url.replace("assent_app", role[1]), "ASSENT_STATE_DIR": str(folder)}
    return known | ours | {"ASSENT_SECRET": SECRET, "PATH": f"{COMMANDS}:{os.environ['PATH']}"}


async def test_the_documented_command_makes_keys_that_the_gateways_take(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "assent.yaml").write_text(FILE)  # compose mounts it where the image works: -c is left out
    async with place("postgresql", tmp_path, monkeypatch) as at:

        async def run(service: str, *words: str) -> tuple[int, str, str]:
            environ = environment_of(service, at.url, tmp_path)
            done = await asyncio.to_thread(forked.run, "app.cli.main", *words, env=environ, cwd=tmp_path)
            return done.returncode, done.stdout.strip(), done.stderr

        code, said, why = await run("migrate", "migrate")
        assert code == 0, said + why
        made = [await run(service, *words) for service, words in documented()]
        assert len(made) == 2
        assert all(code == 0 and re.fullmatch(r"ak_\w+", key) for code, key, _ in made), made

        port, log = free_port(), tmp_path / "gateway.log"
        environ = environment_of("gateway-b", at.url, tmp_path) | {"ASSENT_PORT": str(port)}
        with log.open("wb") as out:
            words = ("app.cli.main", "serve", "--config", str(tmp_path / "assent.yaml"))
            gateway = forked.start(*words, env=environ, cwd=tmp_path, stdout=out, stderr=out)
        try:
            await until("it is ready", lambda: "gateway.greeted" in log.read_text(), seconds=60)
            (_, agent, _), (_, approver, _) = made
            async with httpx2.AsyncClient(
                base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=HANGS
            ) as client:
                submission = {"tool": "pay", "arguments": {"amount": 5}, "session": "s"}
                asked = await client.post("/v1/requests", json=submission, headers=_bearer(agent))
                assert asked.status_code == 202, asked.text
                request = asked.json()["request"]
                decision = {"verdict": "approve", "digest": request["digest"], "reason": "the first"}
                address = f"/v1/requests/{request['id']}/decisions"
                decided = await client.post(address, json=decision, headers=_bearer(approver))
                assert (decided.status_code, decided.json()["state"]) == (200, "approved"), decided.text
        finally:
            gateway.kill()
            await gateway.ended()


def _bearer(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}
