"""What people and agents do about a waiting request besides deciding: hand over, add, ask, answer, remind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, ConfigDict, Field

from app.api.wire.bodies import read_model
from app.api.wire.operations import changes
from app.api.wire.routes import Request, Response, Router
from app.api.wire.schemas import Email, NothingBody
from app.api.wire.verdicts import access_to, answer_changed
from app.domain.card.form import MOST
from app.domain.identity.api_key import AGENTS, Scope
from app.domain.lifecycle.wishes import Wish
from app.domain.request.action import VERB_OF, VERBS, Action, Blank, Verb, Who

if TYPE_CHECKING:
    from app.api.wire.services import Services
    from app.domain.identity.api_key import ApiKey

_Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
_Note = Annotated[str, Field(max_length=MOST, pattern=r"^[^\x00]*$")]
_Text = Annotated[
    str, Field(max_length=MOST, pattern=r"^[^\x00]*[^\s\x00][^\x00]*$", description="plain text, not empty")
]


class _Wire(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, defer_build=True)


class HandOverBody(_Wire):
    """Let another person decide in one's place. The person who hands over is the one whose key it is."""

    to: Email = Field(description="a person of the file whom the rule lets take the place")
    digest: _Digest
    note: _Note | None = None


class ApproverBody(_Wire):
    """Let another person have to agree as well."""

    person: Email
    digest: _Digest
    note: _Note | None = None


class QuestionBody(_Wire):
    """Ask the agent and the requester something before deciding."""

    text: _Text
    digest: _Digest


class AnswerBody(_Wire):
    """Answer a question: the agent with its key, or the requester with theirs."""

    text: _Text


_OWN_BODIES: dict[Action, type[BaseModel]] = {Action.HAND_OVER: HandOverBody}
_BODIES_BY_BLANKS: dict[tuple[Blank, ...], type[BaseModel]] = {
    (): NothingBody,
    (Blank.TEXT,): QuestionBody,
    (Blank.PERSON, Blank.NOTE): ApproverBody,
}

"""The models of bodies, for OpenAPI."""


def consulting_router(c: Services) -> Router:
    """Build the routes under /v1/requests/{request_id}."""
    router = Router(tags=["requests"])

    async def consult(
        request: Request, key: ApiKey, request_id: str, wish: Wish, digest: str | None = None
    ) -> Response:
        found = await c.consult(
            org=key.org, request_id=request_id, wish=wish, by=_who(key), agent=key.agent, digest=digest
        )
        return await answer_changed(c, key, request, found)

    def add_route(verb: Verb) -> None:
        body_of = body_for(verb)
        scopes = scopes_of(verb)

        async def act(request_id: str, request: Request) -> Response:
            key = await access_to(c, request, request_id, *scopes)
            body = await read_model(request, body_of)
            return await consult(request, key, request_id, _wish(verb, body), getattr(body, "digest", None))

        path = f"/v1/requests/{{request_id}}/{verb.route}"
        described = changes(body_of)
        router.add(path, act, methods=["POST"], name=verb.action.value, description=verb.does, **described)

    for verb in VERBS:
        if verb.does:
            add_route(verb)

    @router.post("/v1/requests/{request_id}/questions/{question_id}/answer", **changes(AnswerBody))
    async def answer_question(request_id: str, question_id: str, request: Request) -> Response:
        """Answer a question, as the request's agent or its requester. The same answer again is harmless."""
        key = await access_to(c, request, request_id, *scopes_of(VERB_OF[Action.ANSWER]))
        body = await read_model(request, AnswerBody)
        wish = Wish(action=Action.ANSWER, text=body.text.strip(), question_id=question_id)
        return await consult(request, key, request_id, wish)

    @router.post("/v1/requests/{request_id}/extend", **changes(NothingBody))
    async def extend(request_id: str, request: Request) -> Response:
        """Give people as much time again as they had at first, three times at most."""
        key = await c.access(request, *scopes_of(VERB_OF[Action.EXTEND]))
        await read_model(request, NothingBody)
        found = await c.extend.extend(org=key.org, request_id=request_id, by=_who(key), person=key.person)
        return await answer_changed(c, key, request, found)

    @router.post("/v1/requests/{request_id}/reopen", **changes(NothingBody))
    async def reopen(request_id: str, request: Request) -> Response:
        """Ask again what expired: answers the new request, which names the old one as its predecessor."""
        key = await c.access(request, *scopes_of(VERB_OF[Action.REOPEN]))
        await read_model(request, NothingBody)
        found = await c.reopen.reopen(org=key.org, request_id=request_id, person=str(key.person))
        return await answer_changed(c, key, request, found)

    return router


def body_for(verb: Verb) -> type[BaseModel]:
    """Return the model of what a verb's route takes."""
    return _OWN_BODIES.get(verb.action) or _BODIES_BY_BLANKS[verb.blanks]


def scopes_of(verb: Verb) -> tuple[Scope, ...]:
    """Return which keys open a verb's route; whether the person or agent may is looked up when they come."""
    agents = AGENTS if Who.AGENT in verb.who else ()
    people = (Scope.APPROVER,) if {Who.APPROVER, Who.REQUESTER} & set(verb.who) else ()
    return (*agents, *people, *((Scope.ADMIN,) if Who.ADMIN in verb.who else ()))


def _wish(verb: Verb, body: BaseModel) -> Wish:
    given: dict[str, str | None] = body.model_dump()
    text = given.get(Blank.TEXT) or given.get(Blank.NOTE) or ""
    return Wish(action=verb.action, whom=given.get("to") or given.get(Blank.PERSON) or "", text=text.strip())


def _who(key: ApiKey) -> str:
    """Name whoever's key it is, as the trail does."""
    if key.scope in AGENTS:
        return f"agent:{key.agent}"
    return str(key.person) if key.scope is Scope.APPROVER else f"key:{key.id}"
