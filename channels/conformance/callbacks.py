"""What is proved of a call before anybody's click is believed."""

from __future__ import annotations

import dataclasses
import time
from datetime import timedelta
from typing import TYPE_CHECKING, Final, Literal

import pytest
from msgspec.structs import replace

from app.ports import CallbackRejectedError, Challenge, Click, Ignored
from channels.conformance.harness import NotThereError
from channels.conformance.headers import FOREIGN, moved, put, shifted, spoilt
from channels.conformance.package import secrets_of
from channels.conformance.stage import Staged, approve, forgeries, post, pressed

if TYPE_CHECKING:
    from app.ports import Inbound, InboundCall
    from channels.conformance.gateway import StandInGateway
    from channels.conformance.harness import Harness

_LATE: Final = timedelta(seconds=301)
_DEEP: Final = 100_000
_PROOF: Final = 20  # characters, of which a header that proves something has more
_SECONDS: Final = 5  # of the processor, for what a channel should refuse in a thousandth of one
NO_CLICKS: Final = (
    *(b"", b"\xff\xfe\x00", b"garbage", b"null", b"[]", b'"text"', b"{}", b"7", b"9" * 5_000),
    *(b'{"type": NaN}', b'{"type": "\\ud800"}', b'{"type": {}, "header": [], "event": 1}'),
    *(b"[" * depth + b"]" * depth for depth in (200, 900, _DEEP)),
    *(b"[" * _DEEP, b'{"a":' * _DEEP, b"x" * 1_000_000),
)
"""What no click looks like, on any platform."""


def read(harness: Harness, call: InboundCall) -> Inbound | None:
    """Return what the channel reads in a call; None if it rejects it. Whatever else it raises is a fault."""
    try:
        return harness.channel.read(call, now=harness.clock.now())
    except CallbackRejectedError:
        return None


class CallbackCases(Staged):
    """Calls that are genuine, and calls that nearly are."""

    async def test_a_call_that_was_changed_on_its_way_is_rejected(
        self, harness: Harness, gateway: StandInGateway
    ) -> None:
        genuine, _ = await pressed(gateway)
        every = range(0, len(genuine.body), max(1, len(genuine.body) // 40))
        bits = [genuine.body[:at] + bytes([genuine.body[at] ^ 1]) + genuine.body[at + 1 :] for at in every]
        for body in (*bits, *forgeries(harness, genuine.body), genuine.body[:-1], genuine.body + b" "):
            assert read(harness, replace(genuine, body=body)) is None

    async def test_a_call_with_a_changed_header_is_rejected_or_reads_the_same_and_proves_no_other_body(
        self, harness: Harness, gateway: StandInGateway
    ) -> None:
        genuine, click = await pressed(gateway)
        headers = genuine.headers
        changes = [put(headers, at) for at in range(len(headers))]
        changes += [put(headers, at, other) for at, (_, value) in enumerate(headers) for other in spoilt(value)]
        for changed in changes:
            call = replace(genuine, headers=changed)
            inbound = read(harness, call)
            if inbound is not None:
                assert inbound == click, changed
                forged = [read(harness, replace(call, body=body)) for body in forgeries(harness, genuine.body)]
                assert not any(forged), changed

    async def test_a_call_without_its_proof_is_rejected(self, harness: Harness, gateway: StandInGateway) -> None:
        genuine, _ = await pressed(gateway)
        headers = genuine.headers
        assert read(harness, replace(genuine, headers=())) is None
        proofs = [
            name
            for at, (name, value) in enumerate(headers)
            if all(
                read(harness, replace(genuine, headers=put(headers, at, *values))) is None
                for values in ((), ("",), (value[:-1],), (value[: len(value) // 2],), (FOREIGN,))
            )
        ]
        assert proofs, "no header must be there whole: what proves the call?"

    async def test_a_header_that_the_call_needs_comes_once(self, harness: Harness, gateway: StandInGateway) -> None:
        genuine, _ = await pressed(gateway)
        headers = genuine.headers
        for at, (name, value) in enumerate(headers):
            if read(harness, replace(genuine, headers=put(headers, at))) is not None:
                continue
            for values in ((value, value), ("0", value), (value, "0"), ("", value), (value, "")):
                call = replace(genuine, headers=put(headers, at, *values))
                assert read(harness, call) is None, f"{name} came twice"

    async def test_a_header_whose_value_counts_cannot_be_left_out(
        self, harness: Harness, gateway: StandInGateway
    ) -> None:
        genuine, _ = await pressed(gateway)
        headers = genuine.headers
        for at, (name, value) in enumerate(headers):
            if all(read(harness, replace(genuine, headers=put(headers, at, wrong))) for wrong in spoilt(value)):
                continue
            for values in ((), ("",)):
                call = replace(genuine, headers=put(headers, at, *values))
                assert read(harness, call) is None, f"{name} counts, and none is as good as the right one"

    async def test_an_old_call_is_rejected(self, harness: Harness, gateway: StandInGateway) -> None:
        genuine, _ = await pressed(gateway)
        for late in (_LATE, -_LATE):
            with pytest.raises(CallbackRejectedError):
                harness.channel.read(genuine, now=harness.clock.now() + late)

    async def test_an_old_call_cannot_be_made_new(self, harness: Harness, gateway: StandInGateway) -> None:
        genuine, _ = await pressed(gateway)
        since = harness.clock.now()
        harness.clock.advance(_LATE)
        for at, (_, value) in enumerate(genuine.headers):
            for other in moved(value, since=since, to=harness.clock.now()):
                assert read(harness, replace(genuine, headers=put(genuine.headers, at, other))) is None
        for headers, then in shifted(genuine.headers):
            with pytest.raises(CallbackRejectedError):
                harness.channel.read(replace(genuine, headers=headers), now=then)

    async def test_one_call_does_not_prove_another(self, harness: Harness, gateway: StandInGateway) -> None:
        first, _ = await pressed(gateway)
        harness.clock.advance(timedelta(seconds=1))
        await approve(harness, await post(harness, key="dlv_2.1"), by=harness.other_account_id)
        second = harness.calls[-1]
        assert read(harness, second) is not None
        assert read(harness, replace(first, body=second.body)) is None
        assert read(harness, replace(second, body=first.body)) is None

    async def test_a_call_whose_body_is_no_click_is_rejected(self, harness: Harness, gateway: StandInGateway) -> None:
        genuine, _ = await pressed(gateway)
        began = time.process_time()
        for body in NO_CLICKS:
            assert read(harness, replace(genuine, body=body)) is None
        assert time.process_time() - began < _SECONDS

    async def test_a_proven_call_that_is_no_click_is_read_as_none(self, harness: Harness) -> None:
        began = time.process_time()
        for content in NO_CLICKS:
            assert not isinstance(read(harness, harness.signed(content)), Click), content[:40]
        assert time.process_time() - began < _SECONDS

    async def test_no_rejection_tells_a_secret_or_what_would_have_been_right(
        self, harness: Harness, gateway: StandInGateway
    ) -> None:
        genuine, _ = await pressed(gateway)
        proofs = [value for _, value in genuine.headers if len(value) >= _PROOF]
        wrong = [replace(genuine, headers=put(genuine.headers, at, "0")) for at in range(len(genuine.headers))]
        wrong += [replace(genuine, headers=()), *(replace(genuine, body=body) for body in NO_CLICKS)]
        for call in wrong:
            try:
                harness.channel.read(call, now=harness.clock.now())
            except CallbackRejectedError as error:
                told = f"{error!r} {error} {error.why}"
                assert not [text for text in (*secrets_of(harness), *proofs) if text in told]

    async def test_what_the_platform_says_besides_clicks_is_told_apart(self, harness: Harness) -> None:
        for call, kind in harness.other_calls():
            inbound = harness.channel.read(call, now=harness.clock.now())
            assert isinstance(inbound, kind)
            assert isinstance(inbound, Challenge | Ignored)
            answer = inbound.answer
            assert answer.body or kind is Ignored, "a challenge is answered with what it asks for"
            assert read(harness, replace(call, body=call.body[:-1])) is None

    @pytest.mark.parametrize("stranger", ["app", "tenant"])
    async def test_a_click_from_elsewhere_is_refused_or_says_so(
        self, harness: Harness, gateway: StandInGateway, stranger: Literal["app", "tenant"]
    ) -> None:
        ref = await post(harness)
        try:
            elsewhere = harness.speak_as(stranger)
        except NotThereError as reason:
            pytest.skip(str(reason))
        before = len(harness.calls)
        await approve(harness, ref)
        assert len(harness.calls) > before
        told = [click.app_id if stranger == "app" else click.tenant for click in gateway.clicks]
        assert told in ([], [elsewhere])

    async def test_a_call_sent_again_has_the_same_key_and_another_click_another(
        self, harness: Harness, gateway: StandInGateway
    ) -> None:
        ref = await post(harness)
        gateway.outcome = dataclasses.replace(gateway.outcome, card=None)
        await approve(harness, ref)
        again = harness.channel.read(harness.calls[-1], now=harness.clock.now())
        harness.clock.advance(timedelta(seconds=1))
        await approve(harness, ref)
        await approve(harness, ref, by=harness.other_account_id)
        first, second, third = gateway.clicks
        assert isinstance(again, Click)
        assert again.event_key == first.event_key
        assert len({first.event_key, second.event_key, third.event_key}) == 3
