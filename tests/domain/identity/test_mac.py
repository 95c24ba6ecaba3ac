"""A MAC is HMAC-SHA256, as it ever was: what was sealed before opens, and a stranger may compute it with any tool."""

from __future__ import annotations

import hmac

from hypothesis import given
from hypothesis import strategies as st

from app.domain.identity.seals import mac_under


def test_it_is_the_one_of_rfc_4231() -> None:
    said = "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
    assert mac_under(b"\x0b" * 20)("Hi There").hex() == said


@given(st.binary(min_size=1, max_size=200), st.lists(st.text(), min_size=1, max_size=3))
def test_it_is_what_the_library_computes_text_after_text(key: bytes, texts: list[str]) -> None:
    mac = mac_under(key)
    assert [mac(text) for text in texts] == [hmac.digest(key, text.encode(), "sha256") for text in texts]
