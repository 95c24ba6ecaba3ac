"""`SuspendedCall`: a call that waits while its agent does not; a line of JSON that any process can finish."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from assent.client.call import ToolCall
from assent.client.models import parse_object

if TYPE_CHECKING:
    from assent.client.models import Json

_VERSION = 1
_NONE = "that is no suspended call of Assent, as its as_json() writes one: {}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SuspendedCall:
    """What `open` hands out, and `finish` takes. It allows nothing by itself: whoever finishes it asks the gateway."""

    call: ToolCall
    key: str
    """The idempotency key under which the call was asked about."""
    request_id: str | None = None
    """The request that people decide; None where nobody has to be asked."""

    @property
    def waits(self) -> bool:
        """Whether people were asked: nothing comes of finishing it before they have decided."""
        return self.request_id is not None

    def as_json(self) -> str:
        """The call as one line of JSON, for a checkpoint, a queue or a file; without the requester's token."""
        import json

        call = replace(self.call, requester_token=None).as_body()  # it proved who asked, and is not to lie about
        told = {"assent": _VERSION, "key": self.key, "request_id": self.request_id, "call": call}
        return json.dumps(told, allow_nan=False)

    @staticmethod
    def parse(text: str) -> SuspendedCall:
        """Read it back. Raises `ValueError` for a text that is none."""
        import json

        try:
            told = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise ValueError(_NONE.format(f"it is not JSON ({error})" if text.strip() else "it is empty")) from error
        if not isinstance(told, dict):
            raise ValueError(_NONE.format("it is no JSON object"))  # noqa: TRY004 - of a text, as the others
        told = parse_object(cast("object", told), "it")
        try:
            if told["assent"] != _VERSION:
                raise ValueError(f"a suspended call of the form {told['assent']!r}, unknown to this version")
            body: Json = dict(told["call"])
            call = replace(ToolCall(body.pop("tool"), body.pop("arguments")), **body)
            return SuspendedCall(
                call=call, key=_text(told["key"]), request_id=told["request_id"] and _text(told["request_id"])
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(_NONE.format(f"a member is missing, unknown or of another kind ({error!r})")) from error


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value
