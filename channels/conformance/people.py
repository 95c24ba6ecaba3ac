"""Who somebody is on the platform, and who is in its groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from app.ports import AccountStatus, ChannelRefusedError, ChannelUnavailableError
from channels.conformance.stage import Staged

if TYPE_CHECKING:
    from channels.conformance.harness import Harness


class PeopleCases(Staged):
    """Accounts and groups."""

    async def test_people_are_found_by_e_mail_with_their_standing(self, harness: Harness) -> None:
        for status, email in harness.people.items():
            account = await harness.channel.look_up(email=email, account_id="")
            assert account is not None
            assert account.status is status
        assert await harness.channel.look_up(email=harness.unknown_email, account_id="") is None

    async def test_people_are_found_by_account_with_their_standing(self, harness: Harness) -> None:
        known = await harness.channel.look_up(email="", account_id=harness.account_id)
        assert known is not None
        assert (known.account_id, known.status) == (harness.account_id, AccountStatus.ACTIVE)
        for status, email in harness.people.items():
            by_email = await harness.channel.look_up(email=email, account_id="")
            assert by_email is not None
            by_account = await harness.channel.look_up(email="", account_id=by_email.account_id)
            assert by_account is not None
            assert (by_account.account_id, by_account.status) == (by_email.account_id, status)

    async def test_the_account_that_the_file_names_is_the_one_asked_for(self, harness: Harness) -> None:
        email = harness.people[AccountStatus.ACTIVE]
        account = await harness.channel.look_up(email=email, account_id=harness.other_account_id)
        assert account is not None
        assert account.account_id == harness.other_account_id

    async def test_a_group_that_is_not_there_has_no_members(self, harness: Harness) -> None:
        for source in ("group:nobody-knows-it", "department:nobody-knows-it", "nobody-knows-it"):
            with pytest.raises((ChannelRefusedError, ChannelUnavailableError)):
                await harness.channel.group_members(source)
