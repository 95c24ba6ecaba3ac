"""What a browser is asked for a passkey, and what it answers, checked: the only home of the library that does it.

The library is imported when the first passkey is used, and beside the loop.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from app.domain.errors import ForbiddenError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.domain.identity.passkey import Passkey

MOST = 12_000
"""Characters of an answer of a browser: more than any device sends."""

_NAME = re.compile(r"[A-Za-z0-9_-]+")  # base64url: no database is asked for anything else
_WAIT = 120_000  # milliseconds that a browser waits for its person


def creation_options(
    *, site: str, challenge: bytes, handle: bytes, person: str, org: str, known: Sequence[Passkey]
) -> dict[str, object]:
    """Return what a browser needs to make a passkey that knows its person, and can be found without a name."""
    from webauthn import generate_registration_options, options_to_json
    from webauthn.helpers import base64url_to_bytes
    from webauthn.helpers.structs import (
        AttestationConveyancePreference,
        AuthenticatorSelectionCriteria,
        PublicKeyCredentialDescriptor,
        ResidentKeyRequirement,
        UserVerificationRequirement,
    )

    made = generate_registration_options(
        rp_id=site,
        rp_name=f"Assent {org}",
        user_id=handle,
        user_name=person,
        user_display_name=person,
        challenge=challenge,
        timeout=_WAIT,
        attestation=AttestationConveyancePreference.NONE,
        authenticator_selection=AuthenticatorSelectionCriteria(
            resident_key=ResidentKeyRequirement.REQUIRED,
            user_verification=UserVerificationRequirement.REQUIRED,
        ),
        exclude_credentials=[PublicKeyCredentialDescriptor(id=base64url_to_bytes(each.credential)) for each in known],
    )
    return json.loads(options_to_json(made))


def request_options(*, site: str, challenge: bytes, known: Sequence[Passkey] = ()) -> dict[str, object]:
    """Return what a browser needs to have a challenge signed. None `known`: whichever passkey the person chooses."""
    from webauthn import generate_authentication_options, options_to_json
    from webauthn.helpers import base64url_to_bytes
    from webauthn.helpers.structs import PublicKeyCredentialDescriptor, UserVerificationRequirement

    made = generate_authentication_options(
        rp_id=site,
        challenge=challenge,
        timeout=_WAIT,
        allow_credentials=[PublicKeyCredentialDescriptor(id=base64url_to_bytes(each.credential)) for each in known],
        user_verification=UserVerificationRequirement.REQUIRED,
    )
    return json.loads(options_to_json(made))


def credential_in(answer: str) -> str:
    """Return which passkey an answer says that it is of. Raises ForbiddenError for what is none."""
    try:
        found = json.loads(answer) if len(answer) <= MOST else None
    except (ValueError, RecursionError):
        found = None
    name = found.get("id") if isinstance(found, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - it came from outside
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ForbiddenError("this is no answer of a passkey")
    return name


def made_key(answer: str, *, challenge: bytes, site: str, origin: str) -> tuple[str, str, int]:
    """Return a new passkey's (credential, public key, count of signatures). Raises ForbiddenError."""
    from webauthn import verify_registration_response
    from webauthn.helpers import bytes_to_base64url

    credential_in(answer)
    try:
        made = verify_registration_response(
            credential=answer,
            expected_challenge=challenge,
            expected_rp_id=site,
            expected_origin=origin,
            require_user_verification=True,
        )
    except Exception as error:
        raise ForbiddenError("this passkey was not made as it was asked for") from error
    return bytes_to_base64url(made.credential_id), bytes_to_base64url(made.credential_public_key), made.sign_count


def count_signed(answer: str, passkey: Passkey, *, challenge: bytes, site: str, origin: str) -> int:
    """Check that a passkey signed this challenge on our site, having recognised its person; return its count.

    Whether the count has grown is asked where it is kept. Raises ForbiddenError.
    """
    from webauthn import verify_authentication_response
    from webauthn.helpers import base64url_to_bytes

    try:
        signed = verify_authentication_response(
            credential=answer,
            expected_challenge=challenge,
            expected_rp_id=site,
            expected_origin=origin,
            credential_public_key=base64url_to_bytes(passkey.public_key),
            credential_current_sign_count=0,
            require_user_verification=True,
        )
    except Exception as error:
        raise ForbiddenError("this passkey did not sign what it was asked for") from error
    return signed.new_sign_count
