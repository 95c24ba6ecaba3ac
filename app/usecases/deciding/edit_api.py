"""Approve with changes through the API: whole arguments, from an approver's own key."""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog
from msgspec import Struct
from msgspec.structs import replace

from app.domain.errors import (
    AssentError,
    ConflictError,
    DigestMismatchError,
    InvalidError,
    LockedError,
    NotEligibleError,
    NotFoundError,
    UnavailableError,
)
from app.domain.lifecycle.step import Refusal
from app.domain.request.decision import Evidence, Verdict
from app.domain.request.quorum import Electorate
from app.domain.request.request import API
from app.domain.rules.name_of import name_of
from app.domain.text.canonical import canonical
from app.domain.text.unmasking import unmasked
from app.storage.requests.requests import lock_request
from app.storage.requests.sealing import why_missing
from app.usecases.deciding.decide import Decided, raise_refusal
from app.usecases.deciding.edit import ATTEMPTS, Edition, EditMade, EditRefused, approve_as_it_is, may_edit
from app.usecases.deciding.edited_request import as_edited
from app.usecases.judging.denied_before import near_copies
from app.usecases.payments.weigh import weigh
from app.usecases.proving.proof import NOTHING_GIVEN, worth_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from app.domain.identity.seals import Seals
    from app.domain.request.request import ConfirmationRequest
    from app.domain.text.canonical import JsonValue
    from app.policies.file.policy_book import PolicyBook
    from app.storage.engine.store import Store
    from app.storage.engine.transaction import Tx
    from app.usecases.deciding.edit import Edit, JudgedEdition
    from app.usecases.proving.proof import Given

log = structlog.get_logger(__name__)


class _Begun(Struct, frozen=True, kw_only=True):
    """A request that may be changed by whoever wants to, and what it is to be."""

    request: ConfirmationRequest
    edition: Edition


class EditByApi:
    """An approver changes and approves with a personal key: identity from the credential, never from the body."""

    def __init__(self, *, edit: Edit, store: Store, book: PolicyBook, seals: Seals) -> None:
        """Take what it works on."""
        self._edit = edit
        self._store = store
        self._book = book
        self._seals = seals

    async def __call__(
        self,
        *,
        org: str,
        request_id: str,
        person: str,
        digest: str,
        arguments: Mapping[str, JsonValue],
        reason: str | None = None,
        given: Given = NOTHING_GIVEN,
    ) -> ConfirmationRequest:
        """Change exactly what `digest` names to these arguments, whole, and approve that as far as `person` may.

        What was `given` must be worth what the call takes, as it stands and as changed, where their own approval would
        count: the code as it was shown, or the amount as it is to be. Otherwise nothing is changed (StepUpNeededError,
        LockedError).

        A sensitive value may be sent as it was shown, masked: it then stays. Nothing changed is a plain approval. The
        same change again is answered like the first time. Raises NotFoundError, DigestMismatchError, NotEligibleError,
        AlreadySettledError, InvalidError for arguments that the tool does not take, and ConflictError for a change
        that rules, hooks or the want of approvers forbid.
        """
        wanted = Edition(by=person, evidence=Evidence(channel=API), arguments=arguments, reason=reason)
        made = await self.made(org=org, request_id=request_id, digest=digest, wanted=wanted, given=given)
        return self._told(org, person, made)

    async def made(
        self, *, org: str, request_id: str, digest: str, wanted: Edition, given: Given = NOTHING_GIVEN
    ) -> EditMade | EditRefused:
        """Do the same for whoever came by another way, and say what became of it; raises what the call itself does."""
        for _ in range(ATTEMPTS):
            try:
                made = await self._attempt(org, request_id, digest, wanted, given)
            except LockedError:
                log.warning("approver.locked", org=org, person=wanted.by, request=request_id)
                raise
            if made is not None:
                return made
        raise UnavailableError("the rules changed again and again: try again shortly")

    async def _attempt(
        self, org: str, request_id: str, digest: str, wanted: Edition, given: Given
    ) -> EditMade | EditRefused | None:
        begun = await self._store.write(lambda tx: self._begin(tx, request_id, digest, wanted, given), org=org)
        if not isinstance(begun, _Begun):
            return begun
        return await self._write(begun.request, await self._edit.judged(begun.request, begun.edition), given)

    def _begin(
        self, tx: Tx, request_id: str, digest: str, wanted: Edition, given: Given
    ) -> _Begun | EditMade | EditRefused | AssentError:
        locked = lock_request(tx, request_id)
        if locked is None:
            return why_missing(tx, request_id)
        request, now = locked
        try:
            whole = unmasked(wanted.arguments, request.call.arguments, request.sensitive)
        except InvalidError as error:
            return error
        same = canonical(whole) == canonical(dict(request.call.arguments))
        if digest != request.digest:
            again = same and request.edited_by == wanted.by  # the answer to the first time was lost
            return EditMade(request=request, decided=None, own=None) if again else _mismatch()
        loaded = self._book.current(tx.org)
        refused = may_edit(tx, request, now, loaded.policy, person=wanted.by, evidence=wanted.evidence)
        if refused is not None:
            return refused
        edition = replace(wanted, arguments=whole)
        if same:
            proved = self._proved(tx, request, now, edition, given)
            return proved if isinstance(proved, AssentError) else approve_as_it_is(tx, request, now, loaded, proved)
        return _Begun(request=request, edition=edition)

    def _proved(
        self, tx: Tx, request: ConfirmationRequest, now: datetime, edition: Edition, given: Given
    ) -> Edition | AssentError:
        """Return what is wanted with what its editor's approval of `request` is worth, or why that is refused."""
        policy, evidence = self._book.current(tx.org).policy, edition.evidence
        worth = worth_of(tx, self._seals, request, now, policy, person=edition.by, given=given, evidence=evidence)
        return (
            worth if isinstance(worth, AssentError) else replace(edition, evidence=replace(evidence, assurance=worth))
        )

    def _as_it_will_be(
        self, tx: Tx, request: ConfirmationRequest, now: datetime, wanted: JudgedEdition
    ) -> ConfirmationRequest:
        """Return the request after the change, but with the code that was shown: what an approval would be about.

        It takes the higher of what the request takes as it stands and as changed.
        """
        judged = wanted.judged
        cautions = (*near_copies(tx, judged, now=now), *weigh(tx, judged, now=now, instead_of=request.id))
        by = wanted.edition.by
        after = as_edited(request, wanted.judged, by=by, seals=self._seals, now=now, cautions=cautions).request
        level = max(after.assurance, request.assurance.of_each)
        return replace(after, code=request.code, decisions=(), assurance=level)

    async def _write(
        self, request: ConfirmationRequest, wanted: JudgedEdition, given: Given
    ) -> EditMade | EditRefused | None:
        def unit(tx: Tx) -> EditMade | EditRefused | AssentError | None:
            locked: tuple[ConfirmationRequest, datetime] | None = lock_request(tx, request.id)
            if locked is None:
                return NotFoundError()
            now = locked[1]
            if locked[0].digest != request.digest:
                return _mismatch()
            if wanted.judged.policy.version != self._book.current(tx.org).policy.version:
                return None  # before a code is spent on it
            after = self._as_it_will_be(tx, locked[0], now, wanted)
            proved = self._proved(tx, after, now, wanted.edition, given)
            if isinstance(proved, AssentError):
                return proved
            return self._edit.write(tx, locked[0], now, replace(wanted, edition=proved))

        return await self._store.write(unit, org=request.call.org, about=request.id)

    def _told(self, org: str, person: str, made: EditMade | EditRefused) -> ConfirmationRequest:
        """Return the request as it stands, or raise why nothing was changed."""
        policy = self._book.current(org).policy
        match made:
            case EditMade(changed=False, decided=Decided() as decided):
                raise_refusal(decided, policy, person, Verdict.APPROVE)
                return decided.request
            case EditMade(request=request):
                return request
            case EditRefused(builds_on=str(earlier)):
                why = f"{name_of(policy, earlier)} has changed this before: undo or replace that as well"
                raise ConflictError(f"nothing was changed: {why}, or decide on it as it stands")
            case EditRefused(refusal=Refusal.UNSUITABLE):
                raise ConflictError("nothing was changed: nobody else could approve it then")
            case EditRefused(refusal=Refusal.NOT_ELIGIBLE):
                raise NotEligibleError
            case EditRefused(request=request, refusal=refusal):
                nobody = Electorate(stages=(), barred=frozenset())
                raise_refusal(Decided(request=request, voters=nobody, refusal=refusal), policy, person, None)
                return request


def _mismatch() -> DigestMismatchError:
    return DigestMismatchError("the digest is not that of this request: read it again before you change it")
