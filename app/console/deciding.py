"""The page on which people decide.

Nothing that is got decides anything; what is posted carries the proof that a page of this very session sent it, and how
the request stood when that page was drawn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.api.wire.routes import Request, Response, Router
from app.console.answers import see, told
from app.console.pages import page
from app.console.visit import base_of, foreign, form_of, is_own, language_of, remember_language, sessions_in
from app.domain.card.editing import MOST_FIELDS
from app.domain.card.form import MOST
from app.domain.errors import ForbiddenError, UnauthenticatedError
from app.domain.people.assurance import Assurance
from app.domain.request.decision import Verdict
from app.domain.words.say import say
from app.usecases.console.decide_page import MOST_REASON, Refused, Wanted
from app.usecases.console.do_other import Again, OtherWanted
from app.usecases.console.other_forms import OTHERS
from app.usecases.proving.proof import Given

if TYPE_CHECKING:
    from app.domain.identity.passkey import Proven
    from app.domain.text.language import Language
    from app.usecases.console.decide_page import DecidePage
    from app.usecases.console.sessions import Right
    from app.usecases.console_verbs import ConsoleVerbs

_WIDE = 0x2E7F  # from here on characters are as wide as two
_LONG, _LONGER = 15, 22
_FIELDS = MOST_FIELDS + 6  # of a form: the arguments that one has, and what goes with them
_OTHERS = {verb.action.value: verb.action for verb in OTHERS}
_OF_FORM = frozenset({"do", "press", "typed", "totp"})
_READY = ("amount", "payee", "unknown", "later")
_VERDICTS: dict[str, Verdict | None] = {"approve": Verdict.APPROVE, "deny": Verdict.DENY, "withdraw": None}


def deciding_router(c: ConsoleVerbs) -> Router:
    """Build the routes of the page."""
    router = Router(include_in_schema=False)

    @router.get("/r/{request_id}", head=True)
    async def show(request_id: str, request: Request) -> Response:
        async def shown() -> Response:
            right = await c.sessions.right_of(*sessions_in(request))
            return await _drawn(c, request, right, request_id)

        return await told(request, shown, closed="signed_out")

    @router.post("/r/{request_id}")
    async def press(request_id: str, request: Request) -> Response:
        async def pressed() -> Response:
            right = await c.sessions.right_of(*sessions_in(request))
            policy = c.sessions.policy_of(right)
            if not is_own(request, policy):
                raise foreign()
            form = await form_of(request, fields=_FIELDS)
            sent = _other(form) if "do" in form else None
            language = language_of(request, policy)
            if "end" in form:
                refused = await c.decide_page.end_for_session(
                    right, request_id, form["end"], form.get("press", ""), language
                )
            elif sent is not None:
                refused = await c.do_other(right, request_id, sent, language)
            else:
                refused = await _voted(c, right, request_id, form, language)
            if isinstance(refused, Again):
                return await _asked_again(c, request, right, request_id, refused)
            if refused is None:
                return see(f"{base_of(policy)}/r/{request_id}", policy)
            reason = form.get("reason", "")
            return await _drawn(c, request, right, request_id, refused=refused, reason=reason, sent=sent)

        return await told(request, pressed, closed="signed_out")

    return router


async def _asked_again(c: ConsoleVerbs, request: Request, right: Right, request_id: str, again: Again) -> Response:
    """Go on to the new request, or say which it is to whom a card's link opens no other."""
    if right.request_id is None:
        policy = c.sessions.policy_of(right)
        return see(f"{base_of(policy)}/r/{again.request_id}", policy)
    return await _drawn(c, request, right, request_id, done=again.sentence)


async def _voted(
    c: ConsoleVerbs, right: Right, request_id: str, form: dict[str, str], language: Language
) -> Refused | None:
    try:
        proven = await _proven(c, right, request_id, form)
    except ForbiddenError:
        return Refused(sentence=say(language, "console.wrong_passkey"))
    return await c.decide_page.press(right, request_id, _wanted(form, language, proven), language)


async def _drawn(
    c: ConsoleVerbs,
    request: Request,
    right: Right,
    request_id: str,
    *,
    refused: Refused | None = None,
    done: str = "",
    reason: str = "",
    sent: OtherWanted | None = None,
) -> Response:
    """Draw the page of a request as it stands, also after a press that was refused, or was `done` elsewhere.

    `reason`, or `sent`, is what was typed there.
    """
    policy = c.sessions.policy_of(right)
    language = language_of(request, policy)
    found = await c.decide_page.show(right, request_id, language, since=refused.press if refused else None)
    values = values_of(found, language, notice=refused.sentence if refused else done, reason=reason, sent=sent)
    values |= {"to_inbox": right.request_id is None}
    status = 409 if refused else 200
    shows = policy.url and any(each.is_picture for each in found.sheet.evidence)
    pictures = f"{policy.url}/r/{request_id}/evidence/" if shows else ""
    answer = await page(request, "decide.html", language, values, policy=policy, status=status, pictures=pictures)
    return remember_language(request, answer, policy)


def values_of(
    found: DecidePage, language: Language, *, notice: str = "", reason: str = "", sent: OtherWanted | None = None
) -> dict[str, object]:
    """Return what the page's template is given."""
    sheet, glance = found.sheet, found.glance
    return {
        "sheet": sheet,
        "wide": _wide,
        "card": sheet.card,
        "glance": glance,
        "press": found.press,
        "stands": found.stands,
        "head": found.head,
        "notice": notice,
        "reason": reason[:MOST_REASON],
        "most_reason": MOST_REASON,
        "ready": [(name, say(language, f"console.ready.{name}")) for name in _READY],
        "wants_typed": glance.level > Assurance.L1,
        "wants_totp": glance.level.of_each is Assurance.L3 and (found.by_app or not found.by_passkey),
        "wants_passkey": glance.level.of_each is Assurance.L3 and found.by_passkey,
        "wants_two": glance.level is Assurance.L4,
        "to_inbox": False,
        "verbs": found.others,
        "offer": found.offer,
        "allowed": found.allowed,
        "opened": sent.action if sent else None,
        "kept": sent.fields if sent else {},
        "most_text": MOST,
        "face": "warned" if sheet.card.warnings and glance.pending else sheet.card.tone.value,
    }


def _wide(text: str) -> str:
    """Say how much room an amount takes, so that it stands on one line of a phone where it can."""
    room = sum(2 if ord(char) > _WIDE else 1 for char in text)
    return " longer" if room > _LONGER else " long" if room > _LONG else ""


async def _proven(c: ConsoleVerbs, right: Right, request_id: str, form: dict[str, str]) -> Proven | None:
    """Return what the person's passkey signed, if it came along. Raises ForbiddenError and UnauthenticatedError."""
    if form.get("verdict") != "approve" or not form.get("answer"):
        return None
    return await c.passkeys.proven(right, request_id, form.get("challenge", ""), form["answer"])


def _wanted(form: dict[str, str], language: Language, proven: Proven | None) -> Wanted:
    """Return what was pressed. Raises UnauthenticatedError for a form that none of our pages has."""
    if form.get("verdict") not in _VERDICTS:
        raise UnauthenticatedError
    ready = form.get("ready", "")
    reason = say(language, f"console.ready.{ready}") if ready in _READY else form.get("reason", "").strip()
    return Wanted(
        verdict=_VERDICTS[form["verdict"]],
        press=form.get("press", ""),
        reason=reason or None,
        given=_given(form, proven),
        allow=form.get("allow", ""),
    )


def _given(form: dict[str, str], proven: Proven | None = None) -> Given:
    typed, totp = form.get("typed", "").strip(), "".join(form.get("totp", "").split())
    return Given(typed=typed or None, totp=totp or None, passkey=proven)


def _other(form: dict[str, str]) -> OtherWanted:
    """Return what else was sent. Raises UnauthenticatedError for a verb that none of our forms has."""
    if form["do"] not in _OTHERS:
        raise UnauthenticatedError
    filled = {name: text.replace("\r\n", "\n") for name, text in form.items() if name not in _OF_FORM}
    return OtherWanted(action=_OTHERS[form["do"]], press=form.get("press", ""), fields=filled, given=_given(form))
