"""What a package says of its platform, and what its settings must refuse."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace
from pydantic import SecretStr, ValidationError

from app.domain.text.language import Language
from app.ports import CallbackRejectedError, Severity
from channels.conformance.stage import Staged, forgeries, pressed

if TYPE_CHECKING:
    from app.ports import Channel, InboundCall
    from channels.conformance.gateway import StandInGateway
    from channels.conformance.harness import Harness


def secret_names(harness: Harness) -> list[str]:
    """Return what the settings keep as secrets."""
    fields = harness.spec.settings.model_fields.items()
    return [name for name, field in fields if "SecretStr" in inspect.formatannotation(field.annotation)]


def secrets_of(harness: Harness) -> list[str]:
    """Return the secrets that the channel has."""
    settings = harness.spec.settings.model_validate(harness.options)
    kept = [getattr(settings, name) for name in secret_names(harness)]
    return [secret.get_secret_value() for secret in kept if isinstance(secret, SecretStr) and secret.get_secret_value()]


class PackageCases(Staged):
    """The package as a whole."""

    async def test_the_spec_says_what_the_channel_is(self, harness: Harness) -> None:
        spec, channel = harness.spec, harness.channel
        assert channel.kind == spec.kind
        assert channel.name
        assert isinstance(channel.language, Language)
        assert channel.text_budget == spec.limits.text_budget
        assert channel.opens_forms == spec.limits.opens_forms
        assert channel.deduplicates_for == spec.limits.deduplicates_for
        assert channel.edits_for == spec.limits.edits_for

    async def test_no_secret_may_be_empty(self, harness: Harness) -> None:
        harness.spec.settings.model_validate(harness.options)
        names = secret_names(harness)
        assert names, "nothing of the settings is a SecretStr: what proves a call?"
        for name in names:
            for empty in ("", " "):
                with pytest.raises(ValidationError):
                    harness.spec.settings.model_validate({**harness.options, name: empty})

    async def test_a_channel_with_a_secret_left_out_does_not_exist_or_is_as_strict(
        self, harness: Harness, gateway: StandInGateway
    ) -> None:
        genuine, _ = await pressed(gateway)
        unproven = [replace(genuine, headers=())]
        unproven += [replace(genuine, body=body) for body in forgeries(harness, genuine.body)]
        for name in secret_names(harness):
            try:
                less = {key: value for key, value in harness.options.items() if key != name}
                channel: Channel = harness.spec.build("desk", harness.spec.settings.model_validate(less))
            except ValueError:
                continue
            assert not [call for call in unproven if _takes(channel, call, harness)], name
            await channel.close()

    async def test_it_is_examined_without_a_fault_and_tells_no_secret(self, harness: Harness) -> None:
        await harness.channel.warm_up()
        findings = await harness.channel.examine()
        assert [finding.what for finding in findings if finding.severity is Severity.ERROR] == []
        told = " ".join(f"{finding.what} {finding.mend}" for finding in findings)
        assert not [secret for secret in secrets_of(harness) if secret in told]


def _takes(channel: Channel, call: InboundCall, harness: Harness) -> bool:
    try:
        channel.read(call, now=harness.clock.now())
    except CallbackRejectedError:
        return False
    return True
