"""A person signed in to the console where passkeys are possible, with a device of theirs."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.console.passkey_device import ORIGIN, Device
from tests.fixtures.review_visits import ReadPage, pressing, token_of
from tests.fixtures.second_factors import ALICE, invited

if TYPE_CHECKING:
    import httpx2

    from tests.fixtures.gateway import Gateway


@dataclass(slots=True, kw_only=True)
class Home:
    """Somebody at a browser of their own, whose cookie we hold in our hands."""

    gateway: Gateway
    who: str = ALICE
    session: str = ""
    device: Device = field(default_factory=Device)

    @classmethod
    async def of(cls, gateway: Gateway, who: str = ALICE) -> Home:
        """Sign a person in by a link."""
        home = cls(gateway=gateway, who=who)
        link = (await gateway.container.services.sessions.invite("acme", who, by="cli")).url
        home.take(await home.post("/sign-in", t=token_of(link)))
        return home

    def take(self, answer: httpx2.Response) -> None:
        """Keep the session that an answer begins."""
        assert answer.status_code == 303, answer.text
        self.session = answer.headers["set-cookie"].partition(";")[0].partition("=")[2]

    async def get(self, path: str = "/", **headers: str) -> httpx2.Response:
        """Look at a page."""
        sent = {"cookie": f"assent-session={self.session}", **{k.replace("_", "-"): v for k, v in headers.items()}}
        self.gateway.http.cookies.clear()
        return await self.gateway.http.get(path, headers=sent)

    async def post(self, path: str, *, origin: str = ORIGIN, **fields: str) -> httpx2.Response:
        """Send a form, as a browser does."""
        headers = {"origin": origin, "sec-fetch-site": "same-origin", "cookie": f"assent-session={self.session}"}
        self.gateway.http.cookies.clear()
        return await self.gateway.http.post(path, data=fields, headers=headers)

    async def seal(self) -> str:
        """Return what the forms of this session's own page carry."""
        return field_of((await self.get("/me")).text, "seal")

    async def make_passkey(self, code: str | None = None) -> httpx2.Response:
        """Set a passkey up, with an invitation."""
        sent = {"seal": await self.seal(), "code": code or await invited(self.gateway, self.who)}
        asked = await self.post("/me/passkeys/options", **sent)
        assert asked.status_code == 200, asked.text
        answer = self.device.make(asked.json()["options"])
        return await self.post("/me/passkeys", **sent, challenge=asked.json()["challenge"], answer=answer)

    async def asked(self, request: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """Return the page of a request as it is pressed, and what the browser is to have signed for it."""
        press = pressing((await self.get(f"/r/{request['id']}")).text)
        asked = await self.post(f"/r/{request['id']}/passkey", press=press)
        assert asked.status_code == 200, asked.text
        return press, asked.json()

    async def approve(self, request: dict[str, Any], **lies: Any) -> httpx2.Response:
        """Approve a request with the passkey."""
        press, asked = await self.asked(request)
        given = {"typed": request["code"], "challenge": asked["challenge"]}
        answer = self.device.sign(asked["options"], **lies)
        return await self.post(f"/r/{request['id']}", verdict="approve", press=press, answer=answer, **given)

    async def sign_in(self, **lies: Any) -> httpx2.Response:
        """Sign in with the passkey."""
        asked = (await self.post("/sign-in/passkey/options")).json()
        answer = self.device.sign(asked["options"], **lies)
        return await self.post("/sign-in/passkey", challenge=asked["challenge"], answer=answer)


def field_of(page: str, name: str) -> str:
    """Return the value of a field of a page's forms."""
    return next(str(a["value"]) for _, a in ReadPage(page).elements if a.get("name") == name)


def told_error(answer: httpx2.Response) -> str:
    """Return the sentence that a script of ours is told."""
    return json.loads(answer.text)["error"]
