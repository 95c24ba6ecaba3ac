"""`assent requests evidence`: a file is saved as it was sent, under the name that the person gives it."""

from __future__ import annotations

from asyncio import to_thread
from typing import TYPE_CHECKING, Any

from tests.cli.approver.test_requests import assent as _assent
from tests.domain.exhibit_files import ALL, PHOTO, a_link
from tests.fixtures.tampering import Stranger

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fixtures.gateway import Gateway

assent = _assent


async def test_it_is_listed_and_a_file_is_saved_once(gateway: Gateway, assent: Any, tmp_path: Path) -> None:
    request = await gateway.ask(evidence=[*ALL, a_link(title="a\u202eb")])
    shown = (await assent("show", request["id"])).stdout
    assert f"photo.png, image/png, {len(PHOTO)} bytes, SHA-256 {request['evidence'][1]['sha256']}" in shown
    assert "https://erp.acme.example/orders/7 (the agent calls it: a\\u{202E}b)" in shown
    out = tmp_path / "it.png"
    said = await assent("evidence", request["id"], "2", "--out", str(out))
    assert (said.exit_code, out.read_bytes()) == (0, PHOTO), said.output
    again = await assent("evidence", request["id"], "2", "--out", str(out))
    assert (again.exit_code, "File exists" in again.output) == (2, True)
    assert (await assent("evidence", request["id"], "3", "--out", str(tmp_path / "x"))).exit_code == 1
    assert (await assent("evidence", request["id"], "9", "--out", str(tmp_path / "x"))).exit_code == 1
    (await to_thread(Stranger, gateway))("DELETE FROM exhibits WHERE number = 2")
    gone = await assent("evidence", request["id"], "2", "--out", str(tmp_path / "x"))
    assert (gone.exit_code, "not what was sent" in gone.output) == (1, True)
    assert not (tmp_path / "x").exists()
