"""While a newer release runs beside this one, what only that one can say stands in the trail, and stops nobody here."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any, cast

import pytest

from app.domain.text.language import Language
from app.domain.trail.audit import Kind, Record
from app.domain.trail.told import told
from app.usecases.platforms.send_webhooks import SendWebhooks
from app.usecases.reading.export_trail import ExportTrail
from tests.fixtures.tampering import Stranger
from tests.requirements import requirement
from tests.storage.rig import open_store
from tests.usecases.platforms.test_send_webhooks import Book, hook

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from app.domain.trail.webhooks import Webhook
    from tests.fixtures.gateway import Gateway

NEWER = "card.sung"


@requirement("F-39")
async def test_an_event_of_a_newer_release_is_read_told_sent_verified_and_exported(
    either_gateway: Gateway, tmp_path: Path
) -> None:
    g, sent = either_gateway, list[dict[str, Any]]()

    async def take(_: Webhook, body: bytes, headers: Mapping[str, str]) -> None:
        del headers
        sent.append(json.loads(body))

    hooks = cast("Any", Book((hook("https://siem.acme.example/"),)))
    send = SendWebhooks(store=g.container.store, book=hooks, clock=g.clock, send=take, every=timedelta(hours=1))
    await send()
    request = await g.ask("by_api")
    record = Record(kind=Kind(NEWER), actor="system", facts={"tune": 7})
    async with open_store(g.url) as newer:
        await newer.write(lambda tx: tx.append(record, request_id=request["id"]), org="acme")
    assert (await g.decide(request)).status_code == 200
    await send()
    assert [each["facts"] for each in sent if each["kind"] == NEWER] == [{"tune": 7}]
    await g.key("auditor")
    assert f'"kind":"{NEWER}"' in (await g.call("GET", "/v1/audit?limit=500", who="auditor")).text
    story = await g.container.read.story("acme", request["id"])
    assert {told(each.record, Language.EN) for each in story} >= {f"what only a newer release can tell: {NEWER}"}
    assert all(told(each.record, Language.ZH) for each in story)
    assert (await g.verify())[1] is None
    done = await ExportTrail(
        store=g.container.store, seals=g.container.seals, folder=tmp_path, tell=lambda what, seen: None
    )("acme")
    assert done.path is not None
    assert NEWER in done.path.read_text()


async def test_a_kind_that_nobody_would_write_is_a_changed_event(either_gateway: Gateway) -> None:
    await either_gateway.ask("by_api")
    strange = Stranger(either_gateway)
    for kind in (NEWER, "no kind", "Nonsense.{actor}", ""):
        strange(f"UPDATE audit_events SET kind = '{kind}' WHERE org = 'acme' AND seq = 1")
        assert "event 1 was changed" in str((await either_gateway.verify())[1])
        strange.put_back()
    with pytest.raises(ValueError, match="not a valid"):
        Kind("card.sung{actor}")
