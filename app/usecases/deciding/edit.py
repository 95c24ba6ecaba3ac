"""Approve with changes: other arguments are judged like a new call, then approved by whoever they need.

Hooks and rules run outside of any transaction; then one unit of work locks the request, looks whether it is still what
was judged, and writes the change together with the editor's own vote, where that counts. What the gate refuses changes
nothing. The votes that were cast on the call as it was are void: they were about another digest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from app.domain.card.editing import builds_on
from app.domain.errors import ConflictError
from app.domain.lifecycle.consultations import Edited
from app.domain.lifecycle.lifecycle import DeadlinePassed, advance, refusal_of
from app.domain.lifecycle.step import Refusal
from app.domain.request.decision import Decision, Verdict
from app.domain.request.redact import scrubbed, scrubbed_for
from app.domain.request.request import API
from app.domain.rules.policy import Allow, Ask, Deny
from app.domain.text.canonical import canonical
from app.usecases.deciding.decide import decide
from app.usecases.deciding.edited_request import as_edited
from app.usecases.judging.asked_before import asked_again, sub_agent_of
from app.usecases.judging.denied_before import near_copies
from app.usecases.payments.weigh import spend_instead, weigh
from app.usecases.voters.electorate import acts_for, voters_of
from app.usecases.writing.carry_out import carry_out
from app.usecases.writing.refused_click import refused_click

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from app.domain.identity.seals import Seals
    from app.domain.people.assurance import Assurance
    from app.domain.request.decision import Evidence
    from app.domain.request.quorum import Electorate
    from app.domain.request.request import ConfirmationRequest
    from app.domain.rules.policy import Policy
    from app.domain.text.canonical import JsonValue
    from app.policies.file.policy_book import PolicyBook
    from app.policies.file.policy_file import LoadedPolicy
    from app.storage.engine.store import Store
    from app.storage.engine.transaction import Tx
    from app.usecases.deciding.decide import Decided
    from app.usecases.judging.judge_call import JudgeCall, Judged
    from app.usecases.platforms.channel_book import ChannelBook

ATTEMPTS = 3
"""How often arguments are judged anew because the file changed meanwhile."""


class Edition(Struct, frozen=True, kw_only=True):
    """What somebody wants: these arguments, already as they would be stored but for defaults."""

    by: str  # e-mail of the person, identified by whoever calls
    evidence: Evidence
    arguments: Mapping[str, JsonValue]
    reason: str | None = None


class EditRefused(Struct, frozen=True, kw_only=True):
    """Why nothing was changed. `builds_on`: who had changed the call before, in a way that would have stayed."""

    request: ConfirmationRequest
    refusal: Refusal
    builds_on: str | None = None


class EditMade(Struct, frozen=True, kw_only=True):
    """The request as it stands. `decided` is the editor's own vote; None: it would not count, for the reason `own`.

    Not `changed`: it was as it is wanted, and the vote is a plain approval.
    """

    request: ConfirmationRequest
    decided: Decided | None
    own: Refusal | None
    changed: bool = True


class JudgedEdition(Struct, frozen=True, kw_only=True):
    """What somebody wants, as hooks and rules left it, and the chats of the channels that it needs besides."""

    edition: Edition
    judged: Judged
    chats: Mapping[str, str]


class Edit:
    """The use case, for clicks (`edit_click.py`) and the API (`edit_api.py`)."""

    def __init__(
        self, *, store: Store, book: PolicyBook, judge: JudgeCall, channels: ChannelBook, seals: Seals
    ) -> None:
        """Take what it works on."""
        self._store = store
        self._book = book
        self._judge = judge
        self._channels = channels
        self._seals = seals

    async def judged(self, request: ConfirmationRequest, edition: Edition) -> JudgedEdition:
        """Run the changed call through schema, hooks and rules, as if the agent had made it.

        Raises InvalidError for arguments that the tool does not take, ConflictError, with the reason, for a call that
        a rule or hook refuses, or that a hook would run otherwise (the trail is told), and UnavailableError.
        """
        sub_agent = await self._store.read(lambda tx: sub_agent_of(tx, request.id), org=request.call.org)
        judged = await self._judge(asked_again(request.call, edition.arguments, sub_agent=sub_agent))
        why = _objection(judged)
        if why is None:
            return JudgedEdition(edition=edition, judged=judged, chats=self._chats(request, judged))

        def unit(tx: Tx) -> None:
            record = refused_click(edition.evidence, why="edit_refused", person=edition.by)
            facts = {**record.facts, "reason": why, "rule": judged.ruling.rule_id}
            tx.append(replace(record, facts=facts), request_id=request.id)
            for note in judged.notes:
                tx.append(note, request_id=request.id)

        await self._store.write(unit, org=request.call.org)
        raise ConflictError(why, state=request.state.value)

    def _chats(self, request: ConfirmationRequest, judged: Judged) -> dict[str, str]:
        ruling = judged.ruling
        asking = ruling.asking if isinstance(ruling, Ask) else ruling.otherwise if isinstance(ruling, Allow) else None
        wanted = asking.channels if asking else ()  # what is weighed later may ask where the rule alone would not
        new = [name for name in wanted if name not in {*request.channels, API}]
        return {name: self._channels.chats[request.call.org, name] for name in new}

    def write(
        self, tx: Tx, request: ConfirmationRequest, now: datetime, wanted: JudgedEdition
    ) -> EditMade | EditRefused | None:
        """Change a locked request to what was judged, and count the editor's vote. None: the file is another by now.

        Whoever calls has seen that the request is still the one that was judged: its digest says so.
        """
        edition, judged = _without_secrets(request, wanted), wanted.judged
        loaded = self._book.current(tx.org)
        policy = loaded.policy
        if judged.policy.version != policy.version:
            return None
        if canonical(dict(judged.call.arguments)) == canonical(dict(request.call.arguments)):
            return approve_as_it_is(tx, request, now, loaded, edition)
        if request.edited_by != edition.by and builds_on(request, judged.call.arguments):
            return EditRefused(request=request, refusal=Refusal.UNSUITABLE, builds_on=request.edited_by)
        cautions = (*near_copies(tx, judged, now=now), *weigh(tx, judged, now=now, instead_of=request.id))
        now = max(now, tx.now())  # weighing may have waited for others, and the deadline for nobody
        edited = as_edited(
            request, judged, by=edition.by, seals=self._seals, now=now, reason=edition.reason, cautions=cautions
        )
        evidence = edition.evidence
        door = {"channel": evidence.channel, "account": evidence.account_id, "message": evidence.message_id}
        event = Edited(
            by=edition.by,
            changed=edited.request,
            voters=_editors(request, policy, now),
            after=voters_of(edited.request, policy, now=now),
            facts={**edited.facts, **{name: value for name, value in door.items() if value}},
        )
        step = advance(request, event, now=now)
        after = carry_out(tx, request, step, chats=wanted.chats)
        if step.refusal is not None:
            if step.refusal in {Refusal.BARRED, Refusal.NOT_ELIGIBLE}:
                tx.append(refused_click(evidence, why=str(step.refusal), person=edition.by), request_id=request.id)
            return EditRefused(request=after, refusal=step.refusal)
        spend_instead(tx, judged, request_id=request.id)
        for note in judged.notes:
            tx.append(note, request_id=request.id)
        return _with_own_vote(tx, after, now, loaded, edition, before=request.assurance)


def may_edit(
    tx: Tx, request: ConfirmationRequest, now: datetime, policy: Policy, *, person: str, evidence: Evidence
) -> EditRefused | None:
    """Say why somebody may not change a locked request at all, or None if they may; the trail is told."""
    if request.status.final or now >= request.expires_at:
        over = carry_out(tx, request, advance(request, DeadlinePassed(), now=now))
        return EditRefused(request=over, refusal=Refusal.SETTLED)
    refusal = no_editor(request, now, policy, person=person)
    if refusal is None:
        return None
    tx.append(refused_click(evidence, why=str(refusal), person=person), request_id=request.id)
    return EditRefused(request=request, refusal=refusal)


def no_editor(request: ConfirmationRequest, now: datetime, policy: Policy, *, person: str) -> Refusal | None:
    """Say why somebody is none of those who may change a request; None: they are."""
    voters = _editors(request, policy, now)
    if voters.is_barred(person):
        return Refusal.BARRED
    return None if person in voters.entitled() else Refusal.NOT_ELIGIBLE


def approve_as_it_is(
    tx: Tx, request: ConfirmationRequest, now: datetime, loaded: LoadedPolicy, edition: Edition
) -> EditMade:
    """Count a plain approval, of somebody who changed nothing."""
    decided = _decide(tx, request, now, loaded, edition)
    return EditMade(request=decided.request, decided=decided, own=decided.refusal, changed=False)


def _with_own_vote(
    tx: Tx, request: ConfirmationRequest, now: datetime, loaded: LoadedPolicy, edition: Edition, *, before: Assurance
) -> EditMade:
    """Count the editor's vote on what they made, if it is one that counts.

    In the breath of a change it is to be worth what the call took `before` as well: who lowers an amount is as sure to
    be who they say as who approves it as it was.
    """
    voters = voters_of(request, loaded.policy, now=now)
    vote = Decision(
        id="",
        person=edition.by,
        verdict=Verdict.APPROVE,
        reason=None,
        at=now,
        evidence=edition.evidence,
        on_behalf_of=acts_for(edition.by, request, voters),
    )
    why_not = refusal_of(request, vote, voters)
    if why_not is None and not edition.evidence.assurance.suffices_for(before):
        why_not = Refusal.STEP_UP
    if why_not is not None:
        return EditMade(request=request, decided=None, own=why_not)
    decided = _decide(tx, request, now, loaded, edition)
    return EditMade(request=decided.request, decided=decided, own=decided.refusal)


def _decide(tx: Tx, request: ConfirmationRequest, now: datetime, loaded: LoadedPolicy, edition: Edition) -> Decided:
    return decide(
        tx,
        request,
        now,
        loaded,
        person=edition.by,
        verdict=Verdict.APPROVE,
        reason=edition.reason,
        evidence=edition.evidence,
    )


def _editors(request: ConfirmationRequest, policy: Policy, now: datetime) -> Electorate:
    """Return who may change a request: whoever may decide it, and who changed it last as well."""
    return voters_of(replace(request, edited_by=None), policy, now=now)


def _without_secrets(request: ConfirmationRequest, wanted: JudgedEdition) -> Edition:
    """Return what somebody wants, without the sensitive values of either call in its reason."""
    edition, judged = wanted.edition, wanted.judged
    if not edition.reason:
        return edition
    reason = scrubbed(edition.reason, judged.call.arguments, {*request.sensitive, *judged.tool.sensitive})
    return replace(edition, reason=scrubbed_for(reason, request))


def _objection(judged: Judged) -> str | None:
    """Say why a changed call may not be approved; None: the gate lets it pass as it is."""
    if isinstance(judged.ruling, Deny):
        return judged.ruling.reason
    if judged.said.arguments is not None or judged.said.route is not None:
        return "a hook would run the changed call with other arguments, or elsewhere, than people would approve"
    return None
