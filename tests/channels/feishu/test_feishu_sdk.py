"""Feishu's SDK as a gateway imports it: whole, where the other tests load what a channel calls (`tests/lean.py`)."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.places import ROOT

_WHOLE = """\
import sys, warnings
warnings.simplefilter("ignore")
from pydantic import SecretStr
from channels.feishu.client import _import_sdk
from channels.feishu.settings import FeishuSettings
account = {"app_id": "cli_whole", "app_secret": SecretStr("f" * 32), "chat": "oc_whole"}
settings = FeishuSettings(type="feishu", receive="websocket", **account)
sdk = _import_sdk(settings, 1.0)
calls = [sdk.client.im.v1.message.create, sdk.client.im.v1.message.patch, sdk.client.contact.v3.user.batch_get_id]
assert all(map(callable, calls))
print(*sorted({name.split(".")[2] for name in sys.modules if name.startswith("lark_oapi.api.")}))
"""


@pytest.mark.process
@pytest.mark.heavy
def test_the_whole_sdk_is_imported_and_builds_its_client() -> None:
    done = subprocess.run([sys.executable, "-c", _WHOLE], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    parts = set(done.stdout.split())
    assert parts > {"contact", "im", "hire", "corehr", "mail"}
    assert len(parts) > 50
