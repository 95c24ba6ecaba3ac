"""The stand-in's API, spoken by hand, refuses what the platform refuses; one that took anything would fail here."""

from __future__ import annotations

import asyncio
import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import httpx2
import pytest

from channels.conformance.harness import StillClock
from channels.feishu.simulator.simulator import FeishuSimulator

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


Json = dict[str, Any]


def div(text: str) -> Json:
    return {"tag": "div", "text": {"tag": "plain_text", "content": text}}


def card(*elements: Json) -> Json:
    return {"schema": "2.0", "body": {"elements": list(elements)}}


# --- the HTTP API, spoken by hand ----------------------------------------------------------------------------------


class Api:
    """The API without the SDK."""

    def __init__(self, feishu: FeishuSimulator, http: httpx2.AsyncClient) -> None:
        self.feishu = feishu
        self.http = http
        self.token = ""

    async def sign_in(self) -> Json:
        app = self.feishu.platform.app
        answer = await self.post_raw(
            "/open-apis/auth/v3/tenant_access_token/internal", {"app_id": app.app_id, "app_secret": app.app_secret}
        )
        self.token = str(answer.get("tenant_access_token"))
        return answer

    async def post_raw(self, path: str, body: Any, **headers: str) -> Json:
        return (await self.http.post(path, json=body, headers=headers)).json()

    async def send(self, *, query: str = "receive_id_type=chat_id", **fields: Any) -> Json:
        chat = next(iter(self.feishu.platform.chats))
        body = {"receive_id": chat, "msg_type": "interactive", "content": json.dumps(card(div("x")))} | fields
        return await self.post_raw(f"/open-apis/im/v1/messages?{query}", body, authorization=f"Bearer {self.token}")

    async def patch(self, message_id: str, content: Any = None, **fields: Any) -> Json:
        body = {"content": json.dumps(card(div("y"))) if content is None else content} | fields
        answer = await self.http.patch(
            f"/open-apis/im/v1/messages/{message_id}", json=body, headers={"authorization": f"Bearer {self.token}"}
        )
        return answer.json()

    async def reply(self, message_id: str, content: Any = None, **fields: Any) -> Json:
        text = {"zh_cn": {"content": [[{"tag": "text", "text": "x"}]]}}
        body = {"msg_type": "post", "content": json.dumps(text) if content is None else content} | fields
        path = f"/open-apis/im/v1/messages/{message_id}/reply"
        return await self.post_raw(path, body, authorization=f"Bearer {self.token}")

    async def get(self, path: str) -> Json:
        return (await self.http.get(path, headers={"authorization": f"Bearer {self.token}"})).json()


@pytest.fixture
def clock() -> StillClock:
    return StillClock()


@pytest.fixture
async def api(clock: StillClock) -> AsyncIterator[Api]:
    async with FeishuSimulator(clock=clock) as feishu:
        feishu.add_chat(feishu.add_person("Wang"))
        client = await asyncio.to_thread(httpx2.AsyncClient, base_url=feishu.base_url, trust_env=False, timeout=5)
        async with client as http:
            api = Api(feishu, http)
            await api.sign_in()
            yield api


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"app_id": "cli_other", "app_secret": "simulated-app-secret"}, 10003),
        ({"app_id": "cli_a5fb0ae6a4c8d00e", "app_secret": "wrong"}, 10014),
        ([], 9499),
    ],
)
async def test_wrong_credentials_get_no_token(api: Api, body: Any, code: int) -> None:
    assert (await api.post_raw("/open-apis/auth/v3/tenant_access_token/internal", body))["code"] == code


async def test_a_token_is_handed_out_again_until_half_an_hour_is_left_and_dies_after_two(
    api: Api, clock: StillClock
) -> None:
    first = api.token
    clock.advance(timedelta(minutes=90))
    again = await api.sign_in()
    assert (again["tenant_access_token"], again["expire"]) == (first, 1800)
    clock.advance(timedelta(seconds=1))
    assert (await api.sign_in())["tenant_access_token"] != first
    second, api.token = api.token, first
    assert (await api.send())["code"] == 0
    clock.advance(timedelta(minutes=30))
    assert (await api.send())["code"] == 99991663
    api.token = second
    assert (await api.send())["code"] == 0


@pytest.mark.parametrize(("header", "code"), [("", 99991661), ("Bearer x-1", 99991671), ("Bearer t-unknown", 99991663)])
async def test_a_call_without_a_good_token_is_refused(api: Api, header: str, code: int) -> None:
    headers = {"authorization": header} if header else {}
    answer = await api.post_raw("/open-apis/im/v1/messages?receive_id_type=chat_id", {}, **headers)
    assert answer["code"] == code


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"query": "receive_id_type=room"}, 99992402),
        ({"query": ""}, 99992402),
        ({"content": card(div("x"))}, 230001),
        ({"content": "no json"}, 230001),
        ({"content": json.dumps(card({"tag": "note"}))}, 230099),
        ({"content": json.dumps(card(div("x" * 31_000)))}, 230025),
        ({"uuid": "u" * 51}, 99992402),
        ({"receive_id": "oc_unknown"}, 230001),
        ({"card": {}}, 99992402),
        ({"msg_type": "text"}, 230001),
    ],
)
async def test_a_message_that_the_platform_refuses_is_refused(api: Api, change: Json, code: int) -> None:
    assert (await api.send(**change))["code"] == code
    assert api.feishu.platform.messages == {}


async def test_a_bot_outside_the_chat_cannot_post(api: Api) -> None:
    assert (await api.send(receive_id=api.feishu.add_chat(bot=False)))["code"] == 230002


@pytest.mark.parametrize(
    ("receiver", "query", "code"),
    [
        ("ou_nobody", "open_id", 99992351),
        ("ou_nobody", "chat_id", 230001),
        ("oc_nowhere", "open_id", 99992351),
        ("w@example.com", "email", 230001),
    ],
)
async def test_a_receiver_must_be_of_the_kind_that_is_named(api: Api, receiver: str, query: str, code: int) -> None:
    answer = await api.send(receive_id=receiver, query=f"receive_id_type={query}")
    assert answer["code"] == code
    assert api.feishu.platform.messages == {}


async def test_a_person_has_one_talk_with_the_bot(api: Api) -> None:
    wang = next(iter(api.feishu.platform.people))
    chats = [(await api.send(receive_id=wang, query="receive_id_type=open_id"))["data"]["chat_id"] for _ in range(2)]
    assert chats == [api.feishu.own_chat(wang)] * 2
    api.feishu.platform.unavailable.add(wang)
    for query, receiver in (("open_id", wang), ("chat_id", chats[0])):
        answer = await api.send(receive_id=receiver, query=f"receive_id_type={query}")
        assert answer["code"] == 230013


def post_of(*nodes: Json, language: str = "zh_cn", **more: Any) -> str:
    return json.dumps({language: {"content": [list(nodes)]} | more})


TEXT = {"tag": "text", "text": "x"}


@pytest.mark.parametrize(
    "content",
    [
        {"zh_cn": {}},
        "no json",
        "[]",
        "{}",
        post_of(TEXT, language="fr_fr"),
        post_of(TEXT, colour="red"),
        post_of(),
        post_of({"tag": "text", "text": " "}),
        post_of({"tag": "text", "text": 7}),
        post_of(TEXT | {"un_escape": True}),
        post_of({"tag": "md", "text": "**x**"}),
        post_of({"tag": "a", "text": "x", "href": "https://evil.example"}),
        post_of({"tag": "at", "user_id": "ou_nobody"}, TEXT),
        json.dumps({"zh_cn": {"content": [TEXT]}}),
    ],
)
@pytest.mark.heavy
async def test_rich_text_that_the_platform_refuses_is_refused(api: Api, content: Any) -> None:
    message_id = (await api.send())["data"]["message_id"]
    assert (await api.reply(message_id, content))["code"] == 230001
    assert api.feishu.remarks(message_id) == []


async def test_rich_text_on_its_own_is_for_a_chat_or_with_links_for_one_person(api: Api) -> None:
    wang = next(iter(api.feishu.platform.people))
    link = {"tag": "a", "text": "x", "href": "https://assent.example"}

    async def say(*nodes: Json, **more: Any) -> int:
        to = {"receive_id": wang, "query": "receive_id_type=open_id"} | more
        return (await api.send(msg_type="post", content=post_of(*nodes), **to))["code"]

    room = next(iter(api.feishu.platform.chats))
    chat = {"receive_id": room, "query": "receive_id_type=chat_id"}
    assert await say(TEXT, link, **chat) == 230001, "a link that everybody may follow is no one's"
    assert await say(TEXT, **chat) == 0
    assert [letter.text for letter in api.feishu.platform.letters[room]] == ["x"]
    assert await say(link | {"href": "javascript:alert(1)"}) == 230001
    assert await say({"tag": "md", "text": "x"}) == 230001
    assert api.feishu.letters(wang) == []
    assert await say(TEXT, link, uuid="once") == await say(TEXT, link, uuid="once") == 0
    assert api.feishu.letters(wang) == ["xx (https://assent.example)"]


async def test_a_mention_of_all_is_what_it_is(api: Api) -> None:
    message_id = (await api.send())["data"]["message_id"]
    await api.reply(message_id, post_of({"tag": "at", "user_id": "all"}, TEXT))
    assert api.feishu.remarks(message_id)[0].mentions == ("all",)


async def test_a_reply_obeys_the_rules_of_messages(api: Api, clock: StillClock) -> None:
    message_id = (await api.send())["data"]["message_id"]
    assert (await api.reply("om_unknown"))["code"] == 230001
    assert (await api.reply(message_id, uuid="u" * 51))["code"] == 99992402
    assert (await api.reply(message_id, more=1))["code"] == 99992402
    assert (await api.reply(message_id, msg_type="text"))["code"] == 230001
    assert (await api.reply(message_id, post_of({"tag": "text", "text": "x" * 31_000})))["code"] == 230025
    first = await api.reply(message_id, uuid="once")
    clock.advance(timedelta(minutes=59))
    assert (await api.reply(message_id, uuid="once"))["data"] == first["data"]
    clock.advance(timedelta(minutes=1))
    assert (await api.reply(message_id, uuid="once"))["data"] != first["data"]
    assert len(api.feishu.remarks(message_id)) == 2
    api.feishu.platform.bot_chats.clear()
    assert (await api.reply(message_id))["code"] == 230002
    api.feishu.message(message_id).recalled = True
    assert (await api.reply(message_id))["code"] == 230011
    api.feishu.platform.scopes.clear()
    assert (await api.reply(message_id))["code"] == 99991672


@pytest.mark.heavy
async def test_lists_are_paged_as_the_platform_pages_them(api: Api) -> None:
    people = [api.feishu.add_person(f"P{n}") for n in range(3)]
    group, department = api.feishu.add_group(*people), api.feishu.add_department(*people)
    of_group = f"/open-apis/contact/v3/group/{group}/member/simplelist?member_type=user&member_id_type=open_id"
    of_department = f"/open-apis/contact/v3/users/find_by_department?department_id={department}"
    first = (await api.get(f"{of_group}&page_size=2"))["data"]
    assert (len(first["memberlist"]), first["has_more"]) == (2, True)
    rest = (await api.get(f"{of_group}&page_size=2&page_token={first['page_token']}"))["data"]
    assert ([each["member_id"] for each in rest["memberlist"]], rest["has_more"]) == ([people[2].open_id], False)
    assert "page_token" not in rest
    for path, most in ((of_group, 100), (of_department, 50)):
        assert (await api.get(f"{path}&page_size={most}"))["code"] == 0
        assert (await api.get(f"{path}&page_size={most + 1}"))["code"] == 40011
        assert (await api.get(f"{path}&page_token=bogus"))["code"] == 40012
        assert (await api.get(f"{path}&fetch_child=true"))["code"] == 40001
    assert (await api.get(of_group.replace("open_id", "union_id")))["code"] == 40001
    assert (await api.get(f"{of_department}&user_id_type=user_id"))["code"] == 40001
    assert (await api.get(f"{of_department}&department_id_type=department_id"))["code"] == 40001
    assert (await api.get(of_department.replace("od-", "od-x")))["code"] == 40004
    api.feishu.platform.scopes.clear()
    assert {(await api.get(path))["code"] for path in (of_group, of_department)} == {99991672}


async def test_one_uuid_posts_one_message_an_hour(api: Api, clock: StillClock) -> None:
    first = await api.send(uuid="once")
    clock.advance(timedelta(minutes=59))
    again = await api.send(uuid="once")
    assert again["data"]["message_id"] == first["data"]["message_id"]
    api.feishu.platform.repeats_uuid_as_error = True
    assert (await api.send(uuid="once"))["code"] == 230049
    clock.advance(timedelta(minutes=1))
    assert (await api.send(uuid="once"))["data"]["message_id"] != first["data"]["message_id"]


async def test_a_message_can_be_changed_for_fourteen_days(api: Api, clock: StillClock) -> None:
    message_id = (await api.send())["data"]["message_id"]
    clock.advance(timedelta(days=14))
    await api.sign_in()
    assert (await api.patch(message_id))["code"] == 0
    clock.advance(timedelta(seconds=1))
    assert (await api.patch(message_id))["code"] == 230031
    assert len(api.feishu.message(message_id).versions) == 2


async def test_a_message_that_is_gone_or_locked_cannot_be_changed(api: Api) -> None:
    message_id = (await api.send())["data"]["message_id"]
    message = api.feishu.message(message_id)
    message.clicks_in_flight = 1
    assert "card action is lock" in (await api.patch(message_id))["msg"]
    message.clicks_in_flight = 0
    assert (await api.patch(message_id, {}))["code"] == 230001
    assert (await api.patch(message_id, more=1))["code"] == 99992402
    assert (await api.patch("om_unknown"))["code"] == 230001
    message.recalled = True
    assert (await api.patch(message_id))["code"] == 230011


async def test_rates_are_enforced_when_switched_on(api: Api, clock: StillClock) -> None:
    api.feishu.platform.enforces_rates = True
    assert [(await api.send())["code"] for _ in range(6)] == [0, 0, 0, 0, 0, 230020]
    clock.advance(timedelta(seconds=1))
    assert (await api.send())["code"] == 0


async def test_a_missing_scope_is_named(api: Api) -> None:
    api.feishu.platform.scopes.clear()
    chat = next(iter(api.feishu.platform.chats))
    for answer in (await api.send(), await api.get(f"/open-apis/im/v1/chats/{chat}/members/is_in_chat")):
        assert answer["code"] == 99991672
        assert "scopes is required" in answer["msg"]


async def test_people_of_other_tenants_are_not_visible(api: Api) -> None:
    other = api.feishu.add_person("Other", tenant_key="elsewhere")
    assert (await api.get(f"/open-apis/contact/v3/users/{other.open_id}"))["code"] == 41050
    answer = await api.post_raw(
        "/open-apis/contact/v3/users/batch_get_id",
        {"emails": [other.email]},
        authorization=f"Bearer {api.token}",
    )
    assert answer["data"]["user_list"] == [{"email": other.email}]


async def test_those_who_left_are_found_only_when_asked_for(api: Api) -> None:
    gone = api.feishu.add_person("Gone", resigned=True)
    path, headers = "/open-apis/contact/v3/users/batch_get_id", {"authorization": f"Bearer {api.token}"}
    without = await api.post_raw(path, {"emails": [gone.email]}, **headers)
    assert "user_id" not in without["data"]["user_list"][0]
    with_them = await api.post_raw(path, {"emails": [gone.email], "include_resigned": True}, **headers)
    assert with_them["data"]["user_list"][0]["user_id"] == gone.open_id


async def test_an_unknown_path_is_not_found(api: Api) -> None:
    assert (await api.http.get("/open-apis/im/v1/messages")).status_code == 404
