"""Who an account is by the mailbox that the organisation gave it: the one address of a person that is theirs for sure.

``enterprise_email`` is a mailbox of the organisation's own mail service. The other one, ``email``, is what an
administrator or an import wrote down; the platform itself says that nobody has checked it, so it counts for nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct

from channels.feishu.details.failures import UNKNOWN_PERSON
from channels.feishu.details.people import Contact, standing

if TYPE_CHECKING:
    from channels.feishu.client import FeishuClient, Sdk


class Mailbox(Struct, frozen=True, kw_only=True):
    """A person as the address book has them, with the organisation's mailbox of theirs, "" where they have none."""

    contact: Contact
    email: str


async def list_people(client: FeishuClient, open_ids: tuple[str, ...]) -> list[Any]:
    """Ask for at most fifty people at once; whom the app may not see, or the platform does not know, is left out.

    What an unknown one among them does to the others is not documented: where it fails them all, they are asked for one
    by one. Raises ChannelUnavailableError or ChannelRefusedError.
    """

    def call(sdk: Sdk, option: Any) -> Any:
        request = sdk.contact.BatchUserRequest.builder().user_ids(list(open_ids)).user_id_type("open_id").build()
        return sdk.client.contact.v3.user.batch(request, option)

    answer = await client.call(call, tolerates=UNKNOWN_PERSON)
    if answer is None:
        each = [await list_people(client, (open_id,)) for open_id in open_ids] if len(open_ids) > 1 else []
        return [person for people in each for person in people]
    listed: object = answer.data.items if answer.data is not None else None
    people = cast("list[Any]", listed) if isinstance(listed, list) else []
    return [person for person in people if person is not None and person.open_id in open_ids]


async def list_mailboxes(client: FeishuClient, open_ids: tuple[str, ...]) -> list[Mailbox]:
    """Say who these people are. Raises what `list_people` raises."""
    people = await list_people(client, open_ids)
    return [
        Mailbox(contact=Contact(open_id=each.open_id, status=standing(each.status)), email=_own(each))
        for each in people
    ]


def _own(person: Any) -> str:
    told: object = person.enterprise_email
    return told if isinstance(told, str) else ""
