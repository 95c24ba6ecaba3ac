"""What a browser says along with a visit: its session, its language, its form, and that the form is our own page's."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

from app.api.wire.bodies import read_body
from app.domain.errors import UnauthenticatedError
from app.domain.text.language import Language
from app.usecases.signing_in.passkeys import origin_of

if TYPE_CHECKING:
    from app.api.wire.routes import Request, Response
    from app.domain.rules.policy import Policy
    from app.usecases.console.sessions import Begun, Right
    from app.usecases.console_verbs import ConsoleVerbs

_MOST = 16_384  # bytes of a form: a reason of a thousand characters of any script, percent-encoded
_FORM = "application/x-www-form-urlencoded"
_LANGUAGE = "assent-language"
_A_YEAR = 31_536_000
HSTS = f"max-age={_A_YEAR}"
"""Said of every answer over https: the next one is to be over https as well."""
_LINKS = ("__Secure-assent-link", "assent-link")
_BEGUN = ("__Secure-assent-begun", "assent-begun")
_PEOPLE = ("__Secure-assent-session", "assent-session")


async def form_of(request: Request, *, most: int = _MOST, fields: int = 12) -> dict[str, str]:
    """Return the fields of a form, each once. Raises UnauthenticatedError for anything that is none."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _FORM:
        raise UnauthenticatedError
    body = await read_body(request, most=most)
    try:
        found = parse_qs(body.decode("ascii"), strict_parsing=True, keep_blank_values=True, max_num_fields=fields)
    except ValueError:
        raise UnauthenticatedError from None
    if any(len(values) != 1 or "\0" in values[0] for values in found.values()):  # PostgreSQL keeps none
        raise UnauthenticatedError
    return {name: values[0] for name, values in found.items()}


def is_own(request: Request, policy: Policy) -> bool:
    """Say whether a form comes from our own page: browsers say so themselves, and nothing else is believed."""
    own = origin_of(policy)
    return (
        request.headers.get("origin") == own and request.headers.get("sec-fetch-site", "same-origin") == "same-origin"
    )


def foreign() -> UnauthenticatedError:
    """Return why a form is refused that is not from our own page; `said` names the page that tells so."""
    return UnauthenticatedError("the form did not come from a page of this gateway", said="foreign")


def language_of(request: Request, policy: Policy | None) -> Language:
    """Return the language that the reader chose now or before, or the browser's first of ours, or the org's."""
    chosen = _chosen(request) or request.cookies.get(_LANGUAGE)
    if chosen in set(Language):
        return Language(chosen)
    for wish in request.headers.get("accept-language", "").split(","):
        name = wish.partition(";")[0].partition("-")[0].strip().lower()
        if name in set(Language):
            return Language(name)
    return policy.language if policy else Language.EN


def remember_language(request: Request, response: Response, policy: Policy) -> Response:
    """Keep the language that a reader has just chosen."""
    chosen = _chosen(request)
    if chosen in set(Language):
        response.set_cookie(
            _LANGUAGE, chosen, max_age=_A_YEAR, path=f"{base_of(policy)}/", httponly=True, samesite="lax"
        )
    return response


def _chosen(request: Request) -> str:
    return request.query_params.get("lang", "")


def base_of(policy: Policy | None) -> str:
    """Return the path under which people reach the gateway."""
    return urlsplit(policy.url or "").path if policy else ""


def is_secure(policy: Policy | None) -> bool:
    """Say whether people reach the gateway by https."""
    return urlsplit(policy.url or "").scheme == "https" if policy else False


def sessions_in(request: Request) -> tuple[str, str]:
    """Return the sessions that a browser holds: for one request by its link, and for a person; "" for none."""

    def held(names: tuple[str, str]) -> str:
        return next((request.cookies[name] for name in names if name in request.cookies), "")

    return held(_LINKS), held(_PEOPLE)


def keep_session(response: Response, policy: Policy, begun: Begun) -> None:
    """Give the browser its session: for one request on that page's path alone, or a person's.

    A person's goes along when they come from a link in their chat; that of one request does not, and needs not.
    """
    of_request = begun.request_id is not None
    _set(
        response,
        policy,
        _LINKS if of_request else _PEOPLE,
        begun.session,
        path=f"{base_of(policy)}/r/{begun.request_id}" if of_request else f"{base_of(policy)}/",
        seconds=int(begun.lasts.total_seconds()),
        strict=of_request,
    )


def keep_begun(response: Response, policy: Policy, text: str, *, seconds: int) -> None:
    """Give the browser what it began with an issuer, for the address alone that the issuer sends it back to."""
    _set(response, policy, _BEGUN, text, path=f"{base_of(policy)}/sign-in/from", seconds=seconds, strict=False)


def begun_in(request: Request) -> str:
    """Return what a browser began with an issuer; "" for nothing."""
    return next((request.cookies[name] for name in _BEGUN if name in request.cookies), "")


def drop_session(response: Response, policy: Policy) -> None:
    """Take a person's session from the browser."""
    _set(response, policy, _PEOPLE, "", path=f"{base_of(policy)}/", seconds=0, strict=False)


def _set(
    response: Response, policy: Policy, names: tuple[str, str], text: str, *, path: str, seconds: int, strict: bool
) -> None:
    secure = is_secure(policy)
    response.set_cookie(
        names[0] if secure else names[1],
        text,
        max_age=seconds,
        path=path,
        secure=secure,
        httponly=True,
        samesite="strict" if strict else "lax",
    )


async def person_of(c: ConsoleVerbs, request: Request) -> Right:
    """Return whose session a browser has. Raises UnauthenticatedError; a card's link opens no page of a person."""
    return await c.sessions.right_of("", sessions_in(request)[1])


async def sent_by(
    c: ConsoleVerbs, request: Request, *, most: int = _MOST, fields: int = 12
) -> tuple[Right, Policy, dict[str, str]]:
    """Return a form of this very session's page, and whose it is. Raises UnauthenticatedError."""
    right = await person_of(c, request)
    policy = c.sessions.policy_of(right)
    form = await form_of(request, most=most, fields=fields)
    if not is_own(request, policy):
        raise foreign()
    if not c.sessions.is_sealed(right, form.get("seal", "")):
        raise UnauthenticatedError
    return right, policy, form
